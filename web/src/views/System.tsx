import { useMemo, useRef } from "preact/hooks";
import { runUrl } from "../api/client";
import type { SeriesName, SeriesValues } from "../api/types";
import { useJson } from "../api/use";
import { hasWords } from "../shared/filter";
import { duration, inUnit, plain } from "../shared/format";
import { go, route, setParams, viewLink } from "../state/route";
import { CURVE_COLOURS, Chart } from "../ui/Chart";
import { Awaited, Loading } from "../ui/Loading";
import { Empty, Failure } from "../ui/Notes";
import { Name } from "../ui/Text";
import { SHARED_POINTS } from "../timeline/series";
import { useExtent, withAll } from "./extent";
import { inRange } from "./in-range";
import { RangeNote } from "./RangeNote";

/** Room of a card: groups of few stand beside each other. */
const CARD_PX = 412;
/** Series shown before others are asked for. */
const FIRST_SHOWN = 8;

/** What the machine did during the run: GPUs, processors, memory, power. */
export function System({ run }: { run: string }) {
  const { data, error } = useJson<SeriesName[] | { series: SeriesName[] }>(runUrl(run, "series"), run);
  if (error) return <div class="page"><Failure error={error} /></div>;
  if (!data) return <Loading what="the series" runs={[run]} />;
  const series = Array.isArray(data) ? data : data.series;
  if (series.length === 0) {
    return <div class="page"><Empty title="The machine was not sampled" command={"HODO_TELEMETRY=1s python train.py\nhodo monitor"}>Nobody read its GPUs, processors and memory while this run was recorded. Either of these does, for the next run.</Empty></div>;
  }
  return <SeriesPage run={run} series={series} />;
}

/** What a series is called where its source is known. */
export function seriesTitle(series: SeriesName): string {
  return series.metric ?? series.name ?? series.id;
}

/** Where a series was read. */
export function seriesSource(series: SeriesName): string {
  return [series.host, series.device ?? series.source].filter(Boolean).join(" · ") || "machine";
}

/** Whether a series says how large something is, not what goes on: shown last. */
function isConstant(series: SeriesName): boolean {
  return /(total|limit|cores|max)$/.test(seriesTitle(series));
}

function SeriesPage({ run, series }: { run: string; series: SeriesName[] }) {
  const { find = "", all } = route.value.params;
  const extent = useExtent([run]);
  const ordered = [...series].sort((a, b) => Number(isConstant(a)) - Number(isConstant(b)));
  const found = find ? ordered.filter((each) => hasWords(find, [seriesTitle(each), seriesSource(each), each.unit])) : ordered;
  const most = find || all ? found.length : FIRST_SHOWN * 2;
  const groups = new Map<string, SeriesName[]>();
  for (const each of found.slice(0, most)) {
    const source = seriesSource(each);
    groups.set(source, [...(groups.get(source) ?? []), each]);
  }
  return (
    <div class="page">
      <div class="row wrap gap-below">
        <input type="search" value={find} size={26} placeholder="Find a series: gpu power" aria-label="Find a series" onInput={(event) => setParams({ find: event.currentTarget.value })} />
        <span class="muted">{Math.min(most, found.length)} of {series.length} series</span>
        {found.length > most && <button onClick={() => setParams({ all: "1" })}>Show all</button>}
        <RangeNote run={run} />
        <span class="grow" />
        <span class="faint">drag over a chart to see that range on the timeline</span>
      </div>
      <div class="groups">{[...groups].map(([source, members]) => (
        <section style={{ width: `min(100%, ${members.length * CARD_PX}px)` }}>
          <h2 class="group-title"><Name text={source} /></h2>
          <div class="tiles">{members.map((each, at) => <SeriesCard key={each.id} run={run} series={each} extent={extent} colour={CURVE_COLOURS[at % CURVE_COLOURS.length]!} />)}</div>
        </section>
      ))}</div>
    </div>
  );
}

function SeriesCard({ run, series, extent, colour }: { run: string; series: SeriesName; extent: [number, number] | null; colour: string }) {
  const { t0, t1 } = route.value.params;
  const { data: values, error, isOld } = useJson<SeriesValues>(runUrl(run, `series/${encodeURIComponent(series.id)}`, { t0, t1, max: SHARED_POINTS }), run);
  const known = values?.mean.filter((value): value is number => value !== null) ?? [];
  const asked: [number, number] | undefined = t0 !== undefined && t1 !== undefined ? [Number(t0), Number(t1)] : undefined;
  // Values of an earlier range stay under that range until the others are there.
  const shown = useRef(asked);
  if (!isOld) shown.current = asked;
  const range = shown.current;
  const label = plain(seriesTitle(series));
  const curves = useMemo(() => (values ? [{ label, colour, values: values.mean, low: values.min, high: values.max }] : []), [values, label, colour]);
  const { last, wasRead } = inRange(values ?? { t_ns: [], mean: [] }, ...(range ?? []));
  return (
    <Awaited isOld={isOld} class="card series">
      <h2><Name text={seriesTitle(series)} /> <span class="aside" title={wasRead ? undefined : "nothing was read in this range; this is the last before it"}>{last === null ? "" : `${wasRead ? "" : "before it "}${inUnit(last, series.unit)}`}</span></h2>
      {error && <Failure small error={error} />}
      {values && !isOld && last === null && <p class="faint">not captured in this range</p>}
      {values && last !== null && (
        <Chart label={`${label} of ${plain(seriesSource(series))}`} x={values.t_ns} height={120} legend={false} sync={`system-${run}`} range={range ?? (extent && withAll(extent, values.t_ns)) ?? undefined} xText={duration} isTime yText={(value) => inUnit(value, series.unit)} isBytes={series.unit.startsWith("By")}
          curves={curves} yRange={series.unit === "1" ? [0, Math.max(1, ...known, ...values.max.map((value) => value ?? 0))] : undefined}
          onZoom={(from, to) => go(viewLink("timeline", run, { t0: String(Math.round(from)), t1: String(Math.round(to)) }))} />
      )}
    </Awaited>
  );
}
