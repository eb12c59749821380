// Builds the page: `node build.mjs [FOLDER]`. The names of the files carry a hash of their content.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const BUDGET_GZIP_BYTES = 120 * 1024;

/** The built files by name. */
export async function pageFiles() {
  const result = await build({
    entryPoints: { app: path.join(here, "src/main.tsx"), fetcher: path.join(here, "src/api/fetcher.ts") },
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    charset: "utf8",
    outdir: here,
    write: false,
    absWorkingDir: here,
  });
  const files = new Map();
  let html = await readFile(path.join(here, "index.html"), "utf8");
  for (const { path: file, contents } of result.outputFiles) {
    const [what, ext] = path.basename(file).split(".");
    const hash = createHash("sha256").update(contents).digest("hex").slice(0, 10);
    const name = `${what}.${hash}.${ext}`;
    files.set(name, Buffer.from(contents));
    html = html.replace(`${what}_${ext}`.toUpperCase(), name);
  }
  files.set("index.html", Buffer.from(html));
  return files;
}

/** Bytes of the whole page as gzip sends it. */
export function gzipBytes(files) {
  return [...files.values()].reduce((sum, bytes) => sum + gzipSync(bytes, { level: 9 }).length, 0);
}

async function write(folder) {
  const files = await pageFiles();
  const size = gzipBytes(files);
  if (size > BUDGET_GZIP_BYTES) throw new Error(`the page is ${size} bytes gzipped, more than ${BUDGET_GZIP_BYTES}`);
  await mkdir(folder, { recursive: true });
  for (const old of await readdir(folder)) {
    if (/^(app|fetcher)\..*\.(js|css)$/.test(old) && !files.has(old)) await rm(path.join(folder, old));
  }
  for (const [name, bytes] of files) await writeFile(path.join(folder, name), bytes);
  console.log(`page: ${(size / 1024).toFixed(1)} KiB gzipped in ${path.relative(process.cwd(), folder) || "."}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await write(path.resolve(process.argv[2] ?? path.join(here, "../crates/hodo-server/page")));
}
