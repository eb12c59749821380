/** What a box is; the lower ones come from the server, the upper ones are the page's own. */
export const OPEN = 1, KERNEL = 2, COPY = 4, FAILED = 8, DIMMED = 16, WAIT = 32, MERGED = 64;
/** How strong a box is drawn that does not fit the filter, beside one that does. */
export const DIMMED_STRENGTH = 0.22;

/** The boxes of a track in a stretch of time, as columns. Sorted by depth, then start. */
export interface Tile {
  readonly t0: number;
  readonly res_ns: number;
  readonly count: number;
  readonly start_ns: Float64Array;
  readonly dur_ns: Float64Array;
  readonly id: BigUint64Array;
  readonly name: Uint32Array;
  /** Slices in the box; 1 for one that is shown as it is. */
  readonly slices: Uint32Array;
  readonly depth: Uint16Array;
  readonly busy: Uint8Array;
  readonly flags: Uint8Array;
  /** Tags by their place among the names; nothing where no box has one. */
  readonly tag: Uint32Array | null;
}

/** Stands for no tag. */
export const NO_TAG = 0xffffffff;

const MAGIC = 0x314c5448, MAGIC_OF_SEVERAL = 0x534c5448;
const HEADER_BYTES = 24;

/** Reads the tile that is all of a buffer, or its bytes from `from` to before `to`; throws when it is none. */
export function decodeTile(buffer: ArrayBuffer, from = 0, to = buffer.byteLength): Tile {
  const isLong = from + HEADER_BYTES <= to && to <= buffer.byteLength;
  const head = new DataView(buffer, isLong ? from : 0);
  if (!isLong || head.getUint32(0, true) !== MAGIC) throw new Error("not a tile: the page and the server do not fit; reload the page");
  const count = head.getUint32(4, true);
  let at = from + HEADER_BYTES;
  const column = (bytes: number): number => {
    const begin = at;
    at = align(at + bytes * count);
    if (begin + bytes * count > to) throw new Error("a tile that is cut off");
    return begin;
  };
  const tile: Tile = {
    t0: head.getFloat64(8, true),
    res_ns: head.getFloat64(16, true),
    count,
    start_ns: new Float64Array(buffer, column(8), count),
    dur_ns: new Float64Array(buffer, column(8), count),
    id: new BigUint64Array(buffer, column(8), count),
    name: new Uint32Array(buffer, column(4), count),
    slices: new Uint32Array(buffer, column(4), count),
    depth: new Uint16Array(buffer, column(2), count),
    busy: new Uint8Array(buffer, column(1), count),
    flags: new Uint8Array(buffer, column(1), count),
    tag: count > 0 && at + 4 * count <= to ? new Uint32Array(buffer, column(4), count) : null,
  };
  return isSorted(tile) ? tile : sorted(tile);
}

/** Reads the tiles of one answer: one, or several with their lengths before them. */
export function decodeTiles(buffer: ArrayBuffer): Tile[] {
  const head = new DataView(buffer);
  if (buffer.byteLength < 8 || head.getUint32(0, true) !== MAGIC_OF_SEVERAL) return [decodeTile(buffer)];
  const tiles: Tile[] = [];
  let at = 8;
  for (let left = head.getUint32(4, true); left > 0; left--) {
    const bytes = Number(head.getBigUint64(at, true));
    tiles.push(decodeTile(buffer, at + 8, at + 8 + bytes));
    at += 8 + bytes;
  }
  return tiles;
}

/** Several tiles as one answer, the inverse of `decodeTiles`. */
export function encodeTiles(tiles: readonly ArrayBuffer[]): ArrayBuffer {
  const buffer = new ArrayBuffer(8 + tiles.reduce((sum, tile) => sum + 8 + tile.byteLength, 0));
  const head = new DataView(buffer);
  head.setUint32(0, MAGIC_OF_SEVERAL, true);
  head.setUint32(4, tiles.length, true);
  let at = 8;
  for (const tile of tiles) {
    head.setBigUint64(at, BigInt(tile.byteLength), true);
    new Uint8Array(buffer, at + 8, tile.byteLength).set(new Uint8Array(tile));
    at += 8 + tile.byteLength;
  }
  return buffer;
}

function align(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

function isSorted(tile: Tile): boolean {
  for (let at = 1; at < tile.count; at++) {
    const deeper = tile.depth[at]! - tile.depth[at - 1]!;
    if (deeper < 0 || (deeper === 0 && tile.start_ns[at]! < tile.start_ns[at - 1]!)) return false;
  }
  return true;
}

function sorted(tile: Tile): Tile {
  const order = Array.from({ length: tile.count }, (_, at) => at);
  order.sort((a, b) => tile.depth[a]! - tile.depth[b]! || tile.start_ns[a]! - tile.start_ns[b]!);
  const pick = <T extends { [at: number]: number | bigint }>(from: T, to: T): T => {
    order.forEach((old, at) => ((to as { [at: number]: number | bigint })[at] = from[old]!));
    return to;
  };
  return {
    ...tile,
    start_ns: pick(tile.start_ns, new Float64Array(tile.count)),
    dur_ns: pick(tile.dur_ns, new Float64Array(tile.count)),
    id: pick(tile.id, new BigUint64Array(tile.count)),
    name: pick(tile.name, new Uint32Array(tile.count)),
    slices: pick(tile.slices, new Uint32Array(tile.count)),
    depth: pick(tile.depth, new Uint16Array(tile.count)),
    busy: pick(tile.busy, new Uint8Array(tile.count)),
    flags: pick(tile.flags, new Uint8Array(tile.count)),
    tag: tile.tag && pick(tile.tag, new Uint32Array(tile.count)),
  };
}

/** A tile as bytes, the inverse of `decodeTile`. */
export function encodeTile(tile: Tile): ArrayBuffer {
  const { count } = tile;
  const columns = [tile.start_ns, tile.dur_ns, tile.id, tile.name, tile.slices, tile.depth, tile.busy, tile.flags, ...(tile.tag ? [tile.tag] : [])];
  const sizes = columns.map((column) => align(column.BYTES_PER_ELEMENT * count));
  const buffer = new ArrayBuffer(HEADER_BYTES + sizes.reduce((sum, size) => sum + size, 0));
  const head = new DataView(buffer);
  head.setUint32(0, MAGIC, true);
  head.setUint32(4, count, true);
  head.setFloat64(8, tile.t0, true);
  head.setFloat64(16, tile.res_ns, true);
  let at = HEADER_BYTES;
  columns.forEach((column, which) => {
    new Uint8Array(buffer, at, column.byteLength).set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength));
    at += sizes[which]!;
  });
  return buffer;
}
