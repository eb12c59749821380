import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { changed, devOrigin, holds, open, rows, settled, to, twoFrames } from "./harness";

test("bookmarks with broken escapes, parts of a nanosecond or no such table show what there is", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/flame?zoom=%25`);
  await page.getByRole("treeitem", { name: /^train/ }).waitFor();
  await to(page, "#/run/small/marks?marks=%25");
  await page.getByText("no numbers to draw").or(page.getByRole("img", { name: "% over time" })).waitFor();
  await to(page, "#/run/small/tables?table=nosuch");
  await page.getByRole("table", { name: "scopes" }).waitFor();
  const asked = page.waitForRequest(/flame\?/);
  await to(page, "#/run/small/flame?t0=1.5&t1=9e6");
  assert.match((await asked).url(), /t0=2&t1=9000000/);
  await page.getByRole("tree", { name: "Flame graph" }).waitFor();
  check();
  await close();
});

test("one end of a range in the address is no range: the numbers are those of the whole run", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  for (const [view, asked] of [["tables", /small\/report/], ["flame", /small\/flame/], ["system", /small\/series\//]] as const) {
    const request = page.waitForRequest(asked);
    await to(page, `#/run/small/${view}?t0=100000000`);
    assert.doesNotMatch((await request).url(), /t0=/);
    await page.getByText("whole run", { exact: true }).waitFor();
  }
  check();
  await close();
});

test("the list of runs keeps its filter while a run is looked at, and a filter that is being typed waits for its value", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs?filter=app%3Dtrain&sort=app`);
  await page.getByRole("table", { name: "runs" }).waitFor();
  await to(page, "#/run/small/tables");
  await page.getByRole("table", { name: "scopes" }).waitFor();
  const box = page.getByLabel("Filter by attribute");
  await box.fill("index>");
  await page.waitForTimeout(800);
  assert.doesNotMatch(page.url(), /filter=/);
  await box.fill("index>3");
  await page.waitForURL(/filter=index%3E3/);
  for (const link of ["Runs", "hodo, all runs"]) {
    await to(page, "#/run/small/tables");
    await page.waitForURL(/tables$/);
    await page.getByRole("link", { name: link, exact: true }).click();
    await page.waitForURL(/#\/runs\?filter=app%3Dtrain&sort=app$/);
  }
  check();
  await close();
});

/** Types one text, and a longer one just as the address has the first. */
async function typeOn(page: Page, label: string, first: string, more: string): Promise<void> {
  await page.getByLabel(label).evaluate((box: HTMLInputElement, [first, more]) => new Promise<void>((done) => {
    const type = (text: string) => {
      box.value = text;
      box.dispatchEvent(new InputEvent("input", { bubbles: true }));
      if (text === more) done();
    };
    const plain = history.replaceState.bind(history);
    history.replaceState = (...state: Parameters<History["replaceState"]>) => {
      plain(...state);
      if (!location.hash.endsWith(encodeURIComponent(first))) return;
      history.replaceState = plain;
      queueMicrotask(() => type(more));
    };
    type(first);
  }), [first, more] as const);
}

test("a letter that is typed while those before it are applied stays in the box", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline`);
  await settled(page);
  for (const [label, first, more, applied] of [["Search names on the timeline", "opti", "optim", "optim"], ["Filter by attribute", "index>1", "index>12", "index%3E12"]] as const) {
    const box = page.getByLabel(label);
    await typeOn(page, label, first, more);
    for (let frames = 0; frames < 3; frames++) {
      await page.evaluate(twoFrames);
      assert.equal(await box.inputValue(), more);
    }
    await page.waitForFunction((text) => location.hash.endsWith(`=${text}`), applied);
  }
  await page.waitForURL(/q=optim&filter=index%3E12$/);
  // What the address says otherwise is shown all the same.
  await to(page, "#/run/small/timeline?q=batch&filter=index%3D5");
  await holds(async () => assert.equal(await page.getByLabel("Search names on the timeline").inputValue(), "batch"));
  await holds(async () => assert.equal(await page.getByLabel("Filter by attribute").inputValue(), "index=5"));
  check();
  await close();
});

