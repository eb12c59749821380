import { Asking } from "../api/asking";
import { getJson, runUrl } from "../api/client";
import { isShareFile } from "../api/inline";
import type { MarkValues, SeriesValues, Track } from "../api/types";
import { inUnit } from "../shared/format";
import type { Frame } from "./gl";
import type { Line } from "./layout";
import { resolution, tilesOver, TILE_UNITS } from "./tile-key";
import type { Viewport } from "./viewport";

/** Points of a track that is a curve: a series of the machine, or marks. */
export interface Curve { t_ns: number[]; mean: (number | null)[]; min: (number | null)[]; max: (number | null)[] }

/** The curve of a track and the window that it was asked for; an older curve may stand in its place. */
class Known {
  window = "";
  curve: Curve | null = null;
  hasFailed = false;
  isOutdated = false;
  readonly asking = new Asking();
}

const POINTS = 2000;
export const SHARED_POINTS = 800;

/** Curves of the visible stretch, asked for in windows with stable ends. */
export class CurveStore {
  private readonly curves = new Map<string, Known>();

  constructor(private readonly run: string, private readonly filter: () => string, private readonly arrived: () => void) {}

  /** The curve of a track, the last known one while a better is on its way. */
  get(track: Track, view: Viewport, width_px: number, end_ns: number): Curve | null {
    const res = resolution((view.t1 - view.t0) / Math.max(width_px, 1));
    const [first, last] = tilesOver(view, res, end_ns);
    const unit = res * TILE_UNITS;
    // A shared file holds each curve once, of the whole run.
    const window = isShareFile() ? "all" : `${first * unit}:${(last + 1) * unit}`;
    const known = this.curves.get(track.id) ?? new Known();
    this.curves.set(track.id, known);
    if (known.window === window && !known.isOutdated) return known.curve;
    Object.assign(known, { window, isOutdated: false, hasFailed: false });
    const arrived = (news: Partial<Known>) => {
      Object.assign(known, news);
      this.arrived();
    };
    known.asking.ask(window, () => this.load(track, first * unit, (last + 1) * unit), (curve) => arrived({ curve, hasFailed: false }), () => arrived({ hasFailed: true }));
    return known.curve;
  }

  /** Whether the curve that a track wants could not be had; an older one may stand in its place. */
  hasFailed(track: Track): boolean {
    return this.curves.get(track.id)?.hasFailed ?? false;
  }

  private async load(track: Track, t0: number, t1: number): Promise<Curve> {
    const range = isShareFile() ? {} : { t0, t1 };
    if (track.kind === "marks") {
      const values = await getJson<MarkValues>(runUrl(this.run, "mark", { name: track.mark ?? track.name, x: "time", ...range, max: POINTS, filter: this.filter() }));
      return { t_ns: values.x, mean: values.y, min: values.min ?? values.y, max: values.max ?? values.y };
    }
    const id = encodeURIComponent(track.series ?? track.id);
    // The file has series as the system view asks for them.
    return getJson<SeriesValues>(runUrl(this.run, `series/${id}`, { ...range, max: isShareFile() ? SHARED_POINTS : POINTS }));
  }

  /** Has the curves that failed asked for again. */
  retry(): void {
    for (const known of this.curves.values()) if (known.hasFailed) known.isOutdated = true;
  }

  /** Forgets all curves: the filter has changed. */
  clear(): void {
    for (const { asking } of this.curves.values()) asking.stop();
    this.curves.clear();
  }

  /** Has the curves asked anew, and shows the old ones meanwhile. */
  outdate(): void {
    for (const known of this.curves.values()) known.isOutdated = true;
  }
}

/** The values between which a curve is drawn: a flat one gets some room. Nothing for a curve without a value. */
export function bounds(curve: Curve, unit: string): [number, number] | null {
  let low = Infinity;
  let high = -Infinity;
  curve.mean.forEach((mean, at) => {
    if (mean === null) return;
    low = Math.min(low, curve.min[at] ?? mean);
    high = Math.max(high, curve.max[at] ?? mean);
  });
  if (low > high) return null;
  if (unit === "1") return [0, Math.max(1, high)];
  if (low >= 0 && low < high * 0.6) low = 0;
  return low === high ? [low - 1, high + 1] : [low, high];
}

