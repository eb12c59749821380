import { useLayoutEffect, useRef } from "preact/hooks";
import { count, plain } from "../shared/format";
import type { Control } from "./control";
import type { Line } from "./layout";

/** Pixels above and below the window for which there are headings. */
const OVERSCAN_PX = 200;

/** The headings at the left, as far as they are seen: processes, threads, streams, series. They are the timeline's way in for the keyboard. */
export function Heads({ control }: { control: Control }) {
  const { layout, seen } = control.engine;
  const { lines, height } = layout.value;
  const { from, to } = seen.value;
  const entry = Math.max(0, lines.findIndex(({ key }) => key === control.head.value));
  const list = useRef<HTMLDivElement>(null);
  const moved = useRef<string | null>(null);
  const move = (line: number) => {
    control.head.value = moved.current = lines[Math.min(Math.max(line, 0), lines.length - 1)]?.key ?? null;
  };
  // As soon as the heading is there, before the next key: the one that was left may be gone by now, and the focus with it.
  useLayoutEffect(() => {
    if (moved.current !== null && moved.current === control.head.value) list.current?.querySelector<HTMLElement>(".tl-head[tabindex='0']")?.focus();
    moved.current = null;
  }, [control.head.value]);
  return (
    <div class="tl-heads" ref={list} role="tree" aria-label="Tracks" style={{ height: `${height}px` }}>
      {lines.map((line, at) => {
        const isSeen = line.top + line.height > from - OVERSCAN_PX && line.top < to + OVERSCAN_PX;
        return (isSeen || at === entry) && <Head key={line.key} line={line} place={[at + 1, lines.length]} isEntry={at === entry} control={control} move={(by) => move(by === "first" ? 0 : by === "last" ? lines.length - 1 : at + by)} />;
      })}
    </div>
  );
}

interface HeadProps { line: Line; place: [number, number]; isEntry: boolean; control: Control; move: (by: 1 | -1 | "first" | "last") => void }

function Head({ line, place, isEntry, control, move }: HeadProps) {
  const isGroup = line.kind === "group";
  const track = line.track;
  const selected = track !== null && control.focused.value === track.id;
  const fold = () => control.engine.toggleFold(line.key);
  const keys = (event: KeyboardEvent) => {
    // Up and down walk the boxes of a track once one of them is selected.
    const walksBoxes = control.isOn(track?.id);
    if (event.key === " " || (event.key === "Enter" && isGroup)) fold();
    else if (event.key === "Enter") void control.walk("next");
    else if (event.key === "ArrowDown" && !walksBoxes) move(1);
    else if (event.key === "ArrowUp" && !walksBoxes) move(-1);
    else if (event.key === "Home") move("first");
    else if (event.key === "End") move("last");
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const focused = () => {
    control.head.value = line.key;
    if (track) control.focused.value = track.id;
  };
  return (
    <div
      class={`tl-head ${isGroup ? "group" : (track?.kind ?? "")}`} role="treeitem" tabIndex={isEntry ? 0 : -1} aria-posinset={place[0]} aria-setsize={place[1]} aria-level={isGroup ? 1 : 2}
      aria-expanded={!line.folded} aria-selected={selected} title={plain(line.title)}
      style={{ top: `${line.top}px`, height: `${line.height}px` }}
      onFocus={focused} onKeyDown={keys} onDblClick={fold}
    >
      <button class="plain fold" tabIndex={-1} aria-hidden="true" onClick={fold}>{line.folded ? "▸" : "▾"}</button>
      <span class="sr">{before(line)} </span>
      <span class={track?.kind === "series" ? "ellipsis grow cut-start" : "ellipsis grow"}><bdi>{plain(line.title)}</bdi></span>
      {track && track.slices > 0 && <span class="faint small">{count(track.slices)}</span>}
      {isGroup && <span class="faint small">{line.members}</span>}
      <span class="sr">{after(line)}</span>
    </div>
  );
}

/** What is said, and not shown, before the name of a track. */
function before({ track }: Line): string {
  return track ? { thread: "thread", stream: "GPU stream", series: "series", marks: "marks" }[track.kind] : "";
}

/** And after its number. */
function after({ track, members }: Line): string {
  if (!track) return members === 1 ? " track" : " tracks";
  const what = { thread: "scopes", stream: "pieces of work", series: "readings", marks: "marks" }[track.kind];
  return track.slices > 0 ? ` ${what}, ${track.depths} deep` : "";
}
