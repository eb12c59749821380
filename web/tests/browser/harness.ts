import assert from "node:assert/strict";
import { after } from "node:test";
import path from "node:path";
import { chromium, type Browser, type Locator, type Page } from "playwright-core";
import type { DevRun } from "../../dev/runs";
import { startServer } from "../../dev/server";

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader"];
const SLICES = 1_000_000;
/** How long to wait for anything on a busy machine. */
export const PATIENCE_MS = 120_000;

let browser: Browser | undefined;
let origin: Promise<string> | undefined;
const stops: (() => unknown)[] = [];

/** A server over runs made by formula, until the tests of the file are done. */
export async function devServer(slices = SLICES): Promise<{ origin: string; runs: DevRun[]; tell: (event: string, data: string) => number }> {
  const { server, port, runs, tell } = await startServer(path.join(process.cwd(), "../crates/hodo-server/page"), 0, slices);
  stops.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { origin: `http://127.0.0.1:${port}/`, runs, tell };
}

/** The address of the one that the tests of a file share. */
export function devOrigin(): Promise<string> {
  origin ??= devServer().then((started) => started.origin);
  return origin;
}

/** Does something when all tests of the file are done. */
export function atEnd(stop: () => unknown): void {
  stops.push(stop);
}

after(async () => {
  const failures: unknown[] = [];
  for (const stop of [() => browser?.close(), ...stops]) {
    try {
      await stop();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
});

/** A page that must not complain: its errors, refused loads and requests to other hosts fail the test in `check`. */
export interface Opened { page: Page; check: () => void; close: () => Promise<void> }

export async function open(url: string, options: { theme?: "dark" | "light"; width?: number; height?: number; prepare?: (page: Page) => Promise<unknown> } = {}): Promise<Opened> {
  browser ??= await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
  const context = await browser.newContext({ viewport: { width: options.width ?? 1280, height: options.height ?? 800 }, colorScheme: options.theme ?? "dark" });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => { if (message.type() === "error") complaints.push(message.text()); });
  page.on("request", (request) => { if (!request.url().startsWith(new URL(url).origin) && !request.url().startsWith("data:")) complaints.push(`asked ${request.url()}`); });
  await options.prepare?.(page);
  await page.goto(url);
  const close = async () => {
    // An answer that is being changed just now has nobody left to come to.
    if (!page.isClosed()) await page.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
  };
  return { page, check: () => assert.deepEqual(complaints, []), close };
}

/** Waits until something holds that the page is about to show; what it says last, where it never does. */
export async function holds(check: () => Promise<void>): Promise<void> {
  for (const until = Date.now() + PATIENCE_MS; ; await new Promise((done) => setTimeout(done, 20))) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > until) throw error;
    }
  }
}

/** Whatever was copied last. */
export function clipboard(page: Page): Promise<string> {
  return page.evaluate(() => navigator.clipboard.readText());
}

/** Waits until the page has a text in it, however shortly: begun before what makes it say so. */
export function says(page: Page, text: string): Promise<void> {
  return page.evaluate((text) => new Promise<void>((done) => {
    new MutationObserver(() => { if (document.body.textContent?.includes(text)) done(); }).observe(document.body, { subtree: true, childList: true, characterData: true });
  }), text);
}

/** Types a search by keys, and waits until all of it is applied: a pause between two of them applies a part. */
export async function typeSearch(page: Page, text: string): Promise<void> {
  await page.keyboard.press("/");
  await page.keyboard.type(text);
  await page.waitForFunction((query) => location.hash.includes(query), `q=${encodeURIComponent(text)}`);
}

/** Goes to an address of the page. */
export async function to(page: Page, hash: string): Promise<void> {
  await page.evaluate((next) => { location.hash = next; }, hash);
}

/** Answers of the server reach the page changed. */
export async function changed<T>(page: Page, address: RegExp, change: (answer: T) => unknown): Promise<void> {
  await page.route(address, async (asked) => {
    const answer = (await (await asked.fetch()).json()) as T;
    await asked.fulfill({ json: change(answer) });
  });
}

/** Presses, moves and lets go over a part of the page. */
export async function dragOver(page: Page, part: Locator, from_px: number, to_px: number): Promise<void> {
  // Waits until the part stands still: a chart is made anew when its axis changes.
  await part.hover();
  await page.evaluate(twoFrames);
  const box = (await part.boundingBox())!;
  await page.mouse.move(box.x + from_px, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + to_px, box.y + 20, { steps: 4 });
  await page.mouse.up();
}

interface TimelineWindow { hodoTimeline?: { tiles: { settled: boolean }; batch?: { count: number }; view: { value: { t0: number; t1: number } }; end_ns: number; rendererKind: string } }

export const twoFrames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

/** Waits until the timeline has all its tiles and drew them. */
export async function settled(page: Page): Promise<void> {
  // What moves the view asks for tiles with the next frame.
  await page.evaluate(twoFrames);
  await page.waitForFunction(() => {
    const engine = (window as TimelineWindow).hodoTimeline;
    return engine?.tiles.settled && (engine.batch?.count ?? 0) > 0;
  }, null, { timeout: PATIENCE_MS }).catch(async () => {
    const state = await page.evaluate(() => {
      const engine = (window as TimelineWindow).hodoTimeline;
      return { ...engine?.tiles, boxes: engine?.batch?.count, end_ns: engine?.end_ns, text: document.body.innerText.slice(0, 600) };
    });
    throw new Error(`the timeline does not come to rest: ${JSON.stringify(state)}`);
  });
  await page.evaluate(twoFrames);
}

/** The visible stretch of time. */
export async function view(page: Page): Promise<{ t0: number; t1: number; end_ns: number; renderer: string }> {
  return page.evaluate(() => {
    const engine = (window as TimelineWindow).hodoTimeline!;
    return { ...engine.view.value, end_ns: engine.end_ns, renderer: engine.rendererKind };
  });
}

/** The address with the visible stretch in it, which is written a moment after the view was moved. */
export async function addressOf(page: Page): Promise<string> {
  const { t0, t1 } = await view(page);
  await page.waitForFunction((stretch) => location.hash.includes(stretch), `v0=${Math.round(t0)}&v1=${Math.round(t1)}`);
  return page.url();
}

/** How many colours a part of the page shows. */
export async function colours(page: Page, selector: string): Promise<number> {
  const picture = (await page.locator(selector).first().screenshot()).toString("base64");
  const blank = await page.context().newPage();
  const found = await blank.evaluate(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width;
    canvas.height = image.height;
    const context = canvas.getContext("2d")!;
    context.drawImage(image, 0, 0);
    return new Set(new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer)).size;
  }, picture);
  await blank.close();
  return found;
}

/** Moves over a part of a chart's width, to and fro, since a chart may have been made anew under a pointer that rests; where its plot is. */
export async function point(page: Page, chart: Locator, share: number): Promise<{ x: number; y: number; width: number; height: number }> {
  const plot = (await chart.locator(".u-over").boundingBox())!;
  const [x, y] = [plot.x + plot.width * share, plot.y + 20];
  await page.mouse.move(x - 1, y);
  await page.mouse.move(x, y);
  await page.evaluate(twoFrames);
  return plot;
}

/** The rows of a table as texts. */
export async function rows(page: Page, label: string): Promise<string[][]> {
  return page.getByRole("table", { name: label, exact: true }).locator("tbody tr").evaluateAll((found) => found.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.innerText.trim())));
}
