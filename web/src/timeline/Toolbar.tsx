import { effect } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { isShareFile } from "../api/inline";
import { duration } from "../shared/format";
import { Search } from "./Search";
import type { Control } from "./control";

/** Search, steps and the scale, above the timeline. */
export function Toolbar({ control, run }: { control: Control; run: string }) {
  const { engine } = control;
  return (
    <div class="tl-bar row">
      {!isShareFile() && <Search control={control} run={run} />}
      <form class="row" onSubmit={(event) => {
        event.preventDefault();
        const input = event.currentTarget.elements.namedItem("step") as HTMLInputElement;
        if (input.value !== "") void control.step({ index: Number(input.value) });
        input.blur();
      }}>
        <button type="button" class="plain" title="Previous step ([)" aria-label="Previous step" onClick={() => void control.step(-1)}>‹</button>
        <input id="go-to-step" name="step" type="text" inputMode="numeric" pattern="[0-9]*" size={6} maxLength={15} placeholder="step" aria-label="Go to step" title="Go to a step by its number (G)"
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
            // The G that led here may still be held.
            if (event.repeat && event.key.toLowerCase() === "g") event.preventDefault();
          }} />
        <button type="button" class="plain" title="Next step (])" aria-label="Next step" onClick={() => void control.step(1)}>›</button>
        <span class="muted step-note" role="status" title={control.stepNote.value}>{control.stepNote.value}</span>
      </form>
      <button class="plain" title="Whole run (0)" onClick={() => engine.showAll()}>Whole run</button>
      {engine.live.value && !engine.following.value && <button title="Keep the end of the run in view" onClick={() => engine.follow()}>Follow</button>}
      <button aria-pressed={control.tableOpen.value} title="Visible range as a table (T)" onClick={() => (control.tableOpen.value = !control.tableOpen.value)}>As table</button>
      <span class="grow" />
      <span class="faint"><Scale control={control} /> visible · <span class="swatch hatched wait" /> waits and copies · <span class="swatch failed" /> failed · <kbd>W</kbd><kbd>S</kbd> zoom <kbd>A</kbd><kbd>D</kbd> pan</span>
    </div>
  );
}

/** Between two changes of the scale: laying out the bar for every frame would be a good part of a frame's work. */
const PAUSE_MS = 120;

/** How much time is visible. */
function Scale({ control }: { control: Control }) {
  const { view } = control.engine;
  const [shown, setShown] = useState(view.peek());
  useEffect(() => {
    let timer = 0;
    const stop = effect(() => {
      view.value;
      timer ||= window.setTimeout(() => {
        timer = 0;
        setShown(view.peek());
      }, PAUSE_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [view]);
  return <>{duration(shown.t1 - shown.t0)}</>;
}
