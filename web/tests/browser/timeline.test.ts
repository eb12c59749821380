import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { HOSTILE } from "../../dev/runs";
import { addressOf, changed, colours, devOrigin, holds, open, rows, settled, to, typeSearch, view, PATIENCE_MS } from "./harness";

const GUTTER_PX = 192;

test("boxes are painted, nested, by WebGL in one batch, and by a plain canvas", async () => {
  for (const [params, renderer] of [["?renderer=webgl", "webgl2"], ["?renderer=2d", "2d"]] as const) {
    const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline${params}`);
    await settled(page);
    assert.equal((await view(page)).renderer, renderer);
    assert.ok((await colours(page, ".tl-canvases .front")) > 30, `${renderer} paints boxes`);
    await page.getByRole("button", { name: "As table" }).click();
    const found = await rows(page, "visible boxes");
    assert.deepEqual(found.find((row) => row[3] === "train")?.slice(1, 4), ["main", "1", "train"]);
    assert.deepEqual(found.find((row) => row[3] === "epoch")?.slice(1, 4), ["main", "2", "epoch"]);
    assert.ok(found.some((row) => /merged/.test(row[3]!)), "merged boxes say so");
    check();
    await close();
  }
});

test("keys and wheel zoom and pan, the address keeps the view, a reload shows it again", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/large/timeline`);
  await settled(page);
  const before = await view(page);
  await page.mouse.move(700, 200);
  for (let press = 0; press < 6; press++) await page.keyboard.press("w");
  const zoomed = await view(page);
  assert.ok(zoomed.t1 - zoomed.t0 < (before.t1 - before.t0) / 3);
  await page.keyboard.press("d");
  await holds(async () => assert.ok((await view(page)).t0 > zoomed.t0));
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  await page.waitForURL(/v0=\d+&v1=\d+/);
  await settled(page);
  const last = await view(page);
  assert.ok(last.t1 - last.t0 < zoomed.t1 - zoomed.t0);
  await addressOf(page);
  await page.reload();
  await settled(page);
  const again = await view(page);
  assert.ok(Math.abs(again.t0 - last.t0) < 2 && Math.abs(again.t1 - last.t1) < 2);
  await page.keyboard.press("0");
  await holds(async () => assert.ok((await view(page)).t1 >= before.end_ns));
  check();
  await close();
});

test("zoom down to nanoseconds shows single slices with their names", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/large/timeline?v0=600000000&v1=600004000`);
  await settled(page);
  assert.equal((await view(page)).t1 - (await view(page)).t0, 4000);
  await page.getByRole("button", { name: "As table" }).click();
  const found = await rows(page, "visible boxes");
  assert.ok(found.length > 0 && !found.some((row) => /merged/.test(row[3]!)));
  check();
  await close();
});

test("a scope that has not ended, the only one on its path, shows its details and that it is open, or was when the recording ended", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  const none = { count: 0, histogram: null, p50_ns: null, p95_ns: null, max_ns: null };
  await changed<object>(page, /(small|growing)\/spans\//, (details) => ({ ...details, open: true, instances: none }));
  const panel = page.getByRole("region", { name: "Details" });
  for (const [run, total, lengths] of [["small", "2.40 s, open when the recording ended", "None of them was closed, so none has a length."], ["growing", / s so far$/, "None of them has ended, so none has its length yet."]] as const) {
    await to(page, `#/run/${run}/timeline`);
    await settled(page);
    await page.mouse.click(GUTTER_PX + 300, 134 + 24 + 3 + 9);
    await panel.getByText(total).waitFor();
    await panel.getByText(lengths).waitFor();
  }
  check();
  await close();
});

test("details say which of its loop a scope is, and a click on that filters by it", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  await changed<object>(page, /small\/spans\//, (details) => ({ ...details, index: 7, attributes: {} }));
  await to(page, "#/run/small/timeline");
  await settled(page);
  await page.mouse.click(GUTTER_PX + 300, 134 + 24 + 3 + 9);
  const panel = page.getByRole("region", { name: "Details" });
  await panel.getByRole("term").filter({ hasText: /^index$/ }).waitFor();
  await panel.getByRole("button", { name: "7", exact: true }).click();
  await page.waitForURL(/filter=index%3D7/);
  check();
  await close();
});

