import uPlot from "uplot";
import { useEffect, useRef } from "preact/hooks";
import { theme } from "../state/theme";
import { apart, byteTexts, BYTE_STEPS, logLines, TIME_STEPS, unitOf, WHOLE_STEPS } from "./axis";

/** A value, a gap (`null`), or nothing at a place of the axis that only another curve has. */
export type Point = number | null | undefined;

/** What a curve has at each place, also where a log axis has no place for it. */
export interface Known { values: Point[]; low: Point[]; high: Point[] }

export interface Curve { label: string; colour: string; values: Point[]; dash?: number[]; low?: Point[]; high?: Point[]; known?: Known }

interface Props {
  x: number[];
  /** Drawn anew whenever the array is another, so it is the same one as long as its values are. */
  curves: Curve[];
  height: number;
  xText: (value: number) => string;
  yText: (value: number) => string;
  isLog?: boolean;
  /** Charts with the same key share their pointer. */
  sync?: string;
  label: string;
  /** Called with the stretch that was dragged over. */
  onZoom?: (from: number, to: number) => void;
  range?: [number, number];
  legend?: boolean;
  yRange?: [number, number];
  /** Whether the axis below is of nanoseconds: it steps by round times then. */
  isTime?: boolean;
  /** Whether the axis below counts: it steps by whole numbers then. */
  isCount?: boolean;
  /** Whether the values are bytes: the axis steps by powers of two then. */
  isBytes?: boolean;
}

/** Curves of fewer points show each of them. */
const FEW_POINTS = 40;

/** Colours for curves, told apart by colour-blind eyes. */
export const CURVE_COLOURS = ["#4f94e0", "#d9923c", "#3fa583", "#cf6f86", "#9a83d0", "#a89640", "#3fa3b5", "#8a98a8"];

/** A chart of curves over a common axis. */
export function Chart(props: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const unit = useRef(1);
  const shape = props.curves.map((curve) => curve.label + curve.colour + (curve.low ? "b" : "")).join("|");
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const made = new uPlot(options(latest, unit, element.clientWidth), data(props, unit), element);
    plot.current = made;
    const watcher = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: props.height }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape, theme.value, props.isLog, props.isTime, props.isCount, props.isBytes, props.sync, props.legend, props.height, Boolean(props.range), Boolean(props.yRange), Boolean(props.onZoom)]);
  useEffect(() => { if (plot.current) update(plot.current, data(props, unit)); }, [props.x, props.curves, props.range?.[0], props.range?.[1]]);
  return <div class="chart" ref={host} role="img" aria-label={props.label} />;
}

/** Draws other values; a stretch that was zoomed to stays, while a run grows too. */
function update(plot: uPlot, next: uPlot.AlignedData): void {
  const [x] = plot.data;
  const { min, max } = plot.scales.x ?? {};
  const isZoomed = typeof min === "number" && typeof max === "number" && (min > (x[0] ?? min) || max < (x[x.length - 1] ?? max));
  plot.setData(next, !isZoomed);
  if (isZoomed) plot.setScale("x", { min, max });
}

/** The rows of a chart; values that are too large or too small for an axis are in the unit that is set. */
function data({ x, curves }: Props, unit: { current: number }): uPlot.AlignedData {
  const rows: Point[][] = [];
  for (const curve of curves) {
    rows.push(curve.values);
    if (curve.low && curve.high) rows.push(curve.low, curve.high);
  }
  unit.current = unitOf(rows);
  const drawn = unit.current === 1 ? rows : rows.map((row) => row.map((value) => (typeof value === "number" ? value / unit.current : value)));
  return [x, ...drawn] as uPlot.AlignedData;
}

/** What a chart is made with. What may change while it stands is asked of `latest` each time it is drawn. */
function options(latest: { current: Props }, unit: { current: number }, width: number): uPlot.Options {
  const props = latest.current;
  const yText = (value: number) => latest.current.yText(value * unit.current);
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  const axis = { stroke: of("--text-2"), grid: { stroke: of("--line"), width: 1 }, ticks: { stroke: of("--line"), size: 4 }, font: "11px system-ui, sans-serif" };
  const series: uPlot.Series[] = [{ label: "at", value: (_, value) => (value === null || value === undefined ? "" : latest.current.xText(value)) }];
  const bands: uPlot.Band[] = [];
  // A dash is what was not captured; what a log axis leaves out was.
  const legend = (which: number, of: keyof Known) => (_: uPlot, value: number | null | undefined, __: number, at: number | null) => {
    if (value !== null && value !== undefined) return yText(value);
    return at !== null && typeof latest.current.curves[which]?.known?.[of][at] === "number" ? "≤ 0" : "–";
  };
  for (const [which, curve] of props.curves.entries()) {
    series.push({ label: curve.label, stroke: curve.colour, width: 1.5, dash: curve.dash, spanGaps: false, points: { show: (plot, of) => isFew(plot.data[of]), size: 5 }, value: legend(which, "values") });
    if (!curve.low || !curve.high) continue;
    const at = series.length;
    series.push(...([["least", "low"], ["largest", "high"]] as const).map(([label, of]): uPlot.Series => ({ label, stroke: "transparent", points: { show: false }, value: legend(which, of) })));
    bands.push({ series: [at + 1, at], fill: curve.colour + "33" });
  }
  return {
    width,
    height: props.height,
    // The last label stands half beside the plot.
    padding: [8, 26, 0, 0],
    series,
    bands,
    legend: { show: props.legend ?? true, live: true },
    scales: { x: { time: false, range: props.range && (() => latest.current.range ?? [0, 1]) }, y: { distr: props.isLog ? 3 : 1, range: props.yRange && (() => (latest.current.yRange ?? [0, 1]).map((end) => end / unit.current) as [number, number]) } },
    axes: [
      { ...axis, size: 26, space: 64, incrs: props.isTime ? TIME_STEPS : props.isCount ? WHOLE_STEPS : undefined, values: (_, splits) => splits.map((at) => (at === 0 ? "0" : latest.current.xText(at))) },
      { ...axis, size: 72, space: 26, incrs: props.isBytes ? BYTE_STEPS : undefined, values: (_, splits, __, ___, step) => props.isBytes ? byteTexts(splits, step, yText) : apart(splits, step, yText), ...(props.isLog ? logAxis() : {}) },
    ],
    cursor: { sync: props.sync ? { key: props.sync } : undefined, drag: { x: true, y: false, setScale: !props.onZoom } },
    hooks: {
      setSelect: [(made) => {
        const { onZoom } = latest.current;
        if (!onZoom || made.select.width < 4) return;
        onZoom(made.posToVal(made.select.left, "x"), made.posToVal(made.select.left + made.select.width, "x"));
        made.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
    },
  };
}

/** Lines of a log axis: uPlot has some for sixteen decades only. */
function logAxis(): Pick<uPlot.Axis, "splits" | "filter"> {
  const lines = (plot: uPlot, low: number, high: number) => logLines(low, high, plot.bbox.height / devicePixelRatio);
  return {
    splits: (plot, _, low, high) => lines(plot, low, high).at,
    filter: (plot) => {
      const { min, max } = plot.scales.y ?? {};
      return typeof min === "number" && typeof max === "number" ? lines(plot, min, max).labelled : [];
    },
  };
}

function isFew(values: ArrayLike<Point> | undefined): boolean {
  let known = 0;
  for (let at = 0; at < (values?.length ?? 0) && known < FEW_POINTS; at++) if (typeof values![at] === "number") known++;
  return known < FEW_POINTS;
}
