import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, isMissing, postJson } from "../api/client";
import { listVersion } from "../api/live";
import type { RunsAnswer, SqlAnswer } from "../api/types";
import { useJson } from "../api/use";
import { anyValue, count, digits, plain } from "../shared/format";
import { route, setParams } from "../state/route";
import { CURVE_COLOURS, Chart } from "../ui/Chart";
import { DataTable, type Column } from "../ui/DataTable";
import { Awaited } from "../ui/Loading";
import { Empty, FIRST_RUN, Failure } from "../ui/Notes";
import { columnKeys } from "./sql-columns";

const EXAMPLES: [string, string][] = [
  ["most time of their own", "select path, count, total_ns, self_ns, p95_ns\nfrom tree order by self_ns desc limit 20"],
  ["slowest steps", "select name, index, duration_ns\nfrom steps order by duration_ns desc limit 20"],
  ["kernels by scope", "select path, kernel, count, total_ns\nfrom kernels_by_scope order by total_ns desc limit 20"],
  ["largest GPU gaps", "select device, from_ns, idle_ns, path, kernel\nfrom gpu_idle order by idle_ns desc limit 20"],
  ["a mark over time", "select at_ns, value from marks where name = 'loss' order by at_ns"],
];

/** Questions in SQL about a run or several. */
export function Sql({ run }: { run: string | null }) {
  const runs = useJson<RunsAnswer>("api/runs");
  // Stays the one that was the newest when the view was opened: a run that comes later does not take its place under the rows.
  const newest = useRef<string | null>(null);
  newest.current ??= runs.data?.runs[0]?.id ?? null;
  const chosen = run ?? route.value.params.run ?? newest.current;
  const [text, setText] = useState(route.value.params.query ?? EXAMPLES[0]![1]);
  const [answer, setAnswer] = useState<SqlAnswer | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isAsking, setAsking] = useState(false);
  const request = useRef<AbortController | undefined>(undefined);
  /** The question that was asked last, and of which run. */
  const asked = useRef<string | null>(null);
  /** The list of runs as it was then. */
  const askedAt = useRef(-1);
  const linked = route.value.params.query;
  useEffect(() => () => request.current?.abort(), []);
  const ask = (query: string) => {
    setText(query);
    pose(query);
  };
  const pose = (query: string) => {
    if (!chosen) return;
    request.current?.abort();
    request.current = new AbortController();
    asked.current = `${chosen} ${query}`;
    askedAt.current = listVersion.peek();
    const { signal } = request.current;
    setParams({ query });
    setAsking(true);
    setError((old) => (isMissing(old) ? old : null));
    postJson<SqlAnswer>("api/sql", { query, runs: [chosen] }, signal).then(
      (found) => { setAnswer(found); setError(null); setAsking(false); },
      (failure: Error) => { if (!signal.aborted) { setError(failure); setAnswer(null); setAsking(false); } },
    );
  };
  // A link with a question is answered as it is opened, also where the view is open already.
  useEffect(() => {
    if (linked && asked.current !== `${chosen} ${linked}`) ask(linked);
  }, [chosen, linked]);
  // What is typed meanwhile stays as it is, and a question that is under way is answered first: some run may tell of itself every second.
  useEffect(() => {
    if (linked && isMissing(error) && !isAsking && askedAt.current !== listVersion.value) pose(linked);
  }, [listVersion.value, isAsking, error]);
  return (
    <div class="page sql">
      <div class="row wrap gap-below">
        <label class="row">run <select value={chosen ?? ""} onChange={(event) => { location.hash = `#/sql/${encodeURIComponent(event.currentTarget.value)}?query=${encodeURIComponent(text)}`; }}>{(runs.data?.runs ?? []).map((each) => <option value={each.id}>{plain(each.id)}</option>)}</select></label>
        {EXAMPLES.map(([label, query]) => <button class="plain" onClick={() => ask(query)}>{label}</button>)}
      </div>
      {runs.data?.runs.length === 0 && <Empty title="No run to ask about yet" command={FIRST_RUN}>Record one, and questions about it are answered here.</Empty>}
      <textarea aria-label="SQL" spellcheck={false} rows={7} value={text} onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); ask(text); } event.stopPropagation(); }} />
      <div class="row gap-below">
        <button class="primary" disabled={isAsking || !chosen} onClick={() => ask(text)}>{isAsking ? "Asking …" : "Ask"}</button><kbd>Ctrl</kbd><kbd>Enter</kbd>
        <span class="faint">tables: spans, marks, attrs, kernels, copies, samples, processes, health · views: tree, steps, slowest, kernels_by_scope, gpu_idle</span>
      </div>
      {error && (error instanceof ApiError && error.status === 501
        ? <Empty title="SQL is not installed" command="make install-sql">{error.message}</Empty> : <Failure error={error} />)}
      {answer && <Awaited isOld={isAsking}><Result answer={answer} /></Awaited>}
    </div>
  );
}

function Result({ answer }: { answer: SqlAnswer }) {
  const keys = columnKeys(answer.columns.map(({ name }) => name));
  const columns: Column<unknown[]>[] = answer.columns.map(({ name, type }, at) => {
    const isNumber = answer.rows.some((row) => typeof row[at] === "number");
    return { key: keys[at]!, title: plain(name), hint: type, isNumber, value: (row) => (typeof row[at] === "number" ? row[at] : row[at] === null || row[at] === undefined ? null : String(row[at])), cell: (row) => <bdi>{plain(anyValue(row[at])).slice(0, 400)}</bdi> };
  });
  return (
    <>
      <SqlChart answer={answer} />
      <DataTable label="rows" columns={columns} rows={answer.rows} sort="" words={(row) => row.map((value) => (value === null ? null : String(value)))}>
        <span class="faint">{count(Math.round(answer.took_ms))} ms{answer.cut && <b class="warn"> · cut: add a limit, or ask for less</b>}</span>
      </DataTable>
    </>
  );
}

/** Rows whose first column is a rising number are drawn as curves over it. */
function SqlChart({ answer }: { answer: SqlAnswer }) {
  const { rows, columns } = answer;
  const isNumber = (at: number) => rows.length > 2 && rows.every((row) => row[at] === null || typeof row[at] === "number");
  const ys = columns.map((_, at) => at).filter((at) => at > 0 && isNumber(at)).slice(0, 6);
  const x = rows.map((row) => row[0] as number);
  const rises = isNumber(0) && x.every((value, at) => at === 0 || value > (x[at - 1] as number));
  if (!rises || ys.length === 0) return null;
  const curves = ys.map((at, which) => ({ label: plain(columns[at]?.name ?? ""), colour: CURVE_COLOURS[which]!, values: rows.map((row) => row[at] as number | null) }));
  return <section class="card"><Chart label="Chart of the rows" x={x} curves={curves} height={220} xText={digits} yText={digits} /></section>;
}
