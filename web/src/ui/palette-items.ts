import type { ListedRun, SearchAnswer } from "../api/types";
import { cut, duration, moment, plain } from "../shared/format";
import { hasWords } from "../shared/filter";
import { RUN_VIEWS, formatRoute, viewLink } from "../state/route";

/** A place to go to. */
export interface Item { kind: "view" | "run" | "scope" | "kernel"; title: string; more: string; address: string }

const MOST_RUNS = 30;

/** Views of the run that is looked at, and those of all runs. */
export function viewItems(run: string | null, isShared: boolean): Item[] {
  const name = (view: string) => view[0]!.toUpperCase() + view.slice(1);
  const ofRun = run === null ? [] : RUN_VIEWS.map((view): Item => ({ kind: "view", title: name(view), more: cut(plain(run), 60), address: viewLink(view, run) }));
  if (isShared) return ofRun;
  return [
    ...ofRun,
    { kind: "view", title: "Runs", more: "all runs", address: "#/runs" },
    { kind: "view", title: "Compare", more: run === null ? "two runs" : "with another run", address: formatRoute({ view: "compare", run, other: null, params: {} }) },
    { kind: "view", title: "SQL", more: run === null ? "" : cut(plain(run), 60), address: viewLink("sql", run) },
  ];
}

/** Runs that have all the words. */
export function runItems(runs: readonly ListedRun[], words: string): Item[] {
  const fitting = runs.filter((run) => hasWords(words, [run.app, run.id]));
  const newest = fitting.sort((a, b) => (b.start_unix_ns ?? 0) - (a.start_unix_ns ?? 0)).slice(0, MOST_RUNS);
  return newest.map((run) => ({ kind: "run", title: cut(plain(run.app || run.id), 80), more: `${cut(plain(run.id), 60)} · ${moment(run.start_unix_ns)}`, address: viewLink("overview", run.id) }));
}

/** Places on the timeline, one for each name that was found. */
export function scopeItems(run: string, hits: SearchAnswer["hits"]): Item[] {
  const firsts = new Map<string, (typeof hits)[number]>();
  for (const hit of hits) if (!firsts.has(hit.name)) firsts.set(hit.name, hit);
  return [...firsts.values()].map((hit) => ({
    kind: hit.kind === "kernel" ? "kernel" : "scope",
    title: cut(plain(hit.name), 80),
    more: `the first at ${duration(hit.start_ns)}`,
    address: viewLink("timeline", run, { sel: `${hit.kind === "kernel" ? "kernel" : "span"}:${hit.id}`, ...around(hit) }),
  }));
}

/** The stretch of time that shows a slice with what is around it. */
function around({ start_ns, duration_ns }: { start_ns: number; duration_ns: number }): Record<string, string> {
  const margin = Math.max(1000, duration_ns);
  return { v0: String(Math.round(Math.max(0, start_ns - margin))), v1: String(Math.round(start_ns + duration_ns + margin)) };
}
