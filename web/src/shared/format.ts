/** A plain number in three significant digits, as `hodo report` writes it. */
export function digits(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(2);
  return value.toFixed(decimalsOf(size));
}

function decimalsOf(size: number): number {
  if (size === 0 || size >= 99.95) return 0;
  return size >= 9.995 ? 1 : size >= 0.9995 ? 2 : size >= 0.09995 ? 3 : size >= 0.009995 ? 4 : 5;
}

function groups(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** A whole number with thin spaces between thousands. */
export function count(n: number | null | undefined): string {
  if (n === null || n === undefined) return NOT_CAPTURED;
  return Number.isInteger(n) ? groups(n) : digits(n);
}

/** A number with its word, in the plural where it is not one. */
export function many(n: number, one: string, more = one + "s"): string {
  return `${count(n)} ${n === 1 ? one : more}`;
}

/** What stands where a number was not captured. */
export const NOT_CAPTURED = "–";

const SECOND_NS = 1e9;

/** A time as `hodo report` writes it: `842 ns`, `12.3 µs`, `7.89 s`, `2m 05s`, `1h 02m`. */
export function duration(ns: number | null | undefined): string {
  if (ns === null || ns === undefined) return NOT_CAPTURED;
  const size = Math.abs(ns);
  if (size >= 119.5 * SECOND_NS) return (ns < 0 ? "-" : "") + long(size);
  if (size >= 0.9995e9) return `${three(ns / 1e9)} s`;
  if (size >= 0.9995e6) return `${three(ns / 1e6)} ms`;
  if (size >= 0.9995e3) return `${three(ns / 1e3)} µs`;
  return `${size < 1 && size !== 0 ? digits(ns) : Math.round(ns)} ns`;
}

function three(value: number): string {
  return value.toFixed(decimalsOf(Math.abs(value)));
}

function long(ns: number): string {
  const seconds = Math.round(ns / SECOND_NS);
  const [minutes, s] = [Math.floor(seconds / 60), seconds % 60];
  const [hours, m] = [Math.floor(minutes / 60), minutes % 60];
  if (hours === 0) return `${m}m ${pad(s)}s`;
  return hours < 48 ? `${hours}h ${pad(m)}m` : `${Math.floor(hours / 24)}d ${pad(hours % 24)}h`;
}

function pad(n: number): string {
  return String(n).padStart(2, "0");
}

/** A share as per cent; what is not zero is never shown as 0 %. */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return NOT_CAPTURED;
  const value = share * 100;
  if (value !== 0 && Math.abs(value) < 0.1) return value < 0 ? ">-0.1%" : "<0.1%";
  return `${Math.abs(value) < 9.95 && value !== 0 ? value.toFixed(1) : value.toFixed(0)}%`;
}

/** A change as signed per cent. */
export function change(ratio: number | null | undefined): string {
  if (ratio === null || ratio === undefined) return NOT_CAPTURED;
  if (ratio > 0 && ratio < 0.001) return "<+0.1%";
  return (ratio > 0 ? "+" : "") + percent(ratio);
}

/** The same; what grew more than tenfold is said as a factor. */
export function wideChange(ratio: number | null | undefined): string {
  return typeof ratio === "number" && ratio >= 9.995 ? `${digits(ratio + 1)} ×` : change(ratio);
}

/** Bytes with a binary unit. */
export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined) return NOT_CAPTURED;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = n;
  let unit = 0;
  while (Math.abs(value) >= 1023.5 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return unit === 0 ? `${count(n)} B` : `${three(value)} ${units[unit]}`;
}

/** A value of a series in its unit, as `hodo machine` writes them. */
export function inUnit(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined) return NOT_CAPTURED;
  switch (unit) {
    case "1": return percent(value);
    case "By": return bytes(value);
    case "By/s": return `${bytes(value)}/s`;
    case "Hz": return value >= 1e9 ? `${three(value / 1e9)} GHz` : `${three(value / 1e6)} MHz`;
    case "Cel": return `${digits(value)} °C`;
    case "s": return duration(value * SECOND_NS);
    case "ns": return duration(value);
    case "": return digits(value);
    default: return `${digits(value)} ${unit}`;
  }
}

/** A moment in UTC, as `hodo ls` writes it. */
export function moment(unix_ns: number | null | undefined): string {
  if (unix_ns === null || unix_ns === undefined) return NOT_CAPTURED;
  return new Date(unix_ns / 1e6).toISOString().slice(0, 19).replace("T", " ");
}

/** Any value of an attribute or a cell. */
export function anyValue(value: unknown): string {
  if (value === null || value === undefined) return NOT_CAPTURED;
  if (typeof value === "number") return Number.isInteger(value) ? groups(value) : digits(value);
  if (typeof value === "string") return value;
  return JSON.stringify(value);
}

/** Text that cannot be told from a longer one by its look: control and direction signs are shown as such. */
export function plain(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (sign) => {
    const code = sign.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\ufffd";
  });
}

/** A text of at most `most` signs, cut at its end. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most - 1) + "…";
}

/** The same, cut at its start. */
export function cutStart(text: string, most: number): string {
  return text.length <= most ? text : "…" + text.slice(text.length - most + 1);
}
