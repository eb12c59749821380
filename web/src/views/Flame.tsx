import { useRef, useState } from "preact/hooks";
import { runUrl } from "../api/client";
import { isShareFile } from "../api/inline";
import type { FlameAnswer, FlameNode } from "../api/types";
import { useJson } from "../api/use";
import { fillOf, isWait } from "../shared/colour";
import { cut, duration, many, percent, plain } from "../shared/format";
import { tagText } from "../shared/tag";
import { formatList, readList, route, setParams, viewLink } from "../state/route";
import { theme } from "../state/theme";
import { Awaited, Loading } from "../ui/Loading";
import { Empty, Failure } from "../ui/Notes";
import { Name } from "../ui/Text";
import { flameBoxes, nodeAt, restOf, shareText, wholeOf, type FlameBox } from "./flame-layout";
import { RangeNote } from "./RangeNote";

const ROW_PX = 21;
const LEAST_SHARE = 1 / 1500;
/** Boxes of a smaller share have no line at their end: it would be most of them. */
const LINED_SHARE = 1 / 300;
/** Boxes of a smaller share have no name: not even its first letters would be read. */
const NAMED_SHARE = 0.02;
const BY: [string, string][] = [["wall", "wall time"], ["cpu", "CPU time"], ["gpu", "GPU time"]];

/** Where the time went, as boxes inside boxes, by wall, CPU or GPU time. */
export function Flame({ run }: { run: string }) {
  const { by = "wall", t0, t1, filter, zoom } = route.value.params;
  const { data, error, isOld } = useJson<FlameAnswer>(runUrl(run, "flame", { by, t0, t1, filter }), run);
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
      {data && <Awaited isOld={isOld}><Graph data={data} path={nodeAt(data.roots, asked) ? asked : []} run={run} /></Awaited>}
    </div>
  );
}

function Graph({ data, path, run }: { data: FlameAnswer; path: string[]; run: string }) {
  // Of the answer, which may be an earlier one, not of the address.
  const { by } = data;
  const [pointed, setPointed] = useState<string | null>(null);
  const host = useRef<HTMLDivElement>(null);
  const top = nodeAt(data.roots, path);
  const whole = wholeOf(data);
  if (whole === 0) {
    return <Empty title={`No ${by === "gpu" ? "GPU" : by === "cpu" ? "CPU" : "wall"} time to divide`}>{data.why ?? (by === "gpu" ? "No GPU work of a scope was captured here. The Overview says why; wall time is always there." : "No scope with such a time is in this range. Widen the range, or clear the filter.")}</Empty>;
  }
  const boxes = top ? flameBoxes([top], LEAST_SHARE) : flameBoxes(data.roots, LEAST_SHARE, whole);
  const rest = top ? restOf([top], null, boxes) : restOf(data.roots, data.rest, boxes);
  if (boxes.length === 0) return <Empty title="Every path is too small to show">{many(rest.paths, "path")} with {duration(whole)} together, none of them wide enough for a box. Tables has them by their time.</Empty>;
  const deepest = boxes.reduce((most, box) => Math.max(most, box.depth), 0);
  const above = top ? path.slice(0, -1) : [];
  const zoom = (to: string[]) => setParams({ zoom: formatList(to, "/") }, true);
  // By its path: another answer has other boxes, and other numbers in them.
  const pathOf = (box: FlameBox) => formatList([...above, ...box.path], "/");
  const shown = boxes.find((box) => pathOf(box) === pointed) ?? boxes[0] ?? null;
  return (
    <>
      <nav class="row wrap crumbs" aria-label="Path">
        <button class="link" onClick={() => zoom([])}>all {by === "wall" ? "wall" : by.toUpperCase()} time</button>
        {path.map((name, at) => <><span class="faint">/</span><button class="link" onClick={() => zoom(path.slice(0, at + 1))}><Name text={cut(name, 60)} /></button></>)}
      </nav>
      <div class="fl" ref={host} role="tree" aria-label="Flame graph" style={{ height: `${(deepest + 1) * ROW_PX}px` }} onKeyDown={(event) => walk(event, host.current, boxes)} onMouseLeave={() => setPointed(null)}>
        {boxes.map((box, at) => (
          <button key={box.key} data-at={at} role="treeitem" aria-level={box.depth + 1} tabIndex={at === 0 ? 0 : -1} class={classOf(box)}
            aria-label={`${cut(plain(box.node.name), 120)}${tagText(box.node.tag) ? ` ${cut(plain(tagText(box.node.tag) ?? ""), 40)}` : ""}, ${duration(box.node.value_ns)}, ${shareText(box.node.value_ns, whole)}${box.node.parallel_ns ? ", scopes inside ran at the same time" : ""}`}
            style={{ left: `${box.left * 100}%`, width: `${box.width * 100}%`, top: `${box.depth * ROW_PX}px`, backgroundColor: fillOf(box.node.name, theme.value) }}
            onMouseEnter={() => setPointed(pathOf(box))} onFocus={() => setPointed(pathOf(box))} onClick={() => zoom([...above, ...box.path])}>
            {box.width > NAMED_SHARE && <span class="fl-label"><bdi>{cut(plain(box.node.name), 120)}</bdi>{tagText(box.node.tag) && <span class="fl-tag"> {cut(plain(tagText(box.node.tag) ?? ""), 40)}</span>}</span>}
          </button>
        ))}
      </div>
      {shown && <Facts node={shown.node} whole_ns={whole} run={run} />}
      {boxes.some(({ node }) => node.parallel_ns) && (
        <p class="faint"><span class="swatch parallel" /> a hatched foot: what is inside ran at the same time, on several threads or streams, and took more than the box together.
          Boxes under it are as wide as their share of each other, not of the time that passed.</p>
      )}
      {rest.paths > 0 && <p class="faint">{many(rest.paths, "path")} with {duration(rest.value_ns)} together {rest.paths === 1 ? "is" : "are"} too small to show; Tables has them by their time</p>}
    </>
  );
}

function classOf({ node, width }: FlameBox): string {
  return ["fl-box", isWait(node.name) && "hatched", node.parallel_ns && "parallel", width > LINED_SHARE && "lined"].filter(Boolean).join(" ");
}

/** What is known of one box, in a line. */
function Facts({ node, whole_ns, run }: { node: FlameNode; whole_ns: number; run: string }) {
  return (
    <div class="fl-facts" aria-live="polite">
      <b><Name text={node.name} tag={tagText(node.tag)} /></b>
      <span>{duration(node.value_ns)} <span class="faint">{shareText(node.value_ns, whole_ns)}</span></span>
      {node.count === 0 ? <span class="muted">does not fit the filter itself: this is what fits inside it</span> : <>
        <span>self {duration(node.self_ns)} <span class="faint">{percent(node.value_ns ? node.self_ns / node.value_ns : 0)}</span></span>
        <span>{many(node.count, "time")}</span>
        <span>each {duration(node.value_ns / node.count)}</span>
      </>}
      {Boolean(node.parallel_ns) && <span>at the same time {duration(node.parallel_ns)} <span class="faint">more inside than it took</span></span>}
      {!isShareFile() && <a href={viewLink("timeline", run, { q: node.name })}>find on the timeline</a>}
    </div>
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
