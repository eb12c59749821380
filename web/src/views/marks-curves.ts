import type { Known, Point } from "../ui/Chart";

/** Smooths by a moving mean that forgets; 0 leaves values as they are. Starts without a bias to 0. */
export function smoothed(values: readonly (number | null)[], weight: number): (number | null)[] {
  if (weight <= 0) return [...values];
  let last = 0;
  let bias = 1;
  return values.map((value) => {
    if (value === null || !Number.isFinite(value)) return null;
    last = last * weight + value * (1 - weight);
    bias *= weight;
    return last / (1 - bias);
  });
}

type Column = readonly (number | null)[];
interface Values { x: readonly number[]; y: Column }
interface Joined { x: number[]; ys: Point[][] }
/** Where a point stands for several values, the least and the largest of them. */
interface Spread { low: Point[]; high: Point[] }

/** Curves as a chart draws them: each smoothed by itself, so that it looks the same beside others, and the spread of what its points stand for. */
export function drawn(curves: readonly (Values & { min?: Column; max?: Column })[], smooth: number, isLog: boolean): { x: number[]; ys: Point[][]; bands: (Spread | null)[]; known: Known[] } {
  const together = (as: (values: Column) => Column) => {
    const of = (column: (curve: (typeof curves)[number]) => Column) => joined(curves.map((curve) => ({ x: curve.x, y: as(column(curve)) })));
    const { x, ys } = of(({ y }) => smoothed(y, smooth));
    const [{ ys: lows }, { ys: highs }] = [of(({ y, min }) => min ?? y), of(({ y, max }) => max ?? y)];
    return { x, all: ys.map((values, at): Known => ({ values, low: lows[at]!, high: highs[at]! })) };
  };
  const { x, all } = together((values) => values.map((value) => (isLog && value !== null && value <= 0 ? null : value)));
  const known = isLog ? together((values) => values).all : [];
  const bands = curves.map(({ min, max }, at) => (min?.some((low, which) => low !== max?.[which]) ? { low: all[at]!.low, high: all[at]!.high } : null));
  return { x, ys: all.map(({ values }) => values), bands, known };
}

/** How much a log axis has no place for: values, or points of the curve where it is smoothed. */
export function notOnLog(curves: readonly (Values & { not_positive: number })[], smooth: number): number {
  const points = ({ y }: Values) => smoothed(y, smooth).filter((value) => value !== null && value <= 0).length;
  return curves.reduce((sum, curve) => sum + (smooth > 0 ? points(curve) : curve.not_positive), 0);
}

/** Values that are no numbers that can be drawn, also those that stand in one point with others that are. */
export function numberless(curves: readonly { not_number: number }[]): number {
  return curves.reduce((sum, { not_number }) => sum + not_number, 0);
}

/** Several curves on one axis: all moments in order. Where only others have a value a curve has nothing, which is no gap of its own. */
export function joined(curves: readonly Values[]): Joined {
  const x: number[] = [];
  const ys = curves.map((): Point[] => []);
  const next = curves.map(() => 0);
  for (;;) {
    const at = Math.min(...curves.map((curve, which) => curve.x[next[which]!] ?? Infinity));
    if (at === Infinity) return { x, ys: ys.map(widened) };
    x.push(at);
    curves.forEach((curve, which) => ys[which]!.push(curve.x[next[which]!] === at ? (curve.y[next[which]!++] ?? null) : undefined));
  }
}

/** A gap reaches from the value before it to the one after it, also over places that are of other curves. */
function widened(row: Point[]): Point[] {
  const spread = (at: number, from: number) => {
    if (row[at] === undefined && row[from] === null) row[at] = null;
  };
  for (let at = 1; at < row.length; at++) spread(at, at - 1);
  for (let at = row.length - 2; at >= 0; at--) spread(at, at + 1);
  return row;
}
