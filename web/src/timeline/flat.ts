import { rgb } from "../shared/colour";
import { BOX_WORDS, type Batch } from "./batch";
import { GROUND, type BoxRenderer, type Frame } from "./gl";
import { GROUP_PX, ROW_PX, linesIn, type Layout } from "./layout";
import type { Look } from "./overlay";
import { ticks } from "./ruler";
import { COPY, FAILED, WAIT } from "./tile";

const OPAQUE = 0xff000000;
const FAILED_COLOUR = packed(217, 41, 61);
/** Of every so many pixels of a hatched box, aslant, so many are dark. */
const HATCH_PX = 8, HATCH_DARK_PX = 3;
const HATCH_SHADE = 0.42;
/** Narrower boxes are not hatched. */
const LEAST_HATCHED_PX = 6;

/** A box that is more than one colour. */
interface Fancy { from: number; to: number; top: number; bottom: number; flags: number; hatch: number }

/**
 * A renderer for where WebGL 2 is not to be had, or only in software: the same boxes, written as pixels. One canvas holds ground,
 * grid and boxes, and what is written over them: where the processor draws, every canvas is copied for each frame.
 */
export function flatRenderer(canvas: HTMLCanvasElement, layout: () => Layout, look: () => Look): BoxRenderer | null {
  const context = canvas.getContext("2d", { alpha: false, willReadFrequently: true });
  if (!context) return null;
  let batch: Batch | null = null;
  let image = new ImageData(1, 1);
  let pixels = new Uint32Array(image.data.buffer);
  return {
    kind: "2d",
    load(next) {
      batch = next;
    },
    draw(frame) {
      const [width, height] = [canvas.width, canvas.height];
      if (image.width !== width || image.height !== height) {
        image = new ImageData(width, height);
        pixels = new Uint32Array(image.data.buffer);
      }
      const rows = batch ? rowsOf(height, frame, batch) : new Int32Array(height);
      paintGround(pixels, width, height, frame, rows, layout(), look());
      if (batch) paintBoxes(pixels, width, frame, batch, rows);
      context.putImageData(image, 0, 0);
    },
    dispose() {
      batch = null;
    },
  };
}

function packed(r: number, g: number, b: number): number {
  return (OPAQUE | (b << 16) | (g << 8) | r) >>> 0;
}

/** One colour over another. */
function mixed(over: number, under: number, share: number): number {
  const rest = 1 - share;
  const r = (over & 255) * share + (under & 255) * rest + 0.5;
  const g = ((over >>> 8) & 255) * share + ((under >>> 8) & 255) * rest + 0.5;
  const b = ((over >>> 16) & 255) * share + ((under >>> 16) & 255) * rest + 0.5;
  return packed(r | 0, g | 0, b | 0);
}

/** Ground, headings and the lines of the grid; of rows that are repeated later only the first pixels. */
function paintGround(pixels: Uint32Array, width: number, height: number, frame: Frame, rows: Int32Array, layout: Layout, look: Look): void {
  const { t0, ns_per_px, width_px, height_px, scroll_px, ratio } = frame;
  const ground = packed(...GROUND[frame.theme]);
  const [line, group] = [packed(...rgb(look.line)), packed(...rgb(look.group))];
  const row = new Uint32Array(width).fill(ground);
  const faint = mixed(line, ground, 0.5);
  for (const at of ticks({ t0, t1: t0 + width_px * ns_per_px }, width_px).at_ns) row[Math.round(((at - t0) / ns_per_px) * ratio)] = faint;
  for (let y = 0; y < height; y++) {
    pixels.set(row, y * width);
    y = Math.max(y, rows[y]! - 1);
  }
  const fill = (colour: number, from: number, to: number) => pixels.fill(colour, Math.max(0, from) * width, Math.max(0, Math.min(height, to)) * width);
  for (const { kind, top, height: tall } of linesIn(layout, scroll_px, scroll_px + height_px)) {
    const y = Math.round((top - scroll_px) * ratio);
    if (kind === "group") fill(group, y, y + Math.round(GROUP_PX * ratio));
    const foot = Math.round((top - scroll_px + tall) * ratio);
    fill(line, foot - 1, foot);
  }
}