test("a click shows details: times, attributes, marks, kernels with arrows, all instances", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline?v0=360000000&v1=380000000`);
  await settled(page);
  // The third row of the first track is a batch.
  await page.mouse.click(GUTTER_PX + 300, 134 + 24 + 3 + 2 * 18 + 9);
  const panel = page.getByRole("region", { name: "Details" });
  await panel.getByRole("heading", { name: "batch" }).first().waitFor();
  const text = await panel.innerText();
  for (const words of [/total\s+11.2 ms/, /GPU\s+not captured: no CUDA was used/, /variant/, /loss/, /Its kernels first 6 of 3.378/, /All 200 of batch/, /median/]) assert.match(text, words);
  await holds(async () => assert.ok((await page.evaluate(() => (window as unknown as { hodoTimeline: { overlay: { arrows: unknown[] } } }).hodoTimeline.overlay.arrows.length)) > 0, "arrows from launch to kernel"));
  await panel.getByRole("button", { name: /gemm_f16_tn|softmax/ }).first().click();
  await panel.getByText("launched in").waitFor();
  assert.match(page.url(), /sel=kernel%3A\d+/);
  check();
  await close();
});

test("an attribute filters everywhere and stays in the address", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline?v0=360000000&v1=380000000`);
  await settled(page);
  await page.mouse.click(GUTTER_PX + 300, 134 + 24 + 3 + 2 * 18 + 9);
  await page.getByTitle("Filter by this").filter({ hasText: /beam|greedy/ }).click();
  await page.waitForURL(/filter=variant%3D(beam|greedy)/);
  await settled(page);
  const dimmed = () => page.evaluate(() => {
    const { batch } = (window as unknown as { hodoTimeline: { batch: { count: number; words: Uint32Array } } }).hodoTimeline;
    return Array.from({ length: batch.count }, (_, at) => (batch.words[at * 5 + 3]! >>> 24) & 16).filter(Boolean).length;
  });
  await holds(async () => assert.ok((await dimmed()) > 0, "what does not fit is dimmed"));
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByText("fit the filter").waitFor();
  assert.match(page.url(), /filter=variant/);
  check();
  await close();
});

test("a drag selects a range, whose sums and flame follow; Esc clears it", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline`);
  await settled(page);
  await page.mouse.move(500, 300);
  await page.mouse.down();
  await page.mouse.move(700, 320, { steps: 5 });
  await page.mouse.up();
  await page.getByRole("heading", { name: /Range of \d/ }).waitFor();
  await page.waitForURL(/t0=\d+&t1=\d+/);
  await holds(async () => assert.ok((await rows(page, "scopes in the range")).length > 4));
  await page.getByText(/longest \d of 1.234/).waitFor();
  await page.getByRole("region", { name: "Details" }).getByRole("link", { name: "Flame" }).click();
  await page.getByText(/range of .* from/).waitFor();
  await page.goBack();
  await settled(page);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !location.hash.includes("t0="));
  await holds(async () => assert.equal(await page.getByRole("region", { name: "Details" }).count(), 0));
  check();
  await close();
});

test("Enter takes the first hit when it comes, also where the search has not been asked for yet", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline`);
  await settled(page);
  let letGo = () => {};
  const held = new Promise<void>((done) => (letGo = done));
  await page.route(/\/search\?/, async (asked) => {
    await held;
    await asked.continue();
  });
  await page.keyboard.press("/");
  await page.keyboard.type("optimizer");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("q=optimizer"));
  letGo();
  await page.getByText("1 of 200").waitFor();
  await page.getByRole("region", { name: "Details" }).getByRole("heading", { name: "optimizer" }).first().waitFor();
  check();
  await close();
});

test("search finds by name and walks the hits", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline`);
  await settled(page);
  await typeSearch(page, "optimizer");
  await page.getByText("200 found").waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("1 of 200").waitFor();
  await page.getByRole("region", { name: "Details" }).getByRole("heading", { name: "optimizer" }).first().waitFor();
  await page.keyboard.press("Shift+Enter");
  await page.getByText("200 of 200").waitFor();
  await page.getByLabel("Search names on the timeline").fill("no such thing");
  await page.getByText("nothing is called").waitFor();
  check();
  await close();
});

test("a search of thousands begins where the view is, and reaches every hit", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/large/timeline?q=batch&v0=64000000000&v1=64010000000`);
  await settled(page);
  await page.getByText(/^6.000 found$/).waitFor();
  await page.getByLabel("Next hit").click();
  await page.getByText(/^5.\d{3} of 6.000$/).waitFor();
  assert.ok((await view(page)).t0 > 63e9, "next to where the view was");
  check();
  await close();
});

