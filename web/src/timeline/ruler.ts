import { duration } from "../shared/format";
import type { Viewport } from "./viewport";

const STEPS = [1, 2, 5];
const LEAST_GAP_PX = 110;

/** Round moments to write on the ruler, and how far they are apart. */
export function ticks(view: Viewport, width_px: number): { step_ns: number; at_ns: number[] } {
  const least = ((view.t1 - view.t0) / Math.max(width_px, 1)) * LEAST_GAP_PX;
  const step_ns = roundStep(least);
  const first = Math.ceil(view.t0 / step_ns);
  const last = Math.floor(view.t1 / step_ns);
  const at_ns: number[] = [];
  for (let tick = first; tick <= last; tick++) at_ns.push(tick * step_ns);
  return { step_ns, at_ns };
}

function roundStep(least_ns: number): number {
  if (least_ns > 60e9) return [120, 300, 600, 1800, 3600, 7200, 21600, 86400].map((s) => s * 1e9).find((step) => step >= least_ns) ?? Math.ceil(least_ns / 86400e9) * 86400e9;
  if (least_ns > 20e9) return least_ns > 30e9 ? 60e9 : 30e9;
  const power = 10 ** Math.floor(Math.log10(Math.max(least_ns, 1)));
  const factor = STEPS.find((each) => each * power >= least_ns);
  return factor === undefined ? power * 10 : factor * power;
}

/** A moment of the ruler: as exact as the distance of its ticks needs. */
export function tickText(at_ns: number, step_ns: number): string {
  const sign = at_ns < 0 ? "-" : "";
  const size = Math.abs(at_ns);
  if (size === 0) return "0";
  if (size >= 120e9) return sign + clock(size, step_ns);
  const [unit, ns] = size >= 1e9 ? ["s", 1e9] : size >= 1e6 ? ["ms", 1e6] : size >= 1e3 ? ["µs", 1e3] : ["ns", 1];
  const decimals = Math.max(0, Math.ceil(Math.log10((ns as number) / step_ns) - 1e-9));
  return `${sign}${(size / (ns as number)).toFixed(decimals)} ${unit}`;
}

function clock(ns: number, step_ns: number): string {
  const decimals = Math.max(0, Math.ceil(Math.log10(1e9 / step_ns) - 1e-9));
  const all = ns / 1e9;
  const h = Math.floor(all / 3600);
  const m = Math.floor(all / 60) % 60;
  const s = (all - h * 3600 - m * 60).toFixed(decimals).padStart(decimals ? decimals + 3 : 2, "0");
  return h > 0 ? `${h}:${String(m).padStart(2, "0")}:${s}` : `${m}:${s}`;
}

/** Where something of a length begins or ends: exact to a hundredth of it. */
export function instant(at_ns: number, length_ns: number): string {
  return tickText(at_ns, Math.max(1, length_ns / 100));
}

export interface RulerLook { text: string; line: string; accent: string; accentBack: string }

/** Draws the ruler: ticks, the selected range and the pointer's moment. */
export function drawRuler(context: CanvasRenderingContext2D, view: Viewport, width: number, height: number, look: RulerLook, range: Viewport | null, pointer_ns: number | null): void {
  context.clearRect(0, 0, width, height);
  const x = (ns: number) => ((ns - view.t0) / (view.t1 - view.t0)) * width;
  if (range) {
    context.fillStyle = look.accentBack;
    context.fillRect(x(range.t0), 0, Math.max(1, x(range.t1) - x(range.t0)), height);
  }
  const { step_ns, at_ns } = ticks(view, width);
  context.font = '11px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  context.textBaseline = "middle";
  context.fillStyle = look.text;
  context.strokeStyle = look.line;
  context.beginPath();
  const shown = range ? labelAt(context, duration(range.t1 - range.t0), (x(range.t0) + x(range.t1)) / 2, width) : pointer_ns !== null ? labelAt(context, tickText(pointer_ns, step_ns / 100), x(pointer_ns), width) : null;
  for (const at of at_ns) {
    const left = Math.round(x(at)) + 0.5;
    context.moveTo(left, height - 8);
    context.lineTo(left, height);
    const text = tickText(at, step_ns);
    const isCovered = shown !== null && left + 4 < shown.right && left + 4 + context.measureText(text).width > shown.left;
    if (!isCovered) context.fillText(text, left + 4, height / 2 + 1);
  }
  context.stroke();
  if (shown) drawLabel(context, shown, height, look);
}

interface Label { text: string; left: number; right: number }

/** Where a label around a place stands, kept on the ruler. */
function labelAt(context: CanvasRenderingContext2D, text: string, middle: number, width: number): Label {
  const size = context.measureText(text).width + 10;
  const left = Math.min(Math.max(middle - size / 2, 0), width - size);
  return { text, left, right: left + size };
}

function drawLabel(context: CanvasRenderingContext2D, { text, left, right }: Label, height: number, look: RulerLook): void {
  context.fillStyle = look.accent;
  context.fillRect(left, 2, right - left, height - 4);
  context.fillStyle = "#fff";
  context.fillText(text, left + 5, height / 2 + 1);
}
