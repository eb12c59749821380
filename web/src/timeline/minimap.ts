import type { Track } from "../api/types";
import { hasBoxes } from "./layout";
import type { Look } from "./overlay";
import { DIMMED, DIMMED_STRENGTH, type Tile } from "./tile";
import type { Viewport } from "./viewport";

/** Tracks that the picture has at most; more are no rows that can be seen. */
export const MOST_ROWS = 18;
const LEAST_ROW_PX = 1.5, MOST_ROW_PX = 6;

/** What the picture of the whole run is made of. */
export interface Whole {
  end_ns: number;
  tracks: readonly Track[];
  tileOf: (track: Track) => Tile | undefined;
  fill: (name: number) => string;
}

/** The whole run, a thin row a track, and where the view is in it. The picture is kept until `reset`. */
export class Minimap {
  private picture: HTMLCanvasElement | null = null;

  reset(): void {
    this.picture = null;
  }

  draw(context: CanvasRenderingContext2D, width: number, height: number, ratio: number, view: Viewport, whole: Whole, look: Look): void {
    if (!this.picture || this.picture.width !== context.canvas.width || this.picture.height !== context.canvas.height) {
      this.picture = paint(context.canvas, width, height, ratio, whole);
    }
    context.clearRect(0, 0, width, height);
    context.drawImage(this.picture, 0, 0, width, height);
    const scale = width / whole.end_ns;
    const left = Math.max(0, view.t0 * scale);
    const right = Math.min(width, view.t1 * scale);
    context.fillStyle = look.ground;
    context.globalAlpha = 0.66;
    context.fillRect(0, 0, left, height);
    context.fillRect(right, 0, width - right, height);
    context.globalAlpha = 1;
    context.strokeStyle = look.accent;
    context.strokeRect(left + 0.5, 0.5, Math.max(2, right - left - 1), height - 1);
  }
}

function paint(like: HTMLCanvasElement, width: number, height: number, ratio: number, whole: Whole): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = like.width;
  canvas.height = like.height;
  const context = canvas.getContext("2d");
  if (!context) return canvas;
  context.scale(ratio, ratio);
  const shown = whole.tracks.filter(hasBoxes).slice(0, MOST_ROWS);
  const row = Math.min(MOST_ROW_PX, Math.max(LEAST_ROW_PX, (height - 4) / Math.max(shown.length, 1)));
  shown.forEach((track, at) => {
    const tile = whole.tileOf(track);
    const top = 2 + at * row;
    if (tile) paintRow(context, tile, top, row, width / whole.end_ns, whole);
  });
  return canvas;
}

function paintRow(context: CanvasRenderingContext2D, tile: Tile, top: number, row: number, scale: number, whole: Whole): void {
  const depth = firstWithStructure(tile);
  for (let box = 0; box < tile.count; box++) {
    if (tile.depth[box] !== depth) continue;
    const full = tile.slices[box]! > 1 ? 0.35 + tile.busy[box]! / 400 : 0.95;
    context.globalAlpha = tile.flags[box]! & DIMMED ? full * DIMMED_STRENGTH : full;
    context.fillStyle = whole.fill(tile.name[box]!);
    context.fillRect(tile.start_ns[box]! * scale, top, Math.max(1, tile.dur_ns[box]! * scale), Math.max(1, row - 0.5));
  }
}

/** The outermost depth with more than a few boxes: one over the whole run tells nothing. */
function firstWithStructure(tile: Tile): number {
  const boxes: number[] = [];
  for (let box = 0; box < tile.count; box++) boxes[tile.depth[box]!] = (boxes[tile.depth[box]!] ?? 0) + 1;
  return Math.max(0, boxes.findIndex((count) => (count ?? 0) > 8));
}