test("what is typed and not yet applied is of the view that it was typed in; what is left is applied there", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline`);
  await settled(page);
  const typeAndGo = (label: string, text: string, hash: string) => page.getByLabel(label).evaluate((box: HTMLInputElement, [text, hash]) => {
    box.value = text;
    box.dispatchEvent(new InputEvent("input", { bubbles: true }));
    location.hash = hash;
  }, [text, hash] as const);
  await typeAndGo("Search names on the timeline", "batch", "#/run/small/flame");
  await page.getByRole("treeitem", { name: /^train/ }).waitFor();
  await typeAndGo("Filter by attribute", "index>3", "#/run/large/tables");
  await page.getByRole("table", { name: "scopes" }).waitFor();
  await holds(async () => assert.equal(await page.getByLabel("Filter by attribute").inputValue(), ""));
  // Longer than either box waits.
  await page.waitForTimeout(800);
  assert.match(page.url(), /#\/run\/large\/tables$/);
  await page.getByLabel("Filter by attribute").fill("index>3");
  await page.getByRole("link", { name: "Flame" }).click();
  await page.waitForURL(/#\/run\/large\/flame\?filter=index%3E3$/);
  check();
  await close();
});

test("what is not finished stays in the box while another window is looked at, and goes when the box is left", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/tables`);
  const box = page.getByLabel("Filter by attribute");
  await box.fill("variant=");
  // The box still has the focus of its window.
  await box.evaluate((element) => element.dispatchEvent(new FocusEvent("blur")));
  await page.evaluate(twoFrames);
  assert.equal(await box.inputValue(), "variant=");
  await box.press("Tab");
  await holds(async () => assert.equal(await box.inputValue(), ""));
  check();
  await close();
});

test("a view that fails says so, and the others still work", async () => {
  const { page, close } = await open(`${await devOrigin()}#/runs`);
  await changed(page, /small\/report/, () => ({}));
  await to(page, "#/run/small/overview");
  await page.getByRole("alert").getByText("This view failed").waitFor();
  await page.getByRole("link", { name: "Flame" }).click();
  await page.getByRole("treeitem", { name: /^train/ }).waitFor();
  await close();
});

test("the Compare tab opens from the list of runs, and the second run may be chosen first", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  await page.getByRole("link", { name: "Compare" }).click();
  await page.getByRole("heading", { name: "Choose two runs" }).waitFor();
  const [before, after] = [page.getByRole("combobox").first(), page.getByRole("combobox").last()];
  await after.selectOption("small-after");
  await page.waitForURL(/#\/compare\/\/small-after$/);
  await holds(async () => assert.equal(await page.title(), "Compare · small-after · hodo"));
  assert.equal(await before.inputValue(), "");
  await before.selectOption("small");
  await page.getByText("What changed").waitFor();
  await holds(async () => assert.equal(await page.title(), "Compare · small and small-after · hodo"));
  check();
  await close();
});

test("what is not comparable is compared all the same where that is asked for", async () => {
  const { page, close } = await open(`${await devOrigin()}#/compare/small/hostile`);
  await page.getByRole("button", { name: "Compare all the same" }).click();
  await page.getByText("Not comparable, and compared all the same: they have no scope in common").waitFor();
  await page.getByText("What changed").waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "These two are not comparable" }).waitFor();
  await close();
});

test("Back leads out of a box of the flame graph, not out of the view", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  await to(page, "#/run/small/flame");
  await page.getByRole("treeitem", { name: /^backward/ }).click();
  await page.waitForURL(/zoom=/);
  await page.goBack();
  await page.getByRole("treeitem", { name: /^train/ }).waitFor();
  assert.match(page.url(), /\/flame$/);
  check();
  await close();
});

