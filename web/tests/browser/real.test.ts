import assert from "node:assert/strict";
import { spawn, spawnSync, type SpawnSyncReturns } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { before, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { atEnd, colours, open, rows, settled, to, typeSearch, view, PATIENCE_MS } from "./harness";
import { HODO, real, serve } from "./hodo";

const H200 = path.join(process.cwd(), "../crates/hodo-cli/tests/data/h200-training");

let dir = "";
let url = "";
let demos: string[] = [];

before(async () => {
  if (!HODO) return;
  dir = mkdtempSync(path.join(tmpdir(), "hodo-page-"));
  for (const seed of ["7", "8"]) {
    const made: SpawnSyncReturns<string> = spawnSync(HODO, ["demo", "--seconds", "1.5", "--seed", seed, "--dir", dir], { encoding: "utf8" });
    assert.equal(made.status, 0, made.stderr);
  }
  demos = readdirSync(dir).filter((name) => name.includes("demo")).sort();
  cpSync(H200, path.join(dir, "h200-training"), { recursive: true });
  url = await serve(dir);
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
});

/** Goes to the first hit of the search that has the focus, and shows what is visible there as a table. */
async function tableOfHit(page: Page): Promise<void> {
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("sel=span"));
  await page.getByRole("button", { name: "Zoom to it" }).click();
  await page.getByRole("button", { name: "Zoom to it" }).click();
  await settled(page);
  await page.getByRole("button", { name: "As table" }).click();
}

test("the list has the runs of the folder, and nobody without the token", real, async () => {
  const { page, check, close } = await open(`${url}#/runs`);
  await page.getByRole("table", { name: "runs" }).waitFor();
  assert.equal((await rows(page, "runs")).length, 3);
  check();
  await close();
  const stranger = await fetch(new URL("/api/runs", url));
  assert.ok([401, 403].includes(stranger.status), `${stranger.status}`);
});

test("the printed address opens from a page of another site, and loses its token", real, async () => {
  const { page, close } = await open("data:text/html,<a>go</a>");
  await page.evaluate((address) => { document.querySelector("a")!.href = address; }, `${url}#/run/${demos[0]}/timeline`);
  await page.getByText("go").click();
  await page.waitForURL((now) => now.search === "" && now.hash === `#/run/${demos[0]}/timeline`);
  await settled(page);
  await close();
});

test("the demo: its overview says what hodo report says", real, async () => {
  const { page, check, close } = await open(`${url}#/run/${demos[0]}/overview`);
  const verdict = page.getByRole("region", { name: "Verdict" });
  await verdict.waitFor();
  const report = JSON.parse(spawnSync(HODO!, ["report", "--json", "--dir", dir, demos[0]!], { encoding: "utf8", maxBuffer: 2 ** 28 }).stdout) as { verdict: { advice: string[] }; spans: number };
  for (const advice of report.verdict.advice) assert.ok((await verdict.innerText()).includes(advice), advice);
  assert.ok((await page.locator("main").innerText()).replace(/\u202f/g, "").includes(`${report.spans} scopes`));
  await page.getByText("No such file or directory").first().waitFor();
  check();
  await close();
});

test("the demo: its timeline nests train, epoch, batch, forward and layer", real, async () => {
  const { page, check, close } = await open(`${url}#/run/${demos[0]}/timeline`);
  await settled(page);
  assert.ok((await colours(page, ".tl-canvases .front")) > 20);
  await typeSearch(page, "batch");
  await page.getByText(/\d found/).waitFor();
  await tableOfHit(page);
  assert.match(await page.getByRole("region", { name: "Details" }).innerText(), /GPU\s+not captured: \S/);
  await page.getByRole("button", { name: "All tracks" }).click();
  const found = (await rows(page, "visible boxes")).map((row) => [...row.slice(0, 3), row[3]!.split(" / ")[0]!]);
  const main = found.find((row) => row[3] === "train")![1];
  for (const [name, depth] of [["train", "1"], ["epoch", "2"], ["batch", "3"], ["forward", "4"], ["backward", "4"], ["layer", "5"]]) {
    const row = found.find((each) => each[3] === name && each[1] === main);
    assert.equal(row?.[2], depth, `${name} at depth ${depth}`);
  }
  check();
  await close();
});

