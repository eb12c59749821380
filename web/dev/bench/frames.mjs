// What the browser has to do: first paint, work of the main thread per frame by the browser's own trace, memory.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import { summary } from "./server.mjs";

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader", "--enable-precise-memory-info"];
const CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline", "devtools.timeline.frame"];
const PATIENCE_MS = 600_000;
const MOVING_MS = 10_000;

/** Opens the timeline at an address, then pans and zooms for ten seconds as held keys do. */
export async function measureFrames(url, { width = 1920, height = 1000 } = {}) {
  const executablePath = process.env.CHROMIUM || ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
  const browser = await chromium.launch({ executablePath, args: FLAGS });
  try {
    const page = await browser.newPage({ viewport: { width, height } });
    const began = performance.now();
    await page.goto(url);
    await page.waitForFunction(() => window.hodoTimeline?.batch?.count > 0, null, { timeout: PATIENCE_MS });
    const boxes_ms = Math.round(performance.now() - began);
    await page.waitForFunction(() => window.hodoTimeline.tiles.settled, null, { timeout: PATIENCE_MS });
    const settled_ms = Math.round(performance.now() - began);
    const paint_ms = await page.evaluate(() => Math.round(performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1));
    const waits = [];
    page.on("requestfinished", (request) => request.url().includes("/tiles?") && waits.push(request.timing().responseEnd - Math.max(0, request.timing().requestStart)));
    await browser.startTracing(page, { categories: CATEGORIES });
    await page.evaluate(move, MOVING_MS);
    const trace = JSON.parse((await browser.stopTracing()).toString());
    const heap_mib = await page.evaluate(() => Math.round(performance.memory.usedJSHeapSize / 2 ** 20));
    const [boxes, renderer] = await page.evaluate(() => [window.hodoTimeline.batch.count, window.hodoTimeline.rendererKind]);
    const { cpu, wall, apart } = workPerFrame(trace.traceEvents);
    return { first_paint_ms: paint_ms, first_boxes_ms: boxes_ms, settled_ms, work: summary(cpu), work_by_the_clock: summary(wall), frames_apart: summary(apart), frames_a_second: +(cpu.length / (MOVING_MS / 1000)).toFixed(1), tile_waits: summary(waits), heap_mib, boxes, renderer };
  } finally {
    await browser.close();
  }
}

/** Runs in the page: zooms in, pans, zooms out, one step for each of the screen's frames. */
function move(moving_ms) {
  return new Promise((done) => {
    const engine = window.hodoTimeline;
    const begun = performance.now();
    let last = begun;
    const step = (now) => {
      const t = (now - begun) / moving_ms;
      const passed_s = Math.max(0, now - last) / 1000;
      last = now;
      if (t >= 1) return setTimeout(done, 300);
      const { t0, t1 } = engine.view.value;
      const [middle, span] = [(t0 + t1) / 2, t1 - t0];
      const zoom = (t < 0.4 ? 0.1 : t > 0.7 ? 12 : 1) ** passed_s;
      const pan = span * 0.4 * passed_s * Math.sin(t * 20);
      engine.setView({ t0: middle - (span * zoom) / 2 + pan, t1: middle + (span * zoom) / 2 + pan });
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
}

/** Milliseconds that the page's main thread was at work from each frame to the next, on a processor and by the clock, and from one frame to the next. */
function workPerFrame(events) {
  const byThread = new Map();
  const key = ({ pid, tid }) => `${pid}/${tid}`;
  const mains = new Set(events.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain").map(key));
  for (const event of events) if (mains.has(key(event))) (byThread.get(key(event)) ?? byThread.set(key(event), []).get(key(event))).push(event);
  const fired = (all) => all.filter(({ name }) => name === "FireAnimationFrame").length;
  const [main] = [...byThread.values()].sort((a, b) => fired(b) - fired(a));
  const tasks = main.filter(({ name, ph }) => ph === "X" && name === "RunTask").sort((a, b) => a.ts - b.ts);
  const starts = main.filter(({ name }) => name === "FireAnimationFrame").map(({ ts }) => ts).sort((a, b) => a - b);
  const [cpu, wall, begun] = [[], [], []];
  let next = 0;
  for (const { ts, dur = 0, tdur = 0 } of tasks) {
    // A task that holds the callbacks of a frame begins that frame.
    const isFrame = next < starts.length && starts[next] < ts + dur;
    while (next < starts.length && starts[next] < ts + dur) next++;
    if (isFrame) {
      cpu.push(0);
      wall.push(0);
      begun.push(ts);
    }
    if (cpu.length === 0) continue;
    cpu[cpu.length - 1] += tdur / 1000;
    wall[wall.length - 1] += dur / 1000;
  }
  const apart = begun.slice(1).map((ts, at) => (ts - begun[at]) / 1000);
  return { cpu, wall, apart };
}
