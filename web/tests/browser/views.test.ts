import assert from "node:assert/strict";
import { test } from "node:test";
import { changed, clipboard, devOrigin, dragOver, holds, open, point, rows, says, settled, to } from "./harness";

test("runs: list, search, choose two to compare", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  await page.getByRole("link", { name: "train" }).first().waitFor();
  assert.equal((await rows(page, "runs")).length, 6);
  await page.getByLabel("Find in runs").fill("small");
  await holds(async () => assert.equal((await rows(page, "runs")).length, 2));
  // The later one first: what it is compared with is the earlier one all the same.
  await page.getByLabel("Choose small-after to compare").check();
  await page.getByLabel("Choose small to compare").check();
  await page.getByRole("button", { name: "Compare the two" }).click();
  await page.getByText("What changed").waitFor();
  assert.match(page.url(), /#\/compare\/small\/small-after/);
  check();
  await close();
});

test("overview: verdict, steps, split, top scopes, losses and what was not captured", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/overview`);
  const verdict = page.getByRole("region", { name: "Verdict" });
  await verdict.waitFor();
  assert.match(await verdict.innerText(), /input-bound: the GPU waits for input 24% of the time, most of it in .*data_wait/);
  await page.getByRole("img", { name: /Time split: GPU computing 60%/ }).waitFor();
  await page.getByRole("slider", { name: /Time of 200 steps/ }).waitFor();
  await holds(async () => assert.equal((await rows(page, "Scopes with most time of their own"))[0]![0], "train"));
  const text = await page.locator("main").innerText();
  for (const words of [/nothing lost: 5.371 produced/, /recording took/, /machine not sampled: hodo monitor does/, /No such file or directory/, /Top kernels/]) assert.match(text, words);
  await page.locator(".strip canvas").click({ position: { x: 300, y: 60 } });
  await page.waitForURL(/timeline\?.*t0=\d+&t1=\d+/);
  check();
  await close();
});

test("a run without anything says what to do, in every view", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/empty/overview`);
  for (const [view, words] of [["overview", "No scopes in this run"], ["timeline", "Nothing to draw yet"], ["flame", "No wall time to divide"], ["tables", "No scope here"], ["marks", "No marks in this run"], ["system", "The machine was not sampled"]] as const) {
    await to(page, `#/run/empty/${view}`);
    await page.getByRole("heading", { name: words }).waitFor();
  }
  check();
  await close();
});

test("who has no run or no scopes is told of the hooks, which need no change to a program", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/empty/overview`);
  const command = page.locator(".note pre");
  for (const view of ["overview", "timeline", "tables"]) {
    await to(page, `#/run/empty/${view}`);
    await command.waitFor();
    assert.match(await command.innerText(), /hodo run --hooks -- python train\.py\n[^]*hodo\.profile\(\)\n[^]*with hodo\.scope/, view);
  }
  await changed<object>(page, /api\/runs$/, () => ({ runs: [] }));
  await to(page, "#/runs");
  await page.reload();
  await page.getByRole("heading", { name: "No runs here yet" }).waitFor();
  assert.match(await command.innerText(), /hodo run --hooks -- python train\.py/);
  check();
  await close();
});

test("a run that is not there, and a filter that is none, are explained", async () => {
  const { page, close } = await open(`${await devOrigin()}#/run/nothing/overview`);
  await page.getByRole("alert").getByText("no run nothing").waitFor();
  await to(page, "#/run/small/tables?filter=nonsense");
  await page.getByRole("alert").getByText("write one like variant=beam").waitFor();
  await page.getByLabel("Clear the filter").click();
  await page.getByRole("table", { name: "scopes" }).waitFor();
  await close();
});

