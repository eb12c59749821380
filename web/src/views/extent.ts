import { growth } from "../api/live";
import type { RunsAnswer } from "../api/types";
import { useJson } from "../api/use";

/** The time of the longest of some runs, so that all charts over time have one axis; nothing where the list does not know it. For a page once, not for each of its charts: the list changes with every run that is recorded. */
export function useExtent(runs: string[]): [number, number] | null {
  const { data } = useJson<RunsAnswer>("api/runs");
  const listed = data?.runs.filter(({ id }) => runs.includes(id)) ?? [];
  const end_ns = Math.max(0, ...listed.map(({ id, duration_ns }) => Math.max(duration_ns ?? 0, growth.value[id]?.end_ns ?? 0)));
  return end_ns > 0 ? [0, end_ns] : null;
}

/** An extent as wide as all points need: the list may know less of a run than is drawn. */
export function withAll([from, to]: [number, number], x: readonly number[]): [number, number] {
  return [Math.min(from, x[0] ?? from), Math.max(to, x[x.length - 1] ?? to)];
}
