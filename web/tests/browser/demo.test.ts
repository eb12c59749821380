import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { atEnd, open, settled, view, PATIENCE_MS } from "./harness";
import { HODO, real, started } from "./hodo";

test("the demo shows its page while it records, prints its report and ends by itself", real, async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "hodo-demo-"));
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
  // The browser takes its time to start, and the demo does not wait for it.
  const { page, close } = await open("about:blank");
  const demo = spawn(HODO!, ["demo", "--open", "--seconds", "20", "--dir", dir], { env: { ...process.env, BROWSER: "", DISPLAY: "", WAYLAND_DISPLAY: "" } });
  let [said, told] = ["", ""];
  demo.stdout.on("data", (bytes) => (said += bytes));
  demo.stderr.on("data", (bytes) => (told += bytes));
  const ended = new Promise<number | null>((done) => demo.on("exit", done));
  const url = await started(demo);
  assert.match(url, /#\/run\/.*demo.*\/overview$/, "the address is that of the run");
  await page.goto(url);
  await page.getByText("live", { exact: true }).first().waitFor();
  await page.getByRole("link", { name: "Timeline" }).click();
  await settled(page);
  const first = await view(page);
  await page.waitForFunction((end) => (window as unknown as { hodoTimeline: { end_ns: number } }).hodoTimeline.end_ns > end + 1e9, first.end_ns, { timeout: PATIENCE_MS });
  await close();
  assert.equal(await ended, 0, told);
  assert.match(said, /scope +count +total/, "the report is printed");
  assert.match(told, /its page again: hodo view .*demo/);
});
