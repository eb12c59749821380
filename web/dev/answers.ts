import { chance, firstAfter, parseId, sliceAt, type Slice } from "./model";
import type { DevRun } from "./runs";
import { terms } from "../src/shared/filter";

const placed = (track: number, slice: Slice) => ({ id: slice.id, name: slice.name, track: String(track), depth: slice.depth, start_ns: slice.start_ns, duration_ns: slice.dur_ns, kind: slice.flags & 2 ? "kernel" : "span" });

/** The number of a name in the run's table. */
export function nameId(run: DevRun, name: string): number {
  const at = run.names.indexOf(name);
  return at >= 0 ? at : run.names.push(name) - 1;
}

/** Conditions on `index` and `variant`, the attributes that slices have here. */
export function fits(filter: string, k: number, name: string): boolean {
  return terms(filter).every((term) => {
    const found = /^([^=!<>]+)(!=|>=|<=|=|>|<)(.*)$/.exec(term);
    if (!found) return false;
    const [, key, sign, value] = found;
    const own = key === "index" ? k : key === "variant" ? (k % 2 ? "beam" : "greedy") : key === "name" ? name : null;
    if (own === null) return false;
    const order = typeof own === "number" ? own - Number(value) : own === value ? 0 : 1;
    return sign === "=" ? order === 0 : sign === "!=" ? order !== 0 : sign === ">" ? order > 0 : sign === ">=" ? order >= 0 : sign === "<" ? order < 0 : order <= 0;
  });
}

export function tracks(run: DevRun) {
  for (const track of run.tracks) track.levels.forEach((level, depth) => { for (let k = 0; k < Math.min(12, track.counts[depth]!); k++) nameId(run, level.name(k)); });
  const own = run.tracks.map((track) => ({ id: String(track.id), kind: track.kind, process: track.process, process_index: track.process_index ?? 0, host: track.host ?? "node1", pid: track.pid, rank: null, name: track.name, depths: track.levels.length, slices: track.counts.reduce((a, b) => a + b, 0), start_ns: 0, end_ns: run.end_ns }));
  const curves = run.tracks.length === 0 || run.id === "hostile" || run.id === "crowd" ? [] : [
    { id: "m1", kind: "marks", process: "train.py", process_index: 0, host: "node1", pid: 4242, rank: null, name: "loss", mark: "loss", depths: 1, slices: 0, start_ns: 0, end_ns: run.end_ns },
    ...series().map((each) => ({ id: `s${each.id}`, kind: "series", process: "node1", pid: null, rank: null, name: `${each.source} ${each.metric}`, series: each.id, unit: each.unit, depths: 1, slices: 0, start_ns: 0, end_ns: run.end_ns })),
  ];
  return { generation: run.generation, live: run.state === "live", end_ns: run.end_ns, start_unix_ns: 1_790_000_000e9, names: run.names, tracks: [...own, ...curves] };
}

