import { signal } from "@preact/signals";
import { getJson, getJsonOrNothing, runUrl } from "../api/client";
import type { Placed, Steps } from "../api/types";
import { count, duration, plain } from "../shared/format";
import { route, setParams } from "../state/route";
import type { Engine } from "./engine";
import { boxOf, type Box } from "./hit";
import { rowTop, type Line } from "./layout";
import type { Arrow } from "./overlay";
import { resolution, tilesOver } from "./tile-key";
import { centred, type Viewport } from "./viewport";

/** What is selected, as the address says it: `span:12` or `kernel:12`. */
export interface Selection { kind: "span" | "kernel"; id: string }

export function readSelection(text: string | undefined): Selection | null {
  const found = /^(span|kernel):(.+)$/.exec(text ?? "");
  return found ? { kind: found[1] as Selection["kind"], id: found[2]! } : null;
}

export function readRange(params: Record<string, string>, from = "t0", to = "t1"): Viewport | null {
  const [t0, t1] = [Number(params[from] ?? NaN), Number(params[to] ?? NaN)];
  return t1 > t0 ? { t0, t1 } : null;
}

const ADDRESS_PAUSE_MS = 250;

/** What pointer, keys and panels do to the timeline: selection, range, walk and steps. */
export class Control {
  /** What a screen reader is told. */
  readonly said = signal("");
  readonly drawerOpen = signal(true);
  readonly tableOpen = signal(false);
  /** The track that has the focus, or had it last. */
  readonly focused = signal<string | null>(null);
  private placed: Placed | null = null;
  private steps: Promise<Steps> | null = null;
  private timer = 0;
  /** The visible stretch as it was last written into the address. */
  private written = "";

  constructor(readonly run: string, readonly engine: Engine) {}

  /** Selects a box; a merged one is zoomed into, since it stands for many. */
  pick(box: Box | null): void {
    if (!box) return this.clear();
    if (box.id === null) return this.engine.fit(box.start_ns, box.start_ns + box.dur_ns);
    const name = this.engine.names[box.name] ?? "";
    this.select({ id: box.id, name, track: box.line.track?.id ?? "", depth: box.depth, start_ns: box.start_ns, duration_ns: box.dur_ns, kind: box.kind });
  }

  /** Selects what stands at a known place. */
  select(placed: Placed): void {
    const kind = placed.kind === "kernel" ? "kernel" : "span";
    this.drawerOpen.value = true;
    this.place(placed);
    this.engine.overlay.arrows = [];
    this.focused.value = placed.track;
    this.said.value = `${plain(placed.name)}, ${duration(placed.duration_ns)}, at ${duration(placed.start_ns)}, depth ${placed.depth + 1}`;
    setParams({ sel: `${kind}:${placed.id}` });
  }

  /** Outlines what is selected, where it is known to be. */
  place(placed: Placed | null): void {
    this.placed = placed;
    const line = placed && this.lineOf(placed.track);
    this.engine.overlay.selected = placed && line ? { line, depth: placed.depth, start_ns: placed.start_ns, dur_ns: placed.duration_ns } : null;
    this.engine.invalidate();
  }

  /** Outlines again after the layout has changed. */
  replace(): void {
    this.place(this.placed);
  }

  lineOf(track: string): Line | undefined {
    return this.engine.layout.value.lines.find((line) => line.track?.id === track);
  }

  /** Draws arrows between places of tracks. */
  setArrows(pairs: { from: { track: string; depth: number; at_ns: number }; to: { track: string; depth: number; at_ns: number } }[]): void {
    const y = (at: { track: string; depth: number }, below: boolean) => {
      const line = this.lineOf(at.track);
      return line ? rowTop(line, at.depth) + (below ? 16 : 0) : null;
    };
    this.engine.overlay.arrows = pairs.flatMap(({ from, to }): Arrow[] => {
      const [from_y, to_y] = [y(from, true), y(to, false)];
      return from_y === null || to_y === null ? [] : [{ from_ns: from.at_ns, from_y, to_ns: to.at_ns, to_y }];
    });
    this.engine.invalidate();
  }

  clear(): void {
    this.engine.overlay.arrows = [];
    this.place(null);
    this.setRange(null);
    this.said.value = "nothing selected";
    setParams({ sel: null });
  }

  setRange(range: Viewport | null, isFinal = true): void {
    this.engine.overlay.range = range;
    this.engine.invalidate();
    if (!isFinal) return;
    if (range) {
      this.drawerOpen.value = true;
      this.place(null);
      this.engine.overlay.arrows = [];
      this.said.value = `range of ${duration(range.t1 - range.t0)}, from ${duration(range.t0)}`;
    }
    setParams({ t0: range ? String(range.t0) : null, t1: range ? String(range.t1) : null, ...(range ? { sel: null } : {}) });
  }

  selectionToRange(): void {
    if (this.placed) this.setRange({ t0: this.placed.start_ns, t1: this.placed.start_ns + Math.max(1, this.placed.duration_ns) });
  }

  /** Brings the selection into the middle; when it is there, fits it. */
  frameSelection(): void {
    const at = this.placed ? { t0: this.placed.start_ns, t1: this.placed.start_ns + this.placed.duration_ns } : this.engine.overlay.range;
    if (!at) return this.engine.showAll();
    const view = this.engine.view.value;
    const off = Math.abs((at.t0 + at.t1) / 2 - (view.t0 + view.t1) / 2);
    const isCentred = off < (view.t1 - view.t0) * 0.02;
    if (isCentred || at.t1 - at.t0 > view.t1 - view.t0) this.engine.fit(at.t0, at.t1);
    else this.engine.setView(centred(view, at.t0, at.t1));
  }

