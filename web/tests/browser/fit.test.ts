import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { changed, devOrigin, holds, open, settled, to } from "./harness";

interface Nodes { nodes: { path: string[] }[] }
interface Scopes { scopes: { path: string[] }[] }
const LONG = ["step", ...Array.from({ length: 12 }, (_, at) => `autograd::engine::evaluate_function ${at}`)];
const WIDTH = 1280;

async function place(part: Locator): Promise<{ left: number; right: number; top: number; bottom: number }> {
  const { x, y, width, height } = (await part.boundingBox())!;
  return { left: x, right: x + width, top: y, bottom: y + height };
}

/** The heading of a column is on the screen. */
async function isInView(page: Page, table: string, heading: string): Promise<void> {
  const { left, right } = await place(page.getByRole("table", { name: table }).getByRole("columnheader", { name: heading, exact: true }));
  assert.ok(left >= 0 && right <= WIDTH, `${heading} is at ${left} to ${right}`);
}

test("tables: long paths leave the numbers in view, and headings, scrollbar and names stay there", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`, { width: WIDTH });
  await changed<Nodes>(page, /small\/report/, (report) => ({ ...report, nodes: Array.from({ length: 80 }, (_, at) => ({ ...report.nodes[at % report.nodes.length]!, path: [...LONG, `last ${at}`] })) }));
  await changed<Scopes>(page, /small\/range/, (range) => ({ ...range, scopes: range.scopes.map((scope) => ({ ...scope, path: LONG })) }));
  await to(page, "#/run/small/tables");
  const table = page.getByRole("table", { name: "scopes" });
  await table.getByText("last 0", { exact: true }).waitFor();
  for (const heading of ["count", "total", "self", "mean", "p95"]) await isInView(page, "scopes", heading);
  const cell = table.locator("tbody td").first();
  assert.match((await cell.locator("[title]").first().getAttribute("title")) ?? "", /^step \/ autograd.* \/ last \d+$/);
  const scroll = page.locator(".table-scroll");
  assert.ok((await place(scroll)).bottom <= 800, "the scrollbar is on the screen");
  await scroll.evaluate((part) => { part.scrollTop = 600; part.scrollLeft = 400; });
  await holds(async () => {
    const head = await place(table.locator("th").first());
    const whole = await place(scroll);
    assert.ok(Math.abs(head.top - whole.top) < 2 && Math.abs(head.left - whole.left) < 2, "the heading of the names stays");
    assert.ok(Math.abs((await place(table.locator("tbody tr").nth(30).locator("td").first())).left - whole.left) < 2, "the names stay");
  });
  await to(page, "#/run/small/timeline?t0=100000000&t1=200000000");
  await page.getByRole("table", { name: "scopes in the range" }).waitFor();
  for (const heading of ["count", "total", "self", "GPU"]) await isInView(page, "scopes in the range", heading);
  check();
  await close();
});

test("runs: a long name of a program leaves the numbers in view", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/overview`, { width: WIDTH });
  await changed<{ runs: { app: string }[] }>(page, /api\/runs$/, ({ runs }) => ({ runs: runs.map((run) => ({ ...run, app: "a-program-of-a-name ".repeat(12) })) }));
  await page.reload();
  await to(page, "#/runs");
  await page.getByRole("table", { name: "runs" }).waitFor();
  for (const heading of ["duration", "state", "scopes", "GPU work", "lost", "main mark"]) await isInView(page, "runs", heading);
  check();
  await close();
});

test("details: every part of a scope's panel is on the screen, and the button to clear it covers none", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline`, { width: WIDTH });
  await settled(page);
  await page.locator(".tl-head.thread").first().focus();
  await page.keyboard.press("Enter");
  for (let down = 0; down < 2; down++) {
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction((depth) => document.querySelector(".panel .path")?.textContent?.split("/").length === depth, down + 2);
  }
  await page.getByRole("table", { name: "Kernels of the scope" }).waitFor();
  const parts = await page.locator(".panel > *").evaluateAll((found) => found.map((part) => part.getBoundingClientRect()).map(({ left, right }) => ({ left, right })));
  assert.ok(parts.length >= 5, "times, attributes, kernels, scopes inside, all of its name");
  for (const { left, right } of parts) assert.ok(left >= 0 && right <= WIDTH, `a part is at ${left} to ${right}`);
  const button = await place(page.getByRole("button", { name: "Clear the selection" }));
  assert.ok((await place(page.locator(".histogram"))).right <= button.left, "the button is beside the histogram");
  check();
  await close();
});

test("details: the button to clear a range covers none of its panel, with kernels and without", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`, { width: WIDTH });
  let kernels: object[] | null = [];
  await changed<{ kernels: object[] }>(page, /small\/range/, (range) => ({ ...range, kernels: kernels ?? range.kernels }));
  const button = page.getByRole("button", { name: "Clear the selection" });
  for (const end of [200, 300]) {
    await to(page, `#/run/small/timeline?t0=100000000&t1=${end}000000`);
    await page.getByText(`Range of ${end - 100}`).waitFor();
    // The panel before has the button too.
    await page.getByRole("table", { name: "Kernels in the range" }).waitFor({ state: kernels ? "detached" : "visible" });
    const copy = page.locator(".panel").getByRole("button", { name: "Copy as CSV" });
    await copy.waitFor();
    assert.ok((await place(copy)).right <= (await place(button)).left, `${kernels ? "without" : "with"} kernels`);
    await copy.click();
    kernels = null;
  }
  check();
  await close();
});

