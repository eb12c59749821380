import { runUrl } from "../api/client";
import type { Report } from "../api/types";
import { useJson } from "../api/use";
import { route, setParams } from "../state/route";
import { Awaited, Loading } from "../ui/Loading";
import { Failure } from "../ui/Notes";
import { readRange } from "../timeline/control";
import { LeftOut } from "./LeftOut";
import { RangeNote } from "./RangeNote";
import { BenchTable, CopyTable, KernelTable, ScopeTable } from "./tables-of";

const TABLES: [string, string][] = [["scopes", "Scopes"], ["kernels", "Kernels"], ["copies", "Copies"], ["loops", "Benchmark loops"]];

/** The numbers of a run as tables: scopes, kernels, copies, benchmark loops. */
export function Tables({ run }: { run: string }) {
  const { t0, t1, filter } = route.value.params;
  const table = TABLES.find(([key]) => key === route.value.params.table)?.[0] ?? "scopes";
  const { data, error, isOld } = useJson<Report>(runUrl(run, "report", { t0, t1, filter }), run);
  return (
    <div class="page filled">
      <div class="row wrap gap-below">
        <div class="row" role="group" aria-label="Tables">{TABLES.map(([key, label]) => <button aria-pressed={table === key} onClick={() => setParams({ table: key === "scopes" ? null : key, sort: null })}>{label}</button>)}</div>
        <RangeNote run={run} />
      </div>
      {readRange(route.value.params) && <p class="note small">Whole scopes that were open in the range, and the kernels and copies that they launched: not cut to it. The panel of the range on the timeline and Flame are cut to it, and have less.</p>}
      {error && <Failure error={error} />}
      {!data && !error && <Loading what="the tables" runs={[run]} />}
      {data && <Awaited isOld={isOld} class="filling">
        <LeftOut report={data} />
        {table === "scopes" && <ScopeTable report={data} run={run} />}
        {table === "kernels" && <KernelTable report={data} run={run} />}
        {table === "copies" && <CopyTable report={data} />}
        {table === "loops" && <BenchTable report={data} run={run} />}
      </Awaited>}
    </div>
  );
}