  /** Goes to a place: selects it and brings it into view. */
  goTo(placed: Placed): void {
    const view = this.engine.view.value;
    const end_ns = placed.start_ns + placed.duration_ns;
    const width = view.t1 - view.t0;
    if (placed.duration_ns > width || placed.duration_ns < width / 400) this.engine.fit(placed.start_ns - placed.duration_ns * 2, end_ns + placed.duration_ns * 2);
    else if (placed.start_ns < view.t0 || end_ns > view.t1) this.engine.setView(centred(view, placed.start_ns, end_ns));
    this.select(placed);
    this.scrollTo(placed);
  }

  private scrollTo(placed: Placed): void {
    const line = this.lineOf(placed.track);
    const scroll = document.querySelector(".tl-body");
    if (!line || !scroll) return;
    const top = rowTop(line, placed.depth);
    if (top < scroll.scrollTop || top + 30 > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = Math.max(0, top - scroll.clientHeight / 3);
  }

  /** Walks to a neighbour of what is selected, or begins on the focused track. */
  async walk(to: "next" | "previous" | "parent" | "child"): Promise<void> {
    const from = this.placed;
    if (!from || (this.focused.value !== null && this.focused.value !== from.track)) return this.beginWalk();
    const next = await getJsonOrNothing<Placed>(runUrl(this.run, "walk", { track: from.track, from: from.id, to })).catch(() => null);
    if (next) this.goTo(next);
    else this.said.value = { next: "last on this track", previous: "first on this track", parent: "no scope around it", child: "no scope inside it" }[to];
  }

  /** Selects the first box of the focused track in view. */
  private beginWalk(): void {
    const { engine } = this;
    const line = this.lineOf(this.focused.value ?? "") ?? engine.layout.value.lines.find((each) => each.track?.kind === "thread");
    if (!line?.track) return;
    const res_ns = resolution(engine.ns_per_px);
    const [first, last] = tilesOver(engine.view.value, res_ns, engine.end_ns);
    for (let index = first; index <= last; index++) {
      const tile = engine.tiles.best({ track: line.track.id, res_ns, index });
      for (let at = 0; tile && at < tile.count; at++) {
        if (tile.slices[at] === 1 && tile.start_ns[at]! + tile.dur_ns[at]! >= engine.view.value.t0) return this.pick(boxOf(tile, line, at));
      }
    }
    this.said.value = "no single box in view on this track; zoom in with W";
  }

  /** Goes to the next or previous step, or to the one with a number. */
  async step(by: 1 | -1 | { index: number }): Promise<void> {
    this.steps ??= getJson<Steps>(runUrl(this.run, "steps"));
    const steps = await this.steps.catch(() => null);
    const { start_ns = [], step_ns = [], index = [] } = steps ?? {};
    if (start_ns.length === 0) {
      this.said.value = "this run has no steps: a loop of scopes with an index makes some";
      return;
    }
    const middle = (this.engine.view.value.t0 + this.engine.view.value.t1) / 2;
    const at = typeof by === "object" ? index.findIndex((each) => (each ?? -1) >= by.index) : besides(start_ns, step_ns, middle, by);
    if (at < 0 || at >= start_ns.length) return;
    const start = start_ns[at]!;
    this.engine.fit(start, start + step_ns[at]!);
    this.said.value = `step ${count(index[at])}, ${duration(step_ns[at])}`;
  }

  /** Takes what an address says that was not written here: a link, or the browser's back button. */
  follow(params: Record<string, string>): void {
    const range = readRange(params);
    const shown = this.engine.overlay.range;
    if (range?.t0 !== shown?.t0 || range?.t1 !== shown?.t1) {
      this.engine.overlay.range = range;
      if (range && !params.v0) this.engine.fit(range.t0, range.t1);
    }
    if (!params.sel) {
      this.engine.overlay.arrows = [];
      this.place(null);
    }
    const view = readRange(params, "v0", "v1");
    if (view && `${params.v0} ${params.v1}` !== this.written && this.engine.end_ns > 0) this.engine.setView(view);
    this.engine.invalidate();
  }

  /** Writes the visible stretch into the address, a moment after it came to rest. */
  keepAddress(view: Viewport): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      if (route.value.view !== "timeline" || route.value.run !== this.run) return;
      const whole = view.t0 <= 0 && view.t1 >= this.engine.end_ns;
      const [v0, v1] = whole ? [null, null] : [String(Math.round(view.t0)), String(Math.round(view.t1))];
      this.written = `${v0} ${v1}`;
      setParams({ v0, v1 });
    }, ADDRESS_PAUSE_MS);
  }

  dispose(): void {
    clearTimeout(this.timer);
  }
}

/** The step after or before the one around a moment. */
export function besides(start_ns: readonly number[], step_ns: readonly number[], middle: number, by: 1 | -1): number {
  let at = start_ns.findIndex((start, which) => middle < start + step_ns[which]!);
  if (at < 0) at = start_ns.length;
  const inside = middle >= (start_ns[at] ?? Infinity);
  return by > 0 ? (inside ? at + 1 : at) : at - 1;
}
