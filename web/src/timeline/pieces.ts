import type { Track } from "../api/types";
import type { Piece } from "./batch";
import { hasBoxes, linesIn, type Layout, type Line } from "./layout";
import { MOST_ROWS } from "./minimap";
import type { Tile } from "./tile";
import { TILE_UNITS, tileSpan, tilesOver, wholeRunResolution, type TileKey } from "./tile-key";
import type { Viewport } from "./viewport";

/** Pixels above and below the window for which tiles are asked too, and for which boxes are ready. */
const OVERSCAN_PX = 300, READY_PX = 60;
/** A clip that is so many times as long as the view is made anew. */
const MOST_CLIP = 5;
/** Tracks out of sight of which the whole run is asked for, to have something to show when they are scrolled to. */
const AHEAD = 200;

/** A tile to ask for. One that is seen has to be as new as the run. */
export interface Wish extends TileKey { readonly isSeen: boolean }

/** What is drawn of a run: lines, tiles and their resolution. */
export interface Window {
  readonly lines: Line[];
  /** Those of them that are drawn. */
  readonly drawn: Line[];
  /** The stretch of time of which boxes are drawn: the view, and half as much on either side. */
  readonly clip: Viewport;
  readonly res_ns: number;
  readonly first: number;
  readonly last: number;
  /** Equal for equal windows. */
  readonly text: string;
}

/** The tracks with boxes in a stretch of pixels, and the tiles that cover the view. */
export function windowOf(layout: Layout, scroll_px: number, height_px: number, view: Viewport, res_ns: number, end_ns: number, before?: Viewport): Window {
  const linesWithin = (margin_px: number) => linesIn(layout, scroll_px - margin_px, scroll_px + height_px + margin_px).filter(({ track }) => track && hasBoxes(track));
  const [lines, drawn] = [linesWithin(OVERSCAN_PX), linesWithin(READY_PX)];
  const [first, last] = tilesOver(view, res_ns, end_ns);
  const clip = before && stillFits(before, view) ? before : clipOf(view);
  const text = [res_ns, first, last, clip.t0, clip.t1, lines[0]?.key, lines.length, drawn[0]?.key, drawn.length].join(" ");
  return { lines, drawn, clip, res_ns, first, last, text };
}

/** The view, and half as much on either side. */
function clipOf({ t0, t1 }: Viewport): Viewport {
  const half = (t1 - t0) / 2;
  return { t0: t0 - half, t1: t1 + half };
}

/** Whether a clip still has all of the view, and not much more. */
function stillFits(clip: Viewport, view: Viewport): boolean {
  return clip.t0 <= view.t0 && clip.t1 >= view.t1 && clip.t1 - clip.t0 <= MOST_CLIP * (view.t1 - view.t0);
}

/** The tiles to ask for, most wanted first: those in view, whole runs, then neighbours. */
export function wanted(window: Window, tracks: readonly Track[], end_ns: number): Wish[] {
  const wishes: Wish[] = [];
  const add = (of: readonly Track[], res_ns: number, index: number, isSeen: boolean) => {
    for (const track of of) wishes.push({ track: track.id, res_ns, index, isSeen });
  };
  const [near, drawn] = [window.lines, window.drawn].map((lines) => lines.flatMap(({ track }) => track ?? [])) as [Track[], Track[]];
  const boxed = tracks.filter(hasBoxes);
  const [whole, width] = [wholeRunResolution(end_ns), window.res_ns * TILE_UNITS];
  for (let index = window.first; index <= window.last; index++) add(drawn, window.res_ns, index, true);
  add(boxed.slice(0, MOST_ROWS), whole, 0, true);
  for (let index = window.first; index <= window.last; index++) add(near, window.res_ns, index, false);
  add([...near, ...boxed.slice(0, AHEAD)], whole, 0, false);
  if (window.first > 0) add(near, window.res_ns, window.first - 1, false);
  if ((window.last + 1) * width < end_ns) add(near, window.res_ns, window.last + 1, false);
  return wishes;
}

/** What there is to draw of a window: its tiles, or coarser ones in their place. */
export function piecesOf(window: Window, best: (key: TileKey) => Tile | undefined): Piece[] {
  const pieces: Piece[] = [];
  for (const line of window.drawn) {
    if (!line.track) continue;
    let before: Tile | undefined;
    for (let index = window.first; index <= window.last; index++) {
      const key = { track: line.track.id, res_ns: window.res_ns, index };
      const tile = best(key);
      if (tile) {
        const { t0, t1 } = tileSpan(key);
        pieces.push({ line, tile, from_ns: t0, to_ns: t1, isFirst: before === undefined, clip: window.clip });
      }
      before = tile;
    }
  }
  return pieces;
}