interface Flame { roots: FlameNode[]; total_ns?: number }
interface FlameNode { name: string; value_ns: number; self_ns: number; parallel_ns?: number; count: number; children: FlameNode[] }
const leaf = (name: string, value_ns: number): FlameNode => ({ name, value_ns, self_ns: value_ns, count: 1, children: [] });

test("flame: boxes are as wide as their share, down to a pixel, and stay inside the graph", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`, { width: WIDTH });
  const values = [500, 300, 150, ...Array.from({ length: 25 }, () => 2)];
  const roots = [{ ...leaf("step", 1000), self_ns: 0, children: values.map((value, at) => leaf(`part ${at}`, value)) }];
  await changed<Flame>(page, /small\/flame/, (flame) => ({ ...flame, total_ns: 1000, rest: null, roots }));
  await to(page, "#/run/small/flame");
  const tree = page.getByRole("tree", { name: "Flame graph" });
  await tree.getByRole("treeitem", { name: /^part 27,/ }).waitFor();
  const { left, right } = await place(tree);
  for (const [at, value] of values.entries()) {
    const box = await place(tree.getByRole("treeitem", { name: new RegExp(`^part ${at},`) }));
    const wide = ((right - left) * value) / 1000;
    assert.ok(Math.abs(box.right - box.left - wide) < 0.1, `part ${at} is ${box.right - box.left} px wide, not ${wide}`);
    assert.ok(box.right <= right + 0.1, "no box sticks out");
  }
  check();
  await close();
});

test("flame: what ran at the same time is marked and said; a scope that does not fit the filter itself has no count", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  const roots = [{ ...leaf("epoch", 1e9), self_ns: 0, parallel_ns: 1.8e9, children: [leaf("loader", 1.8e9), { ...leaf("batch", 1e9), self_ns: 0, count: 0 }] }];
  await changed<Flame>(page, /small\/flame/, (flame) => ({ ...flame, total_ns: 1e9, rest: null, roots }));
  await to(page, "#/run/small/flame");
  const tree = page.getByRole("tree", { name: "Flame graph" });
  await tree.locator(".parallel").waitFor();
  assert.equal(await tree.locator(".parallel").getAttribute("aria-label"), "epoch, 1.00 s, 100% of all, scopes inside ran at the same time");
  const facts = page.locator(".fl-facts");
  assert.match(await facts.innerText(), /at the same time 1\.80 s more inside than it took/);
  await page.getByText("a hatched foot: what is inside ran at the same time").waitFor();
  await tree.getByRole("treeitem", { name: /^loader/ }).focus();
  await holds(async () => assert.match(await facts.innerText(), /1\.80 × all, several at a time/));
  await tree.getByRole("treeitem", { name: /^batch/ }).focus();
  await holds(async () => assert.match(await facts.innerText(), /does not fit the filter itself/));
  assert.doesNotMatch(await facts.innerText(), /0 times/);
  check();
  await close();
});

test("names of ten thousand signs stay in their card, and leave what stands beside them its room", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`, { width: WIDTH });
  const name = "m".repeat(10_000);
  await changed<{ run: object }>(page, /small\/report/, (report) => ({ ...report, state: "ended", run: { ...report.run, app: name } }));
  await changed<object[]>(page, /small\/marks$/, (marks) => [{ ...marks[0], name }]);
  await to(page, "#/run/small/overview");
  const state = page.getByText("ended without shutdown", { exact: true });
  await state.waitFor();
  const { top, bottom, right } = await place(state);
  assert.ok(bottom - top < 30 && right <= WIDTH, "it stands on one line");
  await to(page, "#/run/small/marks");
  const card = page.locator(".marks .card");
  await card.locator(".u-label").nth(1).waitFor();
  const edge = (await place(card)).right;
  for (const part of [card.locator("h2 bdi"), card.locator(".u-label").nth(1), card.locator(".u-legend")]) assert.ok((await place(part)).right <= edge);
  check();
  await close();
});
