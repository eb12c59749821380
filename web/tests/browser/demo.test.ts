import assert from "node:assert/strict";
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { atEnd, open, settled, view, PATIENCE_MS } from "./harness";
import { HODO, real, started } from "./hodo";

/** A demo that is asked for its page, with a browser of the test's in place of one of its own. */
function demoOf(seconds: number): ChildProcessWithoutNullStreams {
  const dir = mkdtempSync(path.join(tmpdir(), "hodo-demo-"));
  const demo = spawn(HODO!, ["demo", "--open", "--seconds", String(seconds), "--dir", dir], { env: { ...process.env, BROWSER: "", DISPLAY: "", WAYLAND_DISPLAY: "" } });
  const ended = once(demo, "exit");
  atEnd(async () => {
    demo.kill("SIGKILL");
    await ended;
    rmSync(dir, { recursive: true, force: true });
  });
  return demo;
}

test("the demo shows its page while it records", real, async () => {
  // The browser takes its time to start, and the demo does not wait for it.
  const { page, close } = await open("about:blank");
  const demo = demoOf(300);
  const url = await started(demo);
  assert.match(url, /#\/run\/.*demo.*\/overview$/, "the address is that of the run");
  await page.goto(url);
  await page.getByText("live", { exact: true }).first().waitFor();
  await page.getByRole("link", { name: "Timeline" }).click();
  await settled(page);
  const first = await view(page);
  await page.waitForFunction((end) => (window as unknown as { hodoTimeline: { end_ns: number } }).hodoTimeline.end_ns > end + 1e9, first.end_ns, { timeout: PATIENCE_MS });
  assert.equal(demo.exitCode, null, "while it records");
  await close();
});

test("the demo prints its report and ends by itself, also where its page is open", real, async () => {
  const { page, close } = await open("about:blank");
  const demo = demoOf(5);
  let [said, told] = ["", ""];
  demo.stdout.on("data", (bytes) => (said += bytes));
  demo.stderr.on("data", (bytes) => (told += bytes));
  const ended = new Promise<number | null>((done) => demo.on("close", done));
  // On a busy machine it may have ended before.
  await page.goto(await started(demo)).catch(() => undefined);
  assert.equal(await ended, 0, told);
  await close();
  assert.match(said, /scope +count +total/, "the report is printed");
  assert.match(told, /its page again: hodo view .*demo/);
});
