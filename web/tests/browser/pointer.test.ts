import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { devOrigin, dragOver, holds, open, settled, to, twoFrames, view } from "./harness";

interface Seen { pointer_ns: number | null; overlay: { pointer_ns: number | null; markLines: number[] } }
const X = 700;

/** The moment that the time cursor stands at, and the one that is under the mouse. */
async function cursor(page: Page): Promise<{ drawn: number | null; under: number }> {
  const canvas = (await page.locator(".front").boundingBox())!;
  const { t0, t1 } = await view(page);
  const drawn = await page.evaluate(() => (window as unknown as { hodoTimeline: Seen }).hodoTimeline.overlay.pointer_ns);
  return { drawn, under: t0 + ((X - canvas.x) / canvas.width) * (t1 - t0) };
}

const markLines = (page: Page) => page.evaluate(() => (window as unknown as { hodoTimeline: Seen }).hodoTimeline.overlay.markLines);

async function isAtMouse(page: Page, after: string): Promise<void> {
  await holds(async () => {
    const { drawn, under } = await cursor(page);
    const { t0, t1 } = await view(page);
    assert.ok(drawn !== null && Math.abs(drawn - under) <= (t1 - t0) / 500, `after ${after}: ${drawn}, not ${under}`);
  });
}

test("the time cursor and the tooltip stay at a mouse that rests while the view moves; keys zoom there", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline`);
  await settled(page);
  const body = (await page.locator(".front").boundingBox())!;
  const batch = body.y + 24 + 2 + 18 * 2 + 9;
  const tip = page.locator(".tl-tip");
  await page.mouse.move(X, batch);
  await tip.waitFor();
  const { under } = await cursor(page);
  for (let press = 0; press < 8; press++) await page.keyboard.press("w");
  await isAtMouse(page, "W");
  assert.ok(Math.abs((await cursor(page)).under - under) < 1e5, "W keeps the moment under the mouse");
  await settled(page);
  await holds(async () => assert.match(await tip.innerText(), /^batch/));
  const start = async () => (await tip.innerText()).match(/at (.*)/)?.[1];
  const first = await start();
  for (let press = 0; press < 4; press++) await page.keyboard.press("d");
  await isAtMouse(page, "D");
  await holds(async () => assert.notEqual(await start(), first, "the tooltip is of what is under the mouse now"));
  await page.keyboard.press("0");
  await isAtMouse(page, "0");
  await to(page, "#/run/small/timeline?v0=1000000&v1=90000000");
  await isAtMouse(page, "a link");
  await page.keyboard.down("Shift");
  await page.mouse.down();
  await page.mouse.move(X - 120, batch, { steps: 3 });
  assert.ok(await tip.isHidden(), "no tooltip while something is dragged");
  await page.mouse.move(X, batch);
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await isAtMouse(page, "a drag");
  await tip.waitFor();
  check();
  await close();
});

test("mark lines say their moment, and are removed by M on one and by Esc", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline`);
  await settled(page);
  const said = page.locator(".tl > .sr[aria-live]");
  for (const x of [500, 800]) {
    await page.mouse.move(x, 400);
    await page.keyboard.press("m");
  }
  await holds(async () => assert.equal((await markLines(page)).length, 2));
  assert.match(await said.innerText(), /^mark line at \d/);
  await page.mouse.move(802, 420);
  await page.keyboard.press("m");
  await holds(async () => assert.equal((await markLines(page)).length, 1));
  await dragOver(page, page.locator(".front"), 100, 300);
  await page.waitForURL(/t0=\d+/);
  await page.keyboard.press("Escape");
  await holds(async () => assert.doesNotMatch(page.url(), /t0=/));
  assert.equal((await markLines(page)).length, 1, "Esc clears the range first");
  await page.keyboard.press("Escape");
  await holds(async () => assert.equal((await markLines(page)).length, 0));
  check();
  await close();
});

test("a press that the system takes away is no click and no drag: what it showed is undone", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline?v0=360000000&v1=380000000&t0=365000000&t1=366000000`);
  await settled(page);
  const state = () => page.evaluate(() => {
    const { overlay, view, following } = (window as unknown as { hodoTimeline: { overlay: { range: object }; view: { value: object }; following: { value: boolean } } }).hodoTimeline;
    return JSON.stringify([overlay.range, view.value, following.value, location.hash]);
  });
  await page.waitForURL(/v0=360000000&v1=380000000/);
  const before = await state();
  for (const [part, keys, far] of [[".front", [], 200], [".front", ["Shift"], 200], [".front", [], 0], [".tl-ruler canvas", [], 200], [".tl-map canvas", [], 200], [".tl-map canvas", [], 0]] as const) {
    const box = (await page.locator(part).boundingBox())!;
    for (const key of keys) await page.keyboard.down(key);
    await page.mouse.move(box.x + 300, box.y + (part === ".front" ? 70 : 8));
    await page.mouse.down();
    if (far > 0) await page.mouse.move(box.x + 300 + far, box.y + (part === ".front" ? 70 : 8), { steps: 4 });
    if (far > 0) assert.notEqual(await state(), before, `${part} shows what it would be`);
    await page.locator(part).evaluate((canvas) => canvas.dispatchEvent(new PointerEvent("pointercancel", { pointerId: 1 })));
    await page.mouse.up();
    for (const key of keys) await page.keyboard.up(key);
    await page.evaluate(twoFrames);
    await holds(async () => assert.equal(await state(), before, `${part} ${keys.join()} by ${far}`));
  }
  check();
  await close();
});

test("ruler and minimap follow the primary button only", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline?v0=360000000&v1=380000000`);
  await settled(page);
  const before = await view(page);
  for (const part of [".tl-ruler canvas", ".tl-map canvas"]) {
    for (const button of ["right", "middle"] as const) {
      const box = (await page.locator(part).boundingBox())!;
      await page.mouse.move(box.x + 500, box.y + 8);
      await page.mouse.down({ button });
      await page.mouse.move(box.x + 700, box.y + 8, { steps: 4 });
      await page.mouse.up({ button });
      assert.deepEqual(await view(page), before, `${part} ${button}`);
    }
  }
  check();
  await close();
});

test("a curve that cannot be read says so", async () => {
  const { page, close } = await open(`${await devOrigin()}#/runs`);
  await page.route(/small\/mark\?name=loss/, (asked) => asked.fulfill({ status: 500, json: { error: "no" } }));
  await to(page, "#/run/small/timeline");
  await settled(page);
  const track = (await page.locator(".tl-head.marks").first().boundingBox())!;
  await holds(async () => {
    await page.mouse.move(X + Math.random() * 20, track.y + 10);
    assert.match(await page.locator(".tl-tip").innerText({ timeout: 500 }), /could not be read/);
  });
  await close();
});
