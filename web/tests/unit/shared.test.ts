import assert from "node:assert/strict";
import { test } from "node:test";
import { fillOf, hash, isWait } from "../../src/shared/colour";
import { csv, csvCell } from "../../src/shared/csv";
import { hasWords, termOf, terms, withTerm, withoutTerm } from "../../src/shared/filter";
import { anyValue, bytes, change, count, cut, cutStart, digits, duration, inUnit, percent, plain, wideChange } from "../../src/shared/format";
import { Lru } from "../../src/shared/lru";
import { formatRoute, parseRoute } from "../../src/state/route";
import { tagText } from "../../src/shared/tag";
import { chosen, inWords, noteOf } from "../../src/timeline/steps";
import { apart, byteTexts, TIME_STEPS, WHOLE_STEPS } from "../../src/ui/axis";
import { readSort, sortRows } from "../../src/ui/rows";
import { flameBoxes, nodeAt, restOf, shareText, wholeOf } from "../../src/views/flame-layout";
import { smoothed } from "../../src/views/marks-curves";
import { query, runUrl } from "../../src/api/client";
import { columnKeys } from "../../src/views/sql-columns";

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
  assert.equal(change(0.0004), "<+0.1%");
  assert.equal(change(-0.0004), ">-0.1%");
  assert.equal(change(0), "0%");
  assert.equal(bytes(1536), "1.50 KiB");
  assert.equal(inUnit(0.5, "1"), "50%");
  assert.equal(inUnit(1.7e9, "Hz"), "1.70 GHz");
  assert.equal(anyValue({ a: 1 }), '{"a":1}');
});

test("signs that hide or turn text are made visible", () => {
  assert.equal(plain("a\u202eb"), "a\ufffdb");
  assert.equal(plain("\u001b[31m"), "\u241b[31m");
  assert.equal(plain("a\u061cb\u2028c\u2029d"), "a\ufffdb\ufffdc\ufffdd");
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
  assert.equal(withTerm("variant=beam index>3", "variant", "variant=greedy"), "index>3 variant=greedy");
  assert.equal(withTerm('rank=0 rank="1"', "rank", 'rank="2"'), 'rank=0 rank="2"', "processes are chosen as before");
  assert.equal(withoutTerm("a=1 b=2", "a=1"), "b=2");
  assert.ok(hasWords("STEP fwd", ["step/fwd", null]) && !hasWords("bwd", ["step/fwd"]));
});

