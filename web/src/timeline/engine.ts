import { signal } from "@preact/signals";
import type { Track, TracksAnswer } from "../api/types";
import { theme } from "../state/theme";
import { NameStyles, buildBatch, type Batch } from "./batch";
import { flatRenderer } from "./flat";
import { webglRenderer, type BoxRenderer, type Frame } from "./gl";
import { boxAt, type Box } from "./hit";
import { LabelWriter } from "./labels";
import { layOut, lineAt, linesIn, type Layout } from "./layout";
import { readLook, sizeCanvas } from "./look";
import { FrameMeter } from "./meter";
import { Minimap } from "./minimap";
import { drawGrid, drawOverlay, type Overlay } from "./overlay";
import { piecesOf, wanted, windowOf, type Window } from "./pieces";
import { drawRuler } from "./ruler";
import { CurveStore, drawCurve, type Curve } from "./series";
import { TileStore } from "./store";
import { resolution, tilesOver, wholeRunResolution, type TileKey } from "./tile-key";
import { atEnd, fitted, kept, wholeRun, type Viewport } from "./viewport";

/** The elements that the engine draws into. */
export interface Stage { scroll: HTMLElement; grid: HTMLCanvasElement; boxes: HTMLCanvasElement; front: HTMLCanvasElement; ruler: HTMLCanvasElement; minimap: HTMLCanvasElement }

/** Slack around thin boxes for the pointer. */
const SLACK_PX = 3;
/** Headings are made for so many pixels at once, not anew for each that is scrolled. */
const SEEN_STEP_PX = 200;
/** Between two packings of boxes while tiles arrive. */
const PACKING_PAUSE_MS = 100;
/** Between two looks at what is under a pointer that rests while the view moves: the tooltip is laid out for each. */
const POINTING_PAUSE_MS = 60;

/** Draws the timeline of a run; one frame at most for each of the screen's. */
export class Engine {
  readonly layout = signal<Layout>({ lines: [], height: 0 });
  readonly view = signal<Viewport>({ t0: 0, t1: 1 });
  readonly problem = signal<Error | null>(null);
  /** Whether the run is being recorded. */
  readonly live = signal(false);
  /** Whether the view moves on with the end of a live run: not while something is looked at. */
  readonly following = signal(true);
  /** The pixels of the tracks that are scrolled to, in steps. */
  readonly seen = signal({ from: 0, to: 0 });
  /** How often all tiles of a view were there, or all were forgotten. */
  readonly rests = signal(0);
  /** Whether tiles of the view are still to come. */
  readonly reading = signal(true);
  readonly meter = new FrameMeter();
  readonly overlay: Overlay = { selected: null, pointed: null, range: null, pointer_ns: null, arrows: [], markLines: [], gaps: [] };
  readonly tiles: TileStore;
  readonly curves: CurveStore;
  names: string[] = [];
  tracks: Track[] = [];
  end_ns = 0;
  private generation = 0;
  width_px = 1;
  pointedName = -1;
  /** Where the pointer is over the tracks, in pixels: its moment is another in each view. */
  pointer: { x_px: number; y_px: number } | null = null;
  /** Called when something else may be under the pointer than when it moved last. */
  repoint: () => void = () => undefined;
  private pointing = 0;
  /** What was drawn when the pointer was last looked at. */
  private pointedAt: unknown[] = [];
  private folded = new Set<string>();
  private styles = new NameStyles();
  private labels = new LabelWriter(() => this.names);
  private renderer: BoxRenderer | null;
  private batch: Batch | null = null;
  private window: Window | null = null;
  private look = readLook();
  private minimap = new Minimap();
  private dirty = true;
  private scheduled = 0;
  private packing = 0;
  private readonly watcher: ResizeObserver;

