import { useEffect } from "preact/hooks";
import { getJson, runUrl } from "../api/client";
import type { KernelDetails, SpanDetails } from "../api/types";
import { useJson } from "../api/use";
import { bytes, count, duration } from "../shared/format";
import { Loading } from "../ui/Loading";
import { Failure } from "../ui/Notes";
import { Name, Path } from "../ui/Text";
import type { Control } from "./control";
import { instant } from "./ruler";
import { AllInstances } from "./SpanPanel";

/** Details of one piece of GPU work: where it was launched, its shape, and all others of its name. */
export function KernelPanel({ run, id, control }: { run: string; id: string; control: Control }) {
  const { data, error } = useJson<KernelDetails>(runUrl(run, `kernels/${encodeURIComponent(id)}`), run);
  useEffect(() => {
    if (!data) return;
    control.place({ ...data, track: String(data.track), kind: "kernel" });
    const { launch } = data;
    control.setArrows(launch ? [{ from: { track: String(launch.track), depth: launch.depth, at_ns: launch.at_ns }, to: { track: String(data.track), depth: data.depth, at_ns: data.start_ns } }] : []);
  }, [data, control.engine.layout.value]);
  if (error) return <Failure small error={error} />;
  if (!data) return <Loading what="the kernel" />;
  const toScope = async () => {
    if (!data.scope) return;
    const scope = await getJson<SpanDetails>(runUrl(run, `spans/${encodeURIComponent(data.scope.id)}`)).catch(() => null);
    if (scope) control.goTo({ ...scope, track: String(scope.track), kind: "span" });
  };
  const facts: [string, string | null][] = [
    ["time", duration(data.duration_ns)],
    ["start", instant(data.start_ns, data.duration_ns)],
    ["after its launch", data.launch ? duration(data.start_ns - data.launch.at_ns) : null],
    ["stream", String(data.stream)],
    ["grid", shape(data.grid)],
    ["block", shape(data.block)],
    ["registers a thread", data.registers === null || data.registers === undefined ? null : count(data.registers)],
    ["shared memory", data.shared_bytes === null || data.shared_bytes === undefined ? null : bytes(data.shared_bytes)],
    ["bytes", data.bytes === null || data.bytes === undefined ? null : bytes(data.bytes)],
  ];
  return (
    <div class="panel">
      <div class="panel-main wide">
        <h2><Name text={data.name} /></h2>
        {data.full_name && data.full_name !== data.name && <div class="faint mono clamp"><Name text={data.full_name} /></div>}
        <div class="muted">{data.scope ? <>launched in <button class="link" onClick={() => void toScope()}><Path path={data.scope.path} /></button></> : "launched outside any scope, or its launch is not known"}</div>
        <dl class="facts">{facts.map(([what, value]) => value !== null && <div><dt>{what}</dt><dd>{value}</dd></div>)}</dl>
        <div class="row wrap actions">
          <button onClick={() => control.frameSelection()}>Zoom to it</button>
          <button onClick={() => control.selectionToRange()}>As range</button>
          {data.launch && <button onClick={() => data.launch && control.engine.fit(data.launch.at_ns, data.start_ns + data.duration_ns)}>Show its launch</button>}
        </div>
      </div>
      {data.instances && <AllInstances name={data.name} alike={data.full_name && data.full_name !== data.name ? "of this full name, in its process" : "in its process"} instances={data.instances} duration_ns={data.duration_ns} isLive={control.engine.live.value} />}
    </div>
  );
}

function shape(sizes: number[] | null): string | null {
  return sizes ? sizes.map(count).join(" × ") : null;
}