/** Copies a row of pixels into all up to another, twice as many each time. */
function repeatRow(pixels: Uint32Array, width: number, from: number, to: number): void {
  let done = 1;
  while (done < to - from) {
    const more = Math.min(done, to - from - done);
    pixels.copyWithin((from + done) * width, from * width, (from + more) * width);
    done += more;
  }
}

/** Where the boxes of each row end, by the pixel row they begin at; 0 elsewhere. */
function rowsOf(height: number, frame: Frame, { floats, count }: Batch): Int32Array {
  const rows = new Int32Array(height);
  let last = NaN;
  for (let box = 0, at = 2; box < count; box++, at += BOX_WORDS) {
    if (floats[at] === last) continue;
    last = floats[at]!;
    const [top, bottom] = extentOf(last, height, frame);
    if (top < bottom) rows[top] = bottom;
  }
  return rows;
}

/** The first pixel row of a row of boxes that is on the canvas, and the one after its last. */
function extentOf(top_px: number, height: number, { scroll_px, ratio }: Frame): [number, number] {
  const y = Math.round((top_px - scroll_px) * ratio);
  return [Math.max(0, y), Math.min(height, y + Math.max(1, Math.round((ROW_PX - 1) * ratio)))];
}

function paintBoxes(pixels: Uint32Array, width: number, frame: Frame, batch: Batch, rows: Int32Array): void {
  const { floats, words, count, base_ns, unit_ns } = batch;
  const ground = packed(...GROUND[frame.theme]);
  const bright = frame.theme === "dark" ? packed(255, 255, 255) : packed(0, 0, 0);
  const scale = (unit_ns / frame.ns_per_px) * frame.ratio;
  const shift = ((base_ns - frame.t0) / unit_ns) * scale;
  // Boxes of a row are written once, into its first pixels, which are then repeated downwards.
  let [row_px, top, bottom] = [NaN, 0, 0];
  const fancy: Fancy[] = [];
  for (let box = 0, at = 0; box < count; box++, at += BOX_WORDS) {
    const right = floats[at + 1]! * scale + shift;
    const left = floats[at]! * scale + shift;
    if (right < 0 || left >= width) continue;
    if (floats[at + 2] !== row_px) {
      row_px = floats[at + 2]!;
      [top, bottom] = extentOf(row_px, rows.length, frame);
    }
    if (top >= bottom) continue;
    const from = left < 0 ? 0 : left | 0;
    // Boxes that are wide enough leave a gap to the next.
    const end = right - left > 3 * frame.ratio ? Math.floor(right) - 1 : Math.round(right);
    const to = Math.min(width, Math.max(from + 1, end));
    let colour = (OPAQUE | (words[at + 3]! & 0xffffff)) >>> 0;
    const share = words[at + 4]! >>> 24;
    if (share !== 255) colour = mixed(colour, ground, share / 255);
    if ((words[at + 4]! & 0xffffff) === frame.pointed) colour = mixed(bright, colour, 0.28);
    const row = top * width;
    if (to - from === 1) pixels[row + from] = colour;
    else pixels.fill(colour, row + from, row + to);
    const flags = words[at + 3]! >>> 24;
    const isHatched = (flags & (WAIT | COPY)) !== 0 && to - from > LEAST_HATCHED_PX;
    if (isHatched || flags & FAILED) fancy.push({ from, to, top, bottom, flags, hatch: isHatched ? mixed(ground, colour, HATCH_SHADE) : 0 });
  }
  rows.forEach((bottom, top) => bottom > 0 && repeatRow(pixels, width, top, bottom));
  for (const one of fancy) decorate(pixels, width, one, Math.round(4 * frame.ratio));
}

/** Slanted lines over what waits or copies, a red foot under what failed. */
function decorate(pixels: Uint32Array, width: number, { from, to, top, bottom, flags, hatch }: Fancy, foot: number): void {
  for (let y = top; y < bottom && hatch !== 0; y++) {
    for (let x = from + ((HATCH_PX - ((from + y) % HATCH_PX)) % HATCH_PX); x < to; x += HATCH_PX) pixels.fill(hatch, y * width + x, y * width + Math.min(to, x + HATCH_DARK_PX));
  }
  if (flags & FAILED) for (let y = Math.max(top, bottom - foot); y < bottom; y++) pixels.fill(FAILED_COLOUR, y * width + from, y * width + to);
}
