import { useRef, useState } from "preact/hooks";
import { isShareFile } from "../api/inline";
import { route } from "../state/route";
import { readRange, readSelection, type Control } from "./control";
import { HeldPanel } from "./HeldPanel";
import { KernelPanel } from "./KernelPanel";
import { RangePanel } from "./RangePanel";
import { SpanPanel } from "./SpanPanel";

const LEAST_PX = 90;

/** What is known of the selection or of the range, under the timeline. */
export function Drawer({ control, run }: { control: Control; run: string }) {
  const [height, setHeight] = useState(Math.round(Math.min(360, innerHeight * 0.36)));
  const from = useRef(0);
  const selection = readSelection(route.value.params.sel);
  const range = readRange(route.value.params);
  if (!selection && !range) return null;
  if (!control.drawerOpen.value) {
    return <button class="tl-drawer-tab" onClick={() => (control.drawerOpen.value = true)}>Show details <kbd>Q</kbd></button>;
  }
  const resize = (event: PointerEvent) => {
    if (event.buttons) setHeight(Math.max(LEAST_PX, Math.min(innerHeight - 200, from.current - event.clientY)));
  };
  return (
    <section class="tl-drawer" aria-label="Details" style={{ height: `${height}px` }}>
      <div class="tl-grip" role="separator" aria-orientation="horizontal" aria-label="Height of the details" aria-valuenow={height} aria-valuemin={LEAST_PX} aria-valuemax={innerHeight - 200} tabIndex={0}
        onPointerDown={(event) => { from.current = event.clientY + height; event.currentTarget.setPointerCapture(event.pointerId); }}
        onPointerMove={resize}
        onKeyDown={(event) => { if (event.key === "ArrowUp") setHeight(height + 20); if (event.key === "ArrowDown") setHeight(Math.max(LEAST_PX, height - 20)); }} />
      <button class="plain close" aria-label="Clear the selection" title="Clear (Esc)" onClick={() => control.clear()}>×</button>
      {selection && isShareFile() && <HeldPanel key={selection.id} selection={selection} control={control} />}
      {selection?.kind === "span" && !isShareFile() && <SpanPanel key={selection.id} run={run} id={selection.id} control={control} />}
      {selection?.kind === "kernel" && !isShareFile() && <KernelPanel key={selection.id} run={run} id={selection.id} control={control} />}
      {!selection && range && <RangePanel run={run} range={range} control={control} />}
    </section>
  );
}
