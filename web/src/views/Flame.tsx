import { useRef, useState } from "preact/hooks";
import { runUrl } from "../api/client";
import { isShareFile } from "../api/inline";
import type { FlameAnswer } from "../api/types";
import { useJson } from "../api/use";
import { fillOf, isWait } from "../shared/colour";
import { cut, duration, many, percent, plain } from "../shared/format";
import { tagText } from "../shared/tag";
import { formatList, readList, route, setParams, viewLink } from "../state/route";
import { theme } from "../state/theme";
import { Loading } from "../ui/Loading";
import { Empty, Failure } from "../ui/Notes";
import { Name } from "../ui/Text";
import { flameBoxes, nodeAt, restOf, wholeOf, type FlameBox } from "./flame-layout";
import { RangeNote } from "./RangeNote";

const ROW_PX = 21;
const LEAST_SHARE = 1 / 1500;
const BY: [string, string][] = [["wall", "wall time"], ["cpu", "CPU time"], ["gpu", "GPU time"]];

/** Where the time went, as boxes inside boxes, by wall, CPU or GPU time. */
export function Flame({ run }: { run: string }) {
  const { by = "wall", t0, t1, filter, zoom } = route.value.params;
  const { data, error } = useJson<FlameAnswer>(runUrl(run, "flame", { by, t0, t1, filter }), run);
  const asked = readList(zoom, "/");
  return (
    <div class="page flame">
      <div class="row wrap">
        <div class="row" role="group" aria-label="Time to divide">{BY.map(([key, label]) => <button aria-pressed={by === key} onClick={() => setParams({ by: key === "wall" ? null : key })}>{label}</button>)}</div>
        <RangeNote run={run} />
        <span class="grow" />
        <span class="faint">click a box to go into it · arrow keys walk</span>
      </div>
      {error && <Failure error={error} />}
      {!data && !error && <Loading what="the flame graph" runs={[run]} />}
      {data && <Graph data={data} path={nodeAt(data.roots, asked) ? asked : []} by={by} run={run} />}
    </div>
  );
}

function Graph({ data, path, by, run }: { data: FlameAnswer; path: string[]; by: string; run: string }) {
  const [pointed, setPointed] = useState<FlameBox | null>(null);
  const host = useRef<HTMLDivElement>(null);
  const top = nodeAt(data.roots, path);
  const whole = wholeOf(data);
  if (whole === 0) {
    return <Empty title={`No ${by === "gpu" ? "GPU" : by === "cpu" ? "CPU" : "wall"} time to divide`}>{data.why ?? (by === "gpu" ? "No GPU work of a scope was captured here. The Overview says why; wall time is always there." : "No scope with such a time is in this range. Widen the range, or clear the filter.")}</Empty>;
  }
  const rest = top ? restOf([top], null) : restOf(data.roots, data.rest);
  const boxes = top ? flameBoxes([top], LEAST_SHARE) : flameBoxes(data.roots, LEAST_SHARE, whole);
  if (boxes.length === 0) return <Empty title="Every path is too small to show">{many(rest.paths, "path")} with {duration(whole)} together, none of them wide enough for a box. Tables has them by their time.</Empty>;
  const deepest = boxes.reduce((most, box) => Math.max(most, box.depth), 0);
  const above = top ? path.slice(0, -1) : [];
  const zoom = (to: string[]) => setParams({ zoom: formatList(to, "/") }, true);
  const shown = pointed ?? boxes[0] ?? null;
  return (
    <>
      <nav class="row wrap crumbs" aria-label="Path">
        <button class="link" onClick={() => zoom([])}>all {by === "wall" ? "wall" : by.toUpperCase()} time</button>
        {path.map((name, at) => <><span class="faint">/</span><button class="link" onClick={() => zoom(path.slice(0, at + 1))}><Name text={cut(name, 60)} /></button></>)}
      </nav>
      <div class="fl" ref={host} role="tree" aria-label="Flame graph" style={{ height: `${(deepest + 1) * ROW_PX}px` }} onKeyDown={(event) => walk(event, host.current, boxes)} onMouseLeave={() => setPointed(null)}>
        {boxes.map((box, at) => (
          <button key={box.key} data-at={at} role="treeitem" aria-level={box.depth + 1} tabIndex={at === 0 ? 0 : -1} class={"fl-box" + (isWait(box.node.name) ? " hatched" : "")}
            aria-label={`${cut(plain(box.node.name), 120)}${tagText(box.node.tag) ? ` ${cut(plain(tagText(box.node.tag) ?? ""), 40)}` : ""}, ${duration(box.node.value_ns)}, ${percent(box.node.value_ns / whole)}`}
            style={{ left: `${box.left * 100}%`, width: `${box.width * 100}%`, top: `${box.depth * ROW_PX}px`, backgroundColor: fillOf(box.node.name, theme.value) }}
            onMouseEnter={() => setPointed(box)} onFocus={() => setPointed(box)} onClick={() => zoom([...above, ...box.path])}>
            {box.width > 0.02 && <bdi>{cut(plain(box.node.name), 120)}</bdi>}{box.width > 0.02 && tagText(box.node.tag) && <span class="fl-tag"> {cut(plain(tagText(box.node.tag) ?? ""), 40)}</span>}
          </button>
        ))}
      </div>
      {shown && (
        <div class="fl-facts" aria-live="polite">
          <b><Name text={shown.node.name} tag={tagText(shown.node.tag)} /></b>
          <span>{duration(shown.node.value_ns)} <span class="faint">{percent(shown.node.value_ns / whole)} of all</span></span>
          <span>self {duration(shown.node.self_ns)} <span class="faint">{percent(shown.node.value_ns ? shown.node.self_ns / shown.node.value_ns : 0)}</span></span>
          <span>{many(shown.node.count, "time")}</span>
          <span>each {duration(shown.node.count ? shown.node.value_ns / shown.node.count : null)}</span>
          {!isShareFile() && <a href={viewLink("timeline", run, { q: shown.node.name })}>find on the timeline</a>}
        </div>
      )}
      {rest.paths > 0 && <p class="faint">{many(rest.paths, "path")} with {duration(rest.value_ns)} together {rest.paths === 1 ? "is" : "are"} too small to show; Tables has them by their time</p>}
    </>
  );
}

/** Arrow keys: inside, around, and to the neighbours on the same depth. */
function walk(event: KeyboardEvent, host: HTMLElement | null, boxes: FlameBox[]): void {
  const from = boxes[Number((event.target as HTMLElement).dataset.at)];
  if (!from || !host) return;
  const middle = from.left + from.width / 2;
  const row = (depth: number) => boxes.filter((box) => box.depth === depth);
  const same = row(from.depth);
  const next: Record<string, () => FlameBox | undefined> = {
    ArrowDown: () => row(from.depth + 1).find((box) => box.left + box.width > from.left && box.left < from.left + from.width),
    ArrowUp: () => row(from.depth - 1).find((box) => box.left <= middle && box.left + box.width >= middle),
    ArrowRight: () => same[same.indexOf(from) + 1],
    ArrowLeft: () => same[same.indexOf(from) - 1],
  };
  const to = next[event.key]?.();
  if (!next[event.key]) return;
  event.preventDefault();
  if (to) host.querySelector<HTMLElement>(`[data-at="${boxes.indexOf(to)}"]`)?.focus();
}
