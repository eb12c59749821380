import type { Track } from "../api/types";
import type { Engine, Stage } from "./engine";
import type { Box } from "./hit";
import { panned, zoomed, type Viewport } from "./viewport";

/** What the pointer asks for. */
export interface Wishes {
  point(box: Box | null, track: Track | null, x_px: number, y_px: number): void;
  pick(box: Box | null, allInstances: boolean): void;
  fit(box: Box): void;
  range(range: Viewport | null, isFinal: boolean): void;
}

/** A press that moves less is a click. */
const CLICK_PX = 4;

/** Connects wheel and pointer to the engine; returns what disconnects them. */
export function followPointer(engine: Engine, stage: Stage, wishes: Wishes): () => void {
  const stop = new AbortController();
  const options = { signal: stop.signal };
  const canvas = stage.front;
  canvas.addEventListener("wheel", (event) => onWheel(engine, event), { ...options, passive: false });
  for (const top of [stage.ruler, stage.minimap]) top.addEventListener("wheel", (event) => onWheel(engine, event), { ...options, passive: false });
  followOver(engine, canvas, wishes, stop.signal);
  canvas.addEventListener("pointerdown", (event) => onTracks(engine, event, wishes), options);
  canvas.addEventListener("dblclick", (event) => {
    const box = engine.boxAt(event.offsetX, event.offsetY);
    if (box) wishes.fit(box);
  }, options);
  stage.ruler.addEventListener("pointerdown", (event) => onRuler(engine, event), options);
  stage.minimap.addEventListener("pointerdown", (event) => onMinimap(engine, event), options);
  return () => stop.abort();
}

/** Points at what is under the pointer: where it moves, and where what is under it moves. While it is pressed, at nothing. */
function followOver(engine: Engine, canvas: HTMLCanvasElement, wishes: Wishes, signal: AbortSignal): void {
  let client = { x: 0, y: 0 };
  let isPressed = false;
  const point = () => {
    const at = isPressed ? null : engine.pointer;
    wishes.point(at && engine.boxAt(at.x_px, at.y_px), at && engine.trackAt(at.y_px), client.x, client.y);
    engine.invalidate();
  };
  const moved = (event: PointerEvent) => {
    engine.pointer = { x_px: event.offsetX, y_px: event.offsetY };
    client = { x: event.clientX, y: event.clientY };
    isPressed = event.buttons > 0;
    point();
  };
  for (const name of ["pointermove", "pointerdown", "pointerup"] as const) canvas.addEventListener(name, moved, { signal });
  canvas.addEventListener("pointerleave", () => {
    engine.pointer = null;
    isPressed = false;
    point();
  }, { signal });
  engine.repoint = point;
}

/** Wheel scrolls; with ctrl it zooms at the pointer; sideways or with shift it pans. */
function onWheel(engine: Engine, event: WheelEvent): void {
  const step = event.deltaMode === 1 ? 16 : 1;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    const factor = Math.exp(Math.max(-0.6, Math.min(0.6, event.deltaY * step * 0.004)));
    engine.setView(zoomed(engine.view.value, engine.timeAt(event.offsetX), factor));
    return;
  }
  const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
  if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
    event.preventDefault();
    engine.setView(panned(engine.view.value, (sideways * step) / engine.width_px));
  }
}

/** What a press does while it moves, when it is let go, and when the system takes it away: it was neither a click nor a drag then. */
interface Drag {
  moved(event: PointerEvent, by_px: number): void;
  done(event: PointerEvent, isClick: boolean): void;
  undo(): void;
}

/** Follows a press until it is let go. */
function drag(event: PointerEvent, { moved, done, undo }: Drag): void {
  const target = event.target as HTMLElement;
  const from = event.offsetX;
  let far = 0;
  const stop = new AbortController();
  target.setPointerCapture(event.pointerId);
  target.addEventListener("pointermove", (next) => {
    far = Math.max(far, Math.abs(next.offsetX - from), Math.abs(next.clientY - event.clientY));
    if (far >= CLICK_PX) moved(next, next.offsetX - from);
  }, { signal: stop.signal });
  target.addEventListener("pointerup", (next) => {
    stop.abort();
    done(next, far < CLICK_PX);
  }, { signal: stop.signal });
  target.addEventListener("pointercancel", () => {
    stop.abort();
    undo();
  }, { signal: stop.signal });
}

/** Brings back the view as it is now. */
function viewAgain(engine: Engine): () => void {
  const view = engine.view.value;
  const follows = engine.following.value;
  return () => {
    engine.setView(view);
    engine.following.value = follows;
  };
}

function onTracks(engine: Engine, event: PointerEvent, wishes: Wishes): void {
  if (event.button > 1) return;
  const view = engine.view.value;
  const from_ns = engine.timeAt(event.offsetX);
  const pans = event.shiftKey || event.button === 1;
  if (event.button === 1) event.preventDefault();
  const before = engine.overlay.range;
  const viewBefore = viewAgain(engine);
  let range: Viewport | null = null;
  drag(event, {
    moved(next, by_px) {
      if (pans) {
        const by = by_px * ((view.t1 - view.t0) / engine.width_px);
        engine.setView({ t0: view.t0 - by, t1: view.t1 - by });
      } else {
        range = between(from_ns, engine.timeAt(next.offsetX), engine.end_ns);
        wishes.range(range, false);
      }
    },
    done(next, isClick) {
      if (isClick) wishes.pick(engine.boxAt(next.offsetX, next.offsetY), next.ctrlKey || next.metaKey);
      else if (range) wishes.range(range, true);
    },
    undo() {
      if (pans) viewBefore();
      else wishes.range(before, false);
    },
  });
}

/** A drag on the ruler zooms to what was dragged over. */
function onRuler(engine: Engine, event: PointerEvent): void {
  if (event.button !== 0) return;
  const from_ns = engine.timeAt(event.offsetX);
  const before = engine.overlay.range;
  const undo = () => {
    engine.overlay.range = before;
    engine.invalidate();
  };
  drag(event, {
    moved(next) {
      engine.overlay.range = between(from_ns, engine.timeAt(next.offsetX), engine.end_ns);
      engine.invalidate();
    },
    done(next, isClick) {
      undo();
      if (!isClick) engine.setView(between(from_ns, engine.timeAt(next.offsetX), engine.end_ns));
    },
    undo,
  });
}

/** On the minimap a click centres, a drag inside the view moves it, any other drag zooms. */
function onMinimap(engine: Engine, event: PointerEvent): void {
  if (event.button !== 0) return;
  const scale = engine.end_ns / engine.width_px;
  const view = engine.view.value;
  const from_ns = event.offsetX * scale;
  const isWhole = view.t1 - view.t0 >= engine.end_ns;
  const inside = !isWhole && from_ns > view.t0 && from_ns < view.t1;
  drag(event, {
    moved(next, by_px) {
      if (inside) engine.setView({ t0: view.t0 + by_px * scale, t1: view.t1 + by_px * scale });
      else engine.setView(between(from_ns, next.offsetX * scale, engine.end_ns));
    },
    done(next, isClick) {
      const half = (view.t1 - view.t0) / 2;
      if (isClick && !isWhole) engine.setView({ t0: next.offsetX * scale - half, t1: next.offsetX * scale + half });
    },
    undo: viewAgain(engine),
  });
}

function between(a: number, b: number, end_ns: number): Viewport {
  const [low, high] = [Math.max(0, Math.min(a, b)), Math.min(end_ns, Math.max(a, b))];
  return { t0: Math.floor(low), t1: Math.ceil(Math.max(high, low + 1)) };
}
