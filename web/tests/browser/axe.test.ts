import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { devOrigin, open, settled, to } from "./harness";

const AXE = readFileSync(path.join(process.cwd(), "node_modules/axe-core/axe.min.js"), "utf8");

interface Violation { id: string; impact: string; nodes: { target: string[]; failureSummary?: string }[] }

/** What axe finds that keeps people from using a page: serious and critical violations, one line each. */
async function obstacles(page: Page): Promise<string[]> {
  // Asked through the debugger, since the page itself may run nothing that is not its own.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run: (what: Document, how: object) => Promise<{ violations: Violation[]; passes: unknown[] }> } };
    const { violations, passes } = await axe.run(document, { resultTypes: ["violations"] });
    return { violations, passed: passes.length };
  });
  assert.ok(found.passed > 5, "axe looked at the page");
  const grave = found.violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return grave.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary?.split("\n").pop()?.trim() ?? ""}`));
}

/** Every view, and what opens on top of one: an address, and what is done there. */
const PLACES: [string, (page: Page) => Promise<void>][] = [
  ["#/runs", (page) => page.getByRole("table", { name: "runs", exact: true }).waitFor()],
  ["#/run/small/overview", (page) => page.getByRole("region", { name: "Verdict" }).waitFor()],
  ["#/run/small/timeline", settled],
  ["#/run/small/timeline?t0=360000000&t1=380000000", (page) => page.getByRole("table", { name: "scopes in the range" }).waitFor()],
  ["#/run/small/timeline?q=batch", async (page) => {
    await settled(page);
    await page.getByLabel("Search names on the timeline").press("Enter");
    await page.getByRole("region", { name: "Details" }).getByRole("heading", { name: /All 200 of batch/ }).waitFor();
    await page.getByRole("button", { name: "As table" }).click();
    await page.getByRole("table", { name: "visible boxes" }).waitFor();
  }],
  ["#/run/small/flame", (page) => page.getByRole("tree", { name: "Flame graph" }).waitFor()],
  ...[["scopes", "scopes"], ["kernels", "kernels"], ["copies", "copies"], ["loops", "benchmark loops"]].map(([table, name]): [string, (page: Page) => Promise<void>] => [`#/run/small/tables?table=${table}`, (page) => page.getByRole("table", { name, exact: true }).waitFor()]),
  ["#/run/small/marks", (page) => page.getByRole("img", { name: "loss over time" }).waitFor()],
  ["#/run/small/system", (page) => page.getByRole("img", { name: /power of/ }).waitFor()],
  ["#/compare/small/small-after", (page) => page.getByRole("table", { name: "compared scopes" }).waitFor()],
  ["#/compare/small/hostile", (page) => page.getByText("not comparable").first().waitFor()],
  ["#/sql/small?query=select%201", async (page) => {
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.getByRole("table", { name: "rows" }).waitFor();
  }],
  ["#/run/nothing/overview", (page) => page.getByRole("alert").waitFor()],
  ...["overview", "timeline", "flame", "tables", "marks", "system"].map((view): [string, (page: Page) => Promise<void>] => [`#/run/empty/${view}`, (page) => page.getByRole("note").first().waitFor()]),
  ["#/run/small/overview", async (page) => {
    await page.getByRole("region", { name: "Verdict" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /Go to/ }).fill("back");
    await page.getByRole("option").first().waitFor();
  }],
  ["#/run/small/timeline", async (page) => {
    await settled(page);
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
  }],
];

for (const theme of ["dark", "light"] as const) {
  test(`nothing keeps people with assistive technology out, in ${theme}`, async () => {
    const { page, close } = await open(`${await devOrigin()}#/runs`, { theme });
    const found: string[] = [];
    for (const [hash, act] of PLACES) {
      await to(page, "#/runs");
      await page.keyboard.press("Escape");
      await page.getByRole("table", { name: "runs", exact: true }).waitFor();
      await to(page, hash);
      await act(page);
      found.push(...(await obstacles(page)).map((each) => `${hash} ${each}`));
    }
    assert.deepEqual(found, []);
    await close();
  });
}
