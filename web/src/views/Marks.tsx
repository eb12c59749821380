import { useMemo } from "preact/hooks";
import { ApiError, getJson, runUrl } from "../api/client";
import { isShareFile } from "../api/inline";
import type { MarkName, MarkValues, RunsAnswer } from "../api/types";
import { useAnswer, useJson } from "../api/use";
import { anyValue, count, cut, digits, duration, many, plain } from "../shared/format";
import { formatList, go, readList, route, setParams, viewLink } from "../state/route";
import { CURVE_COLOURS, Chart } from "../ui/Chart";
import { Awaited, Loading } from "../ui/Loading";
import { Empty, Failure } from "../ui/Notes";
import { Name } from "../ui/Text";
import { useExtent, withAll } from "./extent";
import { drawn, notOnLog, numberless } from "./marks-curves";
import { RangeUnused } from "./RangeNote";

const FIRST_SHOWN = 3;
/** Other runs that may be chosen: the newest. */
const MOST_OTHERS = 50;

/** Marks over time or step: several of them, of several runs. */
export function Marks({ run }: { run: string }) {
  const { data, error } = useJson<MarkName[] | { marks: MarkName[] }>(runUrl(run, "marks"), run);
  if (error) return <div class="page"><Failure error={error} /></div>;
  if (!data) return <Loading what="the marks" runs={[run]} />;
  const names = Array.isArray(data) ? data : data.marks;
  if (names.length === 0) {
    return <div class="page"><Empty title="No marks in this run" command={'hodo.mark("loss", loss)'}>A mark is a number at a moment: a loss, a learning rate, a queue's length. Make one anywhere, and its curve is here.</Empty></div>;
  }
  return <MarkPage run={run} names={names} />;
}

function chosenMarks(names: MarkName[]): string[] {
  const asked = route.value.params.marks;
  if (asked !== undefined) return readList(asked);
  return [...names].filter((mark) => typeof mark.last === "number").sort((a, b) => b.count - a.count).slice(0, FIRST_SHOWN).map((mark) => mark.name);
}

/** The steps that were zoomed to. */
function zoomedSteps(): [number, number] | null {
  const { x, s0, s1 } = route.value.params;
  return x === "step" && Number(s0) < Number(s1) ? [Number(s0), Number(s1)] : null;
}

function zoomToSteps(from: number, to: number): void {
  const first = Math.floor(from);
  setParams({ s0: String(first), s1: String(Math.max(first + 1, Math.ceil(to))) }, true);
}

function MarkPage({ run, names }: { run: string; names: MarkName[] }) {
  const { x = "time", smooth = "0", log, with: also } = route.value.params;
  const shown = chosenMarks(names);
  const others = readList(also);
  const runs = [run, ...others];
  const extent = useExtent(runs);
  const toggle = (name: string) => {
    const next = shown.includes(name) ? shown.filter((other) => other !== name) : [...shown, name];
    setParams({ marks: formatList(next) || "," });
  };
  return (
    <div class="page marks">
      <aside>
        <h2>Marks</h2>
        <ul class="choices">{names.map((mark) => (
          <li><label><input type="checkbox" checked={shown.includes(mark.name)} onChange={() => toggle(mark.name)} /><span class="grow ellipsis"><Name text={mark.name} /></span><span class="faint">{count(mark.count)}</span><span class="num">{cut(plain(anyValue(mark.last)), 14)}</span></label></li>
        ))}</ul>
        <OtherRuns run={run} chosen={others} />
      </aside>
      <div class="grow">
        <RangeUnused run={run} />
        <div class="row wrap gap-below">
          <div class="row" role="group" aria-label="Axis">{[["time", "over time"], ["step", "by step"]].map(([key, label]) => <button aria-pressed={x === key} onClick={() => setParams({ x: key === "time" ? null : (key as string) })}>{label}</button>)}</div>
          <label class="row">smoothing <input type="range" min="0" max="0.99" step="0.01" value={smooth} aria-label="Smoothing" onInput={(event) => setParams({ smooth: event.currentTarget.value === "0" ? null : event.currentTarget.value })} /> <span class="muted">{Number(smooth).toFixed(2)}</span></label>
          {zoomedSteps() && <button onClick={() => setParams({ s0: null, s1: null })}>All steps</button>}
          <button aria-pressed={log === "1"} onClick={() => setParams({ log: log ? null : "1" })}>log axis</button>
        </div>
        {shown.length === 0 && <Empty title="No mark chosen">Choose one at the left.</Empty>}
        {shown.map((name) => <MarkChart key={name} name={name} runs={runs} x={x} extent={extent} smooth={Number(smooth)} isLog={log === "1"} />)}
      </div>
    </div>
  );
}

