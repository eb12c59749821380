import type { Bench, Copy, KernelRow, Report, ReportNode } from "../api/types";
import { bytes, count, duration, percent, plain } from "../shared/format";
import { tagText } from "../shared/tag";
import { route } from "../state/route";
import { readRange } from "../timeline/control";
import { ShareBar } from "../ui/Bars";
import { DataTable, type Column } from "../ui/DataTable";
import { FindLink } from "../ui/FindLink";
import { Empty, SCOPES } from "../ui/Notes";
import { Name, Path } from "../ui/Text";
import { leftOut } from "./LeftOut";

const SCOPES_SQL = "select path, count, total_ns, self_ns, mean_ns, p50_ns, p95_ns, max_ns, cpu_ns, gpu_ns\nfrom tree order by self_ns desc";
const KERNELS_SQL = "select short_name, count(*) as count, sum(duration_ns) as total_ns, avg(duration_ns) as mean_ns, max(duration_ns) as max_ns\nfrom kernels group by short_name order by total_ns desc";
const COPIES_SQL = "select kind, name as direction, count(*) as count, sum(bytes) as bytes, sum(duration_ns) as total_ns\nfrom copies group by kind, name order by total_ns desc";
const LOOPS_SQL = "select path, count(*) as iterations, avg(duration_ns) as mean_ns, durations(duration_ns)['p50_ns'] as median_ns, durations(duration_ns)['p95_ns'] as p95_ns\nfrom spans where kind = 'iteration' group by path order by path";

const time = <Row,>(key: string, title: string, of: (row: Row) => number | null | undefined, hint?: string): Column<Row> =>
  ({ key, title, hint, isNumber: true, value: of, cell: (row) => duration(of(row)) });
const number = <Row,>(key: string, title: string, of: (row: Row) => number | null | undefined, hint?: string): Column<Row> =>
  ({ key, title, hint, isNumber: true, value: of, cell: (row) => count(of(row)) });

function hasRange(): boolean {
  return readRange(route.value.params) !== null;
}

/** Whether a range or a filter leaves something out. */
function isPart(): boolean {
  return hasRange() || Boolean(route.value.params.filter);
}

/** Every path of scopes with its times. */
export function ScopeTable({ report, run }: { report: Report; run: string }) {
  const rows = report.nodes.filter((node) => node.kind !== "context");
  if (rows.length === 0 && leftOut(report)) return <Empty title="The scopes are not here">This run has scopes, and none of their paths fitted.</Empty>;
  if (rows.length === 0 && !isPart()) return <Empty title="No scope here" command={SCOPES}>This run has no scopes so far. Have hooks open them around the steps of a training in Python, or open some in the program, and each has its times here.</Empty>;
  if (rows.length === 0) return <Empty title="No scope here">No scope is in this range, or none fits the filter.</Empty>;
  const columns: Column<ReportNode>[] = [
    { key: "path", title: "scope", isName: true, value: (node) => node.path.join("/"), cell: (node) => <span class="row"><FindLink run={run} name={node.name}><Path path={node.path} /></FindLink>{tagText(node.tag) && <span class="tag">{plain(tagText(node.tag) ?? "")}</span>}{node.failed > 0 && <span class="bad">✗ {count(node.failed)}</span>}{node.open > 0 && <span class="warn">{count(node.open)} open</span>}</span> },
    number("count", "count", (node) => node.count),
    time("total_ns", "total", (node) => node.total_ns, "time inside"),
    // In a range a parent may have fewer whole scopes than are inside it: that is no share of anything.
    ...(hasRange() ? [] : [{ key: "share", title: "of parent", hint: "share of the time in the scopes around", isNumber: true, value: (node: ReportNode) => node.total_ns / (node.parent_ns || 1), cell: (node: ReportNode) => <><ShareBar share={node.total_ns / (node.parent_ns || 1)} /> <span class="pc">{percent(node.total_ns / (node.parent_ns || 1))}</span></> }]),
    time("self_ns", "self", (node) => node.self_ns, "time inside and in no child"),
    time("mean_ns", "mean", (node) => node.durations?.mean_ns),
    time("p50_ns", "p50", (node) => node.durations?.p50_ns),
    time("p95_ns", "p95", (node) => node.durations?.p95_ns),
    time("p99_ns", "p99", (node) => node.durations?.p99_ns),
    time("max_ns", "max", (node) => node.durations?.max_ns),
    time("cpu_ns", "CPU", (node) => (node.cpu && node.cpu.captured > 0 ? node.cpu.total_ns : null), "CPU time of those scopes that have it"),
    time("gpu_ns", "GPU", (node) => node.gpu?.all.busy_ns, "time in which GPU work ran that they or scopes inside launched"),
    number("kernels", "kernels", (node) => node.gpu?.all.kernels),
    time("gpu_idle_ns", "GPU idle", (node) => node.gpu?.idle_ns),
    time("overhead_ns", "overhead", (node) => node.overhead_ns, "recording work inside"),
  ];
  return <DataTable label="scopes" columns={columns} rows={rows} sort="-self_ns" sortParam="sort" words={(node) => [node.path.join("/"), tagText(node.tag)]} sql={SCOPES_SQL} />;
}

