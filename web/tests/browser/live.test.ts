import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import type { Page, Route } from "playwright-core";
import { devRuns } from "../../dev/runs";
import { atEnd, devServer, holds, open, rows, settled, to, twoFrames, view, PATIENCE_MS } from "./harness";
import { HODO, real, serve, started } from "./hodo";

const endOf = (page: Page) => view(page).then(({ end_ns }) => end_ns);
const grows = async (page: Page) => {
  const before = await endOf(page);
  await page.waitForFunction((end) => (window as unknown as { hodoTimeline: { end_ns: number } }).hodoTimeline.end_ns > end, before, { timeout: PATIENCE_MS });
};

/** Shows or hides a page, as its browser would. */
const show = (page: Page, isShown: boolean) => page.evaluate((hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}, !isShown);

/** How many streams of events a page has open. */
const countStreams = (page: Page) => page.addInitScript(() => {
  const Plain = EventSource;
  const streams: EventSource[] = [];
  Object.assign(window, { streams, EventSource: class extends Plain { constructor(url: string) { super(url); streams.push(this); } } });
});
const streams = (page: Page) => page.evaluate(() => (window as unknown as { streams: EventSource[] }).streams.filter(({ readyState }) => readyState !== EventSource.CLOSED).length);

test("eight tabs side by side all work and follow a run, by one stream", async () => {
  const { origin } = await devServer(4000);
  const address = `${origin}#/run/growing/timeline`;
  const { page: first, check, close } = await open(address, { prepare: countStreams });
  const pages = [first];
  for (let tab = 1; tab < 8; tab++) {
    const page = await first.context().newPage();
    await countStreams(page);
    await page.goto(address);
    pages.push(page);
  }
  for (const page of pages) await settled(page);
  await Promise.all(pages.map(grows));
  const held = await Promise.all(pages.map(streams));
  assert.equal(held.reduce((a, b) => a + b), 1);
  const holder = pages[held.indexOf(1)]!;
  await holder.close();
  await Promise.all(pages.filter((page) => page !== holder).map(grows));
  check();
  await close();
});

test("a hidden tab holds no stream; shown again it has what it missed", async () => {
  const { origin, runs } = await devServer(4000);
  const { page, check, close } = await open(`${origin}#/run/growing/timeline`, { prepare: countStreams });
  await settled(page);
  await grows(page);
  // The server tells of it no more, and the page has all that it told.
  const run = runs.find(({ id }) => id === "growing")!;
  run.state = "finished";
  await holds(async () => assert.equal(await endOf(page), run.end_ns));
  await page.evaluate(twoFrames);
  await show(page, false);
  assert.equal(await streams(page), 0);
  run.end_ns += 1e9;
  await page.waitForTimeout(1500);
  assert.ok((await endOf(page)) < run.end_ns);
  await show(page, true);
  await page.waitForFunction((end) => (window as unknown as { hodoTimeline: { end_ns: number } }).hodoTimeline.end_ns === end, run.end_ns, { timeout: PATIENCE_MS });
  assert.equal(await streams(page), 1);
  check();
  await close();
});

test("without locks between tabs each shown tab has its own stream", async () => {
  const { origin } = await devServer(4000);
  const prepare = async (page: Page) => {
    await page.addInitScript(() => Object.defineProperty(navigator, "locks", { value: undefined }));
    await countStreams(page);
  };
  const { page, check, close } = await open(`${origin}#/run/growing/timeline`, { prepare });
  await settled(page);
  await grows(page);
  await show(page, false);
  assert.equal(await streams(page), 0);
  check();
  await close();
});

test("kernels that come after their scopes appear where boxes were drawn before", async () => {
  const { origin, runs } = await devServer(4000);
  const late = { ...devRuns(4000).find(({ id }) => id === "growing")!, id: "late", isLate: true };
  runs.push(late);
  const { page, check, close } = await open(`${origin}#/run/late/timeline?v0=100000000&v1=200000000`);
  await settled(page);
  const boxes = () => page.evaluate(() => (window as unknown as { hodoTimeline: { batch: { count: number } } }).hodoTimeline.batch.count);
  const before = await boxes();
  // From now on every count of boxes is noted: what is drawn is never less than before.
  await page.evaluate(() => {
    const counts: number[] = [];
    Object.assign(window, { counts });
    const look = () => { counts.push((window as unknown as { hodoTimeline: { batch: { count: number } } }).hodoTimeline.batch.count); requestAnimationFrame(look); };
    look();
  });
  late.isLate = false;
  await page.waitForFunction((count) => (window as unknown as { hodoTimeline: { batch: { count: number } } }).hodoTimeline.batch.count > count, before, { timeout: PATIENCE_MS });
  const counts = await page.evaluate(() => (window as unknown as { counts: number[] }).counts);
  assert.ok(Math.min(...counts) >= before, "nothing flickers");
  check();
  await close();
});

