import assert from "node:assert/strict";
import { test } from "node:test";
import type { Track } from "../../src/api/types";
import { BOX_WORDS, NameStyles, buildBatch } from "../../src/timeline/batch";
import { fitting } from "../../src/timeline/labels";
import { GROUP_PX, layOut, lineAt, rowTop } from "../../src/timeline/layout";
import { listed } from "../../src/timeline/listed";
import { piecesOf, wanted, windowOf } from "../../src/timeline/pieces";
import { readRange, readSelection } from "../../src/timeline/control";
import { instant, ticks, tickText } from "../../src/timeline/ruler";
import { bounds, largest } from "../../src/timeline/series";
import { MERGED, WAIT, type Tile } from "../../src/timeline/tile";
import { nearest } from "../../src/timeline/tooltip";
import { centred, fitted, kept, panned, wholeRun, zoomed } from "../../src/timeline/viewport";

const track = (id: string, kind: Track["kind"], process: string, depths = 1): Track => ({ id, kind, process, pid: 1, rank: null, name: id, depths, slices: 1, start_ns: 0, end_ns: 100 });

test("zoom keeps the moment under the pointer in its place", () => {
  const before = { t0: 100, t1: 300 };
  const after = zoomed(before, 150, 0.5);
  assert.equal((150 - after.t0) / (after.t1 - after.t0), (150 - before.t0) / (before.t1 - before.t0));
  assert.equal(after.t1 - after.t0, 100);
});

test("a view never leaves the run, nor shows more than there is", () => {
  for (const view of [{ t0: -1e9, t1: -1e8 }, { t0: 1e9, t1: 2e9 }, { t0: -1e12, t1: 1e12 }, { t0: 50, t1: 50 }, panned(wholeRun(1000), 40)]) {
    const { t0, t1 } = kept(view, 1000);
    assert.ok(t1 > t0 && t1 - t0 <= 1200, `${t0} ${t1}`);
    assert.ok(t0 >= -200 && t1 <= 1200, `${t0} ${t1}`);
  }
  assert.ok(fitted(10, 20).t0 < 10 && fitted(10, 20).t1 > 20);
  assert.deepEqual(centred({ t0: 0, t1: 100 }, 200, 220), { t0: 160, t1: 260 });
});

test("tracks stand under their process, folded ones small", () => {
  const tracks = [track("1", "thread", "a", 5), track("2", "stream", "a"), track("3", "thread", "b")];
  const open = layOut(tracks, new Set());
  assert.deepEqual(open.lines.map(({ kind, key }) => `${kind} ${key}`), ["group process a 1", "track track 1", "track track 2", "group process b 1", "track track 3"]);
  const folded = layOut(tracks, new Set(["track 1", "process b 1"]));
  assert.equal(folded.lines.length, 4);
  assert.ok(folded.height < open.height);
  const line = open.lines[1]!;
  assert.deepEqual(lineAt(open, rowTop(line, 3) + 1), { line, depth: 3 });
  assert.equal(lineAt(open, GROUP_PX / 2)?.line.kind, "group");
  assert.equal(lineAt(open, open.height + 1), null);
});

const columns = (boxes: { start: number; dur: number; slices?: number; name?: number }[]): Tile => ({
  t0: 0, res_ns: 1, count: boxes.length, start_ns: Float64Array.from(boxes, (box) => box.start), dur_ns: Float64Array.from(boxes, (box) => box.dur),
  id: new BigUint64Array(boxes.length), name: Uint32Array.from(boxes, (box) => box.name ?? 0), slices: Uint32Array.from(boxes, (box) => box.slices ?? 1),
  depth: new Uint16Array(boxes.length), busy: new Uint8Array(boxes.length).fill(255), flags: new Uint8Array(boxes.length), tag: null,
});

test("a slice across two tiles is drawn once, and crowds are told with their number", () => {
  const layout = layOut([track("1", "thread", "a")], new Set());
  const window = windowOf(layout, 0, 500, { t0: 0, t1: 8000 }, 1, 8000);
  assert.deepEqual([window.first, window.last], [0, 1]);
  const tiles = [columns([{ start: 4000, dur: 200 }, { start: 10, dur: 40, slices: 70 }, { start: 51, dur: 40, slices: 30 }]), columns([{ start: 4000, dur: 200 }, { start: 5000, dur: 1, name: 1 }])];
  const styles = new NameStyles();
  styles.update(["step", "data_wait"], "dark");
  const batch = buildBatch(piecesOf(window, (key) => tiles[key.index]), 0, 1, styles, null);
  assert.equal(batch.count, 4);
  const lefts = Array.from({ length: batch.count }, (_, at) => batch.floats[at * BOX_WORDS]);
  assert.deepEqual(lefts, [4000, 10, 51, 5000]);
  assert.deepEqual(batch.labels.filter(({ flags }) => flags & MERGED).map(({ slices }) => slices), [100]);
  assert.ok((batch.words[3 * BOX_WORDS + 3]! >>> 24) & WAIT, "waits are hatched");
});

