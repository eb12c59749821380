import { useEffect } from "preact/hooks";
import { query } from "../api/client";
import { isShareFile } from "../api/inline";
import { listChanged } from "../api/live";
import type { ListedRun, RunsAnswer } from "../api/types";
import { useJson } from "../api/use";
import { bytes, count, cut, duration, moment, plain } from "../shared/format";
import { formatList, formatRoute, go, readList, route, setParams, viewLink } from "../state/route";
import { Sparkline } from "../ui/Bars";
import { DataTable, type Column } from "../ui/DataTable";
import { Awaited, Loading } from "../ui/Loading";
import { Empty, FIRST_RUN, Failure } from "../ui/Notes";
import { Name } from "../ui/Text";
import { byStart, isWanted, rankText } from "./runs-wanted";

/** What a filter of the list can ask of a run. */
const RUN_FIELDS = "app, id, host, command, cwd, git_revision, imported, state, rank, world_size, processes, scopes, gpu_work, duration_ns, bytes, lost and open";

/** All runs of the folder: find one, or choose two to compare. */
export function Runs() {
  const filter = route.value.params.filter ?? "";
  const { data, error, loading, isOld } = useJson<RunsAnswer>("api/runs" + query({ filter }));
  useRest(isOld ? null : data);
  if (error) return <div class="page"><Failure error={error} /></div>;
  if (!data) return loading ? <Loading what="the runs" /> : null;
  if (data.runs.length === 0 && filter) return <div class="page"><Empty title="No run fits the filter">Clear the filter above, or ask for less: conditions are joined by blanks, and all of them must hold. Runs have {RUN_FIELDS}; attributes of scopes filter the views of a run.</Empty></div>;
  if (data.runs.length === 0) {
    return <div class="page"><Empty title="No runs here yet" command={FIRST_RUN}>Record one, and it appears here by itself: a demo that needs nothing, or your own training in Python with no change to it. Without --hooks, hodo run records NVTX ranges, the GPU and the scopes that a program opens itself.</Empty></div>;
  }
  return <Awaited isOld={isOld} class="page filled runs"><RunTable runs={data.runs.filter((run) => isWanted(run, route.value.params))} all={data.runs} /></Awaited>;
}

const REST_MS = 500;

/** Asks on while there are runs that the next list tells more of: the server reads for a moment only, but one run at the least. */
function useRest(list: RunsAnswer | null): void {
  useEffect(() => {
    if (!list?.unread) return;
    const timer = setTimeout(listChanged, REST_MS);
    return () => clearTimeout(timer);
  }, [list]);
}

/** Pieces of GPU work; none where no GPU was captured. */
function gpuWork(run: ListedRun): number | null {
  return run.gpu_work || run.gpu?.length ? run.gpu_work : null;
}

function chosen(): string[] {
  return readList(route.value.params.pick);
}

function toggle(id: string): void {
  const ids = chosen();
  const next = ids.includes(id) ? ids.filter((other) => other !== id) : [...ids, id].slice(-2);
  setParams({ pick: formatList(next) });
}

function RunTable({ runs, all }: { runs: ListedRun[]; all: ListedRun[] }) {
  const picked = chosen();
  // A filter may hide one that was chosen before.
  const isHidden = picked.some((id) => !all.some((run) => run.id === id));
  const unfiltered = useJson<RunsAnswer>(isHidden ? "api/runs" : null).data?.runs;
  const known = isHidden ? unfiltered : all;
  const open = (run: ListedRun) => go(viewLink("overview", run.id));
  const hasRanks = runs.some((run) => run.ranks.length > 0);
  const columns: Column<ListedRun>[] = [
    { key: "pick", title: "", value: () => null, cell: (run) => <input type="checkbox" aria-label={`Choose ${plain(run.id)} to compare`} checked={picked.includes(run.id)} onClick={(event) => { event.stopPropagation(); toggle(run.id); }} /> },
    { key: "app", title: "program", isName: true, value: (run) => run.app, cell: (run) => <a href={viewLink("overview", run.id)} title={cut(plain(String(run.attributes?.command ?? "")), 400)} onClick={(event) => event.stopPropagation()}><b><Name text={run.app || "(no name)"} /></b></a> },
    { key: "id", title: "run", isLong: true, value: (run) => run.id, cell: (run) => <span class="path mono muted"><Name text={run.id} /></span> },
    { key: "start_unix_ns", title: "when (UTC)", isNumber: true, value: (run) => run.start_unix_ns, cell: (run) => moment(run.start_unix_ns) },
    { key: "duration_ns", title: "duration", isNumber: true, value: (run) => run.duration_ns, cell: (run) => duration(run.duration_ns) },
    { key: "state", title: "state", value: (run) => run.state, cell: (run) => <State state={run.state} readings={run.duration_ns ? "readings only" : null} /> },
    { key: "scopes", title: "scopes", isNumber: true, value: (run) => run.scopes, cell: (run) => count(run.scopes) },
    { key: "gpu_work", title: "GPU work", hint: "kernels, copies and sets", isNumber: true, value: gpuWork, cell: (run) => count(gpuWork(run)) },
    { key: "lost", title: "lost", isNumber: true, value: (run) => run.lost, cell: (run) => <span class={run.lost ? "bad" : ""}>{count(run.lost)}</span> },
    { key: "main_mark", title: "main mark", isLong: true, value: (run) => run.main_mark?.name ?? null, cell: (run) => run.main_mark ? <span class="row"><Sparkline values={run.main_mark.values} label={`${plain(run.main_mark.name)} over the run`} /><span class="faint"><Name text={run.main_mark.name} /></span></span> : <span class="faint" title={run.main_mark_why ?? undefined}>{run.main_mark_why ? "not read" : "–"}</span> },
    ...(hasRanks ? [{ key: "ranks", title: "ranks", isNumber: true, value: (run: ListedRun) => rankText(run.ranks) }] : []),
    { key: "processes", title: "processes", isNumber: true, value: (run) => run.processes, cell: (run) => count(run.processes) },
    { key: "gpu", title: "GPU", isLong: true, value: (run) => run.gpu?.join(" ") ?? null, cell: (run) => <span class="muted">{run.gpu?.length ? cut(plain(run.gpu.join(", ")), 40) : "–"}</span> },
    { key: "attributes", title: "attributes", value: (run) => (run.attributes ? JSON.stringify(run.attributes) : null), cell: (run) => <Attributes of={run.attributes} /> },
  ];
  return (
    <DataTable label="runs" columns={columns} rows={runs} sort="-start_unix_ns" sortParam="sort" onPick={open} isPicked={(run) => picked.includes(run.id)}
      words={(run) => [run.app, run.id, run.path, run.state, run.gpu?.join(" ") ?? null, run.attributes ? JSON.stringify(run.attributes) : null]}>
      <WhenAndRank runs={all} />
      {!isShareFile() && <CompareButton picked={known ? byStart(picked, known) : []} />}
      <span class="faint">{bytes(runs.reduce((sum, run) => sum + (run.bytes ?? 0), 0))} on disk</span>
    </DataTable>
  );
}