  constructor(run: string, private readonly stage: Stage, filter: () => string, renderer: string) {
    this.tiles = new TileStore(run, filter, (key) => this.arrived(key), (error) => (this.problem.value = error), () => this.retry());
    this.tiles.rested = () => this.rest();
    this.curves = new CurveStore(run, filter, () => this.invalidate());
    this.renderer = (renderer === "2d" ? null : webglRenderer(stage.boxes, renderer === "webgl")) ?? flatRenderer(stage.front, () => this.layout.value, () => this.look);
    // Without WebGL one canvas holds it all.
    if (this.isFlat) for (const canvas of [stage.grid, stage.boxes]) canvas.style.display = "none";
    this.watcher = new ResizeObserver(() => this.invalidate());
    this.watcher.observe(stage.scroll);
    stage.scroll.addEventListener("scroll", this.invalidate, { passive: true });
  }

  private get isFlat(): boolean {
    return this.renderer?.kind === "2d";
  }

  get rendererKind(): string {
    return this.renderer?.kind ?? "none";
  }

  dispose(): void {
    cancelAnimationFrame(this.scheduled);
    clearTimeout(this.packing);
    clearTimeout(this.pointing);
    this.watcher.disconnect();
    this.stage.scroll.removeEventListener("scroll", this.invalidate);
    this.tiles.clear();
    this.renderer?.dispose();
  }

  /** Takes what the server says of the tracks. */
  setTracks(answer: TracksAnswer, view: Viewport | null): void {
    const before = this.end_ns;
    const isFirst = this.tracks.length === 0 && before === 0;
    this.tracks = answer.tracks.map((track) => ({ ...track, id: String(track.id) }));
    this.names = answer.names;
    this.live.value = answer.live ?? false;
    this.end_ns = Math.max(answer.end_ns, 1);
    this.tiles.end_ns = this.end_ns;
    if (!isFirst && answer.generation !== this.generation) {
      this.tiles.outdate();
      this.curves.outdate();
    }
    this.generation = answer.generation;
    this.labels.reset();
    this.restyle();
    this.arrange();
    if (isFirst) this.setView(view ?? wholeRun(this.end_ns));
    else if (this.following.value) this.setView(this.view.value.t0 <= 0 ? wholeRun(this.end_ns) : shifted(this.view.value, this.end_ns - before));
  }

  /** Keeps the end of the run in view from now on. */
  follow(): void {
    const { t0, t1 } = this.view.value;
    this.following.value = true;
    this.setView(t0 <= 0 ? wholeRun(this.end_ns) : atEnd(t1 - t0, this.end_ns));
  }

  /** Colours again: the theme or the names have changed. */
  restyle(): void {
    this.look = readLook();
    this.styles.update(this.names, theme.value);
    this.minimap.reset();
    this.rebuild();
  }

  /** Forgets tiles and curves: the filter has changed. */
  refilter(): void {
    this.tiles.clear();
    this.curves.clear();
    this.window = null;
    this.problem.value = null;
    this.reading.value = true;
    this.rests.value++;
    this.rebuild();
  }

  /** Asks again for what failed: the server is there. */
  retry(): void {
    this.tiles.retry();
    this.curves.retry();
    this.problem.value = null;
    this.reading.value = true;
    this.rebuild();
  }

  toggleFold(key: string): void {
    if (this.folded.has(key)) this.folded.delete(key);
    else this.folded.add(key);
    this.arrange();
  }

  private arrange(): void {
    this.layout.value = layOut(this.tracks, this.folded);
    this.window = null;
    this.rebuild();
  }

  setView(view: Viewport): void {
    this.view.value = kept(view, this.end_ns);
    if (this.view.value.t1 < this.end_ns) this.following.value = false;
    this.invalidate();
  }

  fit(start_ns: number, end_ns: number): void {
    this.setView(fitted(start_ns, end_ns));
  }

  showAll(): void {
    this.following.value = true;
    this.setView(wholeRun(this.end_ns));
  }

  get ns_per_px(): number {
    return (this.view.value.t1 - this.view.value.t0) / Math.max(1, this.width_px);
  }

