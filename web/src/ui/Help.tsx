import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Whether the list of keys is shown. */
export const helpOpen = signal(false);

const KEYS: [string[], string][] = [
  [["W", "S"], "zoom in, out at the pointer"],
  [["A", "D"], "pan left, right"],
  [["Ctrl", "wheel"], "zoom at the pointer"],
  [["drag"], "select a range"],
  [["Shift", "drag"], "pan"],
  [["drag ruler"], "zoom to what is dragged"],
  [["click"], "details"],
  [["double click"], "fit to the box"],
  [["Ctrl", "click"], "all instances of the scope"],
  [["F"], "centre the selection, then fit it"],
  [[",", "."], "previous, next box of the track"],
  [["←", "→"], "the same, from a focused track"],
  [["↑", "↓"], "scope around, first scope inside"],
  [["R"], "selection becomes the range"],
  [["[", "]"], "previous, next step"],
  [["G"], "go to a step by its number"],
  [["M"], "put a mark line at the pointer; on one, remove it"],
  [["/"], "search; Enter and Shift+Enter walk the hits"],
  [["Q"], "show or hide the details"],
  [["T"], "visible range as a table"],
  [["0"], "whole run"],
  [["Esc"], "clear selection and range, then mark lines"],
  [["Ctrl", "K"], "go to a view, a run or a scope"],
  [["?"], "these keys"],
];

const hide = () => (helpOpen.value = false);

/** Escape hides it; all other keys are only for its button meanwhile. */
function keys(event: KeyboardEvent): void {
  event.stopPropagation();
  if (event.key === "Escape" || event.key === "Tab") event.preventDefault();
  if (event.key === "Escape") hide();
}

/** The list of keys as a dialog. */
export function Help() {
  const close = useRef<HTMLButtonElement>(null);
  // Before it is seen: a key that is pressed at once is for it.
  useLayoutEffect(() => {
    if (!helpOpen.value) return;
    const before = document.activeElement;
    close.current?.focus();
    // On the window, since a click on the text takes the focus away from everything in here; before whatever else has keys.
    addEventListener("keydown", keys, { capture: true });
    return () => {
      removeEventListener("keydown", keys, { capture: true });
      if (before instanceof HTMLElement) before.focus();
    };
  }, [helpOpen.value]);
  if (!helpOpen.value) return null;
  return (
    <div class="dialog" role="dialog" aria-modal="true" aria-label="Keys" onClick={hide}>
      <div onClick={(event) => event.stopPropagation()}>
        <div class="row"><h2 class="grow">Keys on the timeline</h2><button ref={close} onClick={hide}>Close</button></div>
        <dl class="keys">
          {KEYS.map(([keys, what]) => (
            <>
              <dt>{keys.map((key, at) => <>{at > 0 && " "}<kbd>{key}</kbd></>)}</dt>
              <dd>{what}</dd>
            </>
          ))}
        </dl>
      </div>
    </div>
  );
}
