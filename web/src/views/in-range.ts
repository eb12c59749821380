import type { SeriesValues } from "../api/types";

/** What a range of a series comes to: the last value, and whether it was read there or before; no value where the curve does not lead there. */
export function inRange({ t_ns, mean }: Pick<SeriesValues, "t_ns" | "mean">, t0 = -Infinity, t1 = Infinity): { last: number | null; wasRead: boolean } {
  let last: number | null = null;
  let wasRead = false;
  t_ns.forEach((t, at) => {
    const value = mean[at] ?? null;
    if (value === null || t >= t1) return;
    const leadsIn = t < t0 && t_ns[at + 1]! >= t0 && (mean[at + 1] ?? null) !== null;
    if (t < t0 && !leadsIn) return;
    last = value;
    wasRead = t >= t0;
  });
  return { last, wasRead };
}
