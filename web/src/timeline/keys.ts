import { panned, zoomed } from "./viewport";
import type { Engine } from "./engine";

/** What keys ask for beyond moving the view. */
export interface KeyWishes {
  /** False where there is no field for it. */
  search(): boolean;
  clear(): void;
  frameSelection(): void;
  selectionToRange(): void;
  walk(to: "next" | "previous" | "parent" | "child"): void;
  step(by: 1 | -1): void;
  askStep(): boolean;
  mark(): void;
  toggleDrawer(): void;
  toggleTable(): void;
}

const ZOOM = 0.78;
const PAN = 0.12;

/** Whether a key press belongs to what is typed into. */
export function isTyping(event: KeyboardEvent): boolean {
  return event.target instanceof HTMLElement && event.target.matches("input, textarea, select, [contenteditable]");
}

/** Does what a key says; false when it says nothing. */
export function pressed(event: KeyboardEvent, engine: Engine, wishes: KeyWishes): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return false;
  const view = engine.view.value;
  const middle = engine.pointer_ns ?? (view.t0 + view.t1) / 2;
  const onHead = event.target instanceof HTMLElement && event.target.matches(".tl-head");
  const actions: Record<string, () => unknown> = {
    w: () => engine.setView(zoomed(view, middle, ZOOM)),
    s: () => engine.setView(zoomed(view, middle, 1 / ZOOM)),
    a: () => engine.setView(panned(view, -PAN)),
    d: () => engine.setView(panned(view, PAN)),
    "0": () => engine.showAll(),
    f: wishes.frameSelection,
    r: wishes.selectionToRange,
    q: wishes.toggleDrawer,
    t: wishes.toggleTable,
    m: wishes.mark,
    g: wishes.askStep,
    "/": wishes.search,
    "[": () => wishes.step(-1),
    "]": () => wishes.step(1),
    ",": () => wishes.walk("previous"),
    ".": () => wishes.walk("next"),
    escape: wishes.clear,
  };
  const walks: Record<string, () => unknown> = {
    arrowleft: () => wishes.walk("previous"),
    arrowright: () => wishes.walk("next"),
    arrowup: () => wishes.walk("parent"),
    arrowdown: () => wishes.walk("child"),
  };
  const key = event.key.toLowerCase();
  const action = actions[key] ?? (onHead ? walks[key] : undefined);
  return action !== undefined && action() !== false;
}
