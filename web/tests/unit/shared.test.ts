import assert from "node:assert/strict";
import { test } from "node:test";
import { fillOf, hash, isWait } from "../../src/shared/colour";
import { csv, csvCell } from "../../src/shared/csv";
import { hasWords, terms, withTerm, withoutTerm } from "../../src/shared/filter";
import { anyValue, bytes, change, count, cut, digits, duration, inUnit, percent, plain } from "../../src/shared/format";
import { Lru } from "../../src/shared/lru";
import { formatRoute, parseRoute } from "../../src/state/route";
import { tagText } from "../../src/shared/tag";
import { besides } from "../../src/timeline/control";
import { readSort, sortRows } from "../../src/ui/rows";
import { flameBoxes, nodeAt, restOf } from "../../src/views/flame-layout";
import { joined, smoothed } from "../../src/views/marks-curves";
import { percentile } from "../../src/views/StepStrip";
import { query, runUrl } from "../../src/api/client";

test("times read as in hodo report", () => {
  const cases: [number, string][] = [[0, "0 ns"], [842, "842 ns"], [999.6, "1.00 µs"], [12_345, "12.3 µs"], [7.89e9, "7.89 s"], [118e9, "118 s"], [125e9, "2m 05s"], [3720e9, "1h 02m"], [-1500, "-1.50 µs"]];
  for (const [ns, text] of cases) assert.equal(duration(ns), text);
  assert.equal(duration(null), "–", "not captured is not zero");
});

test("numbers, shares, bytes and units", () => {
  assert.equal(digits(0), "0");
  assert.equal(digits(0.26912), "0.269");
  assert.equal(digits(1e9), "1.00e+9");
  assert.equal(count(12345), "12\u202f345");
  assert.equal(count(null), "–");
  assert.equal(percent(0), "0%");
  assert.equal(percent(0.0001), "<0.1%");
  assert.equal(percent(0.832), "83%");
  assert.equal(change(0.1), "+10%");
  assert.equal(bytes(1536), "1.50 KiB");
  assert.equal(inUnit(0.5, "1"), "50%");
  assert.equal(inUnit(1.7e9, "Hz"), "1.70 GHz");
  assert.equal(anyValue({ a: 1 }), '{"a":1}');
});

test("signs that hide or turn text are made visible", () => {
  assert.equal(plain("a\u202eb"), "a\ufffdb");
  assert.equal(plain("\u001b[31m"), "\u241b[31m");
  assert.equal(cut("abcdef", 4), "abc…");
});

test("CSV is quoted, and no cell is a formula", () => {
  assert.equal(csvCell('say "hi", you'), '"say ""hi"", you"');
  assert.equal(csvCell("=1+1"), "'=1+1");
  assert.equal(csvCell(-5), "-5");
  assert.equal(csv(["a", "b"], [[1, null]]), "a,b\r\n1,\r\n");
});

test("filters: terms, adding, removing", () => {
  assert.deepEqual(terms('variant=beam  note="two words" index>3'), ["variant=beam", 'note="two words"', "index>3"]);
  assert.equal(withTerm("variant=beam index>3", "variant", "greedy"), "index>3 variant=greedy");
  assert.equal(withTerm("", "note", "two words"), 'note="two words"');
  assert.equal(withoutTerm("a=1 b=2", "a=1"), "b=2");
  assert.ok(hasWords("STEP fwd", ["step/fwd", null]) && !hasWords("bwd", ["step/fwd"]));
});

test("the address holds the whole state", () => {
  const route = { view: "timeline" as const, run: "a/b c", other: null, params: { filter: "x>1 y=2", sel: "span:9" } };
  assert.deepEqual(parseRoute(formatRoute(route)), route);
  assert.deepEqual(parseRoute("#/compare/a/b"), { view: "compare", run: "a", other: "b", params: {} });
  assert.equal(parseRoute("").view, "runs");
  assert.equal(parseRoute("#/run/x/nonsense").view, "overview");
  assert.equal(parseRoute("#/run/%E0%A4%A/flame").run, "%E0%A4%A", "a broken escape is kept as text");
  assert.equal(formatRoute({ ...route, params: { filter: "" } }), "#/run/a%2Fb%20c/timeline");
});

