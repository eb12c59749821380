import assert from "node:assert/strict";
import { test } from "node:test";
import { changed, devOrigin, dragOver, holds, open, to } from "./harness";

test("marks by step: the axis counts steps, and a drag stays among them", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/marks?marks=loss`);
  await page.getByRole("img", { name: "loss over time" }).waitFor();
  await page.getByRole("button", { name: "by step" }).click();
  const chart = page.getByRole("img", { name: "loss by step" });
  await chart.locator(".u-over").hover();
  await holds(async () => assert.match(await chart.locator(".u-legend .u-value").first().innerText(), /^1\d\d$/));
  const finer = page.waitForRequest(/marks\/loss\?x=step&t0=\d+&t1=\d+/);
  await dragOver(page, chart.locator(".u-over"), 40, 240);
  await finer;
  assert.match(page.url(), /\/marks\?.*x=step/);
  await page.getByRole("button", { name: "All steps" }).click();
  await page.getByRole("button", { name: "All steps" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "over time" }).click();
  await dragOver(page, page.getByRole("img", { name: "loss over time" }).locator(".u-over"), 40, 240);
  await page.waitForURL(/timeline\?.*t0=\d+&t1=\d+/);
  check();
  await close();
});

test("by step, labels are of whole steps however far one zooms in, and a zoom outlasts the growth of the run", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`, {
    prepare: (page) => page.addInitScript(() => {
      const written: { text: string; y: number }[] = [];
      const plain = CanvasRenderingContext2D.prototype.fillText;
      Object.assign(window, { written });
      CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
        written.push({ text, y });
        return plain.call(this, text, x, y, ...rest);
      };
    }),
  });
  await to(page, "#/run/growing/marks?marks=loss&x=step");
  const over = page.getByRole("img", { name: "loss by step" }).locator(".u-over");
  await over.waitFor();
  await dragOver(page, over, 300, 334);
  // What was written so far is of the whole axis too; the run grows, and the chart is drawn anew.
  await page.evaluate(() => ((window as unknown as { written: unknown[] }).written.length = 0));
  const labels = () => page.evaluate(() => {
    const { written } = window as unknown as { written: { text: string; y: number }[] };
    const lowest = Math.max(...written.map(({ y }) => y));
    return [...new Set(written.filter(({ y }) => y === lowest).map(({ text }) => Number(text)))];
  });
  await holds(async () => assert.ok((await labels()).length > 2));
  const shown = await labels();
  const apart = shown.slice(1).map((value, at) => value - shown[at]!);
  assert.deepEqual(new Set(apart).size, 1, `${shown}`);
  const plot = (await over.boundingBox())!;
  const first = async () => {
    await page.mouse.move(plot.x + 60, plot.y + 40);
    await page.mouse.move(plot.x + 1, plot.y + 40);
    return Number(await page.locator(".u-legend .u-value").first().innerText());
  };
  const from = await first();
  assert.ok(from > 50, `${from}`);
  for (let times = 0; times < 2; times++) await page.waitForResponse(/growing\/marks\/loss/);
  await page.waitForTimeout(200);
  assert.equal(await first(), from);
  check();
  await close();
});

test("what could not be read is said, never taken for nothing", async () => {
  const { page, close } = await open(`${await devOrigin()}#/runs`);
  await page.route(/small\/(marks\/|series\/|search)/, (asked) => asked.fulfill({ status: 500, json: { error: "the disk is gone" } }));
  const failure = page.getByRole("alert").getByText("the disk is gone").first();
  for (const address of ["marks?marks=loss", "system", "timeline?q=batch"]) {
    await to(page, `#/run/small/${address}`);
    await failure.waitFor();
    assert.equal(await page.getByText(/no numbers to draw|not captured in this range|nothing is called/).count(), 0, address);
    await to(page, "#/runs");
    await failure.waitFor({ state: "detached" });
  }
  await to(page, "#/compare/small/small-after?part=marks");
  await failure.waitFor();
  assert.equal(await page.getByText("No mark is in both runs").count(), 0);
  await close();
});

test("a comparison follows a run that grows, and says how many marks it leaves out", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  await changed<{ name: string }[]>(page, /(small|growing)\/marks$/, (names) => Array.from({ length: 11 }, (_, at) => ({ ...names[0]!, name: `loss ${at}` })));
  await to(page, "#/compare/small/growing?part=marks");
  await page.getByText("the first 8 of 11 marks that are in both").waitFor();
  await Promise.all([page.waitForResponse(/small\/compare\/growing/), page.waitForResponse(/growing\/marks\/loss/)]);
  await Promise.all([page.waitForResponse(/small\/compare\/growing/), page.waitForResponse(/growing\/marks\/loss/)]);
  check();
  await close();
});

test("a chart of shares that grow past 1 grows with them", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  let factor = 1;
  await changed<{ mean: (number | null)[]; max: (number | null)[] }>(page, /growing\/series\/1\?/, (series) => ({ ...series, mean: series.mean.map((value) => value && Math.abs(value) * factor), max: series.max.map((value) => value && Math.abs(value) * factor) }));
  await to(page, "#/run/growing/system?find=sm_active");
  const over = page.getByRole("img", { name: /sm_active/ }).locator(".u-over");
  await over.hover();
  factor = 40;
  const point = over.locator(".u-cursor-pt").first();
  await page.waitForResponse(/growing\/series\/1\?/);
  await page.waitForResponse(/growing\/series\/1\?/);
  const plot = (await over.boundingBox())!;
  await page.mouse.move(plot.x + plot.width / 3, plot.y + plot.height / 2);
  const middle = await point.evaluate((element) => element.getBoundingClientRect().top + element.getBoundingClientRect().height / 2);
  assert.ok(middle >= plot.y && middle <= plot.y + plot.height, `${middle} is not in ${JSON.stringify(plot)}`);
  check();
  await close();
});

test("a long name of a mark leaves the charts their room", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  const long = "m".repeat(400);
  await changed<{ name: string }[]>(page, /small\/marks$/, (names) => [...names, { name: long, kind: "point", count: 3, last: 1 }]);
  await to(page, "#/run/small/marks");
  const chart = page.getByRole("img", { name: "loss over time" });
  await chart.waitFor();
  assert.ok((await chart.boundingBox())!.width > 800);
  assert.ok((await page.locator(".marks aside").boundingBox())!.width < 300);
  check();
  await close();
});

test("runs with a comma in their name are chosen like others", async () => {
  const { page, close } = await open(`${await devOrigin()}#/runs`);
  await changed<{ runs: { id: string }[] }>(page, /api\/runs$/, ({ runs }) => ({ runs: runs.map((run) => (run.id === "large" ? { ...run, id: "a,b" } : run)) }));
  await page.reload();
  await page.getByLabel("Choose a,b to compare").check();
  await page.getByLabel("Choose small to compare").check();
  await page.getByRole("button", { name: "Compare the two" }).waitFor();
  await holds(async () => assert.ok(await page.getByLabel("Choose a,b to compare").isChecked()));
  await to(page, "#/run/small/marks");
  await page.getByRole("checkbox", { name: "a,b" }).check();
  await page.waitForURL(/with=a%252Cb/);
  await holds(async () => assert.ok(await page.getByRole("checkbox", { name: "a,b" }).isChecked()));
  await close();
});
