// A `hodo view` to measure: how long it takes to open a run, how fast tiles come, how much memory it takes.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

const TILE_PX = 4096;

/** p50, p95 and most of some numbers. */
export function summary(values, unit = "ms") {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => +(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2);
  return { n: sorted.length, [`p50_${unit}`]: at(0.5), [`p95_${unit}`]: at(0.95), [`max_${unit}`]: at(1) };
}

/** Starts `hodo view` over a folder of runs. */
export async function startView(hodo, dir) {
  const child = spawn(hodo, ["view", "--no-open", "--dir", dir], { stdio: ["ignore", "pipe", "pipe"] });
  const url = await new Promise((ready, failed) => {
    let said = "";
    const hear = (bytes) => {
      said += bytes;
      const found = /http:\/\/127\.0\.0\.1:\d+\/\?token=\w+/.exec(said);
      if (found) ready(found[0]);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", (code) => failed(new Error(`hodo view ended with ${code}: ${said}`)));
  });
  const { origin, searchParams } = new URL(url);
  const headers = { authorization: `Bearer ${searchParams.get("token")}` };
  const ask = async (path) => {
    const response = await fetch(`${origin}/${path}`, { headers });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  return { url, ask, stop: () => child.kill(), memory: () => memory(child.pid) };
}

/** Memory of a process in MiB: now, and the most it ever had. */
export function memory(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const of = (key) => Math.round(Number(new RegExp(`${key}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024);
  return { now_mib: of("VmRSS"), most_mib: of("VmHWM") };
}

/** Opens a run and asks for tiles of random views, as the page would. */
export async function measureServer(view, run, views = 400) {
  const began = performance.now();
  const tracks = await (await view.ask(`api/runs/${run}/tracks`)).json();
  const opened_s = (performance.now() - began) / 1000;
  const whole = 2 ** Math.ceil(Math.log2(Math.max(1, tracks.end_ns / TILE_PX)));
  const drawn = tracks.tracks.filter(({ kind }) => kind === "thread" || kind === "stream");
  const slices = drawn.reduce((sum, { slices }) => sum + slices, 0);
  const first = [];
  for (const track of drawn) first.push(await tile(view, run, track, whole, 0));
  const opened = { opened_s: +opened_s.toFixed(2), slices, index_bytes_a_slice: +(tracks.index_bytes / slices).toFixed(2), tracks: drawn.length, memory: view.memory() };
  const random = seeded(7);
  const [times, sizes] = [[], []];
  for (let at = 0; at < views; at++) {
    const track = oneOf(drawn, slices, random());
    const res = 2 ** Math.floor(random() * (Math.log2(whole) + 1));
    const at_ns = track.start_ns + random() * (track.end_ns - track.start_ns);
    const index = Math.floor(at_ns / (res * TILE_PX));
    const { ms, bytes } = await tile(view, run, track, res, index);
    times.push(ms);
    sizes.push(bytes / 1024);
  }
  return { ...opened, first_tiles: summary(first.map(({ ms }) => ms)), tiles: summary(times), tile_sizes: summary(sizes, "kib"), memory_after: view.memory() };
}

/** A track, the more likely the more is on it. */
function oneOf(tracks, slices, share) {
  let before = 0;
  return tracks.find((track) => (before += track.slices) >= share * slices) ?? tracks[0];
}

async function tile(view, run, track, res, index) {
  const began = performance.now();
  const t0 = index * res * TILE_PX;
  const bytes = await (await view.ask(`api/runs/${run}/tiles?track=${track.id}&t0=${t0}&t1=${t0 + res * TILE_PX}&res=${res}`)).arrayBuffer();
  return { ms: performance.now() - began, bytes: bytes.byteLength };
}

/** The same numbers below one at every start. */
export function seeded(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