test("addresses of the API keep their order and leave out what is empty", () => {
  assert.equal(runUrl("a b", "tiles", { track: "1", t0: 0, t1: 9, res: 1, filter: "" }), "api/runs/a%20b/tiles?track=1&t0=0&t1=9&res=1");
  assert.equal(query({ a: null, b: undefined }), "");
});

test("a name has one fill, usual neighbours have different ones, waits are known", () => {
  assert.equal(fillOf("forward", "dark"), fillOf("forward", "dark"));
  const parts = ["data_wait", "forward", "backward", "optimizer", "loss"].map((name) => fillOf(name, "dark"));
  assert.equal(new Set(parts).size, parts.length);
  assert.notEqual(hash("a"), hash("b"));
  assert.ok(isWait("data_wait") && isWait("queue_full") && !isWait("forward"));
});

test("tags of one scope, of several, of none", () => {
  assert.deepEqual([tagText("mlp"), tagText({ one: "mlp" }), tagText({ many: 2 }), tagText(null), tagText("")], ["mlp", "mlp", "2 tags", null, null]);
});

test("steps: the one after and before a moment", () => {
  const [starts, lengths] = [[0, 10, 20], [10, 10, 10]];
  assert.equal(besides(starts, lengths, 5, 1), 1);
  assert.equal(besides(starts, lengths, 15, -1), 0);
  assert.equal(besides(starts, lengths, -5, 1), 0);
  assert.equal(besides(starts, lengths, 99, -1), 2);
});

test("the least used is forgotten first", () => {
  const lru = new Lru<string, number>(2);
  lru.set("a", 1);
  lru.set("b", 2);
  lru.get("a");
  lru.set("c", 3);
  assert.deepEqual([lru.get("a"), lru.get("b"), lru.get("c")], [1, undefined, 3]);
});

test("rows sort both ways, the unknown last", () => {
  const rows = [{ v: 2 }, { v: null }, { v: 10 }];
  assert.deepEqual(sortRows(rows, (row) => row.v, true).map((row) => row.v), [10, 2, null]);
  assert.deepEqual(sortRows(rows, (row) => row.v, false).map((row) => row.v), [2, 10, null]);
  assert.deepEqual(readSort("-self_ns", "x"), { key: "self_ns", isDescending: true });
  assert.deepEqual(readSort(undefined, "x"), { key: "x", isDescending: false });
});

test("flame boxes lie inside the one around them, largest first", () => {
  const leaf = (name: string, value_ns: number) => ({ name, tag: null, value_ns, self_ns: value_ns, count: 1, children: [] });
  const roots = [{ ...leaf("train", 100), children: [leaf("forward", 30), leaf("backward", 60), leaf("tiny", 0.001)] }];
  const boxes = flameBoxes(roots, 1 / 1000);
  assert.deepEqual(boxes.map((box) => [box.node.name, box.depth, box.left.toFixed(2), box.width.toFixed(2)]), [["train", 0, "0.00", "1.00"], ["backward", 1, "0.00", "0.60"], ["forward", 1, "0.60", "0.30"]]);
  const overlapping = [{ ...leaf("pool", 10), children: [leaf("a", 10), leaf("b", 10)] }];
  assert.deepEqual(flameBoxes(overlapping, 0).slice(1).map((box) => box.width), [0.5, 0.5], "children that overlap share the width");
  const cut = [{ ...leaf("a", 5), rest: { paths: 2, value_ns: 3 } }, { ...leaf("b", 5), children: [{ ...leaf("c", 1), rest: { paths: 1, value_ns: 1 } }] }];
  assert.deepEqual(restOf(cut, { paths: 4, value_ns: 10 }), { paths: 7, value_ns: 14 });
  assert.equal(nodeAt(roots, ["train", "forward"])?.value_ns, 30);
  assert.equal(nodeAt(roots, ["train", "nothing"]), null);
});

test("smoothing starts at the first value and skips holes; curves share one axis", () => {
  assert.deepEqual(smoothed([4, 4, null, 4], 0.9).map((value) => (value === null ? null : Math.round(value * 1e6) / 1e6)), [4, 4, null, 4]);
  assert.deepEqual(smoothed([1, 2], 0), [1, 2]);
  assert.deepEqual(joined([{ x: [0, 2], y: [1, 3] }, { x: [1], y: [9] }]), { x: [0, 1, 2], ys: [[1, 2, 3], [null, 9, null]] });
  assert.equal(percentile([5, 1, 3], 0.5), 3);
});
