import { useEffect } from "preact/hooks";
import { runUrl } from "../api/client";
import type { Placed, SpanDetails, SpanKernel } from "../api/types";
import { useJson } from "../api/use";
import { termOf, withTerm } from "../shared/filter";
import { anyValue, count, cut, duration, percent, plain } from "../shared/format";
import { tagText } from "../shared/tag";
import { route, setParams, viewLink } from "../state/route";
import { Histogram } from "../ui/Bars";
import { Loading } from "../ui/Loading";
import { Failure } from "../ui/Notes";
import { Name, Path } from "../ui/Text";
import type { Control } from "./control";
import { listed } from "./listed";
import { instant } from "./ruler";

/** Details of one scope: its times, attributes, marks, kernels and all scopes of its name. */
export function SpanPanel({ run, id, control }: { run: string; id: string; control: Control }) {
  const { data, error } = useJson<SpanDetails>(runUrl(run, `spans/${encodeURIComponent(id)}`), run);
  useEffect(() => {
    if (!data) return;
    control.place({ ...data, track: String(data.track), kind: "span" });
    control.setArrows(launches(data));
  }, [data, control.engine.layout.value]);
  if (error) return <Failure small error={error} />;
  if (!data) return <Loading what="the scope" />;
  return (
    <div class="panel">
      <div class="panel-main">
        <h2><Name text={data.name} tag={tagText(data.tag)} /></h2>
        <div class="faint"><Path path={data.path} /></div>
        <Times data={data} isLive={control.engine.live.value} />
        <div class="row wrap actions">
          <button onClick={() => control.frameSelection()}>Zoom to it</button>
          <button onClick={() => control.selectionToRange()}>As range</button>
          {data.parent && <button onClick={() => void control.walk("parent")}>Scope around it</button>}
          <a href={viewLink("flame", run, { t0: String(data.start_ns), t1: String(data.start_ns + Math.max(1, data.duration_ns)) })}>Flame of it</a>
        </div>
      </div>
      <Attributes data={data} />
      {data.kernels.length > 0 && <Kernels kernels={data.kernels} all={data.kernels_count} control={control} />}
      {data.children.length > 0 && <Inside inside={data.children} all={data.children_count} whole_ns={data.duration_ns} control={control} />}
      {data.instances && <AllInstances name={data.name} alike="on this path" instances={data.instances} duration_ns={data.duration_ns} isLive={control.engine.live.value} />}
    </div>
  );
}

function launches(data: SpanDetails) {
  return data.kernels.flatMap((kernel) =>
    kernel.launched_ns === null || kernel.track === undefined ? [] : [{
      from: { track: String(data.track), depth: data.depth, at_ns: kernel.launched_ns },
      to: { track: String(kernel.track), depth: kernel.depth ?? 0, at_ns: kernel.start_ns },
    }]);
}

function Times({ data, isLive }: { data: SpanDetails; isLive: boolean }) {
  const facts: [string, number | null, (string | null)?][] = [
    ["total", data.duration_ns], ["self", data.self_ns], ["CPU", data.cpu_ns, data.cpu_why], ["GPU", data.gpu_ns, data.gpu_why],
  ];
  return (
    <dl class="facts">
      {facts.map(([what, ns, why]) => (
        <div><dt>{what}</dt><dd>{ns === null ? <span class="faint">not captured{why && `: ${plain(why)}`}</span> : duration(ns)}{what === "total" && data.open && (isLive ? " so far" : ", open when the recording ended")}
          {what !== "total" && ns !== null && data.duration_ns > 0 && <span class="faint"> {percent(ns / data.duration_ns)}</span>}</dd></div>
      ))}
      <div><dt>start</dt><dd>{instant(data.start_ns, data.duration_ns)}</dd></div>
      {data.failed && <div><dt>ended</dt><dd class="bad">failed</dd></div>}
      <div><dt>on</dt><dd>{[data.process, data.thread].filter(Boolean).map((text) => plain(String(text))).join(" · ") || "–"}</dd></div>
    </dl>
  );
}