test("an H200 run: kernels under the scope that launched them, and back", real, async () => {
  const { page, check, close } = await open(`${url}#/run/h200-training/timeline?q=optimizer`);
  await settled(page);
  await page.getByText("100 found").waitFor();
  await page.getByLabel("Search names on the timeline").focus();
  await page.keyboard.press("Enter");
  const panel = page.getByRole("region", { name: "Details" });
  await panel.getByRole("heading", { name: "Its kernels" }).waitFor();
  assert.match((await rows(page, "Kernels of the scope"))[0]![0]!, /multi_tensor_apply_kernel|vectorized_elementwise_kernel/);
  await page.waitForFunction(() => (window as unknown as { hodoTimeline: { overlay: { arrows: unknown[] } } }).hodoTimeline.overlay.arrows.length > 0);
  await panel.getByRole("button", { name: "multi_tensor_apply_kernel" }).first().click();
  await panel.getByText("launched in").waitFor();
  assert.match(await panel.innerText(), /epoch \/ step \/ optimizer/);
  assert.match(await panel.innerText(), /All \d+ of multi_tensor_apply_kernel/);
  check();
  await close();
});

test("an arrow for each kernel that details list", real, async () => {
  const { page, check, close } = await open(`${url}#/run/h200-training/timeline?q=step`);
  await settled(page);
  await page.getByLabel("Search names on the timeline").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Its kernels" }).waitFor();
  const listed = (await rows(page, "Kernels of the scope")).length;
  assert.ok(listed > 40, `${listed} kernels`);
  await page.waitForFunction((all) => (window as unknown as { hodoTimeline: { overlay: { arrows: unknown[] } } }).hodoTimeline.overlay.arrows.length === all, listed);
  check();
  await close();
});

test("an attribute filter narrows report and timeline", real, async () => {
  const { page, check, close } = await open(`${url}#/run/${demos[0]}/overview?filter=index%3E3`);
  await page.getByText("fit the filter").waitFor();
  await page.getByRole("link", { name: "Timeline" }).click();
  await settled(page);
  assert.match(page.url(), /filter=index/);
  const dimmed = await page.evaluate(() => {
    const { batch } = (window as unknown as { hodoTimeline: { batch: { count: number; words: Uint32Array } } }).hodoTimeline;
    return Array.from({ length: batch.count }, (_, at) => (batch.words[at * 5 + 3]! >>> 24) & 16).filter(Boolean).length;
  });
  assert.ok(dimmed > 0);
  check();
  await to(page, `#/run/${demos[0]}/tables?filter=index%3Ebeam`);
  await page.getByRole("alert").waitFor();
  await close();
});

test("a range sums up, and its flame is of the range", real, async () => {
  const { page, check, close } = await open(`${url}#/run/${demos[0]}/timeline`);
  await settled(page);
  const end = (await view(page)).end_ns;
  await to(page, `#/run/${demos[0]}/timeline?t0=${Math.round(end * 0.1)}&t1=${Math.round(end * 0.3)}`);
  await page.getByRole("heading", { name: /Range of/ }).waitFor();
  await page.getByRole("table", { name: "scopes in the range" }).locator("tbody tr").first().waitFor();
  const names = (await rows(page, "scopes in the range")).map((row) => row[0]!);
  assert.ok(names.some((name) => name.endsWith("batch")), names.join(", "));
  await page.getByRole("region", { name: "Details" }).getByRole("link", { name: "Flame" }).click();
  await page.getByRole("treeitem", { name: /^train/ }).waitFor();
  check();
  await close();
});

test("the walk goes next, in and out on real scopes", real, async () => {
  const { page, check, close } = await open(`${url}#/run/${demos[0]}/timeline`);
  await settled(page);
  const said = page.locator("[aria-live=polite]").last();
  await page.getByRole("treeitem", { name: /^thread/ }).first().focus();
  await page.keyboard.press("Enter");
  await said.getByText(/^train, .* depth 1/).waitFor();
  await page.keyboard.press("ArrowDown");
  await said.getByText(/^epoch, .* depth 2/).waitFor();
  await page.keyboard.press("ArrowUp");
  await said.getByText(/^train/).waitFor();
  check();
  await close();
});

test("flame, tables, marks and system of the demo", real, async () => {
  const { page, check, close } = await open(`${url}#/run/${demos[0]}/flame`);
  await page.getByRole("treeitem", { name: /^backward/ }).waitFor();
  await to(page, `#/run/${demos[0]}/tables?table=loops`);
  await page.getByRole("table", { name: "benchmark loops" }).getByText("matmul").first().waitFor();
  await to(page, `#/run/${demos[0]}/marks`);
  await page.getByRole("img", { name: "loss over time", exact: true }).waitFor();
  await to(page, `#/run/${demos[0]}/system`);
  await page.getByText(/The machine was not sampled|of \d+ series/).first().waitFor();
  check();
  await close();
});

