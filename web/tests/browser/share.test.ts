import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { atEnd, colours, devOrigin, open, rows, settled } from "./harness";

/** A file that holds the page and the answers about one run, as `hodo share` writes it. */
async function shareFile(origin: string): Promise<string> {
  const ask = async (url: string) => (await fetch(origin + url)).arrayBuffer();
  const json = async (url: string) => ({ json: JSON.parse(Buffer.from(await ask(url)).toString()) as unknown });
  const inline: Record<string, unknown> = {};
  for (const route of ["report", "steps", "tracks", "flame?by=wall", "marks", "series"]) inline[`api/runs/small/${route}`] = await json(`api/runs/small/${route}`);
  const all = (await json("api/runs")).json as { runs: { id: string }[] };
  inline["api/runs"] = { json: { runs: all.runs.filter(({ id }) => id === "small") } };
  const res = 2 ** 20;
  for (const track of [1, 2, 3]) {
    const url = `api/runs/small/tiles?track=${track}&t0=0&t1=${res * 4096}&res=${res}`;
    inline[url] = { base64: Buffer.from(await ask(url)).toString("base64") };
  }
  const folder = path.join(process.cwd(), "../crates/hodo-server/page");
  const built = (ext: string) => readFileSync(path.join(folder, readdirSync(folder).find((name) => name.endsWith(ext))!), "utf8");
  const data = JSON.stringify(inline).replaceAll("<", "\\u003c");
  return `<!doctype html><meta charset="utf-8"><style>${built(".css")}</style><div id="app"></div>
<script type="application/json" id="hodo-inline">${data}</script><script type="module">${built(".js").replaceAll("</script", "<\\/script")}</script>`;
}

test("a shared file opens from disk, asks nobody, and shows overview, flame, tables and timeline", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hodo-share-"));
  atEnd(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, "run.html");
  writeFileSync(file, await shareFile(await devOrigin()));
  const { page, close } = await open(pathToFileURL(file).href);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.getByRole("region", { name: "Verdict" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "SQL" }).count(), 0, "what needs a server is not offered");
  await page.getByRole("link", { name: "Timeline" }).click();
  await settled(page);
  assert.ok((await colours(page, ".tl-canvases .front")) > 20);
  await page.mouse.move(700, 200);
  for (let press = 0; press < 8; press++) await page.keyboard.press("w");
  await settled(page);
  assert.equal(await page.getByRole("alert").count(), 0, "finer tiles are not in the file, coarser ones stand in");
  await page.getByRole("link", { name: "Flame" }).click();
  await page.getByRole("treeitem", { name: /^backward/ }).waitFor();
  await page.getByRole("link", { name: "Tables" }).click();
  await page.getByRole("table", { name: "scopes" }).waitFor();
  assert.equal((await rows(page, "scopes")).length, 5);
  assert.deepEqual(asked.filter((url) => !url.startsWith("file:") && !url.startsWith("data:")), []);
  await close();
});