test("an address keeps its view while the tracks are waited for", async () => {
  let answer = () => {};
  const slow = new Promise<void>((done) => (answer = done));
  const prepare = (page: Page) => page.route(/\/tracks$/, async (asked) => {
    await slow;
    await asked.continue();
  });
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline?v0=100000000&v1=200000000`, { prepare });
  await page.getByLabel("Search names on the timeline").waitFor();
  await page.waitForTimeout(1000);
  answer();
  await settled(page);
  const { t0, t1 } = await view(page);
  assert.deepEqual([t0, t1], [100e6, 200e6]);
  assert.match(page.url(), /v0=100000000&v1=200000000/);
  check();
  await close();
});

test("the keyboard alone: into a track, along it, in and out, and it is said aloud", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline`);
  await settled(page);
  const said = page.locator("[aria-live=polite]").last();
  await page.getByRole("treeitem", { name: /thread main/ }).focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("sel=span"));
  await holds(async () => assert.match(await said.innerText(), /^train, .* depth 1/));
  await page.keyboard.press("ArrowDown");
  await said.getByText(/^epoch, .* depth 2/).waitFor();
  await page.keyboard.press("ArrowRight");
  await said.getByText(/^epoch, .* at 2\d\d ms/).waitFor();
  await page.keyboard.press("ArrowUp");
  await said.getByText(/^train/).waitFor();
  await page.keyboard.press("ArrowUp");
  await said.getByText("no scope around it").waitFor();
  await page.keyboard.press("Space");
  await holds(async () => assert.equal(await page.getByRole("treeitem", { name: /thread main/ }).getAttribute("aria-expanded"), "false"));
  await page.keyboard.press("]");
  await said.getByText(/^step/).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await holds(async () => assert.equal(await page.getByRole("dialog").count(), 0));
  check();
  await close();
});

test("every step of thousands is reached by number and by key, and what is not there is said beside the field", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/large/timeline`);
  await settled(page);
  const said = page.locator("[aria-live=polite]").last();
  const note = page.locator(".step-note");
  const goTo = async (step: string) => {
    await page.keyboard.press("g");
    await page.keyboard.type(step);
    await page.keyboard.press("Enter");
  };
  await goTo("9997");
  await said.getByText(/^step 9.997,/).waitFor({ state: "attached" });
  for (const [key, step] of [["]", /^step 9.998,/], ["]", /^step 9.999,/], ["[", /^step 9.998,/], ["[", /^step 9.997,/]] as const) {
    await page.keyboard.press(key);
    await said.getByText(step).waitFor({ state: "attached" });
  }
  await goTo("99999");
  await note.getByText(/^no step 99.999: the last is 9.999$/).waitFor();
  await goTo("0");
  await said.getByText(/^step 0,/).waitFor({ state: "attached" });
  await holds(async () => assert.equal(await note.innerText(), ""));
  await page.keyboard.press("[");
  await note.getByText("first step").waitFor();
  await to(page, "#/run/hostile/timeline");
  await settled(page);
  await page.keyboard.press("]");
  await note.getByText(/^no steps in this run/).waitFor();
  check();
  await close();
});

test("a server that does not answer for a step is said to, and the field of steps lets go", async () => {
  const prepare = (page: Page) => page.route(/\/steps\?/, (asked) => asked.fulfill({ status: 429, json: { error: "too many questions at once; ask again" } }));
  const { page, close } = await open(`${await devOrigin()}#/run/small/timeline`, { prepare });
  await settled(page);
  await page.keyboard.press("]");
  const note = page.getByText("too many questions at once; ask again");
  await note.waitFor();
  await page.unroute(/\/steps\?/);
  await page.keyboard.press("]");
  await holds(async () => assert.equal(await note.count(), 0));
  const field = page.getByLabel("Go to step");
  await page.keyboard.down("g");
  await page.keyboard.down("g");
  await page.keyboard.up("g");
  assert.equal(await field.inputValue(), "");
  assert.ok(await field.evaluate((element) => element === document.activeElement));
  await page.keyboard.press("Escape");
  assert.ok(await field.evaluate((element) => element !== document.activeElement));
  await close();
});

