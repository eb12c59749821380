import assert from "node:assert/strict";
import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { deflateRawSync } from "node:zlib";
import { atEnd, colours, devOrigin, dragOver, holds, open, rows, settled, to, view } from "./harness";
import { HODO, real } from "./hodo";

/** Answers of a file that are not as the server gives them, by the route of the run. */
type Changes = Record<string, (answer: Record<string, unknown>) => unknown>;

/** The address of a file that holds the page and the answers about one run, as `hodo share` writes it. */
async function shareFile(changes: Changes = {}): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), "hodo-share-"));
  atEnd(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, "run.html");
  writeFileSync(file, await shareText(await devOrigin(), changes));
  return pathToFileURL(file).href;
}

async function shareText(origin: string, changes: Changes): Promise<string> {
  const ask = async (url: string) => {
    const answer = await (await fetch(origin + url)).arrayBuffer();
    const change = changes[url.replace("api/runs/small/", "")];
    return change ? Buffer.from(JSON.stringify(change(JSON.parse(Buffer.from(answer).toString()) as Record<string, unknown>))) : answer;
  };
  const json = async (url: string) => ({ json: JSON.parse(Buffer.from(new Uint8Array(await ask(url))).toString()) as unknown });
  const packed = (bytes: ArrayBuffer | Buffer) => ({ packed: deflateRawSync(new Uint8Array(bytes)).toString("base64") });
  const inline: Record<string, unknown> = {};
  for (const route of ["report", "steps", "tracks", "flame?by=wall", "marks", "series", "mark?name=loss&x=time&max=2000"]) inline[`api/runs/small/${route}`] = packed(await ask(`api/runs/small/${route}`));
  const all = (await json("api/runs")).json as { runs: { id: string }[] };
  inline["api/runs"] = { json: { runs: all.runs.filter(({ id }) => id === "small") } };
  const res = 2 ** 20;
  for (const track of [1, 2, 3]) {
    const url = `api/runs/small/tiles?track=${track}&t0=0&t1=${res * 4096}&res=${res}`;
    inline[url] = packed(await ask(url));
  }
  const folder = path.join(process.cwd(), "../crates/hodo-server/page");
  const built = (ext: string) => readFileSync(path.join(folder, readdirSync(folder).find((name) => name.endsWith(ext))!), "utf8");
  const data = JSON.stringify(inline).replaceAll("<", "\\u003c");
  return `<!doctype html><meta charset="utf-8"><style>${built(".css")}</style><div id="app"></div>
<script type="application/json" id="hodo-inline">${data}</script><script type="module">${built(".js").replaceAll("</script", "<\\/script")}</script>`;
}

test("a shared file opens from disk, asks nobody, and shows overview, flame, tables and timeline", async () => {
  const { page, close } = await open(await shareFile());
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
  await page.getByRole("table", { name: "scopes", exact: true }).waitFor();
  await holds(async () => assert.equal((await rows(page, "scopes")).length, 5));
  assert.deepEqual(asked.filter((url) => !url.startsWith("file:") && !url.startsWith("data:")), []);
  await close();
});

test("in a shared file the SQL behind a table is shown, and not asked of it", async () => {
  const { page, close } = await open(await shareFile());
  await page.getByRole("link", { name: "Tables" }).click();
  await page.getByRole("button", { name: "SQL", exact: true }).click();
  await page.getByText("from tree order by self_ns desc").waitFor();
  assert.equal(await page.getByRole("link", { name: "Ask it" }).count(), 0);
  await close();
});

test("in a shared file the steps are gone through, and / is left to the browser", async () => {
  const { page, close } = await open(await shareFile());
  await page.getByRole("link", { name: "Timeline" }).click();
  await settled(page);
  await page.keyboard.press("g");
  await page.keyboard.type("150");
  await page.keyboard.press("Enter");
  const said = page.locator("[aria-live=polite]").last();
  await said.getByText(/^step 150,/).waitFor({ state: "attached" });
  await page.keyboard.press("]");
  await said.getByText(/^step 151,/).waitFor({ state: "attached" });
  await page.keyboard.press("[");
  await said.getByText(/^step 150,/).waitFor({ state: "attached" });
  const isLeft = () => page.evaluate(() => dispatchEvent(new KeyboardEvent("keydown", { key: "/", cancelable: true })));
  assert.ok(await isLeft());
  await close();
});

