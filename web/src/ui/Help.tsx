import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/** Whether the list of keys is shown. */
export const helpOpen = signal(false);

const KEYS: [string[], string][] = [
  [["W", "S"], "zoom in, out"],
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
  [["M"], "put a mark line at the pointer"],
  [["/"], "search; Enter and Shift+Enter walk the hits"],
  [["Q"], "show or hide the details"],
  [["T"], "visible range as a table"],
  [["0"], "whole run"],
  [["Esc"], "clear selection and range"],
  [["Ctrl", "K"], "go to a view, a run or a scope"],
  [["?"], "these keys"],
];

/** The list of keys as a dialog. */
export function Help() {
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (helpOpen.value) close.current?.focus();
  }, [helpOpen.value]);
  if (!helpOpen.value) return null;
  const hide = () => (helpOpen.value = false);
  return (
    <div class="dialog" role="dialog" aria-modal="true" aria-label="Keys" onClick={hide}
      onKeyDown={(event) => { if (event.key === "Escape" || event.key === "Tab") { event.preventDefault(); if (event.key === "Escape") hide(); } event.stopPropagation(); }}>
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