test("flame: boxes, going into one and back, arrow keys, other times", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/flame`);
  const tree = page.getByRole("tree", { name: "Flame graph" });
  await tree.getByRole("treeitem", { name: /^backward/ }).click();
  await page.waitForURL(/zoom=train%2Fepoch%2Fbatch%2Fbackward/);
  await holds(async () => assert.match(await tree.getByRole("treeitem").first().innerText(), /backward/));
  await page.getByRole("navigation", { name: "Path" }).getByRole("button", { name: "epoch" }).click();
  await tree.getByRole("treeitem").first().focus();
  await page.keyboard.press("ArrowDown");
  await holds(async () => assert.match((await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))) ?? "", /^batch/));
  await page.getByRole("button", { name: "GPU time" }).click();
  await page.getByRole("heading", { name: "No GPU time to divide" }).waitFor();
  check();
  await close();
});

test("flame: the line below is of the numbers that are shown, also where others come while a box has the focus", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/flame`);
  const batch = page.getByRole("treeitem", { name: /^batch/ });
  await batch.focus();
  const facts = page.locator(".fl-facts");
  await holds(async () => assert.match(await facts.innerText(), /^batch\s+2.12 s 88% of all/));
  await page.getByRole("button", { name: "CPU time" }).press("Enter");
  await holds(async () => assert.match((await batch.getAttribute("aria-label")) ?? "", /^batch, 1.27 s, 88% of all/));
  await holds(async () => assert.match(await facts.innerText(), /^batch\s+1.27 s 88% of all/));
  check();
  await close();
});

test("flame: a path that is not there has no crumbs, and all of the time is shown", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/flame?zoom=train%2Fnothing`);
  await page.getByRole("treeitem", { name: /^train/ }).waitFor();
  assert.deepEqual(await page.getByRole("navigation", { name: "Path" }).getByRole("button").allInnerTexts(), ["all wall time"]);
  check();
  await close();
});

test("tables: sort in the address, find, CSV, SQL behind it", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/tables`);
  await page.getByRole("button", { name: "count", exact: true }).click();
  await page.waitForURL(/sort=-count/);
  await holds(async () => assert.equal((await rows(page, "scopes"))[0]![1], "6\u202f400"));
  await page.getByLabel("Find in scopes").fill("batch");
  await holds(async () => assert.equal((await rows(page, "scopes")).length, 3));
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const said = says(page, "Copied");
  await page.getByRole("button", { name: "Copy as CSV" }).click();
  await said;
  await holds(async () => assert.match(await clipboard(page), /^path,count,total_ns/));
  assert.match(await clipboard(page), /\r\ntrain\/epoch\/batch,200,\d/);
  await page.getByRole("button", { name: "SQL", exact: true }).click();
  await page.getByText("from tree order by self_ns desc").waitFor();
  for (const [tab, words] of [["Kernels", "gemm_f16_tn"], ["Copies", "host to device"], ["Benchmark loops", "layer"]] as const) {
    await page.getByRole("button", { name: tab, exact: true }).click();
    await page.locator("tbody").getByText(words).first().waitFor();
  }
  check();
  await close();
});

test("marks: chosen ones, several runs, by step, smoothed, on a log axis", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/marks`);
  await page.getByRole("img", { name: "loss over time" }).waitFor();
  await page.getByRole("checkbox", { name: /^accuracy/ }).uncheck();
  await page.getByRole("checkbox", { name: "small-after" }).check();
  await page.getByRole("button", { name: "by step" }).click();
  await page.getByRole("img", { name: "loss by step" }).waitFor();
  await page.getByRole("button", { name: "log axis" }).click();
  await page.getByLabel("Smoothing").fill("0.9");
  await page.waitForURL(/marks=loss.*with=small-after.*x=step.*log=1.*smooth=0.9/);
  await holds(async () => assert.equal(await page.locator(".chart canvas").count(), 1));
  check();
  await close();
});

test("system: series by device, found by words, a drag leads to the timeline", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/system`);
  const power = page.getByRole("img", { name: /power of/ });
  await power.waitFor();
  await page.getByLabel("Find a series").fill("gpu");
  await page.getByText("2 of 4 series").waitFor();
  await dragOver(page, power.locator(".u-over"), 40, 140);
  await page.waitForURL(/timeline\?.*t0=\d+&t1=\d+/);
  check();
  await close();
});