test("filters: a click on an attribute says exactly its value, or is not to be had", () => {
  const said: [string, unknown, string][] = [
    ["variant", "beam-search", "variant=beam-search"], ["note", "two words", 'note="two words"'], ["x", "=x", 'x="=x"'], ["x", "~x", 'x="~x"'],
    ["x", "1..2", 'x="1..2"'], ["x", "", 'x=""'], ["x", " a", 'x=" a"'], ["x", 5, "x=5"], ["x", 1e-7, "x=1e-7"], ["x", true, "x=true"], ["rank", 3, 'rank="3"'], ["pid", "7", 'pid="7"'],
  ];
  for (const [key, value, term] of said) assert.equal(termOf(key, value), term);
  for (const [key, value] of [["x", { a: 1 }], ["x", [1]], ["x", null], ["x", 'a"b'], ["x", "a\nb"], ["x", "NaN"], ["x", "a".repeat(4096)], ["x", 2 ** 53], ["a key", 1], ["a=b", 1], ['a"b', 1], ["", 1], ["thread", "main"]] as const) {
    assert.equal(termOf(key, value), null, `${key} ${JSON.stringify(value)}`);
  }
  assert.deepEqual(terms('a="~x y" b=1'), ['a="~x y"', "b=1"]);
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

test("steps: the one after and before a moment, and the first of an index where they begin anew", () => {
  const steps = [0, 1, 5, 0, 2, null].map((index, at) => ({ start_ns: at * 10, step_ns: 10, index, rank: null }));
  const start = (wish: Parameters<typeof chosen>[1]) => chosen(steps, wish)?.start_ns;
  assert.deepEqual([start({ after_ns: 10 }), start({ after_ns: 50 })], [20, undefined]);
  assert.deepEqual([start({ before_ns: 10 }), start({ before_ns: 0 })], [0, undefined]);
  assert.deepEqual([start({ index: 0 }), start({ index: 2 }), start({ index: 3 }), start({ index: 6 })], [0, 40, 20, undefined]);
});

test("steps: what is said of one, and of none", () => {
  const step = { start_ns: 0, step_ns: 2e6, index: 7, rank: null };
  const some = { count: 9, largest_index: 12 };
  assert.deepEqual([inWords(step), inWords({ ...step, rank: 1 })].map((words) => words.split(",")[0]), ["step 7", "step 7 of rank 1"]);
  assert.deepEqual([noteOf(step, some, 1), noteOf(step, some, { index: 7 }), noteOf(step, some, { index: 6 })], ["", "", "no step 6 here: this is 7"]);
  assert.equal(noteOf(null, some, { index: 13 }), "no step 13: the last is 12");
  assert.deepEqual([noteOf(null, some, 1), noteOf(null, some, -1)], ["last step", "first step"]);
  assert.match(noteOf(null, { count: 0, largest_index: null }, 1), /^no steps in this run/);
});

test("the least used is forgotten first", () => {
  const lru = new Lru<string, number>(2);
  lru.set("a", 1);
  lru.set("b", 2);
  lru.get("a");
  lru.set("c", 3);
  assert.deepEqual([lru.get("a"), lru.get("b"), lru.get("c")], [1, undefined, 3]);
});

test("what weighs too much together is forgotten, the newest never", () => {
  const lru = new Lru<string, string>(9, 10);
  lru.set("a", "A", 4);
  lru.set("b", "B", 4);
  lru.set("c", "C");
  lru.weigh("c", "C", 4);
  assert.deepEqual([lru.get("a"), lru.get("b"), lru.get("c")], [undefined, "B", "C"]);
  lru.weigh("c", "another", 9);
  assert.equal(lru.size, 2, "a value that is no longer kept weighs nothing");
  lru.set("d", "D", 99);
  assert.deepEqual([lru.size, lru.get("d")], [1, "D"]);
  lru.delete("d");
  lru.set("e", "E", 10);
  assert.equal(lru.get("e"), "E", "what was forgotten weighs nothing");
});

test("rows sort both ways, the unknown last", () => {
  const rows = [{ v: 2 }, { v: null }, { v: 10 }];
  assert.deepEqual(sortRows(rows, (row) => row.v, true).map((row) => row.v), [10, 2, null]);
  assert.deepEqual(sortRows(rows, (row) => row.v, false).map((row) => row.v), [2, 10, null]);
  assert.deepEqual(readSort("-self_ns", "x"), { key: "self_ns", isDescending: true });
  assert.deepEqual(readSort(undefined, "x"), { key: "x", isDescending: false });
});

test("more than all is no per cent of it", () => {
  assert.deepEqual([shareText(50, 100), shareText(100, 100), shareText(174, 100), shareText(1, 0)], ["50% of all", "100% of all", "1.74 × all, several at a time", "0% of all"]);
});

test("a text is cut at its start", () => {
  assert.deepEqual([cutStart("train/epoch/batch", 6), cutStart("batch", 5)], ["…batch", "batch"]);
});

test("flame boxes lie inside the one around them, largest first", () => {
  const leaf = (name: string, value_ns: number) => ({ name, tag: null, value_ns, self_ns: value_ns, count: 1, children: [] });
  const roots = [{ ...leaf("train", 100), children: [leaf("forward", 30), leaf("backward", 60), leaf("tiny", 0.001)] }];
  const boxes = flameBoxes(roots, 1 / 1000);
  assert.deepEqual(boxes.map((box) => [box.node.name, box.depth, box.left.toFixed(2), box.width.toFixed(2)]), [["train", 0, "0.00", "1.00"], ["backward", 1, "0.00", "0.60"], ["forward", 1, "0.60", "0.30"]]);
  const overlapping = [{ ...leaf("pool", 10), children: [leaf("a", 10), leaf("b", 10)] }];
  assert.deepEqual(flameBoxes(overlapping, 0).slice(1).map((box) => box.width), [0.5, 0.5], "children that overlap share the width");
  const cut = [{ ...leaf("a", 5), rest: { paths: 2, value_ns: 3 } }, { ...leaf("b", 5), children: [{ ...leaf("c", 1), rest: { paths: 1, value_ns: 1 } }] }];
  assert.deepEqual(restOf(cut, { paths: 4, value_ns: 10 }, flameBoxes(cut, 0)), { paths: 7, value_ns: 14 });
  assert.deepEqual(restOf(roots, { paths: 1, value_ns: 10 }, boxes), { paths: 2, value_ns: 10.001 }, "what has no box is counted too");
  assert.deepEqual(flameBoxes([leaf("a", 10)], 0, 40).map((box) => box.width), [0.25], "what is too small to show keeps its width");
  assert.equal(wholeOf({ by: "wall", total_ns: 50, roots: [], rest: { paths: 9, value_ns: 50 } }), 50);
  assert.equal(nodeAt(roots, ["train", "forward"])?.value_ns, 30);
  assert.equal(nodeAt(roots, ["train", "nothing"]), null);
});

test("smoothing starts at the first value and skips holes", () => {
  assert.deepEqual(smoothed([4, 4, null, 4], 0.9).map((value) => (value === null ? null : Math.round(value * 1e6) / 1e6)), [4, 4, null, 4]);
  assert.deepEqual(smoothed([1, 2], 0), [1, 2]);
});

test("axes: steps of bytes and minutes are round, and no two labels read the same", () => {
  assert.deepEqual(byteTexts([2.125 * 2 ** 30, 2.25 * 2 ** 30], 2 ** 27, bytes), ["2.125 GiB", "2.250 GiB"]);
  assert.deepEqual(byteTexts([0, 32, 64], 32, bytes), ["0 B", "32 B", "64 B"]);
  const degrees = (value: number) => inUnit(value, "Cel");
  assert.deepEqual(apart([10.1, 10.12], 0.02, digits), ["10.10", "10.12"]);
  assert.deepEqual(apart([40.11, 40.12], 0.01, degrees), ["40.11 °C", "40.12 °C"]);
  assert.deepEqual(apart([1, 2, null], 1, digits), ["1.00", "2.00", ""]);
  assert.ok(WHOLE_STEPS.every(Number.isInteger) && WHOLE_STEPS[0] === 1);
  assert.ok(TIME_STEPS.includes(60e9) && !TIME_STEPS.includes(50e9) && !TIME_STEPS.includes(100e9));
  assert.equal(wideChange(48.2), "49.2 ×");
  assert.equal(wideChange(-0.5), "-50%");
});

test("columns of one name are told apart, so that each sorts by its own values", () => {
  assert.deepEqual(columnKeys(["name", "n", "name", "name"]), ["name", "n", "name 2", "name 3"]);
  assert.deepEqual(columnKeys(["a", "a", "a 2"]), ["a", "a 3", "a 2"]);
  assert.deepEqual(columnKeys(["", ""]), ["column 1", "column 2"]);
});
