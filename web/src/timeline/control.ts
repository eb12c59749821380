import { signal } from "@preact/signals";
import { getJsonOrNothing, runUrl } from "../api/client";
import { isShareFile } from "../api/inline";
import type { Placed } from "../api/types";
import { duration, plain } from "../shared/format";
import { route, setParams } from "../state/route";
import type { Engine } from "./engine";
import { boxOf, type Box } from "./hit";
import { rowTop, type Line } from "./layout";
import type { Arrow } from "./overlay";
import { instant } from "./ruler";
import { besides, findStep, inWords, noteOf, type OneStep } from "./steps";
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
/** So near to a mark line the pointer is on it. */
const MARK_SLACK_PX = 5;

/** What pointer, keys and panels do to the timeline: selection, range, walk and steps. */
export class Control {
  /** What a screen reader is told. */
  readonly said = signal("");
  /** What is said beside the field of steps: why the one that was asked for is not in view. */
  readonly stepNote = signal("");
  readonly drawerOpen = signal(true);
  readonly tableOpen = signal(false);
  /** The track that has the focus, or had it last. */
  readonly focused = signal<string | null>(null);
  /** The heading by which the keyboard enters the list of tracks. */
  readonly head = signal<string | null>(null);
  private placed: Placed | null = null;
  private timer = 0;
  /** The step that was gone to last, and the view of it. */
  private stepShown: { start_ns: number; view: Viewport } | null = null;
  /** The question for a step that is under way. */
  private stepAsked: Promise<OneStep> | null = null;
  /** The selection and range that the address had last. */
  private looked = "";
  /** The visible stretch as it was last written into the address. */
  private written = "";

  constructor(readonly run: string, readonly engine: Engine) {}

  /** Selects a box; a merged one is zoomed into, since it stands for many. */
  pick(box: Box | null): void {
    if (!box) return this.clear();
    if (box.id === null) return this.engine.fit(box.start_ns, box.start_ns + box.dur_ns);
    this.select(this.placedOf(box, box.id));
  }

  private placedOf(box: Box, id: string): Placed {
    const name = this.engine.names[box.name] ?? "";
    return { id, name, track: box.line.track?.id ?? "", depth: box.depth, start_ns: box.start_ns, duration_ns: box.dur_ns, kind: box.kind };
  }

  /** Outlines a box that stands by itself. */
  outline(box: Box): void {
    if (box.id !== null) this.place(this.placedOf(box, box.id));
  }

  /** The box of what is selected, where it stands by itself in view. */
  find({ id }: Selection): Box | null {
    const { engine } = this;
    if (!/^\d+$/.test(id)) return null;
    const res_ns = resolution(engine.ns_per_px);
    const [first, last] = tilesOver(engine.view.value, res_ns, engine.end_ns);
    for (const line of engine.layout.value.lines) {
      for (let index = first; line.track && index <= last; index++) {
        const tile = engine.tiles.best({ track: line.track.id, res_ns, index });
        const at = tile ? tile.id.indexOf(BigInt(id)) : -1;
        if (tile && at >= 0 && tile.slices[at] === 1) return boxOf(tile, line, at);
      }
    }
    return null;
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

  /** Whether what is selected stands on a track. */
  isOn(track: string | undefined): boolean {
    return this.placed !== null && this.placed.track === track;
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

  /** Leaves what is selected; where nothing is, takes the mark lines away. */
  leave(): void {
    const { overlay } = this.engine;
    const isSelected = this.placed !== null || overlay.range !== null || Boolean(route.value.params.sel);
    if (isSelected || overlay.markLines.length === 0) return this.clear();
    overlay.markLines = [];
    this.said.value = "mark lines removed";
    this.engine.invalidate();
  }

  /** Puts a mark line at the pointer, else in the middle; one that is there is taken away. */
  mark(): void {
    const { overlay, view, ns_per_px, pointer_ns } = this.engine;
    const at_ns = pointer_ns ?? (view.value.t0 + view.value.t1) / 2;
    const others = overlay.markLines.filter((line_ns) => Math.abs(line_ns - at_ns) > MARK_SLACK_PX * ns_per_px);
    const isNew = others.length === overlay.markLines.length;
    overlay.markLines = isNew ? [...others, at_ns] : others;
    this.said.value = isNew ? `mark line at ${instant(at_ns, ns_per_px * 100)}` : "mark line removed";
    this.engine.invalidate();
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
    if (isCentred || at.t1 - at.t0 > view.t1 - view.t0) return this.engine.fit(at.t0, at.t1);
    this.engine.setView(centred(view, at.t0, at.t1));
    // Near an end of the run the view cannot go further: it is as centred as it gets.
    const now = this.engine.view.value;
    if (now.t0 === view.t0 && now.t1 === view.t1) this.engine.fit(at.t0, at.t1);
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
    if (isShareFile()) {
      this.said.value = "a shared file does not hold what is beside it";
      return;
    }
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

  /** Goes to the next or previous step, or to the one with a number; a key that is held waits for its answers. */
  async step(by: 1 | -1 | { index: number }): Promise<void> {
    if (this.stepAsked && typeof by !== "object") return;
    const asked = typeof by === "object" ? findStep(this.run, by) : besides(this.run, this.stepFrom(), by);
    this.stepAsked = asked;
    try {
      const found = await asked;
      if (this.stepAsked === asked) this.showStep(found, by);
    } catch (error) {
      if (this.stepAsked === asked) this.stepNote.value = error instanceof Error ? error.message : String(error);
    } finally {
      if (this.stepAsked === asked) this.stepAsked = null;
    }
  }

  /** The step in view where one was gone to, else the moment in the middle. */
  private stepFrom(): { start_ns: number } | { at_ns: number } {
    const view = this.engine.view.value;
    const { stepShown } = this;
    if (stepShown && stepShown.view.t0 === view.t0 && stepShown.view.t1 === view.t1) return { start_ns: stepShown.start_ns };
    return { at_ns: (view.t0 + view.t1) / 2 };
  }

  private showStep({ step, ...all }: OneStep, by: 1 | -1 | { index: number }): void {
    this.stepNote.value = noteOf(step, all, by);
    if (!step) return;
    this.engine.fit(step.start_ns, step.start_ns + step.step_ns);
    this.stepShown = { start_ns: step.start_ns, view: this.engine.view.value };
    this.said.value = inWords(step);
  }

  /** Takes what an address says that was not written here: a link, or the browser's back button. */
  follow(params: Record<string, string>): void {
    const range = readRange(params);
    const shown = this.engine.overlay.range;
    if (range?.t0 !== shown?.t0 || range?.t1 !== shown?.t1) {
      this.engine.overlay.range = range;
      if (range && !params.v0) this.engine.fit(range.t0, range.t1);
    }
    const looked = [params.sel, params.t0, params.t1].join(" ");
    if (looked !== this.looked && (params.sel || range)) this.engine.following.value = false;
    this.looked = looked;
    if (!params.sel) {
      this.engine.overlay.arrows = [];
      this.place(null);
    }
    const view = readRange(params, "v0", "v1");
    if (view && `${params.v0} ${params.v1}` !== this.written && this.engine.end_ns > 0) this.engine.setView(view);
    // A link without a stretch leaves the view where it is: the address says so again.
    if (!view) this.keepAddress(this.engine.view.value);
    this.engine.invalidate();
  }

  /** Writes the visible stretch into the address, a moment after it came to rest; before the tracks are there, the address alone knows it. */
  keepAddress(view: Viewport): void {
    clearTimeout(this.timer);
    if (this.engine.end_ns === 0) return;
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
