import { signal } from "@preact/signals";

/** Views of one run, in the order of the tabs. */
export const RUN_VIEWS = ["overview", "timeline", "flame", "tables", "marks", "system"] as const;
export type RunView = (typeof RUN_VIEWS)[number];
export type View = RunView | "runs" | "compare" | "sql";

/** What the part of the address after `#` says: the whole state of the page. */
export interface Route {
  view: View;
  /** The run looked at; of a comparison the one compared with. */
  run: string | null;
  /** The second run of a comparison. */
  other: string | null;
  params: Record<string, string>;
}

/** Reads the part of an address after `#`. What is not understood is the list of runs. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = split(hash.replace(/^#/, ""), "?");
  const parts = path.split("/").filter(Boolean).map(decode);
  const params = Object.fromEntries(new URLSearchParams(query));
  const [kind, run, third] = parts;
  if (kind === "run" && run) {
    const view = RUN_VIEWS.find((name) => name === third) ?? "overview";
    return { view, run, other: null, params };
  }
  if (kind === "compare" && run) return { view: "compare", run, other: third ?? null, params };
  if (kind === "sql") return { view: "sql", run: run ?? null, other: null, params };
  return { view: "runs", run: null, other: null, params };
}

/** The address of a route; empty parameters are left out. */
export function formatRoute(route: Route): string {
  const id = (text: string | null) => (text === null ? "" : "/" + encodeURIComponent(text));
  const path =
    route.view === "runs" ? "/runs"
    : route.view === "compare" ? `/compare${id(route.run)}${id(route.other)}`
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

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Where the page is now. */
export const route = signal<Route>(parseRoute(typeof location === "undefined" ? "" : location.hash));

/** Follows the browser's back and forward buttons, and links. */
export function followAddress(): void {
  addEventListener("hashchange", () => (route.value = parseRoute(location.hash)));
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

/** Changes parameters of the address without a new entry in the history. */
export function setParams(patch: Record<string, string | null>): void {
  const params = { ...route.value.params };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === "") delete params[key];
    else params[key] = value;
  }
  const next = { ...route.value, params };
  const address = formatRoute(next);
  if (address === formatRoute(route.value)) return;
  history.replaceState(null, "", address);
  route.value = next;
}

/** Goes to an address made by `viewLink` or `formatRoute`. */
export function go(address: string): void {
  location.hash = address;
}
