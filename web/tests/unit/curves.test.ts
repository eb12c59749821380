import assert from "node:assert/strict";
import { test } from "node:test";
import { logLines, unitOf } from "../../src/ui/axis";
import { inRange } from "../../src/views/in-range";
import { drawn, joined, notOnLog, numberless } from "../../src/views/marks-curves";

test("curves on one axis: nothing is invented between the values of a run, and its gaps stay gaps", () => {
  assert.deepEqual(joined([{ x: [0, 100], y: [0, 10] }, { x: [90], y: [5] }]), { x: [0, 90, 100], ys: [[0, undefined, 10], [undefined, 5, undefined]] });
  const gap = joined([{ x: [0, 2, 4], y: [1, null, 3] }, { x: [1, 3], y: [5, 6] }]);
  assert.deepEqual(gap, { x: [0, 1, 2, 3, 4], ys: [[1, null, null, null, 3], [undefined, 5, undefined, 6, undefined]] });
  assert.deepEqual(joined([]), { x: [], ys: [] });
});

test("a curve is the same alone and beside another, smoothed and with several values at one step", () => {
  const one = { x: [0, 1, 1, 2, 5], y: [4, 1, 9, null, 2] };
  const other = { x: [0.5, 1, 3], y: [7, 7, 7] };
  const alone = drawn([one], 0.7, false);
  const beside = drawn([one, other], 0.7, false);
  const own = beside.x.map((x, at) => [x, beside.ys[0]![at]]).filter(([x, y]) => y !== undefined && one.x.includes(x!));
  assert.deepEqual(own, alone.x.map((x, at) => [x, alone.ys[0]![at]]));
});

test("a log axis leaves out what is not above 0, after smoothing", () => {
  assert.deepEqual(drawn([{ x: [0, 1, 2], y: [0, 4, -1] }], 0, true).ys, [[null, 4, null]]);
});

test("points that stand for several values have a band from the least to the largest of them, others have none", () => {
  const points = { x: [0, 10], y: [2, 3], min: [1, 3], max: [4, 3] };
  const exact = { x: [5], y: [7], min: [7], max: [7] };
  assert.deepEqual(drawn([points, exact], 0, false).bands, [{ low: [1, undefined, 3], high: [4, undefined, 3] }, null]);
  assert.deepEqual(drawn([{ ...points, min: [-1, 3] }], 0, true).bands[0]?.low, [null, 3]);
  assert.deepEqual(drawn([{ x: [0], y: [1] }], 0, false).bands, [null]);
});

test("a range between two readings has a value, that of the one before it, and says so; a gap has none", () => {
  const readings = { t_ns: [0, 10, 20, 30], mean: [1, 2, null, 4] };
  assert.deepEqual(inRange(readings), { last: 4, wasRead: true });
  assert.deepEqual(inRange(readings, 8, 15), { last: 2, wasRead: true });
  assert.deepEqual(inRange({ t_ns: [0, 10], mean: [1, 2] }, 3, 6), { last: 1, wasRead: false });
  assert.deepEqual(inRange({ t_ns: [10, 20], mean: [2, null] }, 12, 15), { last: null, wasRead: false });
  assert.deepEqual(inRange({ t_ns: [20, 30], mean: [null, 4] }, 22, 25), { last: null, wasRead: false });
  assert.deepEqual(inRange({ t_ns: [30], mean: [4] }, 40, 50), { last: null, wasRead: false });
});

test("what a log axis has no place for is counted", () => {
  assert.equal(notOnLog([{ x: [0, 1, 2], y: [-1, 0, 2], not_positive: 2 }, { x: [0, 1], y: [null, -3], not_positive: 1 }], 0), 3);
  assert.equal(notOnLog([{ x: [0], y: [1], not_positive: 2500 }], 0), 2500, "values, not the means that stand for them");
  const alternating = { x: [0, 1, 2, 3], y: [3, -1, 3, -1], not_positive: 2 };
  assert.equal(notOnLog([alternating], 0.9), 0, "smoothed, all of it is drawn");
  assert.equal(notOnLog([{ ...alternating, y: [-1, -1, 3, 3] }], 0.5), 2);
});

test("values that are no numbers are counted also where the points that stand for them have one", () => {
  assert.equal(numberless([{ not_number: 572 }, { not_number: 1 }]), 573);
});

test("what a log axis leaves out is known all the same, at its place", () => {
  const { x, ys, known } = drawn([{ x: [0, 1, 3], y: [4, -1, 2], min: [-3, -1, 2], max: [9, -1, 2] }, { x: [2], y: [0] }], 0, true);
  assert.deepEqual([x, ys[0]], [[0, 1, 2, 3], [4, null, null, 2]]);
  assert.deepEqual(known, [{ values: [4, -1, undefined, 2], low: [-3, -1, undefined, 2], high: [9, -1, undefined, 2] }, { values: [undefined, undefined, 0, undefined], low: [undefined, undefined, 0, undefined], high: [undefined, undefined, 0, undefined] }]);
  assert.deepEqual(drawn([{ x: [0], y: [-1] }], 0, false).known, []);
});

test("values of any size have a unit in which an axis can be made", () => {
  assert.equal(unitOf([[1, null, 3e13], [undefined]]), 1);
  assert.equal(unitOf([[0, 0]]), 1);
  assert.equal(unitOf([[4.9e301, 1]]), 1e301);
  assert.ok(4.9e-200 / unitOf([[4.9e-200]]) < 10);
});

test("a log axis has lines and labels over few decades and over hundreds", () => {
  const few = logLines(0.01, 1, 200);
  assert.deepEqual(few.at.slice(0, 3), [0.01, 0.02, 0.03]);
  assert.deepEqual(few.labelled.filter((each) => each !== null), [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]);
  const many = logLines(1e-290, 1e10, 200);
  const labels = many.labelled.filter((each) => each !== null);
  assert.ok(labels.length >= 4 && labels.length <= 8, String(labels));
  assert.equal(labels.at(-1), 1e10);
});