  timeAt(x_px: number): number {
    return this.view.value.t0 + x_px * this.ns_per_px;
  }

  /** The moment under the pointer. */
  get pointer_ns(): number | null {
    return this.pointer && this.timeAt(this.pointer.x_px);
  }

  private arrived(key: TileKey): void {
    if (key.index === 0 && key.res_ns === wholeRunResolution(this.end_ns)) this.minimap.reset();
    // Tiles come one after another; packing the boxes for each would be most of a frame's work.
    if (!this.batch?.count) this.rebuild();
    else this.packing ||= window.setTimeout(() => this.rebuild(), PACKING_PAUSE_MS);
  }

  private rest(): void {
    this.rests.value++;
    this.rebuild();
  }

  private rebuild(): void {
    clearTimeout(this.packing);
    this.packing = 0;
    this.dirty = true;
    this.invalidate();
  }

  readonly invalidate = (): void => {
    if (this.scheduled) return;
    this.scheduled = requestAnimationFrame(() => {
      this.scheduled = 0;
      this.meter.measure(() => this.draw());
    });
  };

  private frame(): Frame {
    const { scroll, grid, boxes, front } = this.stage;
    const host = boxes.parentElement;
    const ratio = devicePixelRatio || 1;
    this.width_px = Math.max(1, host?.clientWidth ?? 1);
    const height_px = scroll.clientHeight;
    this.see(scroll.scrollTop, scroll.scrollTop + height_px);
    for (const canvas of this.isFlat ? [front] : [grid, boxes, front]) sizeCanvas(canvas, this.width_px, height_px, ratio);
    return { t0: this.view.value.t0, ns_per_px: this.ns_per_px, scroll_px: scroll.scrollTop, width_px: this.width_px, height_px, ratio, pointed: this.pointedName, theme: theme.value };
  }

  private see(from_px: number, to_px: number): void {
    const [from, to] = [Math.floor(from_px / SEEN_STEP_PX) * SEEN_STEP_PX, Math.ceil(to_px / SEEN_STEP_PX) * SEEN_STEP_PX];
    const seen = this.seen.peek();
    if (seen.from !== from || seen.to !== to) this.seen.value = { from, to };
  }

  private draw(): void {
    const frame = this.frame();
    this.refresh(frame);
    this.renderer?.draw(frame);
    const under = this.isFlat ? null : cleared(this.stage.grid, frame);
    if (under) drawGrid(under, this.layout.value, frame, this.look);
    const context = this.isFlat ? scaled(this.stage.front, frame) : cleared(this.stage.front, frame);
    if (!context) return;
    this.drawCurves(context, frame);
    if (this.batch) this.labels.write(context, this.batch, frame);
    this.overlay.pointer_ns = this.pointer_ns;
    drawOverlay(context, this.overlay, frame, this.look);
    this.drawTop(frame.ratio);
    this.lookAgain(frame);
  }

  /** Has the pointer looked at again where this frame shows something else under it. */
  private lookAgain({ scroll_px }: Frame): void {
    const shown = [this.view.value, this.layout.value, this.rests.peek(), scroll_px];
    if (shown.every((each, at) => each === this.pointedAt[at])) return;
    this.pointedAt = shown;
    if (this.pointer) this.pointing ||= window.setTimeout(() => {
      this.pointing = 0;
      this.repoint();
    }, POINTING_PAUSE_MS);
  }

  /** Asks for the tiles of this frame and packs what is there, when something changed. */
  private refresh(frame: Frame): void {
    const window = windowOf(this.layout.value, frame.scroll_px, frame.height_px, this.view.value, resolution(frame.ns_per_px), this.end_ns, this.window?.clip);
    if (window.text !== this.window?.text) {
      this.window = window;
      this.dirty = true;
      this.tiles.want(wanted(window, this.tracks, this.end_ns));
    }
    if (!this.dirty) return;
    this.dirty = false;
    if (this.tiles.settled) this.tiles.want(wanted(window, this.tracks, this.end_ns));
    // Before the tracks are known nothing is wanted.
    this.reading.value = this.end_ns === 0 || !this.tiles.settled;
    const base_ns = window.first * window.res_ns * 4096;
    this.batch = buildBatch(piecesOf(window, (key) => this.tiles.best(key)), base_ns, window.res_ns, this.styles, this.batch);
    this.renderer?.load(this.batch);
  }

