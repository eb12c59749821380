import { count, duration, percent, plain } from "../shared/format";
import { route } from "../state/route";
import { DataTable, type Column } from "../ui/DataTable";
import { Name } from "../ui/Text";
import type { Control } from "./control";
import { boxOf, type Box } from "./hit";
import { hasBoxes } from "./layout";
import { DIMMED } from "./tile";
import { resolution, tilesOver } from "./tile-key";

const MOST = 2000;

/** The visible stretch of the tracks as a table: the same as the boxes, for readers and keyboards. */
export function Twin({ control }: { control: Control }) {
  const { engine } = control;
  // The tiles of a view come after it.
  engine.rests.value;
  const boxes = visible(control);
  const name = (box: Box) => plain(engine.names[box.name] ?? "");
  const tag = (box: Box) => (box.tag === null ? null : plain(engine.names[box.tag] ?? ""));
  const columns: Column<Box>[] = [
    { key: "start_ns", title: "start", isNumber: true, value: (box) => box.start_ns, cell: (box) => duration(box.start_ns) },
    { key: "track", title: "track", isLong: true, value: (box) => box.line.title, cell: (box) => <Name text={box.line.title} /> },
    { key: "depth", title: "depth", isNumber: true, value: (box) => box.depth + 1 },
    { key: "name", title: "scope or kernel", isLong: true, value: name, cell: (box) => box.slices > 1 ? <span class="muted">{count(box.slices)} merged, longest <Name text={name(box)} /></span> : <button class="link" onClick={() => control.pick(box)}><Name text={name(box)} />{tag(box) !== null && <span class="faint"> / <Name text={tag(box)!} /></span>}</button> },
    { key: "dur_ns", title: "time", isNumber: true, value: (box) => box.dur_ns, cell: (box) => duration(box.dur_ns) },
    { key: "busy", title: "covered", isNumber: true, value: (box) => box.busy, cell: (box) => percent(box.busy) },
  ];
  return (
    <section class="tl-twin" aria-label="Visible range as a table">
      <DataTable label="visible boxes" columns={columns} rows={boxes} sort="start_ns" empty={nothing(control)} words={(box) => [name(box), tag(box), box.line.title]}>
        <span class="faint">of {control.focused.value ? "the focused track" : "all tracks"}{boxes.length >= MOST ? `, first ${count(MOST)}` : ""}{route.value.params.filter ? ", those that fit the filter" : ""}</span>
        <button class="plain" onClick={() => (control.focused.value = null)}>All tracks</button>
      </DataTable>
    </section>
  );
}

/** Why no box is listed. */
function nothing({ engine, focused }: Control): string {
  const line = engine.layout.value.lines.find(({ track }) => track?.id === focused.value);
  if (focused.value !== null && !line) return "The focused track is folded away: unfold it, or list all tracks.";
  if (line?.track && !hasBoxes(line.track)) return "The focused track is a curve, which has no boxes: Marks and System show it, or list all tracks.";
  const fits = route.value.params.filter ? "that fits the filter " : "";
  // What is not here yet, or could not be had, is not nothing.
  if (engine.problem.value) return "The boxes could not be read.";
  if (engine.reading.value) return "Reading the boxes …";
  return `No box ${fits}is in view${line ? " on the focused track" : ""}.`;
}

function visible(control: Control): Box[] {
  const { engine } = control;
  const view = engine.view.value;
  const res_ns = resolution(engine.ns_per_px);
  const [first, last] = tilesOver(view, res_ns, engine.end_ns);
  const boxes: Box[] = [];
  for (const line of engine.layout.value.lines) {
    if (!line.track || (control.focused.value !== null && line.track.id !== control.focused.value)) continue;
    for (let index = first; index <= last; index++) {
      const tile = engine.tiles.best({ track: line.track.id, res_ns, index });
      for (let at = 0; tile && at < tile.count && boxes.length < MOST; at++) {
        const start = tile.start_ns[at]!;
        // What does not fit the filter is not listed.
        if (tile.flags[at]! & DIMMED) continue;
        const isRepeat = index > first && start < index * res_ns * 4096;
        if (!isRepeat && start <= view.t1 && start + tile.dur_ns[at]! >= view.t0) boxes.push(boxOf(tile, line, at));
      }
    }
  }
  return boxes;
}
