import { runUrl } from "../api/client";
import type { RangeAnswer, RangeScope } from "../api/types";
import { useJson } from "../api/use";
import { anyValue, count, digits, duration, percent, plain } from "../shared/format";
import { route, viewLink } from "../state/route";
import { ShareBar } from "../ui/Bars";
import { DataTable, type Column } from "../ui/DataTable";
import { Awaited, Loading } from "../ui/Loading";
import { Failure } from "../ui/Notes";
import { Name, Path } from "../ui/Text";
import type { Control } from "./control";
import { listed } from "./listed";
import { instant } from "./ruler";
import type { Viewport } from "./viewport";

/** Kernels that are listed: the table of scopes beside them can be searched, this one cannot. */
const KERNELS = 60;
const pathText = (path: string[] | string): string => (typeof path === "string" ? path : path.join("/"));

/** Why a scope has no CPU time, where it has none. */
function whyNoCpu({ cpu_ns, cpu_why }: RangeScope): string | null {
  return cpu_ns === null && cpu_why ? plain(cpu_why) : null;
}

/** What the selected range holds: scopes, kernels and marks, added up. */
export function RangePanel({ run, range, control }: { run: string; range: Viewport; control: Control }) {
  const filter = route.value.params.filter ?? "";
  const { data, error, isOld } = useJson<RangeAnswer>(runUrl(run, "range", { t0: Math.floor(range.t0), t1: Math.ceil(range.t1), filter }), run);
  const width = range.t1 - range.t0;
  const noCpu = [...new Set(data?.scopes.map(whyNoCpu).filter((why) => why !== null))];
  const link = { t0: String(range.t0), t1: String(range.t1) };
  const columns: Column<RangeScope>[] = [
    { key: "path", title: "scope", isName: true, value: (row) => pathText(row.path), cell: (row) => <Path path={row.path} /> },
    { key: "count", title: "count", isNumber: true, value: (row) => row.count, cell: (row) => count(row.count) },
    { key: "total_ns", title: "total", isNumber: true, value: (row) => row.total_ns, cell: (row) => <>{duration(row.total_ns)} <ShareBar share={row.total_ns / width} /></> },
    { key: "self_ns", title: "self", isNumber: true, value: (row) => row.self_ns, cell: (row) => duration(row.self_ns) },
    { key: "cpu_ns", title: "CPU", isNumber: true, value: (row) => row.cpu_ns, cell: (row) => <span title={whyNoCpu(row) ?? undefined}>{duration(row.cpu_ns)}</span> },
    { key: "gpu_ns", title: "GPU", isNumber: true, value: (row) => row.gpu_ns, cell: (row) => duration(row.gpu_ns) },
  ];
  return (
    <Awaited isOld={isOld} class="panel">
      <div class="panel-main narrow">
        <h2>Range of {duration(width)}</h2>
        <div class="muted">from {instant(range.t0, width)} to {instant(range.t1, width)}</div>
        {data && <div class="muted">GPU busy {data.gpu_busy_ns === null ? <span class="faint">not captured</span> : <>{duration(data.gpu_busy_ns)}{data.gpu_devices === 1 ? `, ${percent(data.gpu_busy_ns / width)}` : ""}</>}</div>}
        <div class="row wrap actions">
          <button onClick={() => control.engine.fit(range.t0, range.t1)}>Zoom to it</button>
          <a href={viewLink("flame", run, link)}>Flame</a> <a href={viewLink("tables", run, link)}>Tables</a>
        </div>
        {data && data.marks.length > 0 && <><h3>Marks</h3><table><tbody>{data.marks.map((mark) => <tr><td><Name text={mark.name} /></td><td class="num">{count(mark.count)}</td><td class="num muted">{typeof mark.mean === "number" ? `mean ${digits(mark.mean)}` : anyValue(mark.last)}</td></tr>)}</tbody></table></>}
      </div>
      {error && <Failure small error={error} />}
      {!data && !error && <Loading what="the range" />}
      {data && <div class="panel-part wide fill"><DataTable label="scopes in the range" columns={columns} rows={data.scopes} sort="-self_ns" empty={filter ? "No scope that fits the filter is open in this range." : "No scope is open in this range."} words={(row) => [pathText(row.path)]}>
        {data.scopes.length < (data.scopes_count ?? 0) && <span class="faint">{listed("longest", data.scopes.length, data.scopes_count)}</span>}
      </DataTable>{noCpu.length > 0 && <p class="faint">CPU –: {noCpu.join("; ")}</p>}</div>}
      {data && data.kernels.length > 0 && (
        <div class="panel-part beside">
          <h3>Kernels <span class="faint">{listed("longest", Math.min(KERNELS, data.kernels.length), data.kernels_count ?? data.kernels.length)}</span></h3>
          <table aria-label="Kernels in the range"><tbody>{data.kernels.slice(0, KERNELS).map((kernel) => <tr><td class="ellipsis"><Name text={kernel.name} /></td><td class="num">{count(kernel.count)}</td><td class="num">{duration(kernel.total_ns)}</td></tr>)}</tbody></table>
        </div>
      )}
    </Awaited>
  );
}