function OtherRuns({ run, chosen }: { run: string; chosen: string[] }) {
  const { data } = useJson<RunsAnswer>("api/runs");
  const others = (data?.runs ?? []).map(({ id }) => id).filter((id) => id !== run);
  // What is chosen is there to be chosen no longer, wherever the list has it.
  const shown = [...new Set([...others.slice(0, MOST_OTHERS), ...chosen])];
  const hidden = others.filter((id) => !shown.includes(id)).length;
  if (!data || shown.length === 0) return null;
  const toggle = (id: string) => setParams({ with: formatList(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id]) });
  return (
    <>
      <h2>Other runs</h2>
      <ul class="choices">{shown.map((id) => <li key={id}><label title={plain(id)}><input type="checkbox" checked={chosen.includes(id)} onChange={() => toggle(id)} /><span class="grow ellipsis"><Name text={id} /></span></label></li>)}</ul>
      {hidden > 0 && <p class="faint">{many(hidden, "older run")} not shown</p>}
    </>
  );
}

/** Curves of one mark, and the axis that they were asked for. */
interface Curves { x: string; of: { run: string; values: MarkValues }[]; error: Error | null }

/** Asks for a mark of several runs. */
async function load(runs: string[], urls: string[], x: string): Promise<Curves> {
  const found = await Promise.all(urls.map((url, at) => getJson<MarkValues>(url).then((values) => ({ run: runs[at]!, values }), (error: Error) => {
    // Another run need not have this mark.
    if (at > 0 && error instanceof ApiError && error.status === 404) return null;
    return error;
  })));
  return { x, of: found.filter((each) => each !== null && "run" in each), error: found.find((each) => each instanceof Error) ?? null };
}

function MarkChart({ name, runs, x, extent, smooth, isLog }: { name: string; runs: string[]; x: string; extent: [number, number] | null; smooth: number; isLog: boolean }) {
  const filter = route.value.params.filter ?? "";
  const steps = zoomedSteps();
  // A shared file holds the whole curve only.
  const [t0, t1] = (!isShareFile() && steps) || [];
  const urls = runs.map((run) => runUrl(run, "mark", { name, x, t0, t1, max: 2000, filter }));
  const { data: curves, isOld } = useAnswer(urls.join(" "), () => load(runs, urls, x), runs);
  const isOne = runs.length === 1;
  const { axis, lines } = useMemo(() => {
    const of = curves?.of ?? [];
    const { x: axis, ys, bands, known } = drawn(of.map(({ values }) => values), smooth, isLog);
    return { axis, lines: ys.map((values, at) => ({ label: plain(isOne ? name : of[at]!.run), colour: CURVE_COLOURS[at % CURVE_COLOURS.length]!, values, known: known[at], ...bands[at] })) };
  }, [curves, smooth, isLog, isOne, name]);
  if (!curves) return <section class="card"><h2><Name text={name} /></h2><p class="faint">Reading the mark …</p></section>;
  const isTime = curves.x === "time";
  const off = isLog ? notOnLog(curves.of.map(({ values }) => values), smooth) : 0;
  const hasNumber = lines.some(({ values }) => values.some((value) => typeof value === "number"));
  const isBare = off > 0 && !hasNumber;
  const gaps = numberless(curves.of.map(({ values }) => values));
  return (
    <Awaited isOld={isOld} class="card">
      <h2><Name text={name} /></h2>
      {curves.error && <Failure small error={curves.error} />}
      {off > 0 && <p class="warn small-gap">{many(off, smooth > 0 ? "smoothed point" : "value")} at or below 0 {off === 1 ? "is" : "are"} not on a log axis{isBare && <>: none is left to draw. <button class="link" onClick={() => setParams({ log: null })}>Draw them on a plain one</button></>}</p>}
      {gaps > 0 && hasNumber && <p class="warn small-gap">{many(gaps, "value")} without a number: NaN, infinite or text; the curve has a gap where no other value is at {gaps === 1 ? "its" : "their"} place</p>}
      {isBare ? null : !hasNumber ? !curves.error && !isOld && <p class="faint">{gaps > 0 ? `none of ${many(gaps, "value")} is a number: NaN, infinite or text` : filter ? "no numbers in scopes that fit the filter" : "no numbers to draw"}</p>
        : <Chart label={`${plain(name)} ${isTime ? "over time" : "by step"}`} x={axis} curves={lines} height={230} isLog={isLog} xText={isTime ? duration : count} isTime={isTime} isCount={!isTime} yText={digits} sync="marks" range={(isTime ? extent && withAll(extent, axis) : steps) ?? undefined}
            onZoom={isTime ? (from, to) => go(viewLink("timeline", runs[0] ?? null, { t0: String(Math.round(from)), t1: String(Math.round(to)) })) : zoomToSteps} />}
    </Awaited>
  );
}