  private drawCurves(context: CanvasRenderingContext2D, frame: Frame): void {
    for (const line of linesIn(this.layout.value, frame.scroll_px, frame.scroll_px + frame.height_px)) {
      if (!line.track || (line.track.kind !== "series" && line.track.kind !== "marks")) continue;
      const curve = this.curve(line.track);
      const colour = line.track.kind === "marks" ? this.look.markCurve : this.look.curve;
      drawCurve(context, curve, this.curves.hasFailed(line.track), line, frame, colour, this.look.textFaint);
    }
  }

  /** The curve of a track over the view. */
  curve(track: Track): Curve | null {
    return this.curves.get(track, this.view.value, this.width_px, this.end_ns);
  }

  private drawTop(ratio: number): void {
    const { ruler, minimap } = this.stage;
    for (const canvas of [ruler, minimap]) {
      sizeCanvas(canvas, this.width_px, canvas.parentElement?.clientHeight ?? 0, ratio);
      canvas.getContext("2d")?.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    const onRuler = ruler.getContext("2d");
    const { text, line, accent, accentBack } = this.look;
    if (onRuler) drawRuler(onRuler, this.view.value, this.width_px, ruler.height / ratio, { text, line, accent, accentBack }, this.overlay.range, this.overlay.pointer_ns);
    const onMap = minimap.getContext("2d");
    const whole = wholeRunResolution(this.end_ns);
    if (onMap) {
      const tileOf = (track: Track) => this.tiles.best({ track: track.id, res_ns: whole, index: 0 });
      const of = { end_ns: this.end_ns, tracks: this.tracks, tileOf, fill: (name: number) => this.styles.fill(name) };
      this.minimap.draw(onMap, this.width_px, minimap.height / ratio, ratio, this.view.value, of, this.look);
    }
  }

  /** The track at a place on the canvas. */
  trackAt(y_px: number): Track | null {
    return lineAt(this.layout.value, y_px + this.stage.scroll.scrollTop)?.line.track ?? null;
  }

  /** The box at a place on the canvas. */
  boxAt(x_px: number, y_px: number): Box | null {
    const found = lineAt(this.layout.value, y_px + this.stage.scroll.scrollTop);
    const track = found?.line.track;
    if (!found || !track || found.depth < 0 || found.depth >= found.line.depths) return null;
    const at_ns = this.timeAt(x_px);
    const res_ns = resolution(this.ns_per_px);
    const [first] = tilesOver({ t0: at_ns, t1: at_ns }, res_ns, this.end_ns);
    const tile = this.tiles.best({ track: track.id, res_ns, index: first });
    return tile ? boxAt(tile, found.line, found.depth, at_ns, SLACK_PX * this.ns_per_px) : null;
  }
}

/** A canvas to draw on in the page's pixels. */
function scaled(canvas: HTMLCanvasElement, frame: Frame): CanvasRenderingContext2D | null {
  const context = canvas.getContext("2d");
  context?.setTransform(frame.ratio, 0, 0, frame.ratio, 0, 0);
  return context;
}

/** The same, wiped for a new frame. */
function cleared(canvas: HTMLCanvasElement, frame: Frame): CanvasRenderingContext2D | null {
  const context = scaled(canvas, frame);
  context?.clearRect(0, 0, frame.width_px, frame.height_px);
  return context;
}

function shifted(view: Viewport, by_ns: number): Viewport {
  return { t0: view.t0 + by_ns, t1: view.t1 + by_ns };
}
