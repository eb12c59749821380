import assert from "node:assert/strict";
import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { before, test } from "node:test";
import type { Page } from "playwright-core";
import type { Report } from "../../src/api/types";
import { count, duration } from "../../src/shared/format";
import { atEnd, clipboard, holds, open, rows, says, settled, to } from "./harness";
import { HODO, real, serve } from "./hodo";

const SQL = process.env.HODO_SQL;
const FILTER = "index>3";

let dir = "";
let url = "";
let demo = "";

/** What `hodo report` says of the demo. */
function report(...args: string[]): Report {
  const made: SpawnSyncReturns<string> = spawnSync(HODO!, ["report", "--json", "--dir", dir, demo, ...args], { encoding: "utf8", maxBuffer: 2 ** 28 });
  assert.equal(made.status, 0, made.stderr);
  return JSON.parse(made.stdout) as Report;
}

before(async () => {
  if (!HODO) return;
  dir = mkdtempSync(path.join(tmpdir(), "hodo-numbers-"));
  const made: SpawnSyncReturns<string> = spawnSync(HODO, ["demo", "--seconds", "2", "--dir", dir], { encoding: "utf8" });
  assert.equal(made.status, 0, made.stderr);
  [demo = ""] = readdirSync(dir);
  cpSync(path.join(process.cwd(), "../crates/hodo-cli/tests/data/h200-training"), path.join(dir, "h200-training"), { recursive: true });
  url = await serve(dir);
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
});

/** The counts of scopes in the table, by path. */
async function counts(page: Page): Promise<Record<string, string>> {
  await page.getByRole("table", { name: "scopes", exact: true }).waitFor();
  return Object.fromEntries((await rows(page, "scopes")).map(([path, n]) => [path!.split(/\s*\/\s*/).join("/").split("\n")[0]!.trim(), n!]));
}

test("a filter goes along into every view, and each shows only what fits", real, async () => {
  const batchesOf = ({ nodes }: Report) => nodes.find((node) => node.path.join("/") === "train/epoch/batch")!.count;
  const batches = batchesOf(report("--where", FILTER));
  assert.ok(batches > 0 && batches < batchesOf(report()));
  const { page, check, close } = await open(`${url}#/run/${demo}/overview?filter=${encodeURIComponent(FILTER)}`);
  await page.getByText("fit the filter").waitFor();
  await page.getByRole("link", { name: "Tables" }).click();
  assert.equal((await counts(page))["train/epoch/batch"], count(batches));
  await page.getByRole("link", { name: "Flame" }).click();
  await page.getByRole("treeitem", { name: /^batch/ }).focus();
  await page.locator(".fl-facts").getByText(`${count(batches)} times`, { exact: true }).waitFor();
  await page.getByRole("link", { name: "Marks" }).click();
  const asked = page.waitForRequest((request) => request.url().includes("mark?name=loss") && request.url().includes(`filter=${encodeURIComponent(FILTER)}`));
  await page.reload();
  await asked;
  await page.getByRole("img", { name: "loss over time", exact: true }).waitFor();
  await page.getByRole("link", { name: "Timeline" }).click();
  await settled(page);
  for (const view of ["System", "Overview", "Timeline"]) {
    await page.getByRole("link", { name: view }).click();
    await page.waitForURL(new RegExp(`/${view.toLowerCase()}\\?`));
    assert.ok(decodeURIComponent(page.url()).includes(`filter=${FILTER}`), view);
    await holds(async () => assert.equal(await page.getByLabel("Filter by attribute").inputValue(), FILTER));
  }
  check();
  await close();
});

