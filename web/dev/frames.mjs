// Frame times while panning and zooming: node dev/frames.mjs ADDRESS-OF-A-TIMELINE [WIDTH] [renderer]
// First paint, work of the main thread per frame (the page's own measure and the browser's log), tile latency, memory.
import { chromium } from "playwright-core";

const [url, width = "1920"] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader", "--enable-precise-memory-info"] });
const page = await browser.newPage({ viewport: { width: Number(width), height: 1000 } });
const at = (values, share) => values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;
const summary = (values) => { values.sort((a, b) => a - b); return { n: values.length, p50_ms: +at(values, 0.5).toFixed(2), p95_ms: +at(values, 0.95).toFixed(2), max_ms: +at(values, 1).toFixed(2) }; };

const from = Date.now();
await page.goto(url);
await page.waitForFunction(() => window.hodoTimeline?.batch?.count > 0, null, { timeout: 120000 });
console.log("first boxes on the screen:", Date.now() - from, "ms");
await page.waitForFunction(() => window.hodoTimeline.tiles.settled, null, { timeout: 120000 });
await page.evaluate(() => { window.hodoTimeline.meter.reset(); performance.clearResourceTimings(); performance.setResourceTimingBufferSize(5000); });

// Ten seconds of panning and zooming at the screen's own pace, as held keys do.
const frames = await page.evaluate(() => new Promise((done) => {
  const engine = window.hodoTimeline;
  const entries = [];
  new PerformanceObserver((list) => entries.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "measure" });
  const begun = performance.now();
  let last = begun;
  const step = (now) => {
    const t = (now - begun) / 10000;
    const passed_s = Math.max(0, now - last) / 1000;
    last = now;
    if (t >= 1) return setTimeout(() => done(entries), 300);
    const { t0, t1 } = engine.view.value;
    const [middle, span] = [(t0 + t1) / 2, t1 - t0];
    const zoom = (t < 0.4 ? 0.2 : t > 0.75 ? 8 : 1) ** passed_s;
    const pan = span * 0.4 * passed_s * Math.sin(t * 20);
    engine.setView({ t0: middle - (span * zoom) / 2 + pan, t1: middle + (span * zoom) / 2 + pan });
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}));
console.log("work per frame:", summary(frames));
const tiles = await page.evaluate(() => performance.getEntriesByType("resource").filter((entry) => entry.name.includes("/tiles?")).map((entry) => entry.duration));
console.log("tile latency:", summary(tiles));
console.log("boxes in the last frame:", await page.evaluate(() => window.hodoTimeline.batch.count), "renderer:", await page.evaluate(() => window.hodoTimeline.rendererKind));
console.log("script memory:", await page.evaluate(() => Math.round(performance.memory.usedJSHeapSize / 2 ** 20)), "MiB");
await browser.close();
