import { getJson, runUrl } from "../api/client";
import { isShareFile } from "../api/inline";
import type { Steps } from "../api/types";
import { count, duration } from "../shared/format";

/** Which step is meant: by its index or the next larger one, or by when it begins. */
export type StepWish = { index: number } | { after_ns: number } | { before_ns: number };
export interface Step { start_ns: number; step_ns: number; index: number | null; rank: number | null }
/** A step, where there is such a one, and what is known of all. */
export interface OneStep { step: Step | null; count: number; largest_index: number | null }

/** Asks for a step; a shared file holds them all in one answer, or of many the longest of each group. */
export async function findStep(run: string, wish: StepWish): Promise<OneStep> {
  const steps = await getJson<Steps>(runUrl(run, "steps", isShareFile() ? {} : { ...wish }));
  const step = chosen(listed(steps), wish);
  return { step, count: steps.count ?? 0, largest_index: steps.largest_index ?? null };
}

/** The step after or before one that is known, or that is around a moment. */
export async function besides(run: string, from: { start_ns: number } | { at_ns: number }, by: 1 | -1): Promise<OneStep> {
  const moment = "start_ns" in from ? from.start_ns : from.at_ns;
  if (by > 0) return findStep(run, { after_ns: Math.floor(moment) });
  const found = await findStep(run, { before_ns: Math.ceil(moment) });
  const isAround = "at_ns" in from && found.step !== null && moment < found.step.start_ns + found.step.step_ns;
  return isAround ? findStep(run, { before_ns: found.step!.start_ns }) : found;
}

function listed({ start_ns = [], step_ns = [], index = [], rank = [] }: Steps): Step[] {
  return start_ns.map((start, at) => ({ start_ns: start, step_ns: step_ns[at] ?? 0, index: index[at] ?? null, rank: rank[at] ?? null }));
}

/** The step that is meant, of steps in order of their start. */
export function chosen(steps: readonly Step[], wish: StepWish): Step | null {
  if ("after_ns" in wish) return steps.find(({ start_ns }) => start_ns > wish.after_ns) ?? null;
  if ("before_ns" in wish) return steps.findLast(({ start_ns }) => start_ns < wish.before_ns) ?? null;
  const place = ({ index }: Step) => (index === null || index < wish.index ? Infinity : index);
  return steps.reduce<Step | null>((best, step) => (place(step) < (best ? place(best) : Infinity) ? step : best), null);
}

/** A step as it is said. */
export function inWords({ index, rank, step_ns }: Step): string {
  return `step ${count(index)}${rank === null ? "" : ` of rank ${rank}`}, ${duration(step_ns)}`;
}

/** Why the step that was asked for is not the one gone to; nothing where it is. */
export function noteOf(step: Step | null, all: Omit<OneStep, "step">, by: 1 | -1 | { index: number }): string {
  if (step) return typeof by !== "object" || step.index === by.index ? "" : `no step ${count(by.index)} here: this is ${count(step.index)}`;
  if (all.count === 0) return "no steps in this run: a loop of scopes called step, or with an index, makes some";
  if (typeof by === "object") return `no step ${count(by.index)}: the last is ${count(all.largest_index)}`;
  return by > 0 ? "last step" : "first step";
}
