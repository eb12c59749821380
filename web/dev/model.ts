/** A run made by formula: any number of slices, none of them stored. */
export interface Level { name: (k: number) => string; each: number; fill: number }
export interface TrackModel { id: number; kind: "thread" | "stream"; process: string; pid: number; name: string; levels: Level[]; counts: number[]; host?: string; process_index?: number }
export interface Slice { id: string; k: number; depth: number; start_ns: number; dur_ns: number; name: string; flags: number }

const ID_STEP = 2 ** 32;

/** A number from 0 to 1 that a whole number always has. */
export function chance(k: number, salt: number): number {
  let value = Math.imul(k ^ Math.imul(salt + 1, 0x9e3779b1), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return ((value ^ (value >>> 16)) >>> 0) / 2 ** 32;
}

export function makeTrack(id: number, kind: TrackModel["kind"], process: string, pid: number, name: string, levels: Level[]): TrackModel {
  const counts: number[] = [];
  for (const level of levels) counts.push((counts[counts.length - 1] ?? 1) * level.each);
  return { id, kind, process, pid, name, levels, counts };
}

/** Where the slot of the k-th slice of a depth begins, and how wide it is; slots lie inside the slice around. */
function slot(track: TrackModel, depth: number, k: number, end_ns: number): [number, number] {
  const level = track.levels[depth]!;
  const [from, width] = depth === 0 ? [0, end_ns] : slot(track, depth - 1, Math.floor(k / level.each), end_ns);
  const inner = depth === 0 ? width : width * track.levels[depth - 1]!.fill * 0.98;
  const step = inner / level.each;
  return [from + (depth === 0 ? 0 : width * 0.004) + (k % level.each) * step, step];
}

export function sliceAt(track: TrackModel, depth: number, k: number, end_ns: number): Slice {
  const level = track.levels[depth]!;
  const [from, width] = slot(track, depth, k, end_ns);
  const isInner = depth === track.levels.length - 1;
  const fill = isInner ? level.fill * (0.35 + 0.6 * chance(k, track.id)) : level.fill;
  const flags = track.kind === "stream" ? 2 : 0;
  return { id: String((track.id * 16 + depth) * ID_STEP + k + 1), k, depth, start_ns: Math.round(from), dur_ns: Math.max(1, Math.round(width * fill)), name: level.name(k), flags };
}

export function parseId(id: string): { track: number; depth: number; k: number } {
  const value = Number(id) - 1;
  const high = Math.floor(value / ID_STEP);
  return { track: Math.floor(high / 16), depth: high % 16, k: value % ID_STEP };
}

/** The first slice of a depth that ends after a moment. */
export function firstAfter(track: TrackModel, depth: number, at_ns: number, end_ns: number): number {
  let low = 0;
  let high = track.counts[depth]!;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const slice = sliceAt(track, depth, middle, end_ns);
    if (slice.start_ns + slice.dur_ns <= at_ns) low = middle + 1;
    else high = middle;
  }
  return low;
}