test("tiles in view are asked for before the whole run and the neighbours", () => {
  const tracks = [track("1", "thread", "a")];
  const window = windowOf(layOut(tracks, new Set()), 0, 500, { t0: 10_000, t1: 11_000 }, 1, 100_000);
  const order = wanted(window, tracks, 100_000).map(({ res_ns, index }) => `${res_ns} ${index}`);
  assert.deepEqual([...new Set(order)], ["1 2", "32 0", "1 1", "1 3"]);
});

test("of thousands of tracks only those near the window and on the small map are asked for", () => {
  const tracks = Array.from({ length: 5000 }, (_, at) => track(String(at), "thread", "a"));
  const layout = layOut(tracks, new Set());
  const wishes = wanted(windowOf(layout, 60_000, 800, { t0: 10_000, t1: 11_000 }, 1, 100_000), tracks, 100_000);
  assert.ok(wishes.length < 600, `${wishes.length}`);
  const seen = new Set(wishes.filter(({ isSeen }) => isSeen).map(({ track: id }) => Number(id)));
  assert.ok(seen.has(0) && seen.has(2310) && seen.size < 60, `${seen.size} are to be new`);
});

test("processes of two hosts with one number stand apart, and say where they are", () => {
  const on = (id: string, host: string, rank: number, process_index: number): Track => ({ ...track(id, "thread", "train.py"), host, rank, process_index });
  const titles = (tracks: Track[]) => layOut(tracks, new Set()).lines.filter(({ kind }) => kind === "group").map(({ title }) => title);
  assert.deepEqual(titles([on("1", "node1", 0, 0), on("2", "node2", 1, 1)]), ["rank 0 · train.py · node1 · pid 1", "rank 1 · train.py · node2 · pid 1"]);
  assert.deepEqual(titles([on("1", "node1", 0, 0), on("2", "node1", 1, 1), on("3", "node1", 0, 0)]), ["rank 0 · train.py · pid 1", "rank 1 · train.py · pid 1"]);
});

test("a list that is cut says of how many it is the first", () => {
  assert.equal(listed("first", 100, 3378), "first 100 of 3\u202f378");
  assert.equal(listed("first", 3, 3), "3");
  assert.equal(listed("longest", 3, undefined), "3");
});

test("the ruler has round ticks, as exact as they need to be", () => {
  const { step_ns, at_ns } = ticks({ t0: 0, t1: 2.45e9 }, 1088);
  assert.equal(step_ns, 5e8);
  assert.deepEqual(at_ns, [0, 5e8, 1e9, 1.5e9, 2e9]);
  assert.equal(tickText(5e8, 5e8), "500 ms");
  assert.equal(tickText(1_500_000_001, 1), "1.500000001 s");
  assert.equal(instant(11.15e9, 50e6), "11.1500 s");
  assert.equal(instant(5e9, 0), "5.000000000 s");
  assert.equal(tickText(3_661e9, 1e9), "1:01:01");
  for (const span of [20, 1e3, 1e7, 1e12, 1e15]) assert.ok(ticks({ t0: 0, t1: span }, 1000).at_ns.length <= 11, `${span}`);
});

test("labels are cut to their room", () => {
  assert.equal(fitting("forward", 40, 50), "forward");
  assert.equal(fitting("forward", 70, 50), "forw…");
  assert.equal(fitting("forward", 70, 10), "");
});

test("curves: bounds, and the point nearest to a moment", () => {
  const curve = { t_ns: [0, 10, 20], mean: [1, null, 3], min: [0.5, null, 2], max: [2, null, 4] };
  assert.deepEqual(bounds(curve, "W"), [0, 4]);
  assert.equal(bounds({ t_ns: [], mean: [], min: [], max: [] }, ""), null);
  const flat = { t_ns: [0, 10], mean: [2, 2], min: [2, 2], max: [2, 2] };
  assert.deepEqual([bounds(flat, "cores"), largest(flat, 0, 10)], [[1, 3], 2], "room around a flat curve is no value of it");
  assert.equal(largest(curve, 0, 20), 4);
  assert.equal(largest(curve, 0, 15), 2);
  assert.equal(largest(curve, 12, 15), null, "a gap leads nowhere");
  assert.equal(largest(flat, 4, 6), 2, "it leads through between two readings");
  assert.equal(largest(flat, 11, 20), null, "nothing was read after the last");
  assert.equal(nearest(curve, 17), 2);
  assert.equal(nearest(curve, 9), -1, "nothing was read there");
});

test("selection and range are read from the address, or not at all", () => {
  assert.deepEqual(readSelection("span:18446744073709551615"), { kind: "span", id: "18446744073709551615" });
  assert.equal(readSelection("thing:1"), null);
  assert.deepEqual(readRange({ t0: "5", t1: "9" }), { t0: 5, t1: 9 });
  assert.equal(readRange({ t0: "9", t1: "5" }), null);
  assert.equal(readRange({ t0: "x" }), null);
});
