import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { changed, devOrigin, devServer, dragOver, holds, open, point, to, twoFrames } from "./harness";

test("marks by step: the axis counts steps, and a drag stays among them", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/marks?marks=loss`);
  await page.getByRole("img", { name: "loss over time" }).waitFor();
  await page.getByRole("button", { name: "by step" }).click();
  const chart = page.getByRole("img", { name: "loss by step" });
  await holds(async () => {
    await point(page, chart, 0.5);
    assert.match(await chart.locator(".u-legend .u-value").first().innerText(), /^1\d\d$/);
  });
  const finer = page.waitForRequest(/mark\?name=loss&x=step&t0=\d+&t1=\d+/);
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
  for (let times = 0; times < 2; times++) await page.waitForResponse(/growing\/mark\?name=loss/);
  await page.waitForTimeout(200);
  assert.equal(await first(), from);
  check();
  await close();
});

test("the legend of a curve with a band names its ends, and smoothed points that a log axis has no place for are called so", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  const y = Array.from({ length: 50 }, (_, at) => (at % 2 ? -1 : 3));
  await changed<object>(page, /small\/mark\?name=loss/, () => ({ x: y.map((_, at) => at * 1e6), y, min: y.map((value) => value - 2), max: y.map((value) => value + 2), not_positive: 2500, not_number: 0 }));
  await to(page, "#/run/small/marks?marks=loss&log=1");
  await page.getByText(/^2.500 values at or below 0 are not on a log axis/).waitFor();
  await holds(async () => assert.deepEqual(await page.locator(".u-legend .u-label").allInnerTexts(), ["at", "loss", "least", "largest"]));
  const legend = () => page.locator(".u-legend .u-value").allInnerTexts();
  await holds(async () => {
    await point(page, page.getByRole("img", { name: "loss over time" }), 0.5);
    assert.equal((await legend())[2], "≤ 0", "it was captured, and is 1 or -3");
  });
  await to(page, "#/run/small/marks?marks=loss&log=1&smooth=0.9");
  await page.getByText("at or below 0").waitFor({ state: "detached" });
  await holds(async () => {
    await point(page, page.getByRole("img", { name: "loss over time" }), 0.5);
    assert.match((await legend())[3]!, /^[15]\.?0*$/);
  });
  check();
  await close();
});

test("a mark may be called as a folder is, and all charts over time have the run's extent", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  await changed<{ name: string }[]>(page, /small\/marks$/, (names) => [...names, { ...names[0]!, name: ".." }]);
  await changed<{ x: number[]; y: number[] }>(page, /small\/mark\?name=\.\./, ({ x, y }) => ({ x: x.slice(0, 20), y: y.slice(0, 20), not_positive: 0, not_number: 0 }));
  await to(page, "#/run/small/marks?marks=loss,..");
  const short = page.getByRole("img", { name: ".. over time" });
  // Its values end after a fifteenth of the run.
  await holds(async () => {
    const plot = await point(page, short, 0.5);
    const last = (await short.locator(".u-cursor-pt").first().boundingBox())!;
    assert.ok(last.x - plot.x < plot.width / 10, `${last.x} in ${JSON.stringify(plot)}`);
  });
  check();
  await close();
});

test("a curve that goes on after the time that the list knows of its run is drawn whole, and the last label too", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/flame`);
  await changed<{ runs: { duration_ns: number }[] }>(page, /api\/runs$/, ({ runs }) => ({ runs: runs.map((run) => ({ ...run, duration_ns: run.duration_ns / 2 })) }));
  await page.goto("about:blank");
  await page.goto(`${await devOrigin()}#/run/small/marks?marks=loss`);
  const chart = page.getByRole("img", { name: "loss over time" });
  let plot = { x: 0, width: 0 };
  await holds(async () => {
    plot = await point(page, chart, 0.998);
    assert.match(await chart.locator(".u-legend .u-value").first().innerText(), /^2.3[89] s$/);
  });
  const room = (await chart.boundingBox())!;
  assert.ok(room.x + room.width - plot.x - plot.width >= 24, "half a label beside the plot");
  check();
  await close();
});

test("values that are no numbers are counted, and no empty chart is drawn of them", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  let isNan = (at: number) => at > 20;
  await changed<{ y: number[] }>(page, /small\/mark\?name=loss/, ({ y, ...rest }) => ({ ...rest, y: y.map((value, at) => (isNan(at) ? null : value)), min: undefined, max: undefined, not_number: y.filter((_, at) => isNan(at)).length }));
  await to(page, "#/run/small/marks?marks=loss");
  await page.getByText(/^279 values without a number: NaN, infinite or text/).waitFor();
  await page.getByRole("img", { name: "loss over time" }).waitFor();
  isNan = () => true;
  await page.reload();
  await page.getByText("none of 300 values is a number: NaN, infinite or text").waitFor();
  assert.equal(await page.getByRole("img", { name: "loss over time" }).count(), 0);
  check();
  await close();
});

