import { BOX_WORDS, type Batch } from "./batch";
import { GROUND, type BoxRenderer } from "./gl";
import { ROW_PX } from "./layout";
import { COPY, FAILED, WAIT } from "./tile";

/** A renderer for where WebGL 2 is not to be had: the same boxes on a plain canvas. */
export function flatRenderer(canvas: HTMLCanvasElement): BoxRenderer | null {
  const context = canvas.getContext("2d");
  if (!context) return null;
  let batch: Batch | null = null;
  const hatch = hatchOf(context);
  const fills = new Map<number, string>();
  const fill = (packed: number): string => {
    let text = fills.get(packed);
    if (!text) fills.set(packed, (text = "#" + packed.toString(16).padStart(6, "0")));
    return text;
  };
  return {
    kind: "2d",
    load(next) {
      batch = next;
    },
    draw(frame) {
      const [r, g, b] = GROUND[frame.theme];
      context.setTransform(frame.ratio, 0, 0, frame.ratio, 0, 0);
      context.clearRect(0, 0, frame.width_px, frame.height_px);
      if (!batch) return;
      const { floats, words, count, base_ns, unit_ns } = batch;
      const offset = (frame.t0 - base_ns) / unit_ns;
      const scale = unit_ns / frame.ns_per_px;
      let lastColour = -1;
      for (let box = 0, at = 0; box < count; box++, at += BOX_WORDS) {
        const left = (floats[at]! - offset) * scale;
        const right = (floats[at + 1]! - offset) * scale;
        const top = floats[at + 2]! - frame.scroll_px;
        if (right < 0 || left > frame.width_px || top > frame.height_px || top < -ROW_PX) continue;
        const x = Math.max(left, -2);
        const width = Math.max(1, Math.min(right, frame.width_px + 2) - x - (right - left > 3 ? 1 : 0));
        const flags = words[at + 3]! >>> 24;
        const share = (words[at + 4]! >>> 24) / 255;
        const lifted = (words[at + 4]! & 0xffffff) === frame.pointed ? 1.15 : 1;
        const mix = (channel: number, ground: number) => Math.min(255, Math.round((ground + (channel - ground) * share) * lifted));
        const colour = words[at + 3]! & 0xffffff;
        const packed = (mix(colour & 255, r) << 16) | (mix((colour >> 8) & 255, g) << 8) | mix(colour >> 16, b);
        if (packed !== lastColour) {
          context.fillStyle = fill(packed);
          lastColour = packed;
        }
        context.fillRect(x, top, width, ROW_PX - 1);
        if (flags & (WAIT | COPY) && width > 6 && hatch) {
          context.fillStyle = hatch;
          context.fillRect(x, top, width, ROW_PX - 1);
          lastColour = -1;
        }
        if (flags & FAILED) {
          context.fillStyle = "#d9293d";
          context.fillRect(x, top + ROW_PX - 5, width, 4);
          lastColour = -1;
        }
      }
    },
    dispose() {
      batch = null;
    },
  };
}

/** Slanted lines to lay over a box. */
function hatchOf(context: CanvasRenderingContext2D): CanvasPattern | null {
  const side = 8;
  const piece = document.createElement("canvas");
  piece.width = piece.height = side;
  const on = piece.getContext("2d");
  if (!on) return null;
  on.strokeStyle = "rgba(0,0,0,.3)";
  on.lineWidth = 2;
  for (const shift of [-side, 0, side]) {
    on.moveTo(shift, side);
    on.lineTo(shift + side, 0);
  }
  on.stroke();
  return context.createPattern(piece, "repeat");
}