test("a view with something selected stays, until it is to follow again", async () => {
  const { origin } = await devServer(4000);
  const { page, check, close } = await open(`${origin}#/run/growing/timeline`);
  await settled(page);
  const follow = page.getByRole("button", { name: "Follow" });
  await grows(page);
  await holds(async () => assert.equal(await follow.count(), 0));
  await page.getByRole("treeitem", { name: /thread main/ }).focus();
  await page.keyboard.press("Enter");
  await follow.waitFor();
  const { t0, t1 } = await view(page);
  await grows(page);
  await grows(page);
  assert.deepEqual([(await view(page)).t0, (await view(page)).t1], [t0, t1]);
  await follow.click();
  await grows(page);
  await grows(page);
  const followed = await view(page);
  assert.ok(followed.t1 >= followed.end_ns, "though something is selected");
  await page.keyboard.press("Escape");
  for (let press = 0; press < 4; press++) await page.keyboard.press("w");
  await follow.waitFor();
  const near = await view(page);
  await follow.click();
  const moved = await view(page);
  assert.ok(moved.t1 >= moved.end_ns && Math.abs(moved.t1 - moved.t0 - (near.t1 - near.t0)) < 2, "as wide as it was");
  await grows(page);
  await holds(async () => assert.ok((await view(page)).t1 >= (await view(page)).end_ns));
  check();
  await close();
});

test("a range that is being dragged stays while the run grows", async () => {
  const { origin } = await devServer(4000);
  const { page, check, close } = await open(`${origin}#/run/growing/timeline`);
  await settled(page);
  const range = () => page.evaluate(() => (window as unknown as { hodoTimeline: { overlay: { range: object | null } } }).hodoTimeline.overlay.range);
  await page.locator(".tl-canvases .front").hover({ position: { x: 300, y: 60 } });
  await page.mouse.down();
  await page.mouse.move(700, 300, { steps: 4 });
  const dragged = await range();
  assert.ok(dragged);
  await grows(page);
  await grows(page);
  assert.deepEqual(await range(), dragged);
  await page.mouse.up();
  await page.waitForURL(/t0=\d+&t1=\d+/);
  check();
  await close();
});

test("a search and the steps of a live run count on", async () => {
  const { origin, runs } = await devServer(4000);
  const { page, check, close } = await open(`${origin}#/run/growing/timeline?q=optimizer`);
  await settled(page);
  await page.getByText("40 found").waitFor();
  await page.keyboard.press("]");
  await page.getByText(/^step \d+,/).waitFor({ state: "attached" });
  const main = runs.find(({ id }) => id === "growing")!.tracks[0]!;
  main.levels = main.levels.map((level, depth) => (depth === 2 ? { ...level, each: level.each * 2 } : level));
  main.counts = main.counts.map((count, depth) => (depth >= 2 ? count * 2 : count));
  await page.getByText("80 found").waitFor();
  await page.keyboard.press("g");
  await page.keyboard.type("75");
  await page.keyboard.press("Enter");
  await page.getByText(/^step 75,/).waitFor({ state: "attached" });
  check();
  await close();
});

test("a run that grows faster than it is answered is shown all the same, in every view", async () => {
  const { origin, runs, tell } = await devServer(4000);
  const run = runs.find(({ id }) => id === "small")!;
  // Each answer comes when the run has grown again.
  const grownBefore = async (page: Page, asked: Route) => {
    const response = await asked.fetch();
    run.generation++;
    tell("grew", JSON.stringify({ run: "small", generation: run.generation, end_ns: run.end_ns }));
    await page.evaluate(twoFrames);
    await asked.fulfill({ response });
  };
  // A page that is closed waits for no answer.
  const prepare = (page: Page) => page.route(/runs\/small(-after)?\/(tracks|report|steps|flame|range|marks?|series|search|compare)\b/, (asked) => grownBefore(page, asked).catch(() => undefined));
  const { page, check, close } = await open(`${origin}#/run/small/overview`, { prepare });
  await page.getByRole("region", { name: "Verdict" }).waitFor();
  await to(page, "#/run/small/marks?marks=loss");
  await page.getByRole("img", { name: "loss over time" }).waitFor();
  await to(page, "#/run/small/system");
  await page.getByRole("img", { name: /power of/ }).waitFor();
  await to(page, "#/compare/small/small-after");
  await page.getByRole("button", { name: "Marks", exact: true }).click();
  await page.getByRole("img", { name: "loss before and after, by step" }).waitFor();
  await to(page, "#/run/small/timeline?q=optimizer");
  await page.getByText("200 found").waitFor();
  await page.waitForFunction(() => {
    const { tracks, curve } = (window as unknown as { hodoTimeline: { tracks: { kind: string }[]; curve: (track: object) => object | null } }).hodoTimeline;
    const marks = tracks.find(({ kind }) => kind === "marks");
    return marks && curve.call((window as unknown as { hodoTimeline: object }).hodoTimeline, marks) !== null;
  });
  check();
  await close();
});

