/** Steps of an axis of nanoseconds: decimal below a minute. */
export const TIME_STEPS = [...Array.from({ length: 11 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat(), ...[1, 2, 5, 10, 15, 30, 60, 120, 360, 720, 1440, 2880, 7200].map((minutes) => minutes * 60e9)].filter((step) => step <= 20e9 || step >= 60e9);
/** Steps of an axis of whole numbers. */
export const WHOLE_STEPS = Array.from({ length: 15 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
/** Steps of an axis of bytes. */
export const BYTE_STEPS = Array.from({ length: 50 }, (_, power) => 2 ** power);

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
