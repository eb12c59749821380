// The page over large runs: node dev/bench/run.mjs HODO FOLDER RUN... (made by `make bench-page`)
import { measureFrames } from "./frames.mjs";
import { measureServer, startView } from "./server.mjs";

const [hodo, dir, ...runs] = process.argv.slice(2);
const row = (what, ...values) => console.log(`| ${what} | ${values.join(" | ")} |`);
const found = [];
for (const run of runs) {
  const view = await startView(hodo, dir);
  try {
    const server = await measureServer(view, run);
    console.error(run, JSON.stringify(server));
    const browser = await measureFrames(`${view.url}#/run/${encodeURIComponent(run)}/timeline`);
    console.error(run, JSON.stringify(browser));
    found.push({ server, browser, after: view.memory() });
  } finally {
    view.stop();
  }
}

const all = (of) => found.map(of);
const spread = ({ p50_ms, p95_ms, max_ms }) => `${p50_ms} / ${p95_ms} / ${max_ms} ms`;
row("what", ...all(({ server }) => `${(server.slices / 1e6).toFixed(1)} M slices`));
row("---", ...all(() => "---:"));
row("server: opened (`/tracks` answers)", ...all(({ server }) => `${server.opened_s} s`));
row("server: first tiles, whole run, p50 / p95 / max", ...all(({ server }) => spread(server.first_tiles)));
row("server: 400 random tiles, p50 / p95 / max", ...all(({ server }) => spread(server.tiles)));
row("server: memory once open, most while opening", ...all(({ server }) => `${server.memory.now_mib} MiB, ${server.memory.most_mib} MiB`));
row("browser: first paint, first boxes (run open)", ...all(({ browser }) => `${browser.first_paint_ms} ms, ${browser.first_boxes_ms} ms`));
row("browser: main thread per frame, processor time, p50 / p95 / max", ...all(({ browser }) => spread(browser.work)));
row("browser: the same by the clock", ...all(({ browser }) => spread(browser.work_by_the_clock)));
row("browser: from one frame to the next, p50 / p95 / max", ...all(({ browser }) => spread(browser.frames_apart)));
row("browser: frames a second, renderer", ...all(({ browser }) => `${browser.frames_a_second}, ${browser.renderer}`));
row("browser: tiles while moving, p50 / p95 / max", ...all(({ browser }) => spread(browser.tile_waits)));
row("browser: script memory", ...all(({ browser }) => `${browser.heap_mib} MiB`));
row("server: memory after that, most ever", ...all(({ after }) => `${after.now_mib} MiB, ${after.most_mib} MiB`));