test("what failed while the server was not there is asked for again when it is, also where it is all that was asked of a run", async () => {
  const { origin } = await devServer(4000);
  let isThere = false;
  const prepare = (page: Page) => page.route(/\/api\//, (asked) => (isThere ? asked.continue() : asked.abort()));
  const { page, close } = await open(`${origin}#/run/small/overview`, { prepare });
  const failure = page.getByText("The server does not answer").first();
  const verdict = page.getByRole("region", { name: "Verdict" });
  await failure.waitFor();
  isThere = true;
  await verdict.waitFor();
  for (const [hash, there] of [["#/run/large/overview", verdict], ["#/compare/small/small-after", page.getByText("What changed")]] as const) {
    isThere = false;
    await show(page, false);
    await to(page, hash);
    await failure.waitFor();
    isThere = true;
    await show(page, true);
    await there.waitFor();
  }
  await close();
});

test("what failed before the server was there for the first time is asked for again when it is", async () => {
  const { origin } = await devServer(4000);
  let isThere = () => {};
  const there = new Promise<void>((done) => (isThere = done));
  let answers = false;
  const prepare = (page: Page) => page.route(/\/api\//, async (asked) => {
    // The stream comes late: none was there when the answers failed.
    if (asked.request().url().endsWith("/api/events")) await there;
    else if (!answers) return asked.abort();
    await asked.continue();
  });
  const { page, close } = await open(`${origin}#/run/small/overview`, { prepare });
  await page.getByText("The server does not answer").first().waitFor();
  answers = true;
  isThere();
  await page.getByRole("region", { name: "Verdict" }).waitFor();
  await close();
});

test("a run that is not there is waited for, and shown by itself in every view when it comes", async () => {
  const { origin, runs, tell } = await devServer(4000);
  const waiting = (page: Page) => page.getByRole("heading", { name: "Waiting for a program to record this run" });
  const { page, close } = await open(`${origin}#/run/none/overview`);
  await waiting(page).waitFor();
  assert.equal(await page.getByText("That did not work").count(), 0);
  for (const [view, shown] of [["overview", ".overview header"], ["timeline", ".tl-head"], ["flame", ".flame"], ["tables", "table"], ["marks", ".chart"], ["system", ".chart"]] as const) {
    await to(page, `#/run/late-${view}/${view}`);
    await waiting(page).waitFor();
    runs.push({ ...devRuns(4000)[0]!, id: `late-${view}` });
    tell("runs", "{}");
    await page.getByRole("alert").waitFor({ state: "detached" });
    await page.locator(shown).first().waitFor();
  }
  await to(page, "#/compare/small/late-too");
  await waiting(page).waitFor();
  runs.push({ ...devRuns(4000)[0]!, id: "late-too" });
  tell("runs", "{}");
  await page.getByText("What changed").waitFor();
  await close();
});

test("a question in SQL is asked again when its run comes; what is typed meanwhile stays", async () => {
  const { origin, tell } = await devServer(4000);
  let isThere = false;
  const prepare = (page: Page) => page.route(/api\/sql/, (asked) => (isThere ? asked.continue() : asked.fulfill({ status: 404, json: { error: "no run with the id `late` in .hodo" } })));
  const { page, close } = await open(`${origin}#/sql/late?query=select%201`, { prepare });
  await page.getByRole("heading", { name: "Waiting for a program to record this run" }).waitFor();
  const text = page.getByRole("textbox", { name: "SQL" });
  await text.fill("select 1, 2");
  isThere = true;
  tell("runs", "{}");
  await page.getByRole("table", { name: "rows" }).waitFor();
  assert.equal(await text.inputValue(), "select 1, 2");
  assert.equal(await page.getByRole("alert").count(), 0);
  await close();
});