test("in a shared file a click on a box shows what is drawn of it, and no name leads to a search", async () => {
  const { page, close } = await open(await shareFile());
  await page.getByRole("table", { name: "Scopes with most time of their own" }).waitFor();
  assert.equal(await page.locator('a[href*="q="]').count(), 0);
  await page.getByRole("link", { name: "Tables" }).click();
  await page.getByRole("table", { name: "scopes", exact: true }).waitFor();
  assert.equal(await page.locator('a[href*="q="]').count(), 0);
  await page.getByRole("link", { name: "Timeline" }).click();
  await settled(page);
  await page.locator(".tl-canvases .front").click({ position: { x: 400, y: 36 } });
  const details = page.getByRole("region", { name: "Details" });
  await details.getByText(/A shared file holds no more of it/).waitFor();
  await details.getByRole("heading", { level: 2 }).waitFor();
  assert.match(await details.innerText(), /total[\s\S]+start/);
  assert.equal(await page.getByRole("alert").count(), 0);
  const url = page.url();
  assert.match(url, /sel=span/);
  await page.reload();
  await details.getByRole("heading", { level: 2 }).waitFor();
  await page.keyboard.press("ArrowRight");
  await close();
});

test("in a shared file a drag zooms, and no range is asked of it", async () => {
  const { page, close } = await open(await shareFile());
  await page.getByRole("link", { name: "Timeline" }).click();
  await settled(page);
  const before = await view(page);
  await dragOver(page, page.locator(".tl-canvases .front"), 300, 500);
  await page.waitForURL(/v0=\d+&v1=\d+/);
  await settled(page);
  const after = await view(page);
  assert.ok(after.t1 - after.t0 < (before.t1 - before.t0) / 2, JSON.stringify(after));
  assert.doesNotMatch(page.url(), /t0=/);
  for (const [tab, shown] of [["Flame", "tree"], ["Tables", "table"]] as const) {
    await page.getByRole("link", { name: tab }).click();
    await page.getByRole(shown).first().waitFor();
    await to(page, `#/run/small/${tab.toLowerCase()}?t0=5000000&t1=90000000`);
    await page.getByRole(shown).first().waitFor();
  }
  await page.getByRole("link", { name: "Marks" }).click();
  await dragOver(page, page.getByRole("img", { name: "loss over time" }).locator(".u-over"), 40, 240);
  await page.waitForURL(/timeline\?/);
  await settled(page);
  const zoomed = await view(page);
  assert.ok(zoomed.t1 - zoomed.t0 < (before.t1 - before.t0) / 2, JSON.stringify(zoomed));
  assert.equal(await page.getByRole("alert").count(), 0);
  await close();
});

test("a shared file says what did not fit, never that there is none", async () => {
  const url = await shareFile({
    report: (report) => ({ ...report, nodes: [], nodes_left_out: 200_000 }),
    tracks: (tracks) => ({ ...tracks, tracks: [], tracks_left_out: 2 }),
  });
  const { page, close } = await open(url);
  await page.getByText("200\u202f000 paths of scopes are not in this file").waitFor();
  await page.getByRole("link", { name: "Tables" }).click();
  await page.getByText("200\u202f000 paths of scopes are not in this file").waitFor();
  await page.getByRole("heading", { name: "The scopes are not here" }).waitFor();
  await page.getByRole("button", { name: "Benchmark loops", exact: true }).click();
  await page.getByText("None is among the paths that are here").waitFor();
  await page.getByRole("link", { name: "Timeline" }).click();
  await page.getByText("2 tracks did not fit into this file").waitFor();
  assert.equal(await page.getByText(/has no scopes|no scopes, GPU work/).count(), 0);
  await close();
});

test("a file of hodo share has the readings of every series that it lists", real, async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "hodo-share-"));
  atEnd(() => rmSync(dir, { recursive: true }));
  const file = path.join(dir, "run.html");
  for (const args of [["demo", "--seconds", "2"], ["share", "-o", file]]) {
    const made: SpawnSyncReturns<string> = spawnSync(HODO!, [...args, "--dir", path.join(dir, "runs")], { encoding: "utf8", env: { ...process.env, HODO_TELEMETRY: "200ms" } });
    assert.equal(made.status, 0, made.stderr);
  }
  const { page, close } = await open(pathToFileURL(file).href);
  await page.getByRole("link", { name: "System" }).click();
  await page.getByRole("img", { name: /cpu/ }).first().waitFor();
  const all = page.getByRole("button", { name: "Show all" });
  if (await all.count()) await all.click();
  await holds(async () => assert.equal(await page.locator(".series").count(), await page.locator(".series .chart").count()));
  assert.equal(await page.getByText("not captured in this range").count(), 0);
  assert.equal(await page.getByRole("alert").count(), 0);
  await close();
});