test("compare: sorted or searched, scopes have their whole path; a third click brings the tree back", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/compare/small/small-after`);
  const names = async () => (await rows(page, "compared scopes")).map(([name]) => name!);
  await holds(async () => assert.equal((await names())[1], "epoch"));
  const tree = await names();
  const heading = page.getByRole("table", { name: "compared scopes" }).getByRole("button", { name: "mean before" });
  for (let click = 0; click < 2; click++) {
    await heading.click();
    await holds(async () => assert.ok((await names()).includes("train / epoch")));
  }
  await heading.click();
  await holds(async () => assert.deepEqual(await names(), tree));
  await page.getByLabel("Find in compared scopes").fill("epoch");
  await holds(async () => assert.equal((await names())[0], "train / epoch"));
  check();
  await close();
});

test("compare: what changed, scopes, kernels, marks; what is not comparable says why", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/compare/small/small-after`);
  await page.getByText("+200 ms a typical one (+8.0%)").waitFor();
  const batch = (await rows(page, "compared scopes")).find(([name]) => name === "batch")!;
  assert.deepEqual(batch.slice(1, 5), ["slower", "24.0 ms", "26.0 ms", "+8.3%"]);
  await page.getByRole("button", { name: "Kernels", exact: true }).click();
  await holds(async () => assert.equal((await rows(page, "compared kernels"))[0]![1], "no change"));
  await page.getByRole("button", { name: "Marks", exact: true }).click();
  await page.getByRole("img", { name: "loss before and after, by step" }).waitFor();
  check();
  await to(page, "#/compare/small/hostile");
  await page.getByText("they have no scope in common").waitFor();
  await close();
});

test("system: a series that was read for a part of the run has the run's axis, as all others", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  await changed<Record<string, unknown[]>>(page, /small\/series\/2\?/, (series) => Object.fromEntries(Object.entries(series).map(([key, values]) => [key, Array.isArray(values) ? values.slice(0, values.length / 4) : values])));
  await to(page, "#/run/small/system?find=power");
  const chart = page.getByRole("img", { name: /^power/ });
  await holds(async () => {
    const plot = await point(page, chart, 0.99);
    const last = (await chart.locator(".u-cursor-pt").first().boundingBox())!;
    assert.ok(last.x - plot.x < plot.width / 3, `${last.x} in ${JSON.stringify(plot)}`);
  });
  check();
  await close();
});

test("SQL: asked by key, answered as table and chart, refused with the reason", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/sql/small?query=select%201`);
  await page.getByLabel("SQL").focus();
  await page.keyboard.press("Control+Enter");
  await page.getByRole("img", { name: "Chart of the rows" }).waitFor();
  assert.equal((await rows(page, "rows")).length, 50);
  check();
  await page.getByLabel("SQL").fill("select * from nonsense");
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await page.getByRole("alert").getByText("nonsense is no table").waitFor();
  await close();
});

test("the GPU's time is a share of the run only where there is one GPU", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  let devices = 1;
  await changed<{ gpu: object }>(page, /small\/report/, (report) => ({ ...report, gpu: { ...report.gpu, devices } }));
  await changed<object>(page, /small\/range/, (range) => ({ ...range, gpu_devices: devices }));
  for (const [count, share] of [[1, 1], [2, 0]] as const) {
    devices = count;
    await to(page, "#/run/small/overview");
    await page.reload();
    await page.getByText(/GPU busy \d/).waitFor();
    assert.equal(await page.getByText(/GPU busy .*% of the run/).count(), share);
    await to(page, "#/run/small/timeline?t0=100000000&t1=200000000");
    const busy = page.getByRole("region", { name: "Details" }).getByText(/GPU busy \d/);
    await busy.waitFor();
    assert.equal((await busy.innerText()).includes("%"), share === 1);
  }
  check();
  await close();
});

test("SQL: a link is answered as it is opened, and another run has rows of its own", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  const asked: string[] = [];
  page.on("request", (request) => { if (request.url().endsWith("api/sql")) asked.push((JSON.parse(request.postData()!) as { runs: string[] }).runs.join()); });
  let answers = true;
  await page.route(/api\/sql/, (request) => (answers ? request.continue() : undefined));
  await to(page, "#/sql/small?query=select%201");
  await page.getByRole("table", { name: "rows" }).waitFor();
  assert.deepEqual(asked, ["small"]);
  answers = false;
  await page.locator("select").selectOption("small-after");
  await page.getByRole("button", { name: "Asking …" }).waitFor();
  await holds(async () => assert.deepEqual(asked, ["small", "small-after"]));
  assert.equal(await page.getByRole("table", { name: "rows" }).count(), 0, "rows of the other run are gone");
  check();
  await close();
});

test("SQL: a link with another question is answered where the view is open already", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/sql/small?query=select%201`);
  await page.getByRole("table", { name: "rows" }).waitFor();
  const asked: string[] = [];
  page.on("request", (request) => { if (request.url().endsWith("api/sql")) asked.push((JSON.parse(request.postData()!) as { query: string }).query); });
  await to(page, "#/sql/small?query=select%202");
  await holds(async () => assert.equal(await page.getByLabel("SQL", { exact: true }).inputValue(), "select 2"));
  await page.getByRole("button", { name: "Ask", exact: true }).waitFor();
  assert.deepEqual(asked, ["select 2"]);
  check();
  await close();
});