test("a live run grows under the eyes", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/growing/timeline`);
  await settled(page);
  const before = await view(page);
  await page.waitForFunction((end) => (window as unknown as { hodoTimeline: { end_ns: number } }).hodoTimeline.end_ns > end, before.end_ns, { timeout: PATIENCE_MS });
  await page.getByText("live", { exact: true }).waitFor();
  await settled(page);
  const after = await view(page);
  assert.ok(after.t1 > before.t1, "the view at the end follows it");
  check();
  await close();
});

test("dark and light follow the system, and the button is remembered", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline`, { theme: "light" });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await settled(page);
  assert.equal(await ground(), "rgb(255, 255, 255)");
  await page.getByRole("button", { name: "Dark theme" }).click();
  assert.equal(await ground(), "rgb(15, 18, 22)");
  await page.reload();
  assert.equal(await ground(), "rgb(15, 18, 22)");
  await page.emulateMedia({ colorScheme: "dark" });
  assert.equal(await ground(), "rgb(15, 18, 22)");
  check();
  await close();
});

test("hostile names are text in every view", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  await page.getByText(HOSTILE[0]!).first().waitFor();
  for (const [address, label] of [["#/run/hostile/overview", "Scopes with most time of their own"], ["#/run/hostile/flame", "Flame graph"], ["#/run/hostile/tables", "scopes"], ["#/sql/hostile", null]] as const) {
    await to(page, address);
    // SQL has texts of a run only in answers.
    if (label === null) await page.getByLabel("SQL", { exact: true }).waitFor();
    else await holds(async () => assert.ok((await page.locator("main").getByLabel(label, { exact: true }).innerText()).includes(HOSTILE[0]!), address));
    assert.equal(await page.locator("main img, main script").count(), 0, address);
  }
  await to(page, "#/run/hostile/timeline");
  await settled(page);
  await page.getByRole("button", { name: "As table" }).click();
  const names = (await rows(page, "visible boxes")).map((row) => row[3]!);
  assert.ok(names.includes(HOSTILE[0]!) && names.includes(HOSTILE[1]!));
  assert.ok(names.some((name) => name.includes("\ufffdgnp.exe")), "direction signs are shown as such");
  for (const start of [0.5, 1.5, 2.5, 3.5]) await page.mouse.move(GUTTER_PX + start * 100, 134 + 24 + 30);
  assert.equal(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked), undefined);
  assert.equal(await page.locator("main img, main script").count(), 0);
  check();
  await close();
});

test("a wide screen and a zoomed one keep everything reachable", async () => {
  for (const [width, height] of [[3440, 1300], [640, 500]] as const) {
    const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline`, { width, height });
    await settled(page);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(over <= 0, `${width}: ${over} px too wide`);
    await page.getByRole("link", { name: "Flame" }).click();
    await page.getByRole("tree", { name: "Flame graph" }).waitFor();
    check();
    await close();
  }
});

test("a timeline whose server was away is whole again by itself", async () => {
  const { page, close } = await open(`${await devOrigin()}#/run/small/timeline`);
  await settled(page);
  await page.context().setOffline(true);
  for (let press = 0; press < 6; press++) await page.keyboard.press("w");
  await page.getByRole("alert").getByText("The server does not answer").waitFor();
  // Coarser tiles stand in for those that did not come.
  const isFine = () => page.evaluate(() => {
    const { tiles, window: { res_ns, first } } = (window as unknown as { hodoTimeline: { tiles: { best(key: object): { res_ns: number } | undefined }; window: { res_ns: number; first: number } } }).hodoTimeline;
    return tiles.best({ track: "1", res_ns, index: first })?.res_ns === res_ns;
  });
  assert.equal(await isFine(), false);
  await page.context().setOffline(false);
  await page.getByRole("alert").waitFor({ state: "detached" });
  await holds(async () => assert.ok(await isFine()));
  await close();
});

test("a filter holds in the table of the timeline, in the small picture of the run and for the curves of marks", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline?v0=0&v1=200000000`);
  await settled(page);
  const map = () => page.locator(".tl-map canvas").evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
  const before = await map();
  await page.keyboard.press("t");
  await page.getByLabel("Find in visible boxes").fill("batch");
  const batches = () => rows(page, "visible boxes").then((found) => found.filter((row) => row[3]!.startsWith("batch")).length);
  await holds(async () => assert.ok((await batches()) > 3));
  const curve = page.waitForRequest((request) => request.url().includes("mark?name=loss") && request.url().includes("filter=index%3D3"));
  await to(page, "#/run/small/timeline?v0=0&v1=200000000&filter=index%3D3");
  await curve;
  await settled(page);
  await holds(async () => assert.equal(await batches(), 1));
  await page.getByText("those that fit the filter").waitFor();
  await holds(async () => assert.notEqual(await map(), before));
  check();
  await close();
});

test("the table of the timeline says that its boxes are being read, or could not be, not that there are none", async () => {
  let answer: (kind: "late" | "refused") => void = () => undefined;
  const held = () => new Promise<"late" | "refused">((done) => (answer = done));
  let next = held();
  const prepare = (page: Page) => page.route(/small\/tiles/, async (asked) => {
    if ((await next) === "late") await asked.continue();
    else await asked.fulfill({ status: 500, json: { error: "the disk is gone" } });
  });
  const { page, close } = await open(`${await devOrigin()}#/run/small/timeline`, { prepare });
  await page.getByRole("button", { name: "As table" }).click();
  const table = page.getByRole("region", { name: "Visible range as a table" });
  await table.getByText("Reading the boxes …").waitFor();
  answer("late");
  await holds(async () => assert.ok((await rows(page, "visible boxes")).length > 0));
  await settled(page);
  next = held();
  await to(page, "#/run/small/timeline?filter=index%3D3");
  await table.getByText("Reading the boxes …").waitFor();
  answer("refused");
  await table.getByText("The boxes could not be read.").waitFor();
  assert.equal(await table.getByText("No box").count(), 0);
  await close();
});