/** Narrows the list to days, in UTC as the list shows them, and to a rank. */
function WhenAndRank({ runs }: { runs: ListedRun[] }) {
  const { from = "", to = "", rank = "" } = route.value.params;
  const ranks = [...new Set(runs.flatMap((run) => run.ranks))].sort((a, b) => a - b);
  const day = (key: "from" | "to", value: string, label: string) => (
    <label class="row muted">{key} <input type="date" value={value} aria-label={label} onInput={(event) => setParams({ [key]: event.currentTarget.value })} /></label>
  );
  return (
    <>
      {day("from", from, "Runs from this day on (UTC)")}
      {day("to", to, "Runs up to this day (UTC)")}
      {(ranks.length > 0 || rank) && (
        <label class="row muted">rank <select aria-label="Runs of one rank" value={rank} onChange={(event) => setParams({ rank: event.currentTarget.value })}>
          <option value="">all</option>
          {ranks.map((each) => <option value={String(each)}>{count(each)}</option>)}
        </select></label>
      )}
      {(from || to || rank) && <button class="plain" onClick={() => setParams({ from: null, to: null, rank: null })}>All {count(runs.length)} runs</button>}
    </>
  );
}

function CompareButton({ picked }: { picked: string[] }) {
  const [base, head] = picked;
  const ready = base !== undefined && head !== undefined;
  return <button class={ready ? "primary" : ""} disabled={!ready} onClick={() => ready && go(formatRoute({ view: "compare", run: base, other: head, params: {} }))}>{ready ? "Compare the two" : "Choose two to compare"}</button>;
}

/** Attributes that are too long for a list; the box above the table finds them all the same. */
const LONG_ATTRIBUTES = ["command", "cwd", "imported"];
const MOST_SIGNS = 40;
/** As many of a revision as tell it from others, after its name. */
const REVISION_SIGNS = "git_revision=".length + 13;

function Attributes({ of }: { of: Record<string, unknown> | null }) {
  const all = Object.entries({ host: null, ...of }).filter(([key, value]) => !LONG_ATTRIBUTES.includes(key) && value !== null && value !== "");
  const pairs = all.map(([key, value]) => [`${key}=${String(value)}`, key === "git_revision" ? REVISION_SIGNS : MOST_SIGNS] as const);
  if (pairs.length === 0) return <span class="faint">–</span>;
  return <span class="ellipsis">{pairs.slice(0, 4).map(([text, most]) => <><span class="tag" title={plain(text)}>{cut(plain(text), most)}</span> </>)}</span>;
}

/** How a run ended, or that it has not; one without a process may have readings of machines, and says so in these words. */
export function State({ state, readings }: { state: string | null; readings: string | null }) {
  if (state === "live") return <span class="live-dot">live</span>;
  const tone = state === "finished" || (state === null && readings) ? "muted" : "warn";
  const words: Record<string, string> = { ended: "ended without shutdown", unknown: "state unknown" };
  return <span class={tone}>{state === null ? (readings ?? "nothing recorded yet") : (words[state] ?? state)}</span>;
}
