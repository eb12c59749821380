import { fillOf, isWait, rgb } from "../shared/colour";
import type { Theme } from "../state/theme";
import { rowTop, type Line } from "./layout";
import { MERGED, NO_TAG, WAIT, DIMMED, DIMMED_STRENGTH, type Tile } from "./tile";
import type { Viewport } from "./viewport";

/** Numbers of one box in the buffer: left, right (units), top (px), colour and flags, name and strength. */
export const BOX_WORDS = 5;
/** Boxes at least this wide, in units, may carry a label. */
const LABEL_UNITS = 14;
/** Merged boxes closer than this, in units, are told as one crowd. */
const CROWD_GAP_UNITS = 3;

/** A box wide enough for its name, or a crowd of merged ones wide enough for their number. */
export interface Label { start_ns: number; end_ns: number; top: number; name: number; tag: number; slices: number; flags: number }

/** A piece of a track to draw: what of a tile is its own, and of that what is in the clip. */
export interface Piece { line: Line; tile: Tile; from_ns: number; to_ns: number; isFirst: boolean; clip: Viewport }

/** Everything that one draw call draws. Units count from `base_ns`. */
export interface Batch {
  base_ns: number;
  unit_ns: number;
  count: number;
  floats: Float32Array;
  words: Uint32Array;
  labels: Label[];
  slices: number;
}

/** Colours of names, found once for each theme. */
export class NameStyles {
  private colours: Uint32Array = new Uint32Array(0);
  private waits: Uint8Array = new Uint8Array(0);
  private fills: string[] = [];

  /** Brings the table up to the names that are known now. */
  update(names: readonly string[], theme: Theme): void {
    this.colours = new Uint32Array(names.length);
    this.waits = new Uint8Array(names.length);
    this.fills = names.map((name) => fillOf(name, theme));
    names.forEach((name, at) => {
      const [r, g, b] = rgb(this.fills[at]!);
      this.colours[at] = r | (g << 8) | (b << 16);
      this.waits[at] = isWait(name) ? WAIT : 0;
    });
  }

  colour(name: number): number {
    return this.colours[name] ?? 0x888888;
  }

  /** The same as a style sheet writes it. */
  fill(name: number): string {
    return this.fills[name] ?? "#888888";
  }

  wait(name: number): number {
    return this.waits[name] ?? 0;
  }
}

/** Packs pieces for one draw call; `old` lends its memory. */
export function buildBatch(pieces: readonly Piece[], base_ns: number, unit_ns: number, styles: NameStyles, old: Batch | null): Batch {
  const most = pieces.reduce((sum, piece) => sum + piece.tile.count, 0);
  let floats = old?.floats;
  if (!floats || floats.length < most * BOX_WORDS) floats = new Float32Array(Math.ceil(most * 1.5 + 64) * BOX_WORDS);
  const words = new Uint32Array(floats.buffer);
  const batch: Batch = { base_ns, unit_ns, count: 0, floats, words, labels: [], slices: 0 };
  for (const piece of pieces) addPiece(batch, piece, styles);
  return batch;
}

function addPiece(batch: Batch, { line, tile, from_ns, to_ns, isFirst, clip }: Piece, styles: NameStyles): void {
  const { base_ns, unit_ns, floats, words, labels } = batch;
  const tops = Array.from({ length: line.depths }, (_, depth) => rowTop(line, depth));
  const far = 1e6 * unit_ns;
  let crowd: Label | null = null;
  let crowdDepth = -1;
  let at = batch.count * BOX_WORDS;
  for (let box = 0; box < tile.count; box++) {
    const depth = tile.depth[box]!;
    if (depth >= line.depths) continue;
    const start = tile.start_ns[box]!;
    const end = start + tile.dur_ns[box]!;
    if (end < clip.t0 || start > clip.t1) continue;
    // What began in the tile before is drawn there.
    if (end < from_ns || start >= to_ns || (start < from_ns && !isFirst)) continue;
    const name = tile.name[box]!;
    const slices = tile.slices[box]!;
    const merged = slices > 1;
    const flags = tile.flags[box]! | styles.wait(name) | (merged ? MERGED : 0);
    const top = tops[depth]!;
    floats[at] = (Math.max(start, base_ns - far) - base_ns) / unit_ns;
    floats[at + 1] = (Math.min(end, base_ns + far) - base_ns) / unit_ns;
    floats[at + 2] = top;
    words[at + 3] = (styles.colour(name) | (flags << 24)) >>> 0;
    words[at + 4] = ((name & 0xffffff) | (strength(tile.busy[box]!, merged, flags) << 24)) >>> 0;
    at += BOX_WORDS;
    batch.count++;
    batch.slices += slices;
    if (!merged) {
      if (tile.dur_ns[box]! >= LABEL_UNITS * unit_ns) labels.push({ start_ns: start, end_ns: end, top, name, tag: tile.tag?.[box] ?? NO_TAG, slices: 1, flags });
    } else if (crowd && crowdDepth === depth && start - crowd.end_ns < CROWD_GAP_UNITS * tile.res_ns) {
      crowd.end_ns = end;
      crowd.slices += slices;
    } else {
      if (crowd) keepCrowd(labels, crowd, unit_ns);
      crowd = { start_ns: start, end_ns: end, top, name, tag: NO_TAG, slices, flags };
      crowdDepth = depth;
    }
  }
  if (crowd) keepCrowd(labels, crowd, unit_ns);
}

function keepCrowd(labels: Label[], crowd: Label, unit_ns: number): void {
  if (crowd.end_ns - crowd.start_ns >= 4 * LABEL_UNITS * unit_ns) labels.push(crowd);
}

/** How strong a box is drawn: a merged one by how much of it is covered. */
function strength(busy: number, merged: boolean, flags: number): number {
  const full = merged ? 90 + busy * 0.55 : 255;
  return Math.min(255, Math.round(flags & DIMMED ? full * DIMMED_STRENGTH : full));
}
