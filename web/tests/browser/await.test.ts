import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { devOrigin, holds, open, to } from "./harness";

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