test("two demos compare", real, async () => {
  const { page, check, close } = await open(`${url}#/compare/${demos[0]}/${demos[1]}`);
  await page.getByText("What changed").waitFor();
  assert.ok((await rows(page, "compared scopes")).some((row) => row[0] === "forward"));
  check();
  await close();
});

test("a program that records now grows on the page", real, async () => {
  const demo = spawn(HODO!, ["demo", "--seconds", "300", "--dir", dir], { stdio: "ignore" });
  try {
    const { page, close } = await open(`${url}#/runs`);
    await page.getByRole("row").filter({ hasText: "live" }).first().waitFor();
    await page.getByRole("row").filter({ hasText: "live" }).first().getByRole("link").click();
    await page.getByRole("link", { name: "Timeline" }).click();
    await settled(page);
    const first = await view(page);
    await page.waitForFunction((end) => (window as unknown as { hodoTimeline: { end_ns: number } }).hodoTimeline.end_ns > end, first.end_ns, { timeout: PATIENCE_MS });
    await close();
  } finally {
    demo.kill();
  }
});

test("the file that hodo share writes opens by itself", real, async () => {
  const file = path.join(dir, "demo.html");
  const made: SpawnSyncReturns<string> = spawnSync(HODO!, ["share", demos[0]!, "--dir", dir, "-o", file], { encoding: "utf8" });
  assert.equal(made.status, 0, made.stderr);
  assert.ok(statSync(file).size < 2e6, `${statSync(file).size} bytes`);
  const { page, close } = await open(pathToFileURL(file).href);
  await page.getByRole("region", { name: "Verdict" }).waitFor();
  await page.getByRole("link", { name: "Timeline" }).click();
  await settled(page);
  assert.ok((await colours(page, ".tl-canvases .front")) > 20);
  await page.getByRole("link", { name: "Flame" }).click();
  await page.getByRole("treeitem", { name: /^backward/ }).waitFor();
  await page.getByRole("link", { name: "Marks" }).click();
  await page.getByRole("img", { name: "loss over time", exact: true }).waitFor();
  await close();
});

test("tags stand next to names on the timeline", real, async () => {
  const { page, check, close } = await open(`${url}#/run/${demos[0]}/timeline?q=matmul`);
  await settled(page);
  await page.getByText(/\d found/).waitFor();
  await page.getByLabel("Search names on the timeline").focus();
  await tableOfHit(page);
  await page.getByLabel("Find in visible boxes").fill("matmul");
  const names = (await rows(page, "visible boxes")).map((row) => row[3]!);
  assert.ok(names.some((name) => /^matmul \/ 128x128$/.test(name)), names.join(", "));
  check();
  await close();
});

const SQL = process.env.HODO_SQL;

test("SQL says how to install it where it is not", { skip: HODO && !SQL ? false : "hodo-sql is here" }, async () => {
  const about = (await (await fetch(new URL("/api/about", url), { headers: { authorization: `Bearer ${new URL(url).searchParams.get("token")}` } })).json()) as { sql: boolean };
  const { page, close } = await open(`${url}#/sql/${demos[0]}?query=select%20count(*)%20as%20n%20from%20spans`);
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await page.getByText(about.sql ? /^n$/ : /SQL is not installed/).first().waitFor();
  await close();
});

test("SQL answers what hodo report says", { skip: HODO && SQL ? false : "HODO_SQL is not set" }, async () => {
  const report = JSON.parse(spawnSync(HODO!, ["report", "--json", "--dir", dir, demos[0]!], { encoding: "utf8", maxBuffer: 2 ** 28 }).stdout) as { spans: number };
  const { page, check, close } = await open(`${url}#/sql/${demos[0]}?query=select%20count(*)%20as%20n%20from%20spans`);
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await page.getByRole("table").getByText("n", { exact: true }).first().waitFor();
  const cell = await page.getByRole("table").locator("tbody td").first().innerText();
  assert.equal(cell.replace(/\D/g, ""), String(report.spans));
  check();
  await page.getByLabel("SQL", { exact: true }).fill("select nothing from nowhere");
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await page.getByRole("alert").getByText(/nowhere/).waitFor();
  await close();
});