test("a question in SQL of a run that came is answered however often other runs tell of themselves", async () => {
  const { origin, tell } = await devServer(4000);
  let [isThere, count] = [false, 0];
  let answer = () => {};
  const told = new Promise<void>((done) => (answer = done));
  const prepare = (page: Page) => page.route(/api\/sql/, async (asked) => {
    if (!isThere) return asked.fulfill({ status: 404, json: { error: "no run with the id `late` in .hodo" } });
    count += 1;
    await told;
    return asked.continue();
  });
  const { page, close } = await open(`${origin}#/sql/late?query=select%201`, { prepare });
  await page.getByRole("heading", { name: "Waiting for a program to record this run" }).waitFor();
  isThere = true;
  for (let times = 0; times < 10; times++) {
    tell("runs", "{}");
    await page.getByRole("button", { name: "Asking …" }).waitFor();
    await page.evaluate(twoFrames);
  }
  answer();
  await page.getByRole("table", { name: "rows" }).waitFor();
  assert.equal(count, 1);
  await close();
});

test("a run that came before the server told of anything is shown when it does", async () => {
  const { origin, runs } = await devServer(4000);
  let tells = () => {};
  const told = new Promise<void>((done) => (tells = done));
  const prepare = (page: Page) => page.route(/\/api\/events/, async (asked) => {
    await told;
    await asked.continue();
  });
  const { page, close } = await open(`${origin}#/run/late/overview`, { prepare });
  await page.getByRole("heading", { name: "Waiting for a program to record this run" }).waitFor();
  // What is asked a second time at once is answered too.
  await page.waitForFunction(() => performance.getEntriesByType("resource").filter(({ name }) => name.includes("late/report")).length > 1);
  runs.push({ ...devRuns(4000)[0]!, id: "late" });
  tells();
  await page.getByRole("region", { name: "Verdict" }).waitFor();
  await close();
});

test("a run that is looked for before it is there is shown when it comes", real, async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "hodo-late-"));
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
  const [shown, aside] = [path.join(dir, "shown"), path.join(dir, "aside")] as const;
  mkdirSync(shown);
  await once(spawn(HODO!, ["demo", "--seconds", "1", "--dir", aside], { stdio: "ignore" }), "exit");
  const { page, close } = await open(`${await serve(shown)}#/run/late/overview`);
  await page.getByRole("heading", { name: "Waiting for a program to record this run" }).waitFor();
  renameSync(path.join(aside, readdirSync(aside)[0]!), path.join(shown, "late"));
  await page.getByRole("region", { name: "Verdict" }).waitFor();
  await close();
});

test("the list of runs counts on while one is recorded that nobody opened, and says when it has ended", real, async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "hodo-list-"));
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
  const { page, check, close } = await open(await serve(dir));
  await page.getByText("No runs").first().waitFor();
  const demo = spawn(HODO!, ["demo", "--seconds", "300", "--dir", dir], { stdio: "ignore" });
  const ended = once(demo, "exit");
  atEnd(() => demo.kill());
  const row = page.getByRole("table", { name: "runs" }).locator("tbody tr");
  await row.getByText("live", { exact: true }).waitFor();
  const titles = await page.getByRole("table", { name: "runs" }).locator("thead th").allInnerTexts();
  const scopes = async () => Number((await rows(page, "runs"))[0]![titles.findIndex((title) => title.startsWith("scopes"))]!.replaceAll(/\D/g, ""));
  const first = await scopes();
  await holds(async () => assert.ok((await scopes()) > first));
  assert.equal(demo.exitCode, null, "while it is recorded");
  demo.kill();
  await ended;
  await row.getByText("ended without shutdown", { exact: true }).waitFor();
  // However long that takes on a busy machine.
  await once(spawn(HODO!, ["demo", "--seconds", "3", "--dir", dir], { stdio: "ignore" }), "exit");
  await row.getByText("finished", { exact: true }).waitFor();
  check();
  await close();
});

test("a server that was started again at the same port is said to need its new address", real, async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "hodo-page-"));
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
  const start = (port: string) => {
    const server = spawn(HODO!, ["view", "--no-open", "--port", port, "--dir", dir]);
    atEnd(() => server.kill());
    return { server, url: started(server) };
  };
  const first = start("0");
  const url = await first.url;
  const { page, close } = await open(url);
  await page.getByText("No runs").first().waitFor();
  const ended = new Promise((done) => first.server.on("exit", done));
  first.server.kill();
  await page.getByText("no server").waitFor();
  await ended;
  const again = await start(new URL(url).port).url;
  const sign = page.getByText("old address: open the one that hodo view printed");
  await sign.waitFor();
  // Who follows the new address in another tab lets this one in too.
  await (await page.context().newPage()).goto(again);
  await sign.waitFor({ state: "detached" });
  await close();
});
