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
