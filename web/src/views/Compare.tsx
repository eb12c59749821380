import { useState } from "preact/hooks";
import { ApiError, runUrl } from "../api/client";
import type { ComparedKernel, ComparedScope, Comparison, Explanation, RunsAnswer } from "../api/types";
import { useJson } from "../api/use";
import { change, count, duration, many, percent, plain, wideChange } from "../shared/format";
import { formatRoute, go, route, setParams, viewLink } from "../state/route";
import { DataTable, type Column } from "../ui/DataTable";
import { Loading } from "../ui/Loading";
import { Empty, Failure } from "../ui/Notes";
import { Name, Path } from "../ui/Text";
import { CompareMarks } from "./CompareMarks";

const JUDGED: Record<string, [string, string]> = {
  slower: ["slower", "bad"], faster: ["faster", "good"], slower_at_times: ["slower at times", "bad"], faster_at_times: ["faster at times", "good"],
  same: ["no change", "muted"], not_enough_data: ["not enough data", "faint"], not_judged: ["not judged", "faint"], appeared: ["new", "warn"], vanished: ["gone", "warn"],
};

/** Two runs side by side: what changed, how sure that is, what explains it. */
export function Compare({ base, head }: { base: string | null; head: string | null }) {
  const isForced = route.value.params.force === "1";
  const both = base && head ? runUrl(base, `compare/${encodeURIComponent(head)}`, { force: isForced ? "true" : null }) : null;
  const { data, error, loading } = useJson<Comparison>(both, ...(base && head ? [base, head] : []));
  return (
    <div class="page">
      <Choice base={base} head={head} />
      {!both && <Empty title="Choose two runs">Of one program before and after a change, on one machine: the first is what the second is compared with.</Empty>}
      {error && (error instanceof ApiError && error.status === 409
        ? <Empty title="These two are not comparable">
            {plain(error.message)}{isForced ? "" : <> <button onClick={() => setParams({ force: "1" }, true)}>Compare all the same</button></>}
          </Empty>
        : <Failure error={error} />)}
      {both && loading && !data && !error && <Loading what="both runs" runs={[base, head]} />}
      {data && base && head && <Result data={data} base={base} head={head} />}
    </div>
  );
}

function Choice({ base, head }: { base: string | null; head: string | null }) {
  const { data } = useJson<RunsAnswer>("api/runs");
  const pick = (run: string | null, other: string | null) => go(formatRoute({ view: "compare", run: run || null, other: other || null, params: {} }));
  const select = (label: string, value: string | null, set: (id: string) => void) => (
    <label class="row">{label} <select value={value ?? ""} onChange={(event) => set(event.currentTarget.value)}>
      <option value="">choose a run</option>
      {(data?.runs ?? []).map((run) => <option value={run.id}>{plain(run.id)} · {duration(run.duration_ns)}</option>)}
    </select></label>
  );
  return (
    <div class="row wrap gap-below">
      {select("before", base, (id) => pick(id, head))}
      <button class="plain" aria-label="Swap the two" title="Swap" disabled={!base || !head} onClick={() => pick(head, base)}>⇄</button>
      {select("after", head, (id) => pick(base, id))}
    </div>
  );
}

function Result({ data, base, head }: { data: Comparison; base: string; head: string }) {
  const { part = "scopes" } = route.value.params;
  const parts: [string, string][] = [["scopes", "Scopes"], ["kernels", "Kernels"], ["marks", "Marks"]];
  return (
    <>
      {data.obstacles.length > 0 && <p class="note small warn">Not comparable, and compared all the same: {data.obstacles.map((obstacle) => plain(obstacle.why)).join("; ")}</p>}
      {(data.notes ?? []).map((note) => <p class="note small">{plain(note)}</p>)}
      <section class="card">
        <h2>What changed <span class="faint">{count(data.judged ?? 0)} scopes judged, {percent(data.confidence)} sure of all intervals at once</span></h2>
        {(data.explanations ?? []).length === 0 && <p class="muted">No outermost scope is in both.</p>}
        {(data.explanations ?? []).map((each) => <Explained each={each} />)}
      </section>
      <div class="row gap-below"><div class="row" role="group" aria-label="Parts">{parts.map(([key, label]) => <button aria-pressed={part === key} onClick={() => setParams({ part: key === "scopes" ? null : key, sort: null })}>{label}</button>)}</div>
        <span class="grow" /><a href={viewLink("timeline", base)}>timeline before</a><a href={viewLink("timeline", head)}>timeline after</a></div>
      {part === "scopes" && <ScopeDiff scopes={data.scopes ?? []} />}
      {part === "scopes" && <p class="faint">change and interval are of a typical instance, one of the middle half; means are of all, so that a few long ones move them alone</p>}
      {part === "kernels" && <KernelDiff kernels={data.kernels ?? null} />}
      {part === "marks" && <CompareMarks base={base} head={head} />}
    </>
  );
}

function Judgement({ of }: { of: string }) {
  const [word, tone] = JUDGED[of] ?? [of, "muted"];
  return <span class={tone}>{word}</span>;
}

