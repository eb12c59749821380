import { useEffect, useRef } from "preact/hooks";
import { duration, plain } from "../shared/format";
import { Name } from "../ui/Text";
import type { Control, Selection } from "./control";
import type { Box } from "./hit";
import { instant } from "./ruler";
import { FAILED, OPEN } from "./tile";

/** What a shared file knows of a box: what is drawn of it. */
export function HeldPanel({ control, selection }: { control: Control; selection: Selection }) {
  const { engine } = control;
  // Tiles come after the view, and coarser ones have it merged with others: what was seen of it stays.
  engine.rests.value;
  const last = useRef<Box | null>(null);
  const box = control.find(selection) ?? last.current;
  last.current = box;
  useEffect(() => { if (box) control.outline(box); }, [box === null]);
  const text = (name: number | null) => (name === null ? null : (engine.names[name] ?? ""));
  return (
    <div class="panel">
      <div class="panel-main">
        {box && <>
          <h2><Name text={text(box.name) ?? ""} tag={text(box.tag)} /></h2>
          <dl class="facts">
            <div><dt>total</dt><dd>{duration(box.dur_ns)}{box.flags & OPEN ? " so far" : ""}</dd></div>
            <div><dt>start</dt><dd>{instant(box.start_ns, box.dur_ns)}</dd></div>
            <div><dt>on</dt><dd>{plain(box.line.title)}</dd></div>
            {Boolean(box.flags & FAILED) && <div><dt>ended</dt><dd class="bad">failed</dd></div>}
          </dl>
          <div class="row wrap actions"><button onClick={() => control.frameSelection()}>Zoom to it</button></div>
        </>}
        <p class="muted">{box ? "A shared file holds no more of it: its attributes, marks and what is inside of it are shown by hodo view on the run." : "It is not drawn by itself here: zoom in, or open the run with hodo view."}</p>
      </div>
    </div>
  );
}