/** Kernels by name. */
export function KernelTable({ report, run }: { report: Report; run: string }) {
  const rows = report.kernels?.rows ?? [];
  if (rows.length === 0) {
    const why = report.gpu.missing.map((absence) => plain(absence.why)).join("; ");
    return <Empty title="No kernels here" command="hodo run -- python train.py">{report.gpu.captured > 0 ? "The GPU was captured, and no kernel ran here: a measured zero." : `GPU work was not captured${why ? `: ${why}` : ""}. hodo doctor says what is in the way.`}</Empty>;
  }
  const columns: Column<KernelRow>[] = [
    { key: "name", title: "kernel", isName: true, value: (row) => row.name, cell: (row) => <FindLink class="kernel-name ellipsis" title={plain(row.full_names[0] ?? row.name)} run={run} name={row.name}><Name text={row.name} /></FindLink> },
    number("count", "count", (row) => row.count),
    time("total_ns", "time", (row) => row.total_ns),
    { key: "share", title: "share", isNumber: true, value: (row) => row.share, cell: (row) => <><ShareBar share={row.share} fill="var(--c-computing)" /> <span class="pc">{percent(row.share)}</span></> },
    time("mean_ns", "mean", (row) => row.mean_ns),
    time("min_ns", "min", (row) => row.min_ns),
    time("max_ns", "max", (row) => row.max_ns),
    { key: "grid", title: "typical grid", value: (row) => row.typical?.grid.join("×") ?? null },
    { key: "block", title: "block", value: (row) => row.typical?.block.join("×") ?? null },
    number("registers", "registers", (row) => row.typical?.registers),
    { key: "shared_bytes", title: "shared", isNumber: true, value: (row) => row.typical?.shared_bytes, cell: (row) => bytes(row.typical?.shared_bytes) },
    { key: "scope", title: "mostly launched in", isLong: true, value: (row) => row.scopes[0]?.path.join("/") ?? null, cell: (row) => <Path path={row.scopes[0]?.path ?? null} /> },
  ];
  return <DataTable label="kernels" columns={columns} rows={rows} sort="-total_ns" sortParam="sort" words={(row) => [row.name, ...row.full_names, row.scopes[0]?.path.join("/") ?? null]} sql={KERNELS_SQL} />;
}

/** Copies and memory sets. */
export function CopyTable({ report }: { report: Report }) {
  const work = report.gpu.all;
  const sets = work && work.sets.count > 0 ? [{ direction: "set", ...work.sets }] : [];
  const rows: Copy[] = [...(work?.copies ?? []), ...sets];
  if (rows.length === 0) return <Empty title="No copies here">{report.gpu.captured > 0 ? "The GPU was captured, and nothing was copied here: a measured zero." : "GPU work was not captured; the Overview says why."}</Empty>;
  const columns: Column<Copy>[] = [
    { key: "direction", title: "direction", value: (row) => row.direction },
    number("count", "count", (row) => row.count),
    { key: "bytes", title: "bytes", isNumber: true, value: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
    time("total_ns", "time", (row) => row.total_ns),
    time("mean_ns", "mean", (row) => (row.count ? row.total_ns / row.count : null)),
    { key: "bytes_per_s", title: "rate", isNumber: true, value: (row) => (row.total_ns ? (row.bytes / row.total_ns) * 1e9 : null), cell: (row) => (row.total_ns ? `${bytes((row.bytes / row.total_ns) * 1e9)}/s` : "–") },
  ];
  return <DataTable label="copies" columns={columns} rows={rows} sort="-total_ns" sortParam="sort" sql={COPIES_SQL} />;
}

/** Benchmark loops, statistics of one iteration. */
export function BenchTable({ report, run }: { report: Report; run: string }) {
  const rows = report.nodes.flatMap((node) => (node.bench ? [{ ...node.bench, node }] : []));
  if (rows.length === 0 && leftOut(report)) return <Empty title="No benchmark loop here">None is among the paths that are here; one that is not here may be one.</Empty>;
  if (rows.length === 0) return <Empty title="No benchmark loops here" command={"for _ in hodo.scope(\"matmul\", repeat=100, warmup=10):\n    ..."}>A scope that repeats its body shows the statistics of one iteration here, warm-up left out.</Empty>;
  type Row = Bench & { node: ReportNode };
  const columns: Column<Row>[] = [
    { key: "path", title: "loop", isName: true, value: (row) => row.node.path.join("/"), cell: (row) => <span class="row"><FindLink run={run} name={row.node.name}><Path path={row.node.path} /></FindLink>{tagText(row.node.tag) && <span class="tag">{plain(tagText(row.node.tag) ?? "")}</span>}</span> },
    time("mean_ns", "mean", (row) => row.mean_ns),
    { key: "ci95_ns", title: "95 % interval", value: (row) => (row.ci95_ns ? row.ci95_ns[1] - row.ci95_ns[0] : null), cell: (row) => (row.ci95_ns ? `${duration(row.ci95_ns[0])} to ${duration(row.ci95_ns[1])}` : "–") },
    time("median_ns", "median", (row) => row.median_ns),
    time("min_ns", "min", (row) => row.min_ns),
    time("p95_ns", "p95", (row) => row.p95_ns),
    number("iterations", "iterations", (row) => row.iterations),
    number("warmup", "warm-up", (row) => row.warmup),
  ];
  return <DataTable label="benchmark loops" columns={columns} rows={rows} sort="path" sortParam="sort" words={(row) => [row.node.path.join("/")]} sql={LOOPS_SQL} />;
}
