import assert from "node:assert/strict";
import { test } from "node:test";
import { changed, devOrigin, holds, open, settled, to } from "./harness";

test("steps are chosen by arrow keys, said, and opened by Enter", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/overview`);
  const strip = page.getByRole("slider", { name: /Time of 200 steps/ });
  await strip.focus();
  const said = async (words: RegExp, number: number) => holds(async () => {
    assert.match((await strip.getAttribute("aria-valuetext")) ?? "", words);
    assert.equal(await strip.getAttribute("aria-valuenow"), String(number));
  });
  await said(/^step 0: \d/, 1);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await said(/^step 2: \d/, 3);
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowRight");
  await said(/^step 199: \d/, 200);
  await page.keyboard.press("Home");
  await page.keyboard.press("PageUp");
  await said(/^step 10: \d/, 11);
  assert.match(await page.locator(".legend").last().innerText(), /step 10: /);
  await page.keyboard.press("Enter");
  await page.waitForURL(/timeline\?.*t0=\d+&t1=\d+/);
  check();
  await close();
});

test("parts of a view are chosen by buttons that say which one is pressed, in Tables and Compare as in Flame", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/tables`);
  for (const [address, group, choice] of [["#/run/small/tables", "Tables", "Copies"], ["#/compare/small/small-after", "Parts", "Kernels"]] as const) {
    await to(page, address);
    const button = page.getByRole("group", { name: group }).getByRole("button", { name: choice });
    await button.click();
    await holds(async () => assert.equal(await button.getAttribute("aria-pressed"), "true"));
    assert.equal(await page.getByRole("tab").count(), 0);
  }
  check();
  await close();
});

test("a range says why it has no CPU time, a table without boxes why it has none, and a list why a run was not read", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  await changed<{ scopes: object[] }>(page, /small\/range/, (range) => ({ ...range, scopes: range.scopes.map((scope) => ({ ...scope, cpu_ns: null, cpu_why: "recorded without a CPU clock" })) }));
  await changed<{ runs: object[] }>(page, /api\/runs$/, ({ runs }) => ({ runs: runs.map((run) => ({ ...run, main_mark: null, main_mark_why: "its records take more than 16 MiB" })) }));
  await page.reload();
  await page.getByTitle("its records take more than 16 MiB").first().waitFor();
  assert.equal(await page.getByTitle("its records take more than 16 MiB").first().innerText(), "not read");
  await to(page, "#/run/small/timeline?t0=100000000&t1=200000000");
  await page.getByText("CPU –: recorded without a CPU clock", { exact: true }).waitFor();
  await page.locator(".panel td").getByTitle("recorded without a CPU clock").first().waitFor();
  await page.locator(".tl-head.marks").first().focus();
  await page.keyboard.press("t");
  await page.getByText("The focused track is a curve").waitFor();
  assert.equal(await page.locator(".tl-head.series .cut-start").first().evaluate((name) => getComputedStyle(name).direction), "rtl");
  check();
  await close();
});

test("a log axis says what it leaves out; huge values have labels", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  let y = [1, -2, 0, 4];
  const labels: string[] = [];
  await page.exposeFunction("wrote", (text: string) => labels.push(text));
  await page.addInitScript(() => {
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
      (window as unknown as { wrote: (text: string) => void }).wrote(text);
      return fillText.call(this, text, ...where);
    };
  });
  await changed<object>(page, /small\/mark\?name=loss/, () => ({ x: [0, 1e6, 2e6, 3e6], y, not_positive: y.filter((value) => value <= 0).length, not_number: 0 }));
  await to(page, "#/run/small/marks?marks=loss&log=1");
  await page.reload();
  await page.getByText("2 values at or below 0 are not on a log axis").waitFor();
  y = [-1, -2, 0, 0];
  await page.reload();
  await page.getByText("4 values at or below 0 are not on a log axis: none is left to draw").waitFor();
  assert.equal(await page.locator(".chart").count(), 0);
  y = [1e301, 2e301, 3e301, 4e301];
  labels.length = 0;
  await page.getByRole("button", { name: "Draw them on a plain one" }).click();
  await page.reload();
  await page.locator(".chart canvas").waitFor();
  await holds(async () => assert.ok(labels.includes("2.00e+301"), labels.join()));
  assert.ok(labels.includes("0") && !labels.includes("0 ns"), "the start of the run has no unit");
  check();
  await close();
});

test("what is not known of an import leaves no dots, and scopes left open are counted as the list of runs does", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  interface Report { run: object; nodes: { open: number }[]; failed: object }
  await changed<Report>(page, /small\/report/, (report) => ({
    ...report,
    run: { ...report.run, host: "", argv: [], git_revision: null },
    nodes: report.nodes.map((node, at) => ({ ...node, open: at < 2 ? 1 : 0 })),
    open: { count: 1, scopes: [{ path: [{ name: "epoch", index: null }, { name: "train", index: null }], id: "1", pid: 1, thread: "main", after_ns: 5, duration_ns: 5, error: null }] },
  }));
  await to(page, "#/run/small/overview");
  const header = page.locator(".overview header");
  await header.waitFor();
  assert.doesNotMatch(await header.innerText(), /·\s*(·|\n)/);
  await page.getByText("1 open, 2 with those around").waitFor();
  check();
  await close();
});

test("a run that is not there is told in words for people; no ring is around all of the page", async () => {
  const { page, close } = await open(`${await devOrigin()}#/run/small/timeline`);
  await settled(page);
  await page.locator(".front").click({ position: { x: 300, y: 300 } });
  await page.keyboard.press("t");
  assert.equal(await page.evaluate(() => getComputedStyle(document.getElementById("main")!).outlineStyle), "none");
  await page.route(/runs\/nothing\/report/, (asked) => asked.fulfill({ status: 404, json: { error: "no run with the id `nothing` in .hodo; /api/runs lists them" } }));
  await to(page, "#/run/nothing/overview");
  const alert = page.getByRole("alert");
  await alert.getByText("It may have been removed").waitFor();
  assert.doesNotMatch(await alert.innerText(), /api\/runs/);
  await alert.getByRole("link", { name: "All runs" }).click();
  await page.getByRole("table", { name: "runs" }).waitFor();
  await close();
});

test("SQL without a run says how to record one", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/overview`);
  await changed<object>(page, /api\/runs$/, () => ({ runs: [] }));
  await to(page, "#/sql");
  await page.reload();
  await page.getByRole("heading", { name: "No run to ask about yet" }).waitFor();
  check();
  await close();
});