export function span(run: DevRun, id: string) {
  const { track: number, depth, k } = parseId(id);
  const track = run.tracks.find((each) => each.id === number);
  if (!track || depth >= track.levels.length || k >= track.counts[depth]!) return null;
  const slice = sliceAt(track, depth, k, run.end_ns);
  const path = Array.from({ length: depth + 1 }, (_, at) => { let up = k; for (let d = depth; d > at; d--) up = Math.floor(up / track.levels[d]!.each); return track.levels[at]!.name(up); });
  const below = track.levels[depth + 1];
  const children = below ? Array.from({ length: Math.min(100, below.each) }, (_, at) => placed(number, sliceAt(track, depth + 1, k * below.each + at, run.end_ns))) : [];
  const edges_ns = Array.from({ length: 25 }, (_, at) => Math.round(slice.dur_ns * (0.4 + at * 0.06)));
  const instances = { count: track.counts[depth]!, histogram: { edges_ns, counts: edges_ns.slice(1).map((_, at) => Math.round(100 * Math.exp(-((at - 11) ** 2) / 30))) }, p50_ns: slice.dur_ns, p95_ns: slice.dur_ns * 1.4, max_ns: slice.dur_ns * 1.9 };
  const common = { ...placed(number, slice), instances };
  const gpu = run.tracks.find((each) => each.kind === "stream");
  if (track.kind === "stream") {
    const main = run.tracks[0]!;
    const around = sliceAt(main, 2, Math.min(main.counts[2]! - 1, firstAfter(main, 2, slice.start_ns, run.end_ns)), run.end_ns);
    return { ...common, stream: 7, grid: [128, 1, 1], block: [256, 1, 1], registers: 64, shared_bytes: 16384, launch: { span: around.id, track: "1", depth: 2, at_ns: slice.start_ns - 9000, thread: "main" }, scope: { id: around.id, path: ["train", "epoch", "batch"] } };
  }
  const first = gpu ? firstAfter(gpu, 0, slice.start_ns, run.end_ns) : 0;
  const kernels = gpu && depth >= 2 ? Array.from({ length: 6 }, (_, at) => sliceAt(gpu, 0, Math.min(gpu.counts[0]! - 1, first + at), run.end_ns)).map((kernel) => ({ ...placed(gpu.id, kernel), stream: 7, launched_ns: kernel.start_ns - 9000 })) : [];
  const parent = depth > 0 ? sliceAt(track, depth - 1, Math.floor(k / track.levels[depth]!.each), run.end_ns).id : null;
  return { ...common, tag: depth === 0 ? "mlp" : null, path, thread: track.name, process: track.process, self_ns: slice.dur_ns * 0.2, cpu_ns: slice.dur_ns * 0.7, gpu_ns: null, cpu_why: null, gpu_why: "no CUDA was used", attributes: { index: k, variant: k % 2 ? "beam" : "greedy", note: run.id === "hostile" ? slice.name : "plain" }, marks: depth === 2 ? [{ name: "loss", value: loss(k), at_ns: slice.start_ns }] : [], marks_count: depth === 2 ? 1 : 0, parent, children, children_count: below?.each ?? 0, kernels, kernels_count: kernels.length ? 3378 : 0 };
}

const loss = (k: number) => 2.5 * Math.exp(-k / 80) + 0.3 + chance(k, 9) * 0.1;

export function walk(run: DevRun, from: string, to: string) {
  const { track: number, depth, k } = parseId(from);
  const track = run.tracks.find((each) => each.id === number);
  if (!track) return null;
  const [d, at] = to === "next" ? [depth, k + 1] : to === "previous" ? [depth, k - 1] : to === "parent" ? [depth - 1, Math.floor(k / track.levels[depth]!.each)] : [depth + 1, k * (track.levels[depth + 1]?.each ?? 0)];
  if (d < 0 || d >= track.levels.length || at < 0 || at >= track.counts[d]!) return null;
  return placed(number, sliceAt(track, d, at, run.end_ns));
}

export function search(run: DevRun, text: string, limit: number, after_ns: number) {
  const hits = run.tracks.flatMap((track) => track.levels.flatMap((level, depth) => {
    const fitting = Array.from({ length: Math.min(track.counts[depth]!, 6000) }, (_, k) => k).filter((k) => level.name(k).includes(text));
    return fitting.map((k) => placed(track.id, sliceAt(track, depth, k, run.end_ns)));
  })).sort((a, b) => a.start_ns - b.start_ns);
  return { hits: hits.filter(({ start_ns }) => start_ns >= after_ns).slice(0, limit), total: hits.length };
}

export function range(run: DevRun, t0: number, t1: number) {
  const scopes = run.tracks.filter((track) => track.kind === "thread").flatMap((track) => track.levels.map((level, depth) => {
    const [first, last] = [firstAfter(track, depth, t0, run.end_ns), firstAfter(track, depth, t1, run.end_ns)];
    const count = Math.max(1, last - first);
    return { path: track.levels.slice(0, depth + 1).map((each) => each.name(0)), name: level.name(0), count, total_ns: (t1 - t0) * 0.9 ** depth, self_ns: (t1 - t0) * 0.1, cpu_ns: (t1 - t0) * 0.5, gpu_ns: null };
  }));
  return { scopes, scopes_count: 1234, kernels_count: 1, kernels: [{ name: "gemm_f16_tn", count: 12, total_ns: (t1 - t0) * 0.3 }], gpu_busy_ns: (t1 - t0) * 0.6, gpu_devices: 1, marks: [{ name: "loss", count: 3, mean: 1.2, min: 1, max: 1.4, last: 1 }] };
}

