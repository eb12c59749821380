// The page over runs made by formula: `npm run dev [PORT] [SLICES]`. No hodo is needed.
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundle } from "./bundle.mjs";

const { startServer } = await import(pathToFileURL(await bundle("dev/server.ts")).href);
const page = process.env.HODO_PAGE_DIR ?? path.join(path.dirname(fileURLToPath(import.meta.url)), "../../crates/hodo-server/page");
const { port } = await startServer(page, Number(process.argv[2] ?? 4680), Number(process.argv[3] ?? 10_000_000));
console.log(`http://127.0.0.1:${port}/`);