/** The largest value of a stretch; where the curve leads into it, also the last before it. Nothing where it has none. */
export function largest(curve: Curve, t0: number, t1: number): number | null {
  let most: number | null = null;
  curve.t_ns.forEach((t, at) => {
    const next = curve.mean[at + 1];
    const isBefore = t < t0 && curve.t_ns[at + 1]! >= t0 && next !== null && next !== undefined;
    const mean = (t >= t0 && t <= t1) || isBefore ? curve.mean[at] : null;
    if (mean !== null && mean !== undefined) most = Math.max(most ?? -Infinity, curve.max[at] ?? mean);
  });
  return most;
}

/** Draws a curve into its track, and says the largest value in view, or that there is none. */
export function drawCurve(context: CanvasRenderingContext2D, curve: Curve | null, hasFailed: boolean, line: Line, frame: Frame, colour: string, textColour: string): void {
  const unit = line.track?.unit ?? "";
  const range = curve && bounds(curve, unit);
  if (curve && range) drawLine(context, curve, range, line, frame, colour);
  const most = curve && largest(curve, frame.t0, frame.t0 + frame.width_px * frame.ns_per_px);
  const text = hasFailed ? (isShareFile() ? "not in this file" : "could not be read") : !curve ? "" : most === null ? "no value here" : `max ${inUnit(most, unit)}`;
  context.fillStyle = textColour;
  context.font = '10px system-ui, "DejaVu Sans", sans-serif';
  context.textBaseline = "top";
  context.fillText(text, 4, line.top - frame.scroll_px + 2);
}

/** The spread as a band, the mean as a line, gaps where nothing was read. */
function drawLine(context: CanvasRenderingContext2D, curve: Curve, [low, high]: [number, number], line: Line, frame: Frame, colour: string): void {
  const top = line.top - frame.scroll_px + 4;
  const height = line.height - 8;
  const x = (ns: number) => (ns - frame.t0) / frame.ns_per_px;
  const y = (value: number) => top + height - ((value - low) / (high - low)) * height;
  context.save();
  context.beginPath();
  context.rect(0, top - 2, frame.width_px, height + 4);
  context.clip();
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = 1.25;
  band(context, curve, x, y);
  context.beginPath();
  let pen = false;
  let shown = 0;
  curve.t_ns.forEach((t, at) => {
    const mean = curve.mean[at];
    if (mean === null || mean === undefined) {
      pen = false;
      return;
    }
    if (pen) context.lineTo(x(t), y(mean));
    else context.moveTo(x(t), y(mean));
    pen = true;
    if (x(t) >= 0 && x(t) <= frame.width_px) shown++;
  });
  context.stroke();
  if (line.track?.kind === "marks" && shown < frame.width_px / 8) dots(context, curve, x, y);
  context.restore();
}

function band(context: CanvasRenderingContext2D, curve: Curve, x: (ns: number) => number, y: (value: number) => number): void {
  context.globalAlpha = 0.22;
  for (let at = 0; at < curve.t_ns.length; at++) {
    const [low, high] = [curve.min[at], curve.max[at]];
    if (low === null || high === null || low === undefined || high === undefined || low === high) continue;
    const left = x(curve.t_ns[at]!);
    const right = at + 1 < curve.t_ns.length ? x(curve.t_ns[at + 1]!) : left + 1;
    context.fillRect(left, y(high), Math.max(1, Math.min(right - left, 200)), Math.max(1, y(low) - y(high)));
  }
  context.globalAlpha = 1;
}

function dots(context: CanvasRenderingContext2D, curve: Curve, x: (ns: number) => number, y: (value: number) => number): void {
  curve.t_ns.forEach((t, at) => {
    const mean = curve.mean[at];
    if (mean === null || mean === undefined) return;
    context.beginPath();
    context.arc(x(t), y(mean), 2.2, 0, 7);
    context.fill();
  });
}
