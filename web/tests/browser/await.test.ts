import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { changed, devOrigin, holds, open, to, twoFrames } from "./harness";

/** Has answers wait until they are let go. */
async function held(page: Page, address: RegExp): Promise<() => void> {
  let letGo = () => {};
  const wait = new Promise<void>((done) => (letGo = done));
  await page.route(address, async (asked) => {
    await wait;
    await asked.continue();
  });
  return letGo;
}

test("numbers of an earlier question stand under its own heading, dimmed, until the answer is there", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/flame`);
  const crumb = page.getByRole("navigation", { name: "Path" }).getByRole("button").first();
  await crumb.waitFor();
  const letGo = await held(page, /by=cpu|filter=|range\?t0=3/);
  await page.getByRole("button", { name: "CPU time" }).click();
  await page.locator("[aria-busy=true]").waitFor();
  assert.equal(await crumb.innerText(), "all wall time");
  for (const [view, what] of [["tables", "table"], ["overview", ".columns"]] as const) {
    await to(page, `#/run/small/${view}`);
    await page.locator(what).first().waitFor();
    assert.equal(await page.locator("[aria-busy=true]").count(), 0);
    await to(page, `#/run/small/${view}?filter=index%3E3`);
    await page.locator("[aria-busy=true]").locator(what).first().waitFor();
  }
  await to(page, "#/run/small/timeline?t0=100000000&t1=200000000");
  await page.getByRole("table", { name: "scopes in the range" }).waitFor();
  // The timeline writes what it shows into the address, a moment later.
  await page.waitForURL(/v0=/);
  await to(page, "#/run/small/timeline?t0=300000000&t1=400000000");
  await page.locator(".panel[aria-busy=true]").waitFor();
  letGo();
  await holds(async () => assert.equal(await page.locator("[aria-busy=true]").count(), 0));
  check();
  await close();
});

test("curves of an earlier question are dimmed until those that are asked for are there, and nothing is said of them", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/marks?marks=loss`);
  const [old, now] = ["true", "false"].map((isOld) => page.locator(`.card[aria-busy=${isOld}]`)) as [Locator, Locator];
  await now.getByRole("img", { name: "loss over time" }).waitFor();
  const letGo = await held(page, /x=step|series\/2\?t0=[34]/);
  await page.getByRole("button", { name: "by step" }).click();
  await old.getByRole("img", { name: "loss over time" }).waitFor();
  const power = { name: /^power/ };
  const unread = page.getByText("not captured in this range");
  await changed<object>(page, /series\/2\?t0=2/, () => ({ t_ns: [], mean: [], min: [], max: [] }));
  await to(page, "#/run/small/system?find=power&t0=100000000&t1=190000000");
  await now.getByRole("img", power).waitFor();
  await to(page, "#/run/small/system?find=power&t0=300000000&t1=390000000");
  await old.getByRole("img", power).waitFor();
  assert.equal(await unread.count(), 0);
  await to(page, "#/run/small/system?find=power&t0=200000000&t1=290000000");
  await unread.waitFor();
  await to(page, "#/run/small/system?find=power&t0=400000000&t1=490000000");
  await old.waitFor();
  assert.equal(await unread.count(), 0);
  letGo();
  await now.getByRole("img", power).waitFor();
  check();
  await close();
});

test("rows of an earlier question in SQL are dimmed until those that are asked for are there", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/sql/small?query=select%201`);
  const rows = (isOld: boolean) => page.locator(`[aria-busy=${isOld}]`).getByRole("table", { name: "rows", exact: true });
  await rows(false).waitFor();
  const letGo = await held(page, /api\/sql/);
  await page.getByLabel("SQL", { exact: true }).fill("select 2");
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await rows(true).waitFor();
  letGo();
  await rows(false).waitFor();
  check();
  await close();
});

test("what the server refused stays said while a run grows, and is asked for again", async () => {
  const { page, close } = await open(`${await devOrigin()}#/runs`);
  await page.route(/growing\/tracks/, (asked) => asked.fulfill({ status: 500, json: { error: "the disk is gone" } }));
  for (const [address, asked] of [["run/growing/tables?filter=nonsense", /growing\/report/], ["compare/growing/hostile", /growing\/compare/], ["run/growing/timeline", /growing\/tracks/]] as const) {
    await to(page, `#/${address}`);
    await page.locator("main").getByText(/nonsense is not a condition|not comparable|the disk is gone/).first().waitFor();
    await page.evaluate(() => {
      const seen = { unsaid: 0 };
      Object.assign(window, { seen });
      new MutationObserver(() => { if (!document.querySelector("main .note") || document.querySelector("main .loading")) seen.unsaid++; }).observe(document.querySelector("main")!, { subtree: true, childList: true });
    });
    for (let growth = 0; growth < 2; growth++) await page.waitForResponse(asked);
    await page.evaluate(twoFrames);
    assert.equal(await page.evaluate(() => (window as unknown as { seen: { unsaid: number } }).seen.unsaid), 0, address);
  }
  await close();
});

test("a range that a view does not narrow to is said there", async () => {
  const { page, check, close } = await open(`${await devOrigin()}#/run/small/overview?t0=100000000&t1=200000000`);
  for (const view of ["overview", "marks"]) {
    await to(page, `#/run/small/${view}?t0=100000000&t1=200000000`);
    await page.getByText("This view is of the whole run, not of the range of 100 ms from 100 ms").waitFor();
  }
  await page.getByRole("button", { name: "Clear the range" }).click();
  await holds(async () => assert.doesNotMatch(page.url(), /t0=/));
  assert.equal(await page.getByText("This view is of the whole run").count(), 0);
  check();
  await close();
});
