// Pictures of every view for people to look at, and those of the docs: node dev/shots.mjs HODO FOLDER [docs] (`make page-shots`)
// Records two demos, takes the run of an H200 from the tests, and runs made by formula for what a real run seldom lacks.
import { chromium } from "playwright-core";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundle } from "./bundle.mjs";

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader"];
const SQL = "select name, count(*) as n, avg(duration_ns) / 1e6 as mean_ms from spans group by name order by mean_ms desc limit 12";
const [hodo, folder, docs] = process.argv.slice(2);
if (!hodo || !folder) throw new Error("node dev/shots.mjs HODO FOLDER [docs]");
const root = path.join(path.dirname(fileURLToPath(import.meta.url)), "../..");
const scratch = mkdtempSync(path.join(tmpdir(), "hodo-shots-"));
mkdirSync(folder, { recursive: true });

/** The address that a `hodo view` over the runs prints. */
async function serve(dir) {
  const server = spawn(hodo, ["view", "--no-open", "--dir", dir]);
  const url = await new Promise((ready, failed) => {
    server.stdout.on("data", (bytes) => ready(/http:\S+/.exec(String(bytes))?.[0]));
    server.on("exit", (code) => failed(new Error(`hodo view ended with ${code}`)));
  });
  return { url, stop: () => server.kill() };
}

function record(dir) {
  for (const seed of ["7", "8"]) {
    const made = spawnSync(hodo, ["demo", "--seed", seed], { argv0: "hodo", encoding: "utf8", env: { ...process.env, HODO_DIR: dir, HODO_TELEMETRY: "100ms" } });
    if (made.status !== 0) throw new Error(made.stderr);
  }
  const demos = readdirSync(dir).sort();
  cpSync(path.join(root, "crates/hodo-cli/tests/data/h200-training"), path.join(dir, "h200-training"), { recursive: true });
  return demos;
}

const settle = (page) => page.waitForFunction(() => window.hodoTimeline?.tiles.settled, null, { timeout: 60_000 });

/** Selects what a search on the timeline finds first. */
async function found(page, words) {
  await settle(page);
  await page.keyboard.press("/");
  await page.keyboard.type(words);
  await page.getByText(/\d found/).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Details" }).waitFor();
}

async function zoomed(page, words) {
  await found(page, words);
  for (const _ of [1, 2]) await page.getByRole("button", { name: "Zoom to it" }).click();
  for (const _ of [1, 2, 3]) await page.keyboard.press("s");
}

const ask = (page) => page.getByRole("button", { name: "Ask", exact: true }).click();
const go = (page) => page.keyboard.press("Control+k").then(() => page.keyboard.type("back"));

/** What is pictured: its address, and what is done there. */
function views([first, second], real, made) {
  const of = (run) => (view) => `${real}#/run/${run}/${view}`;
  const [demo, h200] = [of(first), of("h200-training")];
  const none = (view) => `${made}#/run/empty/${view}`;
  return {
    runs: [`${real}#/runs`],
    overview: [h200("overview")],
    "overview-demo": [demo("overview")],
    timeline: [demo("timeline")],
    "timeline-gpu": [h200("timeline")],
    close: [demo("timeline"), (page) => zoomed(page, "batch")],
    details: [h200("timeline"), (page) => zoomed(page, "optimizer")],
    filter: [`${demo("timeline")}?filter=index%3E3`],
    range: [`${h200("timeline")}?t0=11150000000&t1=11200000000`],
    "range-empty": [`${h200("timeline")}?t0=2000000000&t1=3000000000`],
    table: [demo("timeline"), (page) => page.getByRole("button", { name: "As table" }).click()],
    flame: [demo("flame")],
    "flame-gpu": [`${h200("flame")}?by=gpu`],
    tables: [h200("tables")],
    kernels: [`${h200("tables")}?table=kernels`],
    copies: [`${h200("tables")}?table=copies`],
    loops: [`${demo("tables")}?table=loops`],
    marks: [demo("marks")],
    "marks-step": [`${demo("marks")}?x=step&smooth=0.9&log=1&with=${second}`],
    system: [demo("system")],
    "system-gpu": [h200("system")],
    compare: [`${real}#/compare/${first}/${second}`],
    "compare-kernels": [`${real}#/compare/h200-training/h200-training?part=kernels`],
    sql: [`${real}#/sql/${first}?query=${encodeURIComponent(SQL)}`, ask],
    palette: [demo("overview"), go],
    keys: [demo("timeline"), (page) => page.keyboard.press("?")],
    "no-run": [`${real}#/run/none/overview`],
    ...Object.fromEntries(["overview", "timeline", "flame", "tables", "marks", "system"].map((view) => [`empty-${view}`, [none(view)]])),
  };
}

/** Of the pictures, those that docs/page.md shows, and their names there. */
const IN_DOCS = { runs: "dark", overview: "dark", timeline: "dark", details: "dark", flame: "dark", tables: "dark", kernels: "dark", marks: "dark", system: "dark", compare: "dark", sql: "dark", palette: "dark", "timeline-light": "light" };

async function shoot(browser, all, width, theme) {
  const context = await browser.newContext({ viewport: { width, height: width > 2000 ? 1300 : 800 }, colorScheme: theme });
  const only = process.env.ONLY?.split(",");
  for (const [name, [url, act]] of Object.entries(all)) {
    if (only && !only.includes(name)) continue;
    const page = await context.newPage();
    page.on("console", (message) => message.type() === "error" && console.log(`${name}: ${message.text()}`));
    page.on("pageerror", (error) => console.log(`${name}: ${error.stack}`));
    await page.goto(url);
    await page.waitForTimeout(900);
    await act?.(page).catch((error) => console.log(`${name}: ${error.message}`));
    if (await page.evaluate(() => window.hodoTimeline)) await settle(page);
    await page.waitForTimeout(900);
    await page.screenshot({ path: path.join(folder, `${name}-${width}-${theme}.png`) });
    await page.close();
  }
  await context.close();
}

const { startServer } = await import(pathToFileURL(await bundle("dev/server.ts")).href);
const { server, port } = await startServer(path.join(root, "crates/hodo-server/page"), 0, 100_000);
const runs = path.join(scratch, "runs");
const demos = record(runs);
const real = await serve(runs);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync), args: FLAGS });
try {
  const all = views(demos, real.url, `http://127.0.0.1:${port}/`);
  const looks = process.env.LOOKS?.split(",") ?? ["1280-dark", "1280-light", "3440-dark"];
  for (const [width, theme] of looks.map((look) => look.split("-"))) await shoot(browser, all, Number(width), theme);
  if (docs) {
    for (const [name, theme] of Object.entries(IN_DOCS)) cpSync(path.join(folder, `${name.replace("-light", "")}-1280-${theme}.png`), path.join(root, "docs/images/page", `${name}.png`));
  }
} finally {
  await browser.close();
  real.stop();
  server.close();
  server.closeAllConnections();
  rmSync(scratch, { recursive: true });
}
