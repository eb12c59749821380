import { isShareFile } from "../api/inline";
import type { Track } from "../api/types";
import { count, cut, duration, inUnit, percent, plain } from "../shared/format";
import type { Engine } from "./engine";
import type { Box } from "./hit";
import type { Curve } from "./series";
import { FAILED, OPEN } from "./tile";

/** Writes what is under the pointer into the tooltip, and moves it there; nothing while the pointer is pressed or elsewhere. */
export function showTip(tip: HTMLElement, engine: Engine, box: Box | null, track: Track | null, x: number, y: number): void {
  const lines = box ? aboutBox(engine, box) : track ? aboutCurve(engine, track) : [];
  tip.hidden = lines.length === 0;
  if (tip.hidden) return;
  tip.replaceChildren(...lines.map((text, at) => {
    const line = document.createElement(at === 0 ? "b" : "div");
    line.textContent = text;
    return line;
  }));
  const left = Math.min(x + 14, innerWidth - tip.offsetWidth - 8);
  const top = y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 18;
  tip.style.transform = `translate(${left}px, ${top}px)`;
}

function aboutBox(engine: Engine, box: Box): string[] {
  const name = cut(plain(engine.names[box.name] ?? "…"), 200);
  if (box.slices > 1) {
    return [`${count(box.slices)} merged here`, `the longest: ${name}`, `${percent(box.busy)} of ${duration(box.dur_ns)} covered${isShareFile() ? "" : " · zoom in to see them"}`];
  }
  const tag = box.tag === null ? "" : ` / ${cut(plain(engine.names[box.tag] ?? ""), 200)}`;
  const lines = [name + tag, `${duration(box.dur_ns)} · at ${duration(box.start_ns)}`];
  if (box.flags & OPEN) lines.push("open: it had not ended");
  if (box.flags & FAILED) lines.push("failed: left by an exception or panic");
  return lines;
}

function aboutCurve(engine: Engine, track: Track): string[] {
  const at_ns = engine.pointer_ns;
  if (at_ns === null || (track.kind !== "series" && track.kind !== "marks")) return [];
  const curve = engine.curve(track);
  if (engine.curves.hasFailed(track)) return [plain(track.name), isShareFile() ? "not in this file" : "could not be read"];
  const at = curve ? nearest(curve, at_ns) : -1;
  if (!curve && engine.curves.hasFailed(track)) return [plain(track.name), "could not be read"];
  if (!curve || at < 0) return [plain(track.name), "nothing was read here"];
  const unit = track.unit ?? "";
  const [low, high] = [curve.min[at], curve.max[at]];
  const spread = low !== high ? ` (${inUnit(low, unit)} to ${inUnit(high, unit)})` : "";
  return [`${plain(track.name)}  ${inUnit(curve.mean[at], unit)}${spread}`, `at ${duration(curve.t_ns[at])}`];
}

/** The point of a curve nearest to a moment; -1 when it has none. */
export function nearest(curve: Curve, at_ns: number): number {
  let low = 0;
  let high = curve.t_ns.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (curve.t_ns[middle]! < at_ns) low = middle + 1;
    else high = middle;
  }
  if (low > 0 && Math.abs(curve.t_ns[low - 1]! - at_ns) < Math.abs(curve.t_ns[low]! - at_ns)) low--;
  return curve.t_ns.length === 0 || curve.mean[low] === null ? -1 : low;
}
