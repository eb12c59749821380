import type { DevRun } from "./runs";

const counts = { spans: 0, marks: 0, attrs: 0 };
const work = (ns: number) => ({ busy_ns: ns, kernels: 1200, kernel_ns: ns, by_kernel: [{ name: "gemm_f16_tn", count: 400, total_ns: ns * 0.6, mean_ns: ns * 0.6 / 400, share: 0.6 }, { name: "layer_norm_kernel", count: 800, total_ns: ns * 0.4, mean_ns: ns * 0.4 / 800, share: 0.4 }], copies: [{ direction: "host to device", count: 40, bytes: 4e8, total_ns: ns * 0.1 }], sets: { count: 3, bytes: 4096, total_ns: 9000 }, launch: { count: 1200, mean_ns: 9000, p50_ns: 8700, p95_ns: 21000 } });

/** A report in the shape of `hodo report --json --kernels`. */
export function report(run: DevRun, filter: string) {
  const track = run.tracks[0];
  const nodes = (track?.levels ?? []).map((level, depth) => {
    const count = track!.counts[depth]!;
    const total = run.end_ns * 0.95 ** depth;
    const durations = { min_ns: total / count / 2, mean_ns: total / count, p50_ns: total / count, p95_ns: (total / count) * 1.5, p99_ns: (total / count) * 1.8, max_ns: (total / count) * 2 };
    return { path: track!.levels.slice(0, depth + 1).map((each) => each.name(0)), name: level.name(0), depth, kind: "scope", tag: depth === 0 ? { one: "mlp" } : null, count, open: 0, failed: 0, untimed: 0, total_ns: total, self_ns: total * 0.15, parent_ns: depth ? run.end_ns * 0.95 ** (depth - 1) : run.end_ns, durations, cpu: { total_ns: total * 0.6, captured: count, suspended: 0, other_thread: 0, off: 0, open: 0, uncalibrated: 0 }, gpu: { own: work(total * 0.3), all: work(total * 0.5), idle_ns: total * 0.4 }, energy: null, overhead_ns: 5000 * depth, threads: 1, processes: 1, bench: depth === 4 ? { iterations: 100, warmup: 10, min_ns: 9e5, median_ns: 1e6, mean_ns: 1.02e6, p95_ns: 1.2e6, ci95_ns: [1e6, 1.04e6] } : null, marks: [] };
  });
  const flat = nodes.map((node) => ({ name: node.name, count: node.count, total_ns: node.total_ns, self_ns: node.self_ns })).sort((a, b) => b.self_ns - a.self_ns);
  const causes = [["input", 0.6], ["host", 0.25], ["launch", 0.1], ["unknown", 0.05]].map(([cause, share]) => ({ cause, share, ns: run.end_ns * 0.4 * (share as number) }));
  const verdict = filter || !track ? null : { bound: "input", share: 0.24, scope: ["train", "epoch", "batch", "data_wait"], advice: ["load ahead of use: more loader workers, a larger prefetch", "do less for each item"], gpu: { window_ns: run.end_ns, computing_ns: run.end_ns * 0.6, idle_ns: run.end_ns * 0.4, not_captured_ns: 0, waits_recorded: true, causes, scopes: [] }, host: null, gpu_missing: null };
  const kernels = { rows: work(run.end_ns * 0.5).by_kernel.map((row) => ({ ...row, full_names: [row.name], timed: row.count, min_ns: row.mean_ns / 2, max_ns: row.mean_ns * 3, typical: { grid: [128, 1, 1], block: [256, 1, 1], registers: 64, shared_bytes: 16384 }, shapes: 2, scopes: [{ path: ["train", "epoch", "batch", "forward"], count: row.count, total_ns: row.total_ns }] })), count: 1200, total_ns: run.end_ns * 0.5, captured: 1, missing: [] };
  return {
    schema: "hodo.report/1", run: { id: run.id, app: run.app, argv: ["python", "train.py", "--steps", "200"], host: "node1", cwd: "/home/user", git_revision: "0123456789abcdef", hodo: "0.1.0" }, folder: run.id, state: run.state, start_ns: 1_790_000_000e9, wall_ns: run.end_ns,
    spans: nodes.reduce((sum, node) => sum + node.count, 0), spans_shown: nodes.reduce((sum, node) => sum + node.count, 0) / (filter ? 2 : 1), spans_untimed: 0, scopes_ns: run.end_ns, overhead_ns: track ? 610e3 : null, uncalibrated_processes: 0, nodes, by_self: flat, by_total: flat, marks_outside_scopes: [],
    gpu: { captured: track ? 1 : 0, devices: track ? 1 : 0, missing: track ? [] : [{ reason: "not_recorded", why: "no CUDA was used, or the process was forked", processes: 1 }], all: work(run.end_ns * 0.5), outside: null, gaps: 0, lost_kernels: 0, counts: { dropped: 0, lost: 0 } }, energy: null, machines: [], verdict, kernels,
    failed: { count: track ? 1 : 0, scopes: track ? [{ path: [{ name: "checkpoint", index: 1 }, { name: "train", index: null }], id: "0", pid: 4242, thread: "main", after_ns: run.end_ns * 0.9, duration_ns: 19e6, error: "No such file or directory (os error 2)" }] : [] }, open: { count: 0, scopes: [] },
    processes: [{ info: { pid: 4242, host: "node1", rank: null, argv: [] }, state: run.state, calibrated: true, spans: 1, marks: 1, threads: [{ number: 1, name: "main" }], gpu: null, damage: { bytes: 0, frames: 0 } }],
    records: { produced_records: 5371, stored: counts, in_ring: counts, lost: { ring_full: counts, spool_cap: counts, spool_gone: counts, not_stored: counts }, lost_records: 0, unexplained: 0, newer: 0, depth_dropped: 0 },
  };
}