test("a timeline that was left is not the one that is shown", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline`);
  await settled(page);
  await to(page, "#/runs");
  await page.getByRole("table", { name: "runs" }).waitFor();
  await holds(async () => assert.equal(await page.evaluate(() => "hodoTimeline" in window), false));
  check();
  await close();
});

test("Esc hides the keys after a click on them too, and the focus goes back", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline`);
  await settled(page);
  const track = page.getByRole("treeitem", { name: /thread main/ });
  await track.focus();
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keys" });
  await help.getByText("zoom in, out").click();
  const before = await view(page);
  await page.keyboard.press("w");
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });
  assert.ok(await track.evaluate((element) => element === document.activeElement));
  const after = await view(page);
  assert.deepEqual([after.t0, after.t1], [before.t0, before.t1], "keys are for the dialog while it is shown");
  check();
  await close();
});

test("a link that comes as the stretch before it is about to be written into the address leads to its own", async () => {
  interface Waiting { waiting: Map<number, () => void> }
  const prepare = (page: Page) => page.addInitScript(() => {
    const waiting: Waiting["waiting"] = new Map();
    const [plain, plainClear] = [setTimeout, clearTimeout] as [(act: () => void, ms?: number) => number, (id?: number) => void];
    const held = (act: () => void) => {
      const id = -1 - Math.floor(Math.random() * 1e9);
      waiting.set(id, act);
      return id;
    };
    // What waits as long as the address does waits until it is let.
    Object.assign(window, {
      waiting,
      setTimeout: (act: () => void, ms?: number) => (ms === 250 ? held(act) : plain(act, ms)),
      clearTimeout: (id?: number) => (waiting.delete(id ?? 0) ? undefined : plainClear(id)),
    });
  });
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline`, { prepare });
  await settled(page);
  await page.keyboard.press("w");
  await page.waitForFunction(() => (window as unknown as Waiting).waiting.size > 0);
  await page.evaluate(() => new Promise<void>((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      const { waiting } = window as unknown as Waiting;
      const acts = [...waiting.values()];
      waiting.clear();
      for (const act of acts) act();
      done();
    };
    // The next thing to happen after the link was heard, before anything is painted.
    addEventListener("hashchange", () => port2.postMessage(null), { once: true });
    location.hash = "#/run/small/timeline?v0=100000000&v1=200000000";
  }));
  assert.match(page.url(), /v0=100000000&v1=200000000$/);
  await holds(async () => {
    const { t0, t1 } = await view(page);
    assert.deepEqual([t0, t1], [1e8, 2e8]);
  });
  check();
  await close();
});

test("the tab of the timeline keeps the stretch that is looked at in the address", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline`);
  await settled(page);
  for (let press = 0; press < 4; press++) await page.keyboard.press("w");
  const zoomed = await addressOf(page);
  await page.getByRole("link", { name: "Timeline", exact: true }).click();
  await holds(async () => assert.equal(page.url(), zoomed));
  check();
  await close();
});
