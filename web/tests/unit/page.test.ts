import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const web = process.cwd();
const { pageFiles, gzipBytes } = (await import(pathToFileURL(path.join(web, "build.mjs")).href)) as { pageFiles: () => Promise<Map<string, Buffer>>; gzipBytes: (files: Map<string, Buffer>) => number };
const files = await pageFiles();

test("the whole page is at most 120 KiB gzipped", () => {
  assert.ok(gzipBytes(files) <= 120 * 1024, `${gzipBytes(files)} bytes`);
});

test("the committed page is what the sources make", () => {
  const folder = path.join(web, "../crates/hodo-server/page");
  const there = readdirSync(folder).filter((name) => /^(index\.html|(app|fetcher)\..*)$/.test(name));
  assert.deepEqual(there.sort(), [...files.keys()].sort(), "run `make page` and commit what it writes");
  for (const [name, bytes] of files) assert.ok(readFileSync(path.join(folder, name)).equals(bytes), `${name} is stale: run \`make page\``);
});

test("nothing in it needs another host, inline code or eval", () => {
  const html = files.get("index.html")!.toString();
  assert.doesNotMatch(html, /<script(?![^>]*src=)|<style|\son\w+=|\sstyle=/);
  for (const [name, bytes] of files) {
    const addresses = bytes.toString().match(/https?:\/\/[^\s"'`)]+/g) ?? [];
    assert.deepEqual(addresses.filter((address) => !address.startsWith("http://www.w3.org/")), [], name);
    assert.doesNotMatch(bytes.toString(), /\beval\(|new Function\(/, name);
  }
});