function Explained({ each }: { each: Explanation }) {
  const [isOpen, setOpen] = useState(false);
  const parts = isOpen ? each.parts : each.parts.slice(0, 4);
  return (
    <div class="explained">
      <div class="row"><b><Path path={each.path} /></b><Judgement of={each.judgement} /><span>{each.difference_ns > 0 ? "+" : ""}{duration(each.difference_ns)} {each.of === "typical" ? "a typical one" : "in the mean"} ({change(each.ratio)})</span>{each.parallel && <span class="muted" title="Own times of scopes inside, added over threads that ran at the same time">parts: own times, over all threads {each.parts_ns > 0 ? "+" : ""}{duration(each.parts_ns)}</span>}</div>
      {parts.map((part) => <div class={"row part" + (part.real ? "" : " faint")}><span class="num wide-num">{part.difference_ns > 0 ? "+" : ""}{duration(part.difference_ns)}</span><Path path={part.path} />{!part.real && <span>may be noise</span>}{part.by_count_ns !== 0 && <span class="muted">of it {duration(part.by_count_ns)} by being opened more or less often</span>}</div>)}
      {each.parts.length > 4 && <button class="link" onClick={() => setOpen(!isOpen)}>{isOpen ? "fewer" : many(each.parts.length - 4, "more part")}</button>}
    </div>
  );
}

/** A bar from the middle: left is faster, right is slower. */
function ChangeBar({ ratio, low, high }: { ratio: number; low: number; high: number }) {
  const at = (value: number) => 50 + Math.max(-1, Math.min(1, value)) * 48;
  return (
    <span class="change-bar" aria-hidden="true">
      <span class="interval" style={{ left: `${at(low)}%`, width: `${Math.max(1, at(high) - at(low))}%` }} />
      <span class={"point " + (low > 0 ? "bad" : high < 0 ? "good" : "")} style={{ left: `${at(ratio)}%` }} />
    </span>
  );
}

function ScopeDiff({ scopes }: { scopes: ComparedScope[] }) {
  const columns: Column<ComparedScope>[] = [
    { key: "path", title: "scope", isName: true, value: (row) => row.path.join("/"), cell: (row, isAsGiven) => isAsGiven ? <span class="tree-cell" style={{ paddingLeft: `${(row.path.length - 1) * 14}px` }}><Name text={row.path[row.path.length - 1] ?? ""} /></span> : <Path path={row.path} /> },
    { key: "judgement", title: "judgement", value: (row) => row.judgement, cell: (row) => <Judgement of={row.judgement} /> },
    { key: "before", title: "mean before", isNumber: true, value: (row) => row.base?.mean_ns, cell: (row) => duration(row.base?.mean_ns) },
    { key: "after", title: "mean after", isNumber: true, value: (row) => row.head?.mean_ns, cell: (row) => duration(row.head?.mean_ns) },
    { key: "change", title: "change, typical", isNumber: true, value: (row) => row.change?.ratio, cell: (row) => change(row.change?.ratio) },
    { key: "interval", title: "interval", value: (row) => (row.change ? row.change.high - row.change.low : null), cell: (row) => row.change && <span class="row"><ChangeBar {...row.change} /><span class="faint">{wideChange(row.change.low)} to {wideChange(row.change.high)}</span></span> },
    { key: "total_before", title: "total before", isNumber: true, value: (row) => row.base?.total_ns, cell: (row) => duration(row.base?.total_ns) },
    { key: "total_after", title: "total after", isNumber: true, value: (row) => row.head?.total_ns, cell: (row) => duration(row.head?.total_ns) },
    { key: "count_before", title: "count before", isNumber: true, value: (row) => row.base?.count, cell: (row) => count(row.base?.count) },
    { key: "count_after", title: "count after", isNumber: true, value: (row) => row.head?.count, cell: (row) => count(row.head?.count) },
    { key: "share", title: "of run", hint: "total before, as a share of the time of the outermost scopes; threads side by side add up to more than all of it", isNumber: true, value: (row) => row.share, cell: (row) => percent(row.share) },
  ];
  return <DataTable label="compared scopes" columns={columns} rows={scopes} sort="" sortParam="sort" words={(row) => [row.path.join("/"), row.judgement]} />;
}

function KernelDiff({ kernels }: { kernels: ComparedKernel[] | null }) {
  if (kernels === null) return <Empty title="Kernels cannot be compared">The GPU was not captured in both runs.</Empty>;
  const columns: Column<ComparedKernel>[] = [
    { key: "name", title: "kernel", isName: true, value: (row) => row.name, cell: (row) => <span class="kernel-name ellipsis" title={plain(row.name)}><Name text={row.name} /></span> },
    { key: "judgement", title: "judgement", value: (row) => row.judgement, cell: (row) => <Judgement of={row.judgement} /> },
    { key: "before", title: "mean before", isNumber: true, value: (row) => row.base?.mean_ns, cell: (row) => duration(row.base?.mean_ns) },
    { key: "after", title: "mean after", isNumber: true, value: (row) => row.head?.mean_ns, cell: (row) => duration(row.head?.mean_ns) },
    { key: "change", title: "change", isNumber: true, value: (row) => row.change?.ratio, cell: (row) => change(row.change?.ratio) },
    { key: "total_before", title: "total before", isNumber: true, value: (row) => row.base?.total_ns, cell: (row) => duration(row.base?.total_ns) },
    { key: "total_after", title: "total after", isNumber: true, value: (row) => row.head?.total_ns, cell: (row) => duration(row.head?.total_ns) },
    { key: "count_before", title: "count before", isNumber: true, value: (row) => row.base?.count, cell: (row) => count(row.base?.count) },
    { key: "count_after", title: "count after", isNumber: true, value: (row) => row.head?.count, cell: (row) => count(row.head?.count) },
  ];
  return <DataTable label="compared kernels" columns={columns} rows={kernels} sort="" sortParam="sort" words={(row) => [row.name, row.judgement]} />;
}
