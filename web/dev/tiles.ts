import { encodeTile } from "../src/timeline/tile";
import { firstAfter, sliceAt, type TrackModel } from "./model";

interface Box { start: number; dur: number; id: bigint; name: number; slices: number; depth: number; busy: number; flags: number }

/** The boxes of a window: slices as they are, or merged where they are smaller than the resolution. */
export function tileOf(track: TrackModel, t0: number, t1: number, res_ns: number, end_ns: number, nameId: (name: string) => number, dims: (depth: number, k: number, name: string) => boolean): ArrayBuffer {
  const boxes: Box[] = [];
  track.levels.forEach((_, depth) => addDepth(boxes, track, depth, t0, Math.min(t1, end_ns), res_ns, end_ns, nameId, dims));
  return encodeTile({
    t0, res_ns, count: boxes.length,
    start_ns: Float64Array.from(boxes, (box) => box.start),
    dur_ns: Float64Array.from(boxes, (box) => box.dur),
    id: BigUint64Array.from(boxes, (box) => box.id),
    name: Uint32Array.from(boxes, (box) => box.name),
    slices: Uint32Array.from(boxes, (box) => box.slices),
    depth: Uint16Array.from(boxes, (box) => box.depth),
    busy: Uint8Array.from(boxes, (box) => box.busy),
    flags: Uint8Array.from(boxes, (box) => box.flags),
    tag: null,
  });
}

function addDepth(boxes: Box[], track: TrackModel, depth: number, t0: number, t1: number, res_ns: number, end_ns: number, nameId: (name: string) => number, dims: (depth: number, k: number, name: string) => boolean): void {
  const total = track.counts[depth]!;
  let k = firstAfter(track, depth, t0, end_ns);
  while (k < total) {
    const slice = sliceAt(track, depth, k, end_ns);
    if (slice.start_ns >= t1) return;
    if (slice.dur_ns >= res_ns) {
      const flags = slice.flags | (dims(depth, k, slice.name) ? 16 : 0);
      boxes.push({ start: slice.start_ns, dur: slice.dur_ns, id: BigInt(slice.id), name: nameId(slice.name), slices: 1, depth, busy: 255, flags });
      k++;
      continue;
    }
    const bucket = (Math.floor(slice.start_ns / res_ns) + 1) * res_ns;
    const next = Math.max(k + 1, firstAfter(track, depth, bucket, end_ns));
    const last = sliceAt(track, depth, next - 1, end_ns);
    const end = last.start_ns + last.dur_ns;
    const only = next === k + 1;
    const busy = only ? 255 : Math.min(255, Math.round((255 * slice.dur_ns * (next - k)) / Math.max(1, end - slice.start_ns)));
    boxes.push({ start: slice.start_ns, dur: end - slice.start_ns, id: only ? BigInt(slice.id) : 0n, name: nameId(slice.name), slices: next - k, depth, busy, flags: slice.flags });
    k = next;
  }
}
