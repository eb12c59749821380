import assert from "node:assert/strict";
import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { before, test } from "node:test";
import type { Page } from "playwright-core";
import { atEnd, holds, open, rows, to } from "./harness";
import { HODO, real, serve } from "./hodo";

let url = "";
const all = new Set<string>();
/** The runs by what they are: three ranks of their own, one run of two ranks, and two of other days. */
const ids: Record<string, string> = {};

function hodo(args: string[], env: Record<string, string> = {}): void {
  const made: SpawnSyncReturns<string> = spawnSync(HODO!, args, { encoding: "utf8", env: { ...process.env, ...env } });
  assert.equal(made.status, 0, made.stderr);
}

/** Names what a command has added to the folder. */
function added(dir: string, name: string): void {
  ids[name] = readdirSync(dir).find((id) => !all.has(id))!;
  all.add(ids[name]);
}

before(async () => {
  if (!HODO) return;
  const scratch = mkdtempSync(path.join(tmpdir(), "hodo-runs-"));
  const dir = path.join(scratch, "runs");
  for (const rank of ["0", "1", "2"]) {
    hodo(["demo", "--seconds", "0.3", "--dir", dir], { RANK: rank, WORLD_SIZE: "3" });
    added(dir, `rank ${rank}`);
  }
  // A launcher may give its ranks one run.
  for (const rank of ["0", "2"]) hodo(["demo", "--seconds", "0.3", "--dir", dir], { RANK: rank, WORLD_SIZE: "3", HODO_RUN: path.join(dir, "joint") });
  added(dir, "joint");
  for (const [name, day] of [["old", "2023-11-14"], ["older", "2023-11-13"]] as const) {
    const file = path.join(scratch, `${name}.json`);
    const step = { ph: "X", name: "step", pid: 1, tid: 1, ts: 1000, dur: 900, args: { tag: "warm", index: 1 } };
    writeFileSync(file, JSON.stringify({ baseTimeNanoseconds: Date.parse(`${day}T23:59:00Z`) * 1e6, traceEvents: [step] }));
    hodo(["import", file, "--dir", dir]);
    added(dir, name);
  }
  url = await serve(dir);
  atEnd(() => rmSync(scratch, { recursive: true, force: true }));
});

/** The runs that the list shows, by what they are. */
async function shown(page: Page): Promise<string[]> {
  const table = page.getByRole("table", { name: "runs" });
  const column = (await table.locator("thead th").allInnerTexts()).indexOf("run");
  const found = (await rows(page, "runs")).map((row) => row[column]);
  return Object.keys(ids).filter((name) => found.includes(ids[name])).sort();
}

async function showing(page: Page, names: string[]): Promise<void> {
  await page.waitForFunction((n) => document.querySelectorAll('table[aria-label="runs"] tbody tr').length === n, names.length);
  assert.deepEqual(await shown(page), [...names].sort());
}

test("runs of one rank, also where it shares its run with others", real, async () => {
  const { page, check, close } = await open(`${url}#/runs`);
  await showing(page, Object.keys(ids));
  const choice = page.getByLabel("Runs of one rank");
  await holds(async () => assert.deepEqual(await choice.locator("option").allInnerTexts(), ["all", "0", "1", "2"]));
  await choice.selectOption("2");
  await page.waitForFunction(() => location.hash.includes("rank=2"));
  await showing(page, ["rank 2", "joint"]);
  await page.reload();
  await showing(page, ["rank 2", "joint"]);
  await page.getByRole("button", { name: "All 6 runs" }).click();
  await showing(page, Object.keys(ids));
  await to(page, "#/runs?filter=rank%3D1");
  await showing(page, ["rank 1"]);
  await to(page, "#/runs");
  await showing(page, Object.keys(ids));
  await holds(async () => assert.ok((await rows(page, "runs")).some((row) => row.includes("0, 2")), "a run of two ranks lists both"));
  check();
  await close();
});

test("runs of a day, in UTC, both ends included", real, async () => {
  const { page, check, close } = await open(`${url}#/runs`);
  await showing(page, Object.keys(ids));
  await page.getByLabel("Runs up to this day").fill("2023-11-14");
  await showing(page, ["old", "older"]);
  await page.getByLabel("Runs from this day on").fill("2023-11-14");
  await showing(page, ["old"]);
  await page.waitForFunction(() => location.hash.includes("from=2023-11-14") && location.hash.includes("to=2023-11-14"));
  await page.reload();
  await showing(page, ["old"]);
  check();
  await close();
});

test("what a run was made by stands as tags, and filters the list", real, async () => {
  const { page, check, close } = await open(`${url}#/runs`);
  await showing(page, Object.keys(ids));
  const row = page.getByRole("row").filter({ hasText: ids["rank 0"]! });
  // A long one is cut where it is shown.
  const host = (await row.locator(".tag").filter({ hasText: "host=" }).getAttribute("title"))!;
  assert.match(host, /^host=./);
  await page.getByLabel("Filter by attribute").fill(host);
  await showing(page, ["rank 0", "rank 1", "rank 2", "joint"]);
  assert.ok(decodeURIComponent(page.url()).includes(`filter=${host}`));
  await page.getByLabel("Filter by attribute").fill("app=demo scopes>1000000000");
  await page.getByRole("heading", { name: "No run fits the filter" }).waitFor();
  await page.getByText(/Runs have app, id, host/).waitFor();
  assert.match((await page.getByLabel("Filter by attribute").getAttribute("placeholder"))!, /app=train/);
  check();
  await close();
});
