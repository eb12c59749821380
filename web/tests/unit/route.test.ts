import assert from "node:assert/strict";
import { test } from "node:test";
import { formatList, formatRoute, parseRoute, readList, withoutRange } from "../../src/state/route";
import { pageTitle } from "../../src/ui/Shell";

test("a comparison may have neither run, or only the second", () => {
  for (const [hash, run, other] of [["#/compare", null, null], ["#/compare/", null, null], ["#/compare//b", null, "b"], ["#/compare/a", "a", null], ["#/compare/a/b", "a", "b"]] as const) {
    assert.deepEqual(parseRoute(hash), { view: "compare", run, other, params: {} }, hash);
    assert.deepEqual(parseRoute(formatRoute(parseRoute(hash))), parseRoute(hash), hash);
  }
});

test("names in a parameter may have any sign; what is no escape is kept as text", () => {
  const names = ["a,b", "50%", "x/y z", "ü"];
  assert.deepEqual(readList(formatList(names)), names);
  assert.deepEqual(readList(formatList(names, "/"), "/"), names);
  assert.deepEqual(readList("%"), ["%"]);
  assert.deepEqual(readList(undefined), []);
});

test("moments in an address are whole nanoseconds, and what is none is left out", () => {
  assert.deepEqual(parseRoute("#/run/x/flame?t0=1.5&t1=nonsense&v0=1e99&v1=7&by=cpu").params, { v1: "7", by: "cpu" });
  assert.deepEqual(parseRoute("#/run/x/flame?t0=1.5&t1=6.6").params, { t0: "2", t1: "7" });
});

test("one end of a range, or an end that is not after its begin, is no range", () => {
  for (const range of ["t0=5", "t1=9", "t0=9&t1=5", "t0=5&t1=5", "t0=5&t1=nonsense"]) assert.deepEqual(parseRoute(`#/run/x/tables?${range}&sort=path`).params, { sort: "path" }, range);
});

test("in a shared file a range is zoomed to on the timeline, and dropped where its numbers would be asked", () => {
  assert.deepEqual(withoutRange(parseRoute("#/run/x/timeline?t0=5&t1=9&sel=span:1")).params, { v0: "5", v1: "9", sel: "span:1" });
  assert.deepEqual(withoutRange(parseRoute("#/run/x/tables?t0=5&t1=9&sort=path")).params, { sort: "path" });
});

test("the title names view and runs", () => {
  assert.equal(pageTitle(parseRoute("#/run/r1/flame")), "Flame · r1 · hodo");
  assert.equal(pageTitle(parseRoute("#/compare/a/b")), "Compare · a and b · hodo");
  assert.equal(pageTitle(parseRoute("")), "Runs · hodo");
});
