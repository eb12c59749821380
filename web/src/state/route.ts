import { effect, signal } from "@preact/signals";
import { isShareFile } from "../api/inline";

/** Views of one run, in the order of the tabs. */
export const RUN_VIEWS = ["overview", "timeline", "flame", "tables", "marks", "system"] as const;
export type RunView = (typeof RUN_VIEWS)[number];
export type View = RunView | "runs" | "compare" | "sql";

/** What the part of the address after `#` says: the whole state of the page. */
export interface Route {
  view: View;
  /** The run looked at; of a comparison the one compared with, which may be chosen last. */
  run: string | null;
  /** The second run of a comparison. */
  other: string | null;
  params: Record<string, string>;
}

/** Reads the part of an address after `#`. What is not understood is the list of runs. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = split(hash.replace(/^#/, ""), "?");
  const [kind, run, third] = path.replace(/^\//, "").split("/").map(decode);
  const params = rounded(Object.fromEntries(new URLSearchParams(query)));
  if (kind === "run" && run) {
    const view = RUN_VIEWS.find((name) => name === third) ?? "overview";
    return { view, run, other: null, params };
  }
  if (kind === "compare") return { view: "compare", run: run || null, other: third || null, params };
  if (kind === "sql") return { view: "sql", run: run || null, other: null, params };
  return { view: "runs", run: null, other: null, params };
}

/** The address of a route; empty parameters are left out. */
export function formatRoute(route: Route): string {
  const id = (text: string | null) => (text === null ? "" : "/" + encodeURIComponent(text));
  const path =
    route.view === "runs" ? "/runs"
    : route.view === "compare" ? `/compare${id(route.run ?? (route.other && ""))}${id(route.other)}`
    : route.view === "sql" ? `/sql${id(route.run)}`
    : `/run${id(route.run)}/${route.view}`;
  const kept = Object.entries(route.params).filter(([, value]) => value !== "");
  const query = new URLSearchParams(kept).toString();
  return "#" + path + (query ? "?" + query : "");
}

function split(text: string, at: string): [string, string] {
  const where = text.indexOf(at);
  return where < 0 ? [text, ""] : [text.slice(0, where), text.slice(where + 1)];
}

/** What was encoded; a broken escape is kept as text. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Names as one parameter, whatever signs are in them. */
export function formatList(names: readonly string[], between = ","): string {
  return names.map(encodeURIComponent).join(between);
}

/** The names in a parameter that `formatList` wrote. */
export function readList(text: string | undefined, between = ","): string[] {
  return (text ?? "").split(between).filter(Boolean).map(decode);
}

/** Moments are whole nanoseconds, steps whole numbers, and what is neither is left out: the server refuses anything else. */
function rounded(params: Record<string, string>): Record<string, string> {
  const kept = { ...params };
  for (const key of ["t0", "t1", "v0", "v1", "s0", "s1"]) {
    if (kept[key] === undefined) continue;
    const moment = Math.round(kept[key].trim() === "" ? NaN : Number(kept[key]));
    if (Number.isSafeInteger(moment)) kept[key] = String(moment);
    else delete kept[key];
  }
  // One end alone, or none before the other, is no range.
  if (kept.t0 === undefined || kept.t1 === undefined || Number(kept.t1) <= Number(kept.t0)) {
    delete kept.t0;
    delete kept.t1;
  }
  return kept;
}

/** A route of which nothing is asked that a shared file does not hold: the numbers of a range. A range on its timeline is zoomed to. */
export function withoutRange(route: Route): Route {
  const { t0, t1, ...params } = route.params;
  if (route.view === "timeline" && t0 !== undefined && t1 !== undefined) Object.assign(params, { v0: t0, v1: t1 });
  return { ...route, params };
}

function answerable(route: Route): Route {
  return isShareFile() ? withoutRange(route) : route;
}

function here(): Route {
  return typeof location === "undefined" ? parseRoute("") : answerable(parseRoute(location.hash));
}

function hash(): string {
  return typeof location === "undefined" ? "" : location.hash;
}

/** Where the page is now. */
export const route = signal<Route>(here());
/** The address that it was read from or written to. */
let known = hash();

/** Follows the browser's back and forward buttons, and links. */
export function followAddress(): void {
  addEventListener("hashchange", () => {
    known = hash();
    route.value = here();
  });
}

/** Parameters that stay when the view of a run changes. */
const SHARED_PARAMS = ["filter", "t0", "t1"];

/** The address of another view of the same run, with its filter and range. */
export function viewLink(view: View, run: string | null, params: Record<string, string> = {}): string {
  const now = route.value;
  const kept: Record<string, string> = {};
  if (now.run === run && run !== null) {
    for (const key of SHARED_PARAMS) if (now.params[key]) kept[key] = now.params[key];
  }
  return formatRoute({ view, run, other: null, params: { ...kept, ...params } });
}

/** Changes parameters of the address; a new entry in the history, to come back by, only where that is asked for. */
export function setParams(patch: Record<string, string | null>, isNewEntry = false): void {
  // The page is on its way elsewhere: what the view that is left has to say would bring it back.
  if (hash() !== known) return;
  const params = { ...route.value.params };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === "") delete params[key];
    else params[key] = value;
  }
  const next = answerable({ ...route.value, params });
  const address = formatRoute(next);
  if (address === formatRoute(route.value)) return;
  if (isNewEntry) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  known = hash();
  route.value = next;
}

let listAddress = "#/runs";
effect(() => {
  if (route.value.view === "runs") listAddress = formatRoute(route.value);
});

/** The list of runs as it was left, with its filter; from the list itself, all of it. */
export function listLink(): string {
  return route.value.view === "runs" ? "#/runs" : listAddress;
}

/** Goes to an address made by `viewLink` or `formatRoute`. */
export function go(address: string): void {
  location.hash = address;
}
