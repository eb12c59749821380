// Runs the tests in a real browser: over runs made by formula, and, where HODO_BIN names a `hodo`, over real ones.
import { existsSync, readdirSync } from "node:fs";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../dev/bundle.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
process.env.CHROMIUM ??= ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync) ?? "";
if (!process.env.CHROMIUM) throw new Error("no Chromium: install it (apt-get install chromium), or set CHROMIUM to one");
const wanted = process.argv.slice(2);
const tests = readdirSync(path.join(here, "browser")).filter((name) => name.endsWith(".test.ts") && (wanted.length === 0 || wanted.some((word) => name.includes(word))));
const files = await Promise.all(tests.map((name) => bundle(`tests/browser/${name}`)));
if (!process.env.HODO_BIN) console.log("browser: HODO_BIN is not set, so nothing is tested over real runs");
process.exit(spawnSync(process.execPath, ["--test", "--test-concurrency=1", ...files], { stdio: "inherit" }).status ?? 1);
