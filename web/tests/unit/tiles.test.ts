import assert from "node:assert/strict";
import { test } from "node:test";
import { coarser, keyText, resolution, tileSpan, tilesOver, wholeRunResolution } from "../../src/timeline/tile-key";
import { NO_TAG, decodeTile, decodeTiles, encodeTile, encodeTiles, type Tile } from "../../src/timeline/tile";
import { boxAt } from "../../src/timeline/hit";
import { layOut } from "../../src/timeline/layout";
import { tileOf } from "../../dev/tiles";
import { devRuns } from "../../dev/runs";

const tile = (boxes: [start: number, dur: number, depth: number][]): Tile => ({
  t0: 0, res_ns: 1, count: boxes.length,
  start_ns: Float64Array.from(boxes, ([start]) => start),
  dur_ns: Float64Array.from(boxes, ([, dur]) => dur),
  id: BigUint64Array.from(boxes, (_, at) => 2n ** 60n + BigInt(at)),
  name: Uint32Array.from(boxes, (_, at) => at),
  slices: Uint32Array.from(boxes, () => 1),
  depth: Uint16Array.from(boxes, ([, , depth]) => depth),
  busy: Uint8Array.from(boxes, () => 255),
  flags: Uint8Array.from(boxes, () => 0),
  tag: null,
});

test("a tile of any length is read back as it was written", () => {
  for (const count of [0, 1, 2, 3, 7, 8, 9]) {
    const made = tile(Array.from({ length: count }, (_, at) => [at * 10, 5, 0]));
    const read = decodeTile(encodeTile(made));
    assert.deepEqual(read, made);
  }
});

test("several tiles in one answer are read back in their order", () => {
  const made = [0, 3, 8].map((count) => tile(Array.from({ length: count }, (_, at) => [at * 10, 5, 0])));
  assert.deepEqual(decodeTiles(encodeTiles(made.map(encodeTile))), made);
  assert.deepEqual(decodeTiles(encodeTile(made[1]!)), [made[1]]);
  assert.throws(() => decodeTiles(encodeTiles(made.map(encodeTile)).slice(0, -16)));
});

test("tags are there when a box has one, and stay with their boxes", () => {
  for (const count of [1, 2, 3, 8]) {
    const made = { ...tile(Array.from({ length: count }, (_, at) => [(count - at) * 10, 5, 0])), tag: Uint32Array.from({ length: count }, (_, at) => (at === 0 ? 4 : NO_TAG)) };
    const read = decodeTile(encodeTile(made));
    assert.equal(read.tag?.[count - 1], 4, "sorted by start, the first one comes last");
    const [line] = layOut([{ id: "1", kind: "thread", process: "p", pid: 1, rank: null, name: "a", depths: 1, slices: count, start_ns: 0, end_ns: 100 }], new Set()).lines.filter(({ track }) => track);
    assert.equal(boxAt(read, line!, 0, count * 10 + 1, 0)?.tag, 4);
    assert.equal(boxAt(tile([[0, 5, 0]]), line!, 0, 1, 0)?.tag, null);
  }
});

test("ids keep all their 64 bits", () => {
  assert.equal(decodeTile(encodeTile(tile([[0, 1, 0]]))).id[0], 2n ** 60n);
});

test("a tile out of order is sorted by depth, then start", () => {
  const read = decodeTile(encodeTile(tile([[30, 1, 1], [5, 2, 0], [1, 3, 0]])));
  assert.deepEqual([...read.start_ns], [1, 5, 30]);
  assert.deepEqual([...read.name], [2, 1, 0]);
});

test("what is not a tile, or is cut off, is refused", () => {
  assert.throws(() => decodeTile(new ArrayBuffer(8)), /not a tile/);
  assert.throws(() => decodeTile(new ArrayBuffer(64)), /not a tile/);
  const whole = encodeTile(tile([[0, 1, 0], [1, 1, 0]]));
  assert.throws(() => decodeTile(whole.slice(0, whole.byteLength - 16)), /cut off/);
});

test("resolution is the power of two nearest to a pixel, never below a nanosecond", () => {
  assert.equal(resolution(0.01), 1);
  assert.equal(resolution(1000), 1024);
  assert.equal(resolution(1400), 1024);
  assert.equal(resolution(1500), 2048);
});

test("tiles cover a view, and nothing outside the run", () => {
  assert.deepEqual(tilesOver({ t0: -500, t1: 9000 }, 1, 100_000), [0, 2]);
  assert.deepEqual(tilesOver({ t0: 5000, t1: 1e9 }, 1, 10_000), [1, 2]);
  const key = { track: "7", res_ns: 4, index: 3 };
  assert.deepEqual(tileSpan(key), { t0: 3 * 4 * 4096, t1: 4 * 4 * 4096 });
  const wide = tileSpan(coarser(key));
  assert.ok(wide.t0 <= tileSpan(key).t0 && wide.t1 >= tileSpan(key).t1);
  assert.notEqual(keyText(key), keyText(coarser(key)));
});

test("one tile holds a run at its whole-run resolution", () => {
  for (const end of [1, 4095, 4096, 4097, 1e6, 3.3e12]) {
    const res = wholeRunResolution(end);
    assert.ok(res * 4096 >= end, `${end}`);
    assert.ok(res === 1 || (res / 2) * 4096 < end, `${end} needs no coarser one`);
  }
});

test("the box under the pointer is the nearest of its depth", () => {
  const { lines } = layOut([{ id: "1", kind: "thread", process: "p", pid: 1, rank: null, name: "main", depths: 2, slices: 3, start_ns: 0, end_ns: 100 }], new Set());
  const line = lines[1]!;
  const boxes = tile([[0, 100, 0], [10, 5, 1], [20, 5, 1]]);
  assert.equal(boxAt(boxes, line, 0, 50, 0)?.name, 0);
  assert.equal(boxAt(boxes, line, 1, 12, 0)?.name, 1);
  assert.equal(boxAt(boxes, line, 1, 17, 0), null);
  assert.equal(boxAt(boxes, line, 1, 18.5, 2)?.name, 2, "slack reaches the nearer one");
});

test("ten million slices: a tile stays small, and every slice is counted once", () => {
  const run = devRuns(10_000_000).find(({ id }) => id === "large")!;
  const track = run.tracks[0]!;
  const res = wholeRunResolution(run.end_ns);
  const read = decodeTile(tileOf(track, 0, res * 4096, res, run.end_ns, () => 0, () => false));
  assert.ok(read.count <= 4097 * track.levels.length, `${read.count} boxes`);
  const sums = track.levels.map(() => 0);
  for (let at = 0; at < read.count; at++) sums[read.depth[at]!]! += read.slices[at]!;
  assert.deepEqual(sums, track.counts);
});
