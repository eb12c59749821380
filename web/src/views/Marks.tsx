import { useEffect, useState } from "preact/hooks";
import { getJson, runUrl } from "../api/client";
import { growth } from "../api/live";
import type { MarkName, MarkValues, RunsAnswer } from "../api/types";
import { useJson } from "../api/use";
import { anyValue, count, cut, digits, duration, plain } from "../shared/format";
import { go, route, setParams, viewLink } from "../state/route";
import { CURVE_COLOURS, Chart } from "../ui/Chart";
import { Loading } from "../ui/Loading";
import { Empty, Failure } from "../ui/Notes";
import { Name } from "../ui/Text";
import { joined, smoothed } from "./marks-curves";

const FIRST_SHOWN = 3;

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
  if (asked !== undefined) return asked.split(",").map(decodeURIComponent).filter(Boolean);
  return [...names].filter((mark) => typeof mark.last === "number").sort((a, b) => b.count - a.count).slice(0, FIRST_SHOWN).map((mark) => mark.name);
}

function MarkPage({ run, names }: { run: string; names: MarkName[] }) {
  const { x = "time", smooth = "0", log, with: also = "" } = route.value.params;
  const shown = chosenMarks(names);
  const runs = [run, ...also.split(",").filter(Boolean)];
  const toggle = (name: string) => {
    const next = shown.includes(name) ? shown.filter((other) => other !== name) : [...shown, name];
    setParams({ marks: next.map(encodeURIComponent).join(",") || "," });
  };
  return (
    <div class="page marks">
      <aside>
        <h2>Marks</h2>
        <ul class="choices">{names.map((mark) => (
          <li><label><input type="checkbox" checked={shown.includes(mark.name)} onChange={() => toggle(mark.name)} /><span class="grow ellipsis"><Name text={mark.name} /></span><span class="faint">{count(mark.count)}</span><span class="num">{cut(plain(anyValue(mark.last)), 14)}</span></label></li>
        ))}</ul>
        <OtherRuns run={run} also={also} />
      </aside>
      <div class="grow">
        <div class="row wrap gap-below">
          <div class="row" role="group" aria-label="Axis">{[["time", "over time"], ["step", "by step"]].map(([key, label]) => <button aria-pressed={x === key} onClick={() => setParams({ x: key === "time" ? null : (key as string) })}>{label}</button>)}</div>
          <label class="row">smoothing <input type="range" min="0" max="0.99" step="0.01" value={smooth} aria-label="Smoothing" onInput={(event) => setParams({ smooth: event.currentTarget.value === "0" ? null : event.currentTarget.value })} /> <span class="muted">{Number(smooth).toFixed(2)}</span></label>
          <button aria-pressed={log === "1"} onClick={() => setParams({ log: log ? null : "1" })}>log axis</button>
        </div>
        {shown.length === 0 && <Empty title="No mark chosen">Choose one at the left.</Empty>}
        {shown.map((name) => <MarkChart key={name} name={name} runs={runs} x={x} smooth={Number(smooth)} isLog={log === "1"} />)}
      </div>
    </div>
  );
}

function OtherRuns({ run, also }: { run: string; also: string }) {
  const { data } = useJson<RunsAnswer>("api/runs");
  const others = (data?.runs ?? []).filter((each) => each.id !== run);
  if (others.length === 0) return null;
  const chosen = also.split(",").filter(Boolean);
  const toggle = (id: string) => setParams({ with: (chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id]).join(",") });
  return (
    <>
      <h2>Other runs</h2>
      <ul class="choices">{others.slice(0, 50).map((each) => <li><label title={plain(each.id)}><input type="checkbox" checked={chosen.includes(each.id)} onChange={() => toggle(each.id)} /><span class="grow ellipsis"><Name text={each.id} /></span></label></li>)}</ul>
    </>
  );
}

function MarkChart({ name, runs, x, smooth, isLog }: { name: string; runs: string[]; x: string; smooth: number; isLog: boolean }) {
  const [curves, setCurves] = useState<{ run: string; values: MarkValues }[]>([]);
  const version = runs.map((run) => growth.value[run]?.generation ?? 0).join();
  useEffect(() => {
    let wanted = true;
    const all = runs.map((run) => getJson<MarkValues>(runUrl(run, `marks/${encodeURIComponent(name)}`, { x, max: 2000 })).then((values) => ({ run, values }), () => null));
    void Promise.all(all).then((found) => wanted && setCurves(found.filter((each) => each !== null)));
    return () => {
      wanted = false;
    };
  }, [name, runs.join(), x, version]);
  const raw = curves.map(({ values }) => ({ x: values.x, y: isLog ? values.y.map((value) => (value !== null && value > 0 ? value : null)) : values.y }));
  const { x: axis, ys } = raw.length ? joined(raw) : { x: [], ys: [] };
  const lines = ys.map((values, at) => ({ label: runs.length > 1 ? (curves[at]?.run ?? "") : name, colour: CURVE_COLOURS[at % CURVE_COLOURS.length]!, values: smoothed(values, smooth) }));
  const xText = x === "time" ? (value: number) => duration(value) : (value: number) => count(value);
  return (
    <section class="card">
      <h2><Name text={name} /></h2>
      {axis.length === 0 ? <p class="faint">no numbers to draw</p>
        : <Chart label={`${plain(name)} ${x === "time" ? "over time" : "by step"}`} x={axis} curves={lines.map((line) => ({ ...line, label: plain(line.label) }))} height={230} isLog={isLog} xText={xText} yText={digits} sync="marks"
            onZoom={x === "time" ? (from, to) => go(viewLink("timeline", runs[0] ?? null, { t0: String(Math.round(from)), t1: String(Math.round(to)) })) : undefined} />}
    </section>
  );
}
