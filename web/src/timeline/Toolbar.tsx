import { duration } from "../shared/format";
import { Search } from "./Search";
import type { Control } from "./control";

/** Search, steps and the scale, above the timeline. */
export function Toolbar({ control, run }: { control: Control; run: string }) {
  const { engine } = control;
  return (
    <div class="tl-bar row">
      <Search control={control} run={run} />
      <form class="row" onSubmit={(event) => {
        event.preventDefault();
        const input = event.currentTarget.elements.namedItem("step") as HTMLInputElement;
        if (input.value !== "") void control.step({ index: Number(input.value) });
        input.blur();
      }}>
        <button type="button" class="plain" title="Previous step ([)" aria-label="Previous step" onClick={() => void control.step(-1)}>‹</button>
        <input id="go-to-step" name="step" type="text" inputMode="numeric" pattern="[0-9]*" size={6} placeholder="step" aria-label="Go to step" title="Go to a step by its number (G)" />
        <button type="button" class="plain" title="Next step (])" aria-label="Next step" onClick={() => void control.step(1)}>›</button>
      </form>
      <button class="plain" title="Whole run (0)" onClick={() => engine.showAll()}>Whole run</button>
      <button aria-pressed={control.tableOpen.value} title="Visible range as a table (T)" onClick={() => (control.tableOpen.value = !control.tableOpen.value)}>As table</button>
      <span class="grow" />
      <span class="faint"><Scale control={control} /> visible · <span class="swatch hatched wait" /> waits and copies · <span class="swatch failed" /> failed · <kbd>W</kbd><kbd>S</kbd> zoom <kbd>A</kbd><kbd>D</kbd> pan</span>
    </div>
  );
}

/** How much time is visible; apart, since it changes with every frame. */
function Scale({ control }: { control: Control }) {
  const { t0, t1 } = control.engine.view.value;
  return <>{duration(t1 - t0)}</>;
}
