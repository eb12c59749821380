import type { Viewport } from "./viewport";

/** Width of a tile in units of its resolution. */
export const TILE_UNITS = 4096;

/** Which tile of a track. `res_ns` is a power of two: nanoseconds a unit. */
export interface TileKey { readonly track: string; readonly res_ns: number; readonly index: number }

/** The resolution for a scale: the power of two nearest to a pixel, never below a nanosecond. */
export function resolution(ns_per_px: number): number {
  return 2 ** Math.max(0, Math.round(Math.log2(ns_per_px)));
}

/** The first and last tile that a stretch touches, none before the run's beginning or after its end. */
export function tilesOver(view: Viewport, res_ns: number, end_ns: number): [number, number] {
  const width = res_ns * TILE_UNITS;
  const first = Math.max(0, Math.floor(view.t0 / width));
  const last = Math.min(Math.floor(Math.max(end_ns, 0) / width), Math.floor(view.t1 / width));
  return [first, last];
}

/** Where a tile begins and ends. */
export function tileSpan(key: TileKey): Viewport {
  const width = key.res_ns * TILE_UNITS;
  return { t0: key.index * width, t1: (key.index + 1) * width };
}

/** The tile twice as wide that covers this one. */
export function coarser(key: TileKey): TileKey {
  return { track: key.track, res_ns: key.res_ns * 2, index: Math.floor(key.index / 2) };
}

/** A text that no other tile has. */
export function keyText(key: TileKey): string {
  return `${key.track}|${key.res_ns}|${key.index}`;
}

/** The resolution at which one tile holds the whole run. */
export function wholeRunResolution(end_ns: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(end_ns, 1) / TILE_UNITS)));
}
