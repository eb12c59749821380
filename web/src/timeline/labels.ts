import { isShareFile } from "../api/inline";
import { FILL_TEXT } from "../shared/colour";
import { count, duration, plain } from "../shared/format";
import { DIMMED, MERGED, NO_TAG } from "./tile";
import { ROW_PX } from "./layout";
import type { Batch, Label } from "./batch";
import type { Frame } from "./gl";

const FONT = '11.5px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const LEAST_WIDTH_PX = 22;
const LEAST_CROWD_PX = 84;
const INSET_PX = 4;
/** Mean width of a sign in what is written on crowds. */
const CROWD_SIGN_PX = 6.4;
const MOST_SIGNS = 160;
const DIMMED_TEXT = "#aeb9c5";
/** Between a name and its tag, and the width of the mark before a tag. */
const TAG_GAP_PX = 4, TAG_MARK_PX = 9;

/** Writes names into boxes that have room, and numbers onto crowds of merged ones. */
export class LabelWriter {
  private texts = new Map<number, { text: string; width: number }>();

  constructor(private readonly names: () => readonly string[]) {}

  /** Forgets widths, when names have changed. */
  reset(): void {
    this.texts.clear();
  }

  write(context: CanvasRenderingContext2D, batch: Batch, frame: Frame): void {
    context.font = FONT;
    context.textBaseline = "middle";
    for (const label of batch.labels) {
      const top = label.top - frame.scroll_px;
      if (top < -ROW_PX || top > frame.height_px) continue;
      const left = Math.max(0, (label.start_ns - frame.t0) / frame.ns_per_px);
      const right = Math.min(frame.width_px, (label.end_ns - frame.t0) / frame.ns_per_px);
      const width = right - left;
      if (label.flags & MERGED) this.writeCrowd(context, label, left, width, top, frame.theme === "dark");
      else if (width >= LEAST_WIDTH_PX) this.writeName(context, label, left, width, top, frame.theme === "dark");
    }
    context.globalAlpha = 1;
  }

  private writeName(context: CanvasRenderingContext2D, label: Label, left: number, width: number, top: number, isDark: boolean): void {
    const known = this.measured(context, label.name);
    const room = width - 2 * INSET_PX;
    const text = fitting(known.text, known.width, room);
    if (!text) return;
    // A dimmed box is nearly the ground it lies on.
    const isDimmed = (label.flags & DIMMED) !== 0;
    context.globalAlpha = isDimmed ? 0.7 : 1;
    context.fillStyle = isDimmed && isDark ? DIMMED_TEXT : FILL_TEXT;
    const y = top + ROW_PX / 2;
    context.fillText(text, left + INSET_PX, y);
    if (text !== known.text) return;
    context.globalAlpha *= 0.68;
    const used = known.width + this.writeTag(context, label, left + INSET_PX + known.width, room - known.width, y);
    if (room - used > 70) context.fillText(duration(label.end_ns - label.start_ns), left + INSET_PX + used + 8, y);
  }

  /** Writes a tag after its name; returns the width it took. */
  private writeTag(context: CanvasRenderingContext2D, label: Label, left: number, room: number, y: number): number {
    if (label.tag === NO_TAG || room < LEAST_WIDTH_PX) return 0;
    const known = this.measured(context, label.tag);
    const text = fitting(`/ ${known.text}`, known.width + TAG_MARK_PX, room - TAG_GAP_PX);
    if (!text) return 0;
    context.fillText(text, left + TAG_GAP_PX, y);
    return Math.min(room, TAG_GAP_PX + TAG_MARK_PX + known.width);
  }

  private writeCrowd(context: CanvasRenderingContext2D, label: Label, left: number, width: number, top: number, isDark: boolean): void {
    if (width < LEAST_CROWD_PX) return;
    // A shared file has no more to show.
    const text = `${count(label.slices)} merged${isShareFile() ? "" : ", zoom in"}`;
    const textWidth = text.length * CROWD_SIGN_PX;
    if (textWidth > width - 2 * INSET_PX) return;
    const x = left + (width - textWidth) / 2;
    context.textAlign = "center";
    context.globalAlpha = 0.85;
    context.fillStyle = isDark ? "#1c222a" : "#f6f8fa";
    context.fillRect(x - 4, top + 2, textWidth + 8, ROW_PX - 5);
    context.globalAlpha = 1;
    context.fillStyle = isDark ? "#dde3ea" : FILL_TEXT;
    context.fillText(text, x + textWidth / 2, top + ROW_PX / 2);
    context.textAlign = "left";
  }

  private measured(context: CanvasRenderingContext2D, name: number): { text: string; width: number } {
    let known = this.texts.get(name);
    if (!known) {
      const text = plain((this.names()[name] ?? "…").slice(0, MOST_SIGNS));
      known = { text, width: context.measureText(text).width };
      this.texts.set(name, known);
    }
    return known;
  }
}

/** As much of a text as fits, judged by its mean width a sign; nothing where not even two signs do. */
export function fitting(text: string, width: number, room: number): string {
  if (width <= room) return text;
  const signs = Math.floor((room / width) * text.length) - 1;
  return signs >= 2 ? text.slice(0, signs) + "…" : "";
}