test("runs: what was not read for the first list is read for the next ones, and what never is keeps nobody asking", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/flame`);
  let lists = 0;
  // Three runs are read one after the other; a fourth is too large.
  await changed<{ runs: object[] }>(page, /api\/runs(\?|$)/, (list) => {
    lists++;
    return { runs: list.runs.map((run, at) => (at === 3 || (at < 3 && at >= lists) ? { ...run, main_mark: null, main_mark_why: "not read" } : run)), unread: Math.max(0, 3 - lists) };
  });
  // What is recorded has the list asked for again by itself.
  await page.route(/api\/events/, () => undefined);
  await page.goto("about:blank");
  await page.goto(`${await devOrigin()}#/runs`);
  const unread = page.getByRole("table", { name: "runs" }).getByText("not read", { exact: true });
  await holds(async () => assert.equal(await unread.count(), 1));
  await holds(async () => assert.equal(lists, 3));
  await page.waitForTimeout(2000);
  assert.equal(lists, 3, "nobody asks for ever");
  check();
  await close();
});

test("runs: what is not read goes on being read while a filter shows others, and while new ones come", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/flame`);
  // In the order that the lists have them: one comes as one is read, and what the filter shows is read last.
  const unread = [5, 4, 4, 3, 2, 1, 0];
  let lists = 0;
  await changed<{ runs: object[] }>(page, /api\/runs\?filter=/, ({ runs }) => {
    const left = unread[Math.min(lists++, unread.length - 1)]!;
    return { runs: runs.map((run) => (left > 0 ? { ...run, main_mark: null, main_mark_why: "not read" } : run)), unread: left };
  });
  await page.route(/api\/events/, () => undefined);
  await page.goto("about:blank");
  await page.goto(`${await devOrigin()}#/runs?filter=app%3Dtrain`);
  await page.getByRole("table", { name: "runs" }).waitFor();
  await holds(async () => assert.equal(lists, unread.length));
  await page.getByRole("table", { name: "runs" }).getByText("not read", { exact: true }).first().waitFor({ state: "detached" });
  check();
  await close();
});

test("runs: the host stands first, and a revision is as short as people write it", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/flame`);
  const revision = "0123456789abcdef0123456789abcdef01234567";
  await changed<{ runs: object[] }>(page, /api\/runs$/, (list) => ({ ...list, runs: list.runs.map((run) => ({ ...run, attributes: { git_revision: revision, host: "gpu1" } })) }));
  await page.goto("about:blank");
  await page.goto(`${await devOrigin()}#/runs`);
  const tags = page.getByRole("table", { name: "runs" }).locator("tbody tr").first().locator(".tag");
  await holds(async () => assert.deepEqual(await tags.allInnerTexts(), ["host=gpu1", "git_revision=0123456789ab…"]));
  assert.equal(await tags.last().getAttribute("title"), `git_revision=${revision}`);
  check();
  await close();
});