/** A comparison in the shape of `hodo diff --json`. */
export function comparison(base: DevRun, head: DevRun) {
  const numbers = (total: number, count: number) => ({ count, total_ns: total, self_ns: total * 0.2, mean_ns: total / count, cpu_ns: null, gpu_busy_ns: null });
  const scopes = (base.tracks[0]?.levels ?? []).map((level, depth) => {
    const ratio = head.end_ns / base.end_ns - 1;
    const change = { ratio, low: ratio - 0.02, high: ratio + 0.02 };
    return { path: base.tracks[0]!.levels.slice(0, depth + 1).map((each) => each.name(0)), judgement: depth > 1 ? "slower" : "not_enough_data", share: 0.9, base: numbers(base.end_ns, 10 ** depth), head: numbers(head.end_ns, 10 ** depth), difference: null, change: depth > 1 ? change : null, mean_change: null, name: level.name(0) };
  });
  return { schema: "hodo.diff/1", comparable: true, obstacles: [], base: [base.id], head: [head.id], paired: false, confidence: 0.95, judged: 3, explanations: [{ path: ["train"], judgement: "slower", of: "typical", difference_ns: head.end_ns - base.end_ns, ratio: 0.08, parts_ns: head.end_ns - base.end_ns, parallel: false, parts: [{ path: ["train", "epoch", "batch", "data_wait"], difference_ns: (head.end_ns - base.end_ns) * 0.9, share: 0.9, by_count_ns: 0, cpu_ns: 0, change: null, real: true }] }], scopes, kernels: [{ name: "gemm_f16_tn", judgement: "same", base: { count: 400, count_each: 4, total_ns: 4e8, mean_ns: 1e6 }, head: { count: 400, count_each: 4, total_ns: 4.04e8, mean_ns: 1.01e6 }, change: { ratio: 0.01, low: -0.02, high: 0.03 } }], notes: ["clocks were not locked"] };
}

/** The flame graph of a run. */
export function flame(run: DevRun, by: string) {
  const track = run.tracks[0];
  if (!track || by === "gpu") return { by, roots: [], why: by === "gpu" ? "no CUDA was used, or the process was forked" : null, rest: null };
  const node = (depth: number, k: number, value: number): unknown => {
    const below = track.levels[depth + 1];
    const many = below ? Math.min(below.each, depth === 2 ? 4 : 1) : 0;
    const children = below ? Array.from({ length: many }, (_, at) => node(depth + 1, at, (value * 0.94 * (many === 4 ? [0.12, 0.34, 0.44, 0.1][at]! : 1)))) : [];
    return { name: track.levels[depth]!.name(k), tag: depth === 0 ? "mlp" : null, value_ns: Math.round(value), self_ns: Math.round(value * (children.length ? 0.06 : 1)), count: track.counts[depth]!, children, rest: null };
  };
  return { by, roots: [node(0, 0, run.end_ns * (by === "cpu" ? 0.6 : 1))], rest: { paths: 3, value_ns: 12345 } };
}
