import type { Frame } from "./gl";
import { GROUP_PX, ROW_PX, linesIn, rowTop, type Layout, type Line } from "./layout";
import { tickText, ticks } from "./ruler";
import type { Viewport } from "./viewport";

/** A line from the call that launches a kernel to the kernel. */
export interface Arrow { from_ns: number; from_y: number; to_ns: number; to_y: number }
/** A box drawn with an outline. */
export interface Outline { line: Line; depth: number; start_ns: number; dur_ns: number }

/** Colours of the style sheet that a canvas needs. */
export interface Look { text: string; textFaint: string; line: string; accent: string; accentBack: string; group: string; ground: string; curve: string; markCurve: string; markLine: string }

export interface Overlay {
  selected: Outline | null;
  pointed: Outline | null;
  range: Viewport | null;
  pointer_ns: number | null;
  arrows: Arrow[];
  markLines: number[];
  gaps: { from_ns: number; to_ns: number }[];
}

const xOf = (frame: Frame, ns: number): number => (ns - frame.t0) / frame.ns_per_px;

/** Lines of the time grid and under each track, and the background of headings. */
export function drawGrid(context: CanvasRenderingContext2D, layout: Layout, frame: Frame, look: Look): void {
  const view = { t0: frame.t0, t1: frame.t0 + frame.width_px * frame.ns_per_px };
  context.strokeStyle = look.line;
  context.lineWidth = 1;
  context.globalAlpha = 0.5;
  context.beginPath();
  for (const at of ticks(view, frame.width_px).at_ns) {
    const x = Math.round(xOf(frame, at)) + 0.5;
    context.moveTo(x, 0);
    context.lineTo(x, frame.height_px);
  }
  context.stroke();
  context.globalAlpha = 1;
  context.beginPath();
  for (const line of linesIn(layout, frame.scroll_px, frame.scroll_px + frame.height_px)) {
    const top = line.top - frame.scroll_px;
    if (line.kind === "group") {
      context.fillStyle = look.group;
      context.fillRect(0, top, frame.width_px, GROUP_PX);
    }
    context.moveTo(0, Math.round(top + line.height) - 0.5);
    context.lineTo(frame.width_px, Math.round(top + line.height) - 0.5);
  }
  context.stroke();
}

/** Range, selection, pointer, arrows and mark lines, above everything. */
export function drawOverlay(context: CanvasRenderingContext2D, overlay: Overlay, frame: Frame, look: Look): void {
  drawRange(context, overlay.range, frame, look);
  if (overlay.pointed) outline(context, overlay.pointed, frame, look.text, 1);
  if (overlay.selected) outline(context, overlay.selected, frame, look.accent, 2.5);
  for (const arrow of overlay.arrows) drawArrow(context, arrow, frame, look.accent);
  context.lineWidth = 1;
  for (const at of overlay.markLines) vertical(context, xOf(frame, at), frame, look.markLine, [5, 3]);
  if (overlay.markLines.length > 0) writeTimes(context, overlay.markLines, frame, look);
  if (overlay.pointer_ns !== null) vertical(context, xOf(frame, overlay.pointer_ns), frame, look.textFaint, []);
}

const TIME_PX = 16;

/** The moment of each mark line beside its upper end; those that would cover each other stand in rows. */
function writeTimes(context: CanvasRenderingContext2D, lines: readonly number[], frame: Frame, look: Look): void {
  const view = { t0: frame.t0, t1: frame.t0 + frame.width_px * frame.ns_per_px };
  const { step_ns } = ticks(view, frame.width_px);
  const ends: number[] = [];
  context.font = '11px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  context.textBaseline = "middle";
  for (const at of [...lines].sort((a, b) => a - b)) {
    const text = tickText(at, step_ns / 100);
    const wide = context.measureText(text).width + 8;
    const x = xOf(frame, at);
    if (x < 0 || x > frame.width_px) continue;
    // Left of the line where there is no room at its right.
    const left = x + wide > frame.width_px ? x - wide : x;
    const free = ends.findIndex((end) => end <= left);
    const row = free < 0 ? ends.length : free;
    ends[row] = left + wide;
    context.fillStyle = look.markLine;
    context.fillRect(left, row * TIME_PX, wide, TIME_PX - 1);
    context.fillStyle = look.ground;
    context.fillText(text, left + 4, row * TIME_PX + TIME_PX / 2);
  }
}

function drawRange(context: CanvasRenderingContext2D, range: Viewport | null, frame: Frame, look: Look): void {
  if (!range) return;
  const left = xOf(frame, range.t0);
  const right = xOf(frame, range.t1);
  context.globalAlpha = 0.45;
  context.fillStyle = look.ground;
  context.fillRect(0, 0, Math.max(0, left), frame.height_px);
  context.fillRect(right, 0, Math.max(0, frame.width_px - right), frame.height_px);
  context.globalAlpha = 1;
  for (const x of [left, right]) vertical(context, x, frame, look.accent, []);
}

function vertical(context: CanvasRenderingContext2D, x: number, frame: Frame, colour: string, dash: number[]): void {
  if (x < -1 || x > frame.width_px + 1) return;
  context.strokeStyle = colour;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(Math.round(x) + 0.5, 0);
  context.lineTo(Math.round(x) + 0.5, frame.height_px);
  context.stroke();
  context.setLineDash([]);
}

function outline(context: CanvasRenderingContext2D, box: Outline, frame: Frame, colour: string, width: number): void {
  if (box.line.depths <= box.depth) return;
  const left = Math.max(-4, xOf(frame, box.start_ns));
  const right = Math.min(frame.width_px + 4, xOf(frame, box.start_ns + box.dur_ns));
  const top = rowTop(box.line, box.depth) - frame.scroll_px;
  if (right < -4 || left > frame.width_px + 4 || top < -ROW_PX || top > frame.height_px) return;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.strokeRect(left + 0.5, top + 0.5, Math.max(2, right - left - 1), ROW_PX - 2);
}

/** Draws an arrow as a curve that leaves downwards and arrives from above. */
function drawArrow(context: CanvasRenderingContext2D, arrow: Arrow, frame: Frame, colour: string): void {
  const [x0, y0] = [xOf(frame, arrow.from_ns), arrow.from_y - frame.scroll_px];
  const [x1, y1] = [xOf(frame, arrow.to_ns), arrow.to_y - frame.scroll_px];
  const bend = Math.max(24, Math.abs(y1 - y0) * 0.4) * (y1 >= y0 ? 1 : -1);
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
  context.stroke();
  const tip = y1 >= y0 ? -6 : 6;
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - 4, y1 + tip);
  context.lineTo(x1 + 4, y1 + tip);
  context.fill();
}