test("the steps of the overview are those that fit the filter", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/overview?filter=index%3C7`);
  await page.getByRole("slider", { name: /Time of 7 steps/ }).waitFor();
  await to(page, "#/run/small/overview?filter=index%3E99999");
  await page.getByText("No step fits the filter.").waitFor();
  check();
  await close();
});

test("SQL behind a table says that it knows neither filter nor range; asked, it keeps both for the other views", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/tables`);
  const note = page.getByText("This is of the whole run");
  await page.getByRole("button", { name: "SQL", exact: true }).click();
  await page.getByText("from tree order by self_ns desc").waitFor();
  assert.equal(await note.count(), 0);
  await to(page, "#/run/small/tables?filter=index%3E3&t0=1&t1=900000000");
  await note.waitFor();
  await holds(async () => assert.match(await note.innerText(), /the filter and range are not in it/));
  await page.getByRole("link", { name: "Ask it" }).click();
  await page.waitForURL(/#\/sql\/small\?filter=index%3E3&t0=1&t1=900000000&query=/);
  await page.getByText("not used in this view").waitFor();
  await page.getByRole("link", { name: "Tables" }).click();
  await page.waitForURL(/#\/run\/small\/tables\?filter=index%3E3&t0=1&t1=900000000$/);
  check();
  await close();
});

test("tables of a range say that scopes are whole there, and have no share of their parents", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/tables?t0=1&t1=900000000`);
  const note = page.getByText("Whole scopes that were open in the range");
  const share = page.getByRole("button", { name: "of parent" });
  await page.getByRole("table", { name: "scopes" }).waitFor();
  await note.waitFor();
  assert.equal(await share.count(), 0);
  await page.getByRole("button", { name: "Whole run" }).click();
  await share.waitFor();
  assert.equal(await note.count(), 0);
  check();
  await close();
});

test("a flame graph of paths that are all too small says so", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  await changed(page, /small\/flame/, () => ({ by: "wall", total_ns: 5e9, why: null, roots: [], rest: { paths: 200_000, value_ns: 5e9 } }));
  await to(page, "#/run/small/flame");
  await page.getByRole("heading", { name: "Every path is too small to show" }).waitFor();
  await page.getByText("200\u202f000 paths with 5.00 s together").waitFor();
  check();
  await close();
});

test("paths that an answer leaves out are said in overview and tables", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  let keeps = 2;
  await changed<{ nodes: unknown[] }>(page, /small\/report/, (report) => ({ ...report, nodes: report.nodes.slice(0, keeps), nodes_left_out: 3000 - keeps }));
  await to(page, "#/run/small/overview");
  await page.getByText("2\u202f998 paths of scopes are not in this answer").waitFor();
  await page.getByRole("link", { name: "Tables" }).click();
  await page.getByText("2\u202f998 paths of scopes are not in this answer").waitFor();
  await holds(async () => assert.equal((await rows(page, "scopes")).length, 2));
  keeps = 0;
  await page.reload();
  await page.getByRole("heading", { name: "The scopes are not here" }).waitFor();
  assert.equal(await page.getByText("has no scopes so far").count(), 0);
  check();
  await close();
});

test("a run of readings alone says so", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  await changed<object>(page, /empty\/report/, (report) => ({ ...report, state: null, machines: [{ host: "node1", live: false, absent: [], gpus: [], series: [], lost_rows: 0 }] }));
  await to(page, "#/run/empty/overview");
  await page.getByRole("heading", { level: 1 }).getByText("readings only").waitFor();
  check();
  await close();
});

test("an error and its scope share the room of their card", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/overview`, { width: 1280 });
  const error = page.getByRole("table", { name: "Scopes that failed or are open" }).getByText("No such file");
  assert.ok((await error.boundingBox())!.width > 150);
  check();
  await close();
});

test("long names of scopes stay inside their card", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`, { width: 1280 });
  await changed<{ by_self: { name: string }[] }>(page, /small\/report/, (report) => ({ ...report, by_self: report.by_self.map((scope) => ({ ...scope, name: scope.name.repeat(60) })) }));
  await to(page, "#/run/small/overview");
  const table = page.getByRole("table", { name: "Scopes with most time of their own" });
  await table.waitFor();
  const [inside, card] = [await table.boundingBox(), await table.locator("..").boundingBox()];
  assert.ok(inside!.x + inside!.width <= card!.x + card!.width - 16, `${JSON.stringify(inside)} in ${JSON.stringify(card)}`);
  check();
  await close();
});

test("what a view does as it is left does not bring it back", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/timeline?t0=100000000&t1=200000000`);
  await settled(page);
  await page.evaluate(() => {
    location.hash = "#/runs";
    dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  });
  await page.getByRole("table", { name: "runs", exact: true }).waitFor();
  check();
  await close();
});
