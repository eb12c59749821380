// Pictures of every view for people to look at: node dev/shots.mjs URL RUN FOLDER [WIDTH] [THEME] [OTHER-RUN]
import { chromium } from "playwright-core";
import { mkdir } from "node:fs/promises";

const [url, run, folder, width = "1280", theme = "dark", other = ""] = process.argv.slice(2);
export const CHROMIUM_ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader"];
await mkdir(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: CHROMIUM_ARGS });
const page = await browser.newPage({ viewport: { width: Number(width), height: Number(width) > 2000 ? 1300 : 800 }, colorScheme: theme });
page.on("console", (message) => { if (message.type() === "error") console.log("console:", message.text()); });
page.on("pageerror", (error) => console.log("error:", error.stack));
const views = { runs: "#/runs", overview: `#/run/${run}/overview`, timeline: `#/run/${run}/timeline`, flame: `#/run/${run}/flame`, tables: `#/run/${run}/tables`, kernels: `#/run/${run}/tables?table=kernels`, marks: `#/run/${run}/marks`, system: `#/run/${run}/system`, compare: `#/compare/${run}/${other || run}`, sql: `#/sql/${run}` };
if (process.env.SEL) views.details = `#/run/${run}/timeline?sel=${process.env.SEL}`;
if (process.env.RANGE) views.range = `#/run/${run}/timeline?${process.env.RANGE}`;
const only = process.env.ONLY?.split(",");
await page.goto(url);
for (const [name, hash] of Object.entries(views)) {
  if (only && !only.includes(name)) continue;
  await page.evaluate((to) => { location.hash = to; }, hash);
  await page.waitForTimeout(900);
  if (name === "timeline") await page.waitForFunction(() => window.hodoTimeline?.tiles.settled, null, { timeout: 20000 });
  await page.waitForTimeout(600);
  if (name === "sql") { await page.getByRole("button", { name: "Ask", exact: true }).click(); await page.waitForTimeout(1500); }
  await page.screenshot({ path: `${folder}/${name}-${width}-${theme}.png` });
}
await browser.close();
