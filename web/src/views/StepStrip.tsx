import { useEffect, useRef, useState } from "preact/hooks";
import type { SomeSteps } from "../api/types";
import { count, duration, plain } from "../shared/format";
import { go, viewLink } from "../state/route";
import { theme } from "../state/theme";
import { sizeCanvas } from "../timeline/look";
import { fillOf } from "../shared/colour";

const HEIGHT_PX = 92;
/** Steps that Page up and Page down pass. */
const FAR = 10;

/** How long each step took, with its parts; a click, or arrow keys and Enter, shows one on the timeline. */
export function StepStrip({ run, steps }: { run: string; steps: SomeSteps }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointed, setAt] = useState<number | null>(null);
  // A filter may leave fewer of them.
  const at = pointed === null ? null : Math.min(pointed, steps.step_ns.length - 1);
  // Of all steps, also where a point is the longest of several.
  const { p50_ns: median, p95_ns: p95, max_ns: longest } = steps.durations;
  const all = steps.count ?? steps.step_ns.length;
  const top = Math.min(longest, Math.max(p95 * 1.6, median * 3));
  const parts = Object.keys(steps.parts ?? {});
  useEffect(() => {
    const element = canvas.current;
    if (!element?.parentElement) return;
    const host = element.parentElement;
    const draw = () => drawStrip(element, host.clientWidth, steps, top, median);
    const watcher = new ResizeObserver(draw);
    watcher.observe(host);
    draw();
    return () => watcher.disconnect();
  }, [steps, theme.value]);
  const under = (event: MouseEvent) => Math.min(steps.step_ns.length - 1, Math.floor((event.offsetX / (canvas.current?.clientWidth || 1)) * steps.step_ns.length));
  const show = (which: number) => {
    const start = steps.start_ns[which] ?? 0;
    go(viewLink("timeline", run, { t0: String(start), t1: String(start + (steps.step_ns[which] ?? 1)), sel: "" }));
  };
  const last = steps.step_ns.length - 1;
  const keys = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const from = at ?? 0;
    const to = { ArrowRight: from + 1, ArrowUp: from + 1, ArrowLeft: from - 1, ArrowDown: from - 1, PageUp: from + FAR, PageDown: from - FAR, Home: 0, End: last }[event.key];
    if (to !== undefined) setAt(Math.max(0, Math.min(last, to)));
    else if (event.key === "Enter") show(from);
    else return;
    event.preventDefault();
  };
  const words = (which: number) => `step ${count(steps.index[which] ?? which)}: ${duration(steps.step_ns[which])}, at ${duration(steps.start_ns[which])}`;
  const path = typeof steps.path === "string" ? steps.path : (steps.path ?? []).join("/");
  return (
    <section class="card">
      <h2>Steps <span class="faint">{plain(path)} · {count(all)}{(steps.per_point ?? 1) > 1 ? `, drawn as the longest of ${count(steps.per_point)} each` : ""} · median {duration(median)} · 95 %: {duration(p95)} · longest {duration(longest)}</span></h2>
      <div class="strip"><canvas ref={canvas} tabIndex={0} role="slider" aria-label={`Time of ${all} steps, median ${duration(median)}. Arrow keys choose one, Enter shows it on the timeline`}
        aria-valuemin={1} aria-valuemax={last + 1} aria-valuenow={(at ?? 0) + 1} aria-valuetext={words(at ?? 0)} onKeyDown={keys} onFocus={() => setAt(at ?? 0)} onBlur={() => setAt(null)}
        onMouseMove={(event) => setAt(under(event))} onMouseLeave={() => { if (document.activeElement !== canvas.current) setAt(null); }} onClick={(event) => show(under(event))} />
        {at !== null && <span class="strip-at" style={{ left: `${(at / (last + 1)) * 100}%`, width: `${100 / (last + 1)}%` }} />}</div>
      <div class="legend">
        {parts.map((name) => <span class="row"><span class="swatch" style={{ background: fillOf(name, theme.value) }} />{plain(name)}</span>)}
        <span class="muted">{at === null ? "click a step to see it on the timeline" : words(at)}</span>
      </div>
    </section>
  );
}

function drawStrip(canvas: HTMLCanvasElement, width: number, steps: SomeSteps, top: number, median: number): void {
  const ratio = devicePixelRatio || 1;
  sizeCanvas(canvas, width, HEIGHT_PX, ratio);
  const context = canvas.getContext("2d");
  if (!context) return;
  const style = getComputedStyle(document.documentElement);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, HEIGHT_PX);
  const parts = Object.entries(steps.parts ?? {});
  const step = width / steps.step_ns.length;
  const scale = HEIGHT_PX / (top || 1);
  steps.step_ns.forEach((ns, at) => {
    const left = at * step;
    const wide = Math.max(0.6, step - (step > 3 ? 1 : 0));
    const tall = Math.min(HEIGHT_PX, ns * scale);
    context.fillStyle = style.getPropertyValue("--c-unknown");
    context.fillRect(left, HEIGHT_PX - tall, wide, tall);
    let base = HEIGHT_PX;
    for (const [name, values] of parts) {
      const part = Math.min(base, (values[at] ?? 0) * scale);
      context.fillStyle = fillOf(name, theme.value);
      context.fillRect(left, base - part, wide, part);
      base -= part;
    }
    if (ns > top) {
      context.fillStyle = style.getPropertyValue("--bad");
      context.fillRect(left, 0, Math.max(1.5, wide), 3);
    }
  });
  context.strokeStyle = style.getPropertyValue("--text-2");
  context.setLineDash([4, 4]);
  context.beginPath();
  context.moveTo(0, HEIGHT_PX - median * scale);
  context.lineTo(width, HEIGHT_PX - median * scale);
  context.stroke();
}
