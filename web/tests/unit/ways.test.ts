import assert from "node:assert/strict";
import { test } from "node:test";
import { runsOf } from "../../src/api/client";
import type { ListedRun } from "../../src/api/types";
import { words } from "../../src/ui/Loading";
import { runItems, scopeItems, viewItems } from "../../src/ui/palette-items";
import { byStart, isWanted, rankText } from "../../src/views/runs-wanted";

const at = (text: string) => Date.parse(text) * 1e6;
const run = (id: string, start: string | null, ranks: number[] = []) => ({ id, app: `app of ${id}`, start_unix_ns: start === null ? null : at(start), ranks }) as ListedRun;

test("runs are of a day in UTC, both ends included, and of a rank", () => {
  const late = run("late", "2026-11-15T23:59:59Z", [1, 2]);
  assert.ok(isWanted(late, {}));
  assert.ok(isWanted(late, { from: "2026-11-15", to: "2026-11-15" }));
  assert.ok(!isWanted(late, { from: "2026-11-16" }));
  assert.ok(!isWanted(late, { to: "2026-11-14" }));
  assert.ok(isWanted(late, { rank: "1" }) && !isWanted(late, { rank: "0" }));
  assert.ok(!isWanted(run("unknown", null), { from: "2026-11-15" }), "a run of no known day is of none");
  assert.ok(isWanted(run("unknown", null), {}));
  assert.ok(!isWanted(run("no rank", null), { rank: "0" }));
});

test("of two chosen runs the one that began first is what the other is compared with", () => {
  const runs = [run("new", "2026-11-15T12:00:00Z"), run("old", "2026-11-14T12:00:00Z")];
  assert.deepEqual(byStart(["new", "old"], runs), ["old", "new"]);
  assert.deepEqual(byStart(["old", "new"], runs), ["old", "new"]);
  assert.deepEqual(byStart(["gone"], runs), ["gone"]);
});

test("ranks are written as people do", () => {
  assert.equal(rankText([]), null);
  assert.equal(rankText([3]), "3");
  assert.equal(rankText([8, 0, 1, 2, 3]), "0–3, 8");
});

test("the palette leads to views, runs and the first scope of each name", () => {
  assert.deepEqual(viewItems(null, false).map(({ title }) => title), ["Runs", "Compare", "SQL"]);
  assert.deepEqual(viewItems("a/b", true).map(({ address }) => address)[1], "#/run/a%2Fb/timeline");
  assert.deepEqual(runItems([run("old", "2026-11-14T00:00:00Z"), run("new", "2026-11-15T00:00:00Z")], "app").map(({ address }) => address), ["#/run/new/overview", "#/run/old/overview"]);
  assert.equal(runItems([run("old", null)], "nothing").length, 0);
  const hit = (id: string, name: string, kind: string) => ({ id, name, kind, track: "1", depth: 0, start_ns: 5000, duration_ns: 2000 });
  const [first, second, ...rest] = scopeItems("r", [hit("1", "batch", "span"), hit("2", "batch", "span"), hit("3", "gemm", "kernel")]);
  assert.equal(rest.length, 0);
  assert.equal(first!.address, "#/run/r/timeline?sel=span%3A1&v0=3000&v1=9000");
  assert.ok(second!.address.includes("sel=kernel%3A3"));
  assert.deepEqual([first!.kind, second!.kind], ["scope", "kernel"]);
});

test("what is awaited is said with how far it is", () => {
  assert.equal(words("the report", null), "Reading the report …");
  assert.equal(words("the report", { state: "reading", read_bytes: 2 ** 20, total_bytes: 2 ** 22, passed_ms: 1500 }), "Reading the run: 1.00 MiB of 4.00 MiB, for 1.50 s …");
  assert.equal(words("the report", { state: "reading", read_bytes: 0, total_bytes: 0, passed_ms: 500 }), "Reading the run, for 500 ms …");
  assert.match(words("the report", { state: "ordering", passed_ms: 30_000 }), /in order/);
  assert.equal(words("the report", { state: "open" }), "The run is read; adding up the report …");
});

test("an address of a comparison is about both runs, any other about one, the list about none", () => {
  assert.deepEqual(runsOf("api/runs/a%2Cb/compare/c?force=true"), ["a,b", "c"]);
  assert.deepEqual(runsOf("api/runs/a/marks/compare?x=step"), ["a"]);
  assert.deepEqual(runsOf("api/runs?filter=x"), []);
});
