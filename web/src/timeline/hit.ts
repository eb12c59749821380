import type { Line } from "./layout";
import { COPY, KERNEL, NO_TAG, type Tile } from "./tile";

/** A box under the pointer, or found by a walk. */
export interface Box {
  /** Id of the slice; `null` for a merged box. */
  id: string | null;
  kind: "span" | "kernel";
  line: Line;
  depth: number;
  name: number;
  /** Place of its tag among the names; none for one that has none, or no room to show it. */
  tag: number | null;
  start_ns: number;
  dur_ns: number;
  slices: number;
  busy: number;
  flags: number;
}

/** The box of a tile at a depth and moment; `slack_ns` makes thin ones easier to meet. */
export function boxAt(tile: Tile, line: Line, depth: number, at_ns: number, slack_ns: number): Box | null {
  let best = -1;
  let bestFar = Infinity;
  for (let box = firstOfDepth(tile, depth); box < tile.count && tile.depth[box] === depth; box++) {
    const start = tile.start_ns[box]!;
    if (start > at_ns + slack_ns) break;
    const end = start + tile.dur_ns[box]!;
    const far = at_ns < start ? start - at_ns : at_ns > end ? at_ns - end : 0;
    if (far <= slack_ns && (far < bestFar || (far === bestFar && tile.dur_ns[box]! < tile.dur_ns[best]!))) {
      best = box;
      bestFar = far;
    }
  }
  return best < 0 ? null : boxOf(tile, line, best);
}

/** The box at a place of a tile. */
export function boxOf(tile: Tile, line: Line, at: number): Box {
  const flags = tile.flags[at]!;
  const merged = tile.slices[at]! > 1 || tile.id[at] === 0n;
  return {
    id: merged ? null : String(tile.id[at]),
    kind: flags & (KERNEL | COPY) ? "kernel" : "span",
    line,
    depth: tile.depth[at]!,
    name: tile.name[at]!,
    tag: tagOf(tile, at),
    start_ns: tile.start_ns[at]!,
    dur_ns: tile.dur_ns[at]!,
    slices: tile.slices[at]!,
    busy: tile.busy[at]! / 255,
    flags,
  };
}

function tagOf(tile: Tile, at: number): number | null {
  const tag = tile.tag?.[at] ?? NO_TAG;
  return tag === NO_TAG ? null : tag;
}

function firstOfDepth(tile: Tile, depth: number): number {
  let low = 0;
  let high = tile.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tile.depth[middle]! < depth) low = middle + 1;
    else high = middle;
  }
  return low;
}
