import { count, plain } from "../shared/format";
import type { Control } from "./control";
import type { Line } from "./layout";

/** The headings at the left: processes, threads, streams, series. They are the timeline's way in for the keyboard. */
export function Heads({ control }: { control: Control }) {
  const { lines, height } = control.engine.layout.value;
  return (
    <div class="tl-heads" role="tree" aria-label="Tracks" style={{ height: `${height}px` }}>
      {lines.map((line) => <Head key={line.key} line={line} control={control} />)}
    </div>
  );
}

function Head({ line, control }: { line: Line; control: Control }) {
  const isGroup = line.kind === "group";
  const track = line.track;
  const selected = track !== null && control.focused.value === track.id;
  const fold = () => control.engine.toggleFold(line.key);
  const keys = (event: KeyboardEvent) => {
    if (event.key === " " || (event.key === "Enter" && isGroup)) fold();
    else if (event.key === "Enter") void control.walk("next");
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class={`tl-head ${isGroup ? "group" : (track?.kind ?? "")}`} role="treeitem" tabIndex={0} aria-level={isGroup ? 1 : 2}
      aria-expanded={!line.folded} aria-selected={selected} aria-label={label(line)} title={plain(line.title)}
      style={{ top: `${line.top}px`, height: `${line.height}px` }}
      onFocus={() => { if (track) control.focused.value = track.id; }} onKeyDown={keys} onDblClick={fold}
    >
      <button class="plain fold" tabIndex={-1} aria-hidden="true" onClick={fold}>{line.folded ? "▸" : "▾"}</button>
      <span class="ellipsis grow"><bdi>{plain(line.title)}</bdi></span>
      {track && track.slices > 0 && <span class="faint small">{count(track.slices)}</span>}
      {isGroup && <span class="faint small">{line.members}</span>}
    </div>
  );
}

function label(line: Line): string {
  const track = line.track;
  if (!track) return `${plain(line.title)}, ${line.members} tracks`;
  const kind = { thread: "thread", stream: "GPU stream", series: "series", marks: "marks" }[track.kind];
  return `${kind} ${plain(track.name)}, ${count(track.slices)} ${track.kind === "stream" ? "pieces of work" : "scopes"}, ${track.depths} deep`;
}
