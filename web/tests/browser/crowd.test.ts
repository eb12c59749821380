import assert from "node:assert/strict";
import { test } from "node:test";
import { crowd } from "../../dev/runs";
import { devServer, holds, open, settled } from "./harness";

const THREADS = 2000;

async function openCrowd() {
  const { origin, runs } = await devServer(4000);
  runs.push(crowd(THREADS));
  const opened = await open(`${origin}#/run/crowd/timeline`);
  await settled(opened.page);
  return opened;
}

test("a page of thousands of tracks that nobody touches asks for nothing", async () => {
  const { page, check, close } = await openCrowd();
  let asked = 0;
  page.on("request", () => asked++);
  await page.waitForTimeout(1500);
  assert.equal(asked, 0);
  await page.locator(".tl-body").evaluate((body) => { body.scrollTop = body.scrollHeight / 2; });
  await settled(page);
  const drawn = asked;
  assert.ok(drawn > 0 && drawn < 60, `${drawn} requests for what came into sight`);
  await page.waitForTimeout(1000);
  assert.equal(asked, drawn);
  check();
  await close();
});

test("processes of two hosts with one number have two headings", async () => {
  const { page, check, close } = await openCrowd();
  await page.getByRole("treeitem", { name: /train\.py · node1 · pid 7/ }).waitFor();
  assert.equal(await page.evaluate(() => (window as unknown as { hodoTimeline: { layout: { value: { lines: { kind: string }[] } } } }).hodoTimeline.layout.value.lines.filter(({ kind }) => kind === "group").length), 2);
  check();
  await close();
});

test("thousands of tracks are one stop of the Tab key, and all of them are reached from it", async () => {
  const { page, check, close } = await openCrowd();
  assert.equal(await page.locator(".tl-head[tabindex='0']").count(), 1);
  assert.ok((await page.locator(".tl-head").count()) < 100, "headings that are seen");
  const reaches = (words: string) => page.locator(".tl-head:focus", { hasText: words }).waitFor();
  await page.locator(".tl-head[tabindex='0']").focus();
  await page.keyboard.press("ArrowDown");
  await reaches("worker 0");
  await page.keyboard.press("ArrowDown");
  await reaches("worker 2");
  await page.keyboard.press("ArrowUp");
  await reaches("worker 0");
  await page.keyboard.press("End");
  await reaches(`worker ${THREADS - 1}`);
  await settled(page);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("sel=span"));
  await page.keyboard.press("ArrowUp");
  await page.getByText("no scope around it").waitFor({ state: "attached" });
  assert.match(await page.locator(".tl-head:focus").innerText(), new RegExp(`worker ${THREADS - 1}`), "the arrows walk the boxes of a track once one is selected");
  await page.keyboard.press("Escape");
  await page.keyboard.press("ArrowUp");
  await reaches(`worker ${THREADS - 3}`);
  await page.keyboard.press("Tab");
  await holds(async () => assert.equal(await page.locator(".tl-head:focus").count(), 0, "the next stop is behind the tracks"));
  check();
  await close();
});

test("a track that a key goes to has the focus before the next key, also where the one that was left is no longer drawn", async () => {
  const { page, check, close } = await openCrowd();
  await page.locator(".tl-head[tabindex='0']").focus();
  for (const [key, reached] of [["End", `worker ${THREADS - 1}`], ["Home", "train.py"]] as const) {
    const focused = await page.evaluate(async (pressed) => {
      document.activeElement!.dispatchEvent(new KeyboardEvent("keydown", { key: pressed, bubbles: true }));
      // Drawing takes a few turns of the queue that comes before any other event.
      for (let turn = 0; turn < 20; turn++) await null;
      return document.activeElement!.matches(".tl-head") ? document.activeElement!.textContent! : document.activeElement!.tagName;
    }, key);
    assert.match(focused, new RegExp(reached));
    await settled(page);
  }
  check();
  await close();
});
