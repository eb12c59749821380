// Runs the unit tests: each is bundled, then run by node's own test runner.
import { readdirSync } from "node:fs";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../dev/bundle.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const tests = readdirSync(path.join(here, "unit")).filter((name) => name.endsWith(".test.ts") || name.endsWith(".test.tsx"));
const files = await Promise.all(tests.map((name) => bundle(`tests/unit/${name}`)));
process.exit(spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1);
