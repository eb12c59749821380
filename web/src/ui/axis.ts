/** Steps of an axis of nanoseconds: decimal below a minute. */
export const TIME_STEPS = [...Array.from({ length: 11 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat(), ...[1, 2, 5, 10, 15, 30, 60, 120, 360, 720, 1440, 2880, 7200].map((minutes) => minutes * 60e9)].filter((step) => step <= 20e9 || step >= 60e9);
/** Steps of an axis of whole numbers. */
export const WHOLE_STEPS = Array.from({ length: 15 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
/** Steps of an axis of bytes. */
export const BYTE_STEPS = Array.from({ length: 50 }, (_, power) => 2 ** power);

/** Beyond this, and below one part of it, uPlot has no steps: such values are drawn in another unit. */
const MOST_DRAWN = 1e14;

/** The unit that values are drawn in, so that the largest of them is of a size that an axis can be made for. */
export function unitOf(rows: readonly (readonly (number | null | undefined)[])[]): number {
  let most = 0;
  for (const row of rows) for (const value of row) if (typeof value === "number" && Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  if (most === 0 || (most < MOST_DRAWN && most > 1 / MOST_DRAWN)) return 1;
  // A power of ten that is below the smallest whole number has no exact inverse.
  return Math.max(10 ** Math.floor(Math.log10(most)), Number.MIN_VALUE * 1e16);
}

/** Pixels that a label of a log axis needs. */
const LABEL_PX = 26;
/** Decades up to which each has nine lines. */
const FEW_DECADES = 14;

/** Lines of a log axis, those with a label as they are and the others as `null` beside them; however many decades there are. */
export function logLines(low: number, high: number, height_px: number): { at: number[]; labelled: (number | null)[] } {
  const [first, last] = [Math.floor(Math.log10(low) + 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const decade_px = height_px / Math.max(1, last - first);
  const labels = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 5, 7], [1, 2, 5], [1]].find((some) => Math.log10(10 / some[some.length - 1]!) * decade_px >= LABEL_PX) ?? [1];
  const every = Math.max(1, Math.ceil(LABEL_PX / decade_px));
  const lines = last - first > FEW_DECADES ? [1] : [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const all = Array.from({ length: Math.max(0, last - first) + 1 }, (_, at) => first + at).flatMap((power) => lines.map((mantissa) => ({
    value: Number(`${mantissa}e${power}`),
    isLabelled: labels.includes(mantissa) && (last - power) % every === 0,
  }))).filter(({ value }) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
  return { at: all.map(({ value }) => value), labelled: all.map(({ value, isLabelled }) => (isLabelled ? value : null)) };
}

/** Labels of an axis; where two would read the same, with as many digits as tell them apart. */
export function apart(splits: (number | null)[], step: number, text: (value: number) => string): string[] {
  const texts = splits.map((value) => (value === null ? "" : text(value)));
  const shown = texts.filter(Boolean);
  const decimals = Math.ceil(-Math.log10(step) - 1e-9);
  if (new Set(shown).size === shown.length || !(decimals > 0 && decimals < 12)) return texts;
  // Only where the number stands as it is: one in another unit has other steps.
  return texts.map((each, at) => (Math.abs(parseFloat(each) - (splits[at] ?? NaN)) < 10 * step ? each.replace(/^-?[\d.]+/, (splits[at] ?? 0).toFixed(decimals)) : each));
}

/** Labels of an axis of bytes: as many digits as tell its steps apart. */
export function byteTexts(splits: number[], step: number, text: (value: number) => string): string[] {
  const top = Math.max(...splits.map(Math.abs));
  const unit = 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(1, top)) / 10));
  if (unit === 1) return splits.map(text);
  const decimals = Math.min(3, Math.max(0, Math.ceil(Math.log2(unit / step))));
  const word = /[A-Z]\S+$/i.exec(text(unit))?.[0] ?? "";
  return splits.map((value) => `${(value / unit).toFixed(decimals)} ${word}`);
}