test("a benchmark loop has the statistics of its iterations that hodo report has", real, async () => {
  const node = report().nodes.find((each) => each.bench)!;
  const bench = node.bench!;
  const { page, check, close } = await open(`${url}#/run/${demo}/tables?table=loops`);
  await page.getByRole("table", { name: "benchmark loops" }).waitFor();
  const [row] = await rows(page, "benchmark loops");
  const interval = bench.ci95_ns ? `${duration(bench.ci95_ns[0])} to ${duration(bench.ci95_ns[1])}` : "–";
  assert.deepEqual(row!.slice(1), [duration(bench.mean_ns), interval, duration(bench.median_ns), duration(bench.min_ns), duration(bench.p95_ns), count(bench.iterations), count(bench.warmup)]);
  await page.getByRole("link", { name: "matmul" }).click();
  await settled(page);
  await page.getByText(/\d+ found/).waitFor();
  check();
  await close();
});

test("the steps of the overview have the statistics that hodo report has", real, async () => {
  const { durations, path: names } = report().nodes.find((node) => node.path.join("/") === "train/epoch/batch")!;
  const { page, check, close } = await open(`${url}#/run/${demo}/overview`);
  await page.getByText(`${names.join("/")} · `).getByText(`median ${duration(durations!.p50_ns)} · 95 %: ${duration(durations!.p95_ns)} · longest ${duration(durations!.max_ns)}`).waitFor();
  check();
  await close();
});

test("marks are smoothed and drawn on a log axis; by step they count on over epochs", real, async () => {
  const { page, check, close } = await open(`${url}#/run/${demo}/marks?marks=loss`);
  const chart = () => page.getByRole("img", { name: /^loss/ }).locator("canvas").screenshot();
  /** The chart, drawn to its end. */
  const still = async () => {
    let shot = await chart();
    await holds(async () => {
      const before = shot;
      shot = await chart();
      assert.deepEqual(shot, before);
    });
    return shot;
  };
  const plain = await still();
  await page.getByLabel("Smoothing").fill("0.9");
  await page.waitForFunction(() => location.hash.includes("smooth=0.9"));
  await holds(async () => assert.notDeepEqual(await chart(), plain));
  const smooth = await still();
  await page.getByRole("button", { name: "log axis" }).click();
  await holds(async () => assert.notDeepEqual(await chart(), smooth));
  const losses = report().nodes.find((node) => node.path.join("/") === "train/epoch/batch")!.count;
  const answer = page.waitForResponse((response) => response.url().includes("mark?name=loss&x=step"));
  await page.getByRole("button", { name: "by step" }).click();
  const { x } = (await (await answer).json()) as { x: number[] };
  assert.deepEqual(x, Array.from({ length: losses }, (_, step) => step), "each batch is a step of its own");
  check();
  await close();
});

test("a table is copied as CSV, kernels too", real, async () => {
  const { page, check, close } = await open(`${url}#/run/h200-training/tables?table=kernels`);
  await page.getByRole("table", { name: "kernels" }).waitFor();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const said = says(page, "Copied");
  await page.getByRole("button", { name: "Copy as CSV" }).click();
  await said;
  let lines: string[] = [];
  await holds(async () => {
    lines = (await clipboard(page)).trim().split("\r\n");
    assert.match(lines[0]!, /^name,count,total_ns,share,mean_ns/);
  });
  await holds(async () => assert.equal(lines.length - 1, (await rows(page, "kernels")).length));
  assert.ok(lines.some((line) => line.startsWith("multi_tensor_apply_kernel,700,")));
  check();
  await close();
});

test("the SQL behind each table gives the same", { skip: HODO && SQL ? false : "HODO_SQL is not set" }, async () => {
  const { page, check, close } = await open(`${url}#/run/h200-training/tables`);
  for (const [run, table, label] of [["h200-training", "scopes", "scopes"], ["h200-training", "kernels", "kernels"], ["h200-training", "copies", "copies"], [demo, "loops", "benchmark loops"]] as const) {
    await to(page, `#/run/${run}/tables?table=${table}`);
    await page.getByRole("table", { name: label }).waitFor();
    const there = (await rows(page, label)).length;
    await page.getByRole("button", { name: "SQL", exact: true }).click();
    await page.getByRole("link", { name: "Ask it" }).click();
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.getByRole("table", { name: "rows" }).waitFor();
    assert.ok((await rows(page, "rows")).length >= there, `${table}: as many rows as the table has`);
  }
  check();
  await close();
});
