import { makeTrack, type Level, type TrackModel } from "./model";

/** A run of the development server; while it is late, its streams are empty. */
export interface DevRun { id: string; app: string; state: "live" | "finished"; end_ns: number; tracks: TrackModel[]; generation: number; names: string[]; isLate?: boolean }

const level = (each: number, fill: number, name: (k: number) => string): Level => ({ each, fill, name });
const PARTS = ["data_wait", "forward", "backward", "optimizer"];
const KERNELS = ["gemm_f16_tn", "layer_norm_kernel", "softmax_warp_forward", "multi_tensor_apply_kernel", "elementwise_add"];

/** Names that a page must show as text. */
export const HOSTILE = ['<img src=x onerror="window.hacked=1">', "<script>window.hacked=1</script>", "\u202egnp.exe\u202c rtl", "\u001b[31mred\u001b[0m", "a".repeat(10_000), "quote\"'`&amp;", "=1+1", "new\nline\ttab", "\u0000nul"];

function training(batches: number, layers: number, parts = (k: number) => PARTS[k % PARTS.length]!): Level[] {
  return [level(1, 1, () => "train"), level(10, 0.995, () => "epoch"), level(batches / 10, 0.98, () => "batch"), level(4, 0.96, parts), level(layers, 0.9, () => "layer")];
}

/** About `slices` slices on a few threads and streams. */
function large(id: string, slices: number): DevRun {
  const batches = Math.max(10, Math.round(slices / 100 / 10) * 10);
  const tracks = [
    makeTrack(1, "thread", "train.py", 4242, "main", training(batches, 8)),
    makeTrack(2, "thread", "train.py", 4242, "loader 0", [level(1, 1, () => "loader"), level(batches, 0.9, () => "load"), level(2, 0.9, (k) => (k % 2 ? "decode" : "read"))]),
    makeTrack(3, "stream", "train.py", 4242, "GPU 0 stream 7", [level(batches * 60, 0.9, (k) => KERNELS[k % KERNELS.length]!)]),
  ];
  return { id, app: "train", state: "finished", end_ns: batches * 12e6, tracks, generation: 1, names: [] };
}

/** A run of so many threads, in processes of one number on two hosts. */
export function crowd(threads: number): DevRun {
  const track = (at: number) => ({ ...makeTrack(at + 1, "thread", "train.py", 7, `worker ${at}`, [level(20, 0.9, () => "work")]), host: `node${(at % 2) + 1}`, process_index: at % 2 });
  return { id: "crowd", app: "train", state: "finished", end_ns: 1e9, tracks: Array.from({ length: threads }, (_, at) => track(at)), generation: 1, names: [] };
}

/** The runs that the development server shows; `slices` sizes the large one. */
export function devRuns(slices: number): DevRun[] {
  const hostile: DevRun = { id: "hostile", app: HOSTILE[0]!, state: "finished", end_ns: 9e9, generation: 1, names: [], tracks: [makeTrack(1, "thread", HOSTILE[1]!, 1, HOSTILE[2]!, [level(1, 1, () => "root"), level(HOSTILE.length, 0.95, (k) => HOSTILE[k]!)])] };
  return [large("small", 20_000), { ...large("small-after", 20_000), end_ns: 200 * 13e6 }, large("large", slices), { ...large("growing", 4000), state: "live" }, hostile, { ...large("empty", 1000), tracks: [] }];
}