test("values that are no numbers are counted where each shares a point with one that is", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/runs`);
  // As the server answers for 4000 values, every seventh of them NaN: two in a point, and no point without a number.
  const mean = Array.from({ length: 2000 }, (_, at) => 1 + (at % 5));
  await changed<object>(page, /small\/mark\?name=loss/, () => ({ x: mean.map((_, at) => at * 1e6), y: mean, min: mean, max: mean, per_point: 2, not_positive: 0, not_number: 572 }));
  await to(page, "#/run/small/marks?marks=loss");
  await page.getByText("572 values without a number: NaN, infinite or text; the curve has a gap where no other value is at their place").waitFor();
  await page.getByRole("img", { name: "loss over time" }).waitFor();
  check();
  await close();
});

test("charts stand still while the list of runs changes and other runs grow", async () => {
  const { origin, tell } = await devServer(4000);
  const prepare = (page: Page) => page.addInitScript(() => {
    const { clearRect } = CanvasRenderingContext2D.prototype;
    Object.assign(window, { drawings: 0 });
    CanvasRenderingContext2D.prototype.clearRect = function (...where) {
      (window as unknown as { drawings: number }).drawings++;
      return clearRect.apply(this, where);
    };
  });
  const { page, check, close } = await open(`${origin}#/runs`, { prepare });
  const drawings = () => page.evaluate(() => (window as unknown as { drawings: number }).drawings);
  // The page listens when it is shown.
  await holds(async () => assert.ok(tell("runs", "{}") > 0));
  const grown = { run: "large", generation: 1, end_ns: 64e9 };
  for (const view of ["system", "marks?marks=loss"]) {
    await to(page, `#/run/small/${view}`);
    await page.locator(".chart canvas").first().waitFor();
    await holds(async () => {
      const before = await drawings();
      assert.ok(before > 0);
      for (let times = 0; times < 3; times++) {
        const listed = page.waitForResponse(/api\/runs$/);
        tell("grew", JSON.stringify({ ...grown, generation: grown.generation++ }));
        tell("runs", "{}");
        await (await listed).finished();
        await page.evaluate(twoFrames);
      }
      assert.equal(await drawings(), before);
    });
  }
  check();
  await close();
});

test("what could not be read is said, never taken for nothing", async () => {
  const { page, close } = await open(`${await devOrigin()}#/runs`);
  await page.route(/small\/(mark\?|series\/|search|steps)/, (asked) => asked.fulfill({ status: 500, json: { error: "the disk is gone" } }));
  const failure = page.getByRole("alert").getByText("the disk is gone").first();
  for (const address of ["marks?marks=loss", "system", "timeline?q=batch", "overview"]) {
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
  await Promise.all([page.waitForResponse(/small\/compare\/growing/), page.waitForResponse(/growing\/mark\?name=loss/)]);
  await Promise.all([page.waitForResponse(/small\/compare\/growing/), page.waitForResponse(/growing\/mark\?name=loss/)]);
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
  await holds(async () => {
    const plot = (await over.boundingBox())!;
    await page.mouse.move(plot.x + plot.width / 3, plot.y + plot.height / 2);
    const middle = await point.evaluate((element) => element.getBoundingClientRect().top + element.getBoundingClientRect().height / 2);
    assert.ok(middle >= plot.y && middle <= plot.y + plot.height, `${middle} is not in ${JSON.stringify(plot)}`);
  });
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

test("of many other runs the newest are there to choose, and those that are chosen; the others are counted", async () => {
  const older = (runs: { id: string }[]) => Array.from({ length: 60 }, (_, at) => ({ ...runs[0]!, id: `old-${at}` }));
  const prepare = (page: Page) => changed<{ runs: { id: string }[] }>(page, /api\/runs$/, ({ runs }) => ({ runs: [...runs, ...older(runs)] }));
  const { page, close } = await open(`${await devOrigin()}#/run/small/marks?marks=loss&with=old-59`, { prepare });
  const chosen = page.getByRole("checkbox", { name: "old-59" });
  await chosen.waitFor();
  assert.ok(await chosen.isChecked());
  await page.getByText("14 older runs not shown", { exact: true }).waitFor();
  await chosen.click();
  await page.getByText("15 older runs not shown", { exact: true }).waitFor();
  assert.equal(await chosen.count(), 0);
  assert.doesNotMatch(page.url(), /with=/);
  await close();
});