function Attributes({ data }: { data: SpanDetails }) {
  const { index } = data;
  const attributes = Object.entries({ ...(index === null || index === undefined ? {} : { index }), ...data.attributes });
  if (attributes.length === 0 && data.marks.length === 0) return null;
  const canFilter = attributes.some(([key, value]) => termOf(key, value) !== null);
  return (
    <div class="panel-part">
      {attributes.length > 0 && <>
        <h3>Attributes {canFilter && <span class="faint">click to filter</span>}</h3>
        <dl class="pairs">
          {attributes.map(([key, value]) => <><dt><bdi>{cut(plain(key), 80)}</bdi></dt><dd><Attribute name={key} value={value} /></dd></>)}
        </dl>
      </>}
      {data.marks.length > 0 && <>
        <h3>Marks <span class="faint">{listed("first", data.marks.length, data.marks_count)}</span></h3>
        <dl class="pairs">{data.marks.map((mark) => <><dt><bdi>{cut(plain(mark.name), 80)}</bdi></dt><dd>{cut(plain(anyValue(mark.value)), 400)}</dd></>)}</dl>
      </>}
    </div>
  );
}

/** The value of an attribute; a click filters by it where filters can say it. */
function Attribute({ name, value }: { name: string; value: unknown }) {
  const term = termOf(name, value);
  const text = <bdi>{cut(plain(anyValue(value)), 400)}</bdi>;
  const add = () => setParams({ filter: withTerm(route.value.params.filter ?? "", name, term ?? "") });
  return term === null ? text : <button class="link" title="Filter by this" onClick={add}>{text}</button>;
}

function Kernels({ kernels, all, control }: { kernels: SpanKernel[]; all: number | null | undefined; control: Control }) {
  const go = (kernel: SpanKernel) => control.goTo({ ...kernel, track: String(kernel.track), depth: kernel.depth ?? 0, kind: "kernel" });
  return (
    <div class="panel-part wide">
      <h3>Its kernels <span class="faint">{listed("first", kernels.length, all)}</span></h3>
      <table aria-label="Kernels of the scope">
        <thead><tr><th>kernel</th><th class="num">time</th><th class="num">after launch</th><th>stream</th></tr></thead>
        <tbody>
          {kernels.map((kernel) => (
            <tr class="pickable" onClick={() => go(kernel)}>
              <td class="ellipsis"><button class="link" onClick={() => go(kernel)}><Name text={kernel.name} /></button></td>
              <td class="num">{duration(kernel.duration_ns)}</td>
              <td class="num">{kernel.launched_ns === null ? "–" : duration(kernel.start_ns - kernel.launched_ns)}</td>
              <td class="long stream" title={plain(String(kernel.stream))}><span class="path"><bdi dir="ltr">{plain(String(kernel.stream))}</bdi></span></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Inside({ inside, all, whole_ns, control }: { inside: Placed[]; all: number | undefined; whole_ns: number; control: Control }) {
  return (
    <div class="panel-part">
      <h3>Inside it <span class="faint">{listed("first", inside.length, all)}</span></h3>
      <table aria-label="Scopes inside">
        <tbody>
          {inside.map((child) => (
            <tr>
              <td class="ellipsis"><button class="link" onClick={() => control.goTo({ ...child, track: String(child.track), kind: "span" })}><Name text={child.name} /></button></td>
              <td class="num">{duration(child.duration_ns)}</td><td class="num faint">{percent(whole_ns ? child.duration_ns / whole_ns : 0)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** All scopes or kernels that are `alike`, by their length. */
export function AllInstances({ name, alike, instances, duration_ns, isLive }: { name: string; alike: string; instances: NonNullable<SpanDetails["instances"]>; duration_ns: number; isLive: boolean }) {
  const { histogram, p50_ns } = instances;
  return (
    <div class="panel-part instances">
      <h3>All {count(instances.count)} of <Name text={cut(name, 40)} /> <span class="faint">{alike}</span></h3>
      {!histogram || p50_ns === null ? <p class="faint">{isLive ? "None of them has ended, so none has its length yet." : "None of them was closed, so none has a length."}</p> : <>
        <Histogram {...histogram} mark_ns={duration_ns} />
        <div class="muted">median {duration(p50_ns)} · 95 %: {duration(instances.p95_ns)} · longest {duration(instances.max_ns)}</div>
        <div class="faint">this one: {duration(duration_ns)}, {digitsTimes(duration_ns / p50_ns)} the median</div>
      </>}
    </div>
  );
}

function digitsTimes(ratio: number): string {
  return Number.isFinite(ratio) ? `${ratio.toFixed(ratio < 10 ? 2 : 0)} ×` : "–";
}
