import assert from "node:assert/strict";
import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import { atEnd, open, to, settled } from "./harness";
import { HODO, real, serve } from "./hodo";

const SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>";
const TURNED = "\u202egnikcart\u202c \u2066x";
const ANSI = "\u001b[31mred\u001b]0;title\u0007\u0000";
const ATTRIBUTE = "\" onmouseover=\"alert(3)\" 'x";
const LONG = "long name ".repeat(1_000_000);
const ALL = [SCRIPT, TURNED, ANSI, ATTRIBUTE, LONG];

/** A run whose every text is hostile: names of scopes, threads, processes, kernels, marks, attributes, tags, program, host, command. */
function hostileRun(dir: string): string {
  const scopes = ALL.map((text, at) => ({ ph: "X", name: text, pid: 1, tid: 1, ts: 1000 * at, dur: 900, args: { tag: text, [text.slice(0, 200)]: text, index: at } }));
  const launches = ALL.map((_, at) => ({ ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 1, tid: 1, ts: 1000 * at + 10, dur: 5, args: { correlation: at + 1 } }));
  const kernels = ALL.map((text, at) => ({ ph: "X", cat: "kernel", name: text, pid: 0, tid: 7, ts: 1000 * at + 20, dur: 300, args: { device: 0, context: 1, stream: 7, correlation: at + 1, grid: [1, 1, 1], block: [32, 1, 1] } }));
  const counters = ALL.flatMap((text, at) => [1, 2, 3].map((value) => ({ ph: "C", name: text.slice(0, 5000), pid: 1, tid: 1, ts: 1000 * at + value * 100, args: { [text.slice(0, 200)]: value } })));
  const names = [{ ph: "M", name: "process_name", pid: 1, args: { name: SCRIPT } }, { ph: "M", name: "thread_name", pid: 1, tid: 1, args: { name: TURNED + SCRIPT } }];
  const file = path.join(dir, "trace.json");
  writeFileSync(file, JSON.stringify({ traceEvents: [...names, ...scopes, ...launches, ...kernels, ...counters] }));
  const made: SpawnSyncReturns<string> = spawnSync(HODO!, ["import", file, "--dir", path.join(dir, "runs")], { encoding: "utf8" });
  assert.equal(made.status, 0, made.stderr);
  const [id] = readdirSync(path.join(dir, "runs"));
  const run = path.join(dir, "runs", id!);
  for (const where of [run, path.join(run, readdirSync(run).find((name) => name.startsWith("p"))!)]) {
    const json = path.join(where, where === run ? "run.json" : "process.json");
    const info = JSON.parse(readFileSync(json, "utf8")) as Record<string, unknown>;
    writeFileSync(json, JSON.stringify({ ...info, app: SCRIPT, host: SCRIPT + TURNED, argv: ["train", SCRIPT, ANSI, LONG], cwd: SCRIPT, git_revision: SCRIPT }));
  }
  return id!;
}

test("texts of every field are text in every view: no dialog, no element, nothing refused by the policy", { ...real, timeout: 600_000 }, async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "hodo-hostile-"));
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
  const id = hostileRun(dir);
  const url = await serve(path.join(dir, "runs"));
  const { page, check, close } = await open(`${url}#/runs`);
  const dialogs: string[] = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  await page.getByRole("table", { name: "runs" }).getByText("<script>").first().waitFor();
  const run = encodeURIComponent(id);
  const seen: Record<string, string> = {};
  const table = (name: string) => page.getByRole("table", { name, exact: true }).getByText("<script>");
  const places: [string, Locator][] = [
    ["runs", table("runs")],
    [`run/${run}/overview`, table("Scopes with most time of their own")],
    [`run/${run}/flame`, page.getByRole("tree", { name: "Flame graph" }).getByText("<script>")],
    [`run/${run}/tables`, table("scopes")],
    [`run/${run}/tables?table=kernels`, table("kernels")],
    [`run/${run}/marks`, page.locator(".marks .card").getByText("<script>")],
    [`run/${run}/system`, page.getByRole("heading", { name: "The machine was not sampled" })],
    [`sql/${run}`, page.getByRole("button", { name: "Ask", exact: true })],
    [`compare/${run}/${run}`, page.getByText("What changed")],
  ];
  for (const [place, shown] of places) {
    await to(page, `#/${place}`);
    await shown.first().waitFor();
    seen[place] = await page.locator("main").innerText();
    const injected = await page.evaluate(() => document.querySelectorAll("main script, main img, main b b, [onerror], [onmouseover]").length);
    assert.equal(injected, 0, place);
  }
  assert.ok(seen[`run/${run}/tables`]!.includes("<script>alert(1)</script>"), "a name is shown as it is written");
  for (const [place, text] of Object.entries(seen)) {
    assert.ok(!/[\u0000\u0007\u001b\u202e\u2066]/.test(text), `${place}: signs that control terminals or turn the text are not passed on`);
    assert.ok(text.length < 200_000, `${place}: a name of ten million signs is cut`);
  }
  await to(page, `#/run/${run}/timeline`);
  await settled(page);
  await page.getByRole("treeitem").filter({ hasText: "thread" }).or(page.getByRole("treeitem").filter({ hasText: "script" })).first().focus();
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Details" }).getByText("<script>").first().waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("script");
  await page.getByRole("option").filter({ hasText: "<script>" }).first().waitFor();
  await page.keyboard.press("Escape");
  assert.deepEqual(dialogs, []);
  check();
  await close();
});