test("runs: the later of two is compared with the earlier, also where a filter hides one of them", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs?pick=small-after`);
  // The list without the later one, as a filter leaves it.
  await changed<{ runs: { id: string }[] }>(page, /api\/runs\?filter=/, (list) => ({ runs: list.runs.filter(({ id }) => id !== "small-after") }));
  await page.getByLabel("Choose small-after to compare").waitFor();
  await to(page, "#/runs?pick=small-after&filter=rank%3D0");
  await page.getByLabel("Choose small-after to compare").waitFor({ state: "detached" });
  await page.getByLabel("Choose small to compare").check();
  await page.getByRole("button", { name: "Compare the two" }).click();
  await page.waitForURL(/#\/compare\/small\/small-after/);
  check();
  await close();
});

test("a filter is typed condition by condition, with a pause between them", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/tables`);
  const box = page.getByLabel("Filter by attribute");
  await box.fill("index>3 ");
  await page.waitForURL(/filter=index%3E3$/);
  await page.getByRole("table", { name: "scopes" }).waitFor();
  assert.equal(await box.inputValue(), "index>3 ", "the blank is the way to the next one");
  await box.fill("index>3 index<9");
  await page.waitForURL(/filter=index%3E3\+index%3C9$/);
  assert.equal(await box.inputValue(), "index>3 index<9");
  await to(page, "#/run/small/tables?filter=index%3D5");
  await holds(async () => assert.equal(await box.inputValue(), "index=5"));
  check();
  await close();
});

test("a condition that is left without its value is not in the box as if it were applied", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/tables?filter=index%3D5`);
  const box = page.getByLabel("Filter by attribute");
  await box.press("End");
  await box.press("Backspace");
  assert.equal(await box.inputValue(), "index=");
  await page.getByRole("link", { name: "Flame" }).click();
  await page.waitForURL(/flame\?filter=index%3D5/);
  await holds(async () => assert.equal(await box.inputValue(), "index=5"));
  check();
  await close();
});

test("conditions before one that is left without its value are applied, however fast they were typed", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/tables`);
  const box = page.getByLabel("Filter by attribute");
  await box.fill("index>3 loss<");
  await box.press("Escape");
  await page.waitForURL(/filter=index%3E3$/);
  await holds(async () => assert.equal(await box.inputValue(), "index>3"));
  check();
  await close();
});

test("Ctrl+K goes to a view, a scope or a run from wherever one is", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/sql/small`);
  await page.getByLabel("SQL", { exact: true }).focus();
  await page.keyboard.press("Control+k");
  const box = page.getByRole("combobox", { name: /Go to/ });
  await box.fill("flam");
  await page.getByRole("option", { name: /Flame/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("tree", { name: "Flame graph" }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("Control+k");
  await box.fill("backward");
  await page.getByRole("option", { name: /backward/ }).first().click();
  await settled(page);
  await page.getByRole("region", { name: "Details" }).getByRole("heading", { name: "backward" }).first().waitFor();
  await page.keyboard.press("Control+Shift+P");
  await box.fill("growing");
  await page.getByRole("option", { name: /growing/ }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("run/growing/overview"));
  await page.keyboard.press("Control+k");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  check();
  await close();
});

test("runs are narrowed to days and a link says so", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  const all = await rows(page, "runs").then(async (found) => (found.length > 0 ? found : (await page.getByRole("table", { name: "runs" }).waitFor(), rows(page, "runs"))));
  await page.getByLabel("Runs from this day on").fill("2999-01-01");
  await page.waitForFunction(() => location.hash.includes("from=2999-01-01"));
  await holds(async () => assert.equal((await rows(page, "runs")).length, 0));
  await page.getByRole("button", { name: new RegExp(`All ${all.length} runs`) }).click();
  await page.getByLabel("Runs up to this day").fill("2999-01-01");
  await holds(async () => assert.equal((await rows(page, "runs")).length, all.length));
  check();
  await close();
});

test("a process of one track is said to have one", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/hostile/timeline`);
  await settled(page);
  await page.getByRole("treeitem", { name: /1 track$/ }).waitFor();
  check();
  await close();
});
