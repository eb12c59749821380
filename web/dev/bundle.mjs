// Bundles TypeScript for node, so that it runs without a build step of its own.
import { build } from "esbuild";
import path from "node:path";
import { fileURLToPath } from "node:url";

const web = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** Bundles a file of `web/` and returns where the result lies. */
export async function bundle(entry) {
  const outfile = path.join(web, "node_modules/.cache/hodo", entry.replace(/[/.]/g, "-") + ".mjs");
  await build({ entryPoints: [path.join(web, entry)], bundle: true, platform: "node", format: "esm", target: "node20", jsx: "automatic", jsxImportSource: "preact", packages: "external", outfile, sourcemap: "inline", loader: { ".css": "empty" } });
  return outfile;
}