export function series() {
  return [
    { id: "1", source: "gpu 0", device: "GPU 0 · NVIDIA H200", metric: "sm_active", unit: "1", host: "node1" },
    { id: "2", source: "gpu 0", device: "GPU 0 · NVIDIA H200", metric: "power", unit: "W", host: "node1" },
    { id: "3", source: "host", device: null, metric: "memory_used", unit: "By", host: "node1" },
    { id: "4", source: "host", device: null, metric: "cpu", unit: "cores", host: "node1" },
  ];
}

const SCALE: Record<string, [number, number]> = { "1": [0.6, 0.35], "2": [420, 180], "3": [48e9, 6e9], "4": [9, 5] };

export function seriesValues(run: DevRun, id: string, t0: number, t1: number) {
  const points = 400;
  const t_ns = Array.from({ length: points }, (_, at) => Math.round(t0 + ((t1 - t0) * at) / points)).filter((t) => t <= run.end_ns);
  const [base, swing] = SCALE[id] ?? [1, 1];
  const value = (t: number) => base + swing * (0.6 * Math.sin(t / run.end_ns * 40) + 0.4 * (chance(Math.floor(t / 1e6), 3) - 0.5));
  const mean = t_ns.map((t, at) => (at % 97 === 50 ? null : value(t)));
  return { t_ns, mean, min: mean.map((each) => (each === null ? null : each - swing * 0.1)), max: mean.map((each) => (each === null ? null : each + swing * 0.1)) };
}

export function markValues(run: DevRun, name: string, x: string, from: number, to: number) {
  const steps = 300;
  const place = (k: number) => (x === "time" ? Math.round((run.end_ns * k) / steps) : k);
  // Those of the stretch, the last before it and the first after it.
  const at = Array.from({ length: steps }, (_, k) => k).filter((k) => place(k + 1) >= from && (k === 0 || place(k - 1) < to));
  const y = at.map((k) => (name === "accuracy" ? 1 - loss(k) / 3 : loss(k)));
  return { x: at.map(place), y, min: y, max: y, not_positive: y.filter((value) => value <= 0).length, not_number: 0 };
}

const MOST_STEPS = 4000;
/** Which step is asked for, where not all are. */
export type StepWish = { index: number | null; after_ns: number | null; before_ns: number | null };

export function steps(run: DevRun, filter: string, { index, after_ns, before_ns }: StepWish) {
  const track = run.tracks[0];
  if (!track || track.levels.length < 3) return { path: null, why: "no scope has an index", count: 0 };
  const slow = (k: number) => (k % 61 === 60 ? 2.7 : 1 + 0.2 * chance(k, 5));
  const all = Array.from({ length: track.counts[2]! }, (_, k) => sliceAt(track, 2, k, run.end_ns)).filter((slice) => fits(filter, slice.k, slice.name)).map((slice) => ({ ...slice, step_ns: Math.round(slice.dur_ns * slow(slice.k)) }));
  const one = index !== null ? all.find((each) => each.k >= index) : after_ns !== null ? all.find((each) => each.start_ns > after_ns) : all.findLast((each) => each.start_ns < (before_ns ?? 0));
  const isOne = index !== null || after_ns !== null || before_ns !== null;
  const per_point = isOne ? 1 : Math.max(1, Math.ceil(all.length / MOST_STEPS));
  const slowest = (from: number) => all.slice(from, from + per_point).reduce((best, each) => (each.step_ns > best.step_ns ? each : best));
  const slices = isOne ? (one ? [one] : []) : Array.from({ length: Math.ceil(all.length / per_point) }, (_, at) => slowest(at * per_point));
  const part = (share: number) => slices.map((slice) => Math.round(slice.dur_ns * share));
  const sorted = all.map((each) => each.step_ns).sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  const durations = sorted.length === 0 ? null : { min_ns: at(0), mean_ns: Math.round(sorted.reduce((sum, ns) => sum + ns, 0) / sorted.length), p50_ns: at(0.5), p95_ns: at(0.95), p99_ns: at(0.99), max_ns: at(1) };
  return { path: ["train", "epoch", "batch"], count: all.length, durations, largest_index: all.at(-1)?.k ?? null, step_ns: slices.map((slice) => slice.step_ns), start_ns: slices.map((slice) => slice.start_ns), index: slices.map((slice) => slice.k), parts: { data_wait: part(0.12), forward: part(0.3), backward: part(0.42), optimizer: part(0.1) }, per_point };
}
