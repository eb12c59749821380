import uPlot from "uplot";
import { useEffect, useRef } from "preact/hooks";
import { theme } from "../state/theme";

export interface Curve { label: string; colour: string; values: (number | null)[]; dash?: number[]; low?: (number | null)[]; high?: (number | null)[] }

interface Props {
  x: number[];
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
}

/** Curves of fewer points show each of them. */
const FEW_POINTS = 40;

/** Colours for curves, told apart by colour-blind eyes. */
export const CURVE_COLOURS = ["#4f94e0", "#d9923c", "#3fa583", "#cf6f86", "#9a83d0", "#a89640", "#3fa3b5", "#8a98a8"];

/** A chart of curves over a common axis. */
export function Chart(props: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shape = props.curves.map((curve) => curve.label + curve.colour + (curve.low ? "b" : "")).join("|");
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const made = new uPlot(options(props, element.clientWidth), data(props), element);
    plot.current = made;
    const watcher = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: props.height }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape, theme.value, props.isLog, props.height, props.range?.[0], props.range?.[1]]);
  useEffect(() => plot.current?.setData(data(props)), [props.x, props.curves]);
  return <div class="chart" ref={host} role="img" aria-label={props.label} />;
}

function data({ x, curves }: Props): uPlot.AlignedData {
  const rows: (number | null)[][] = [];
  for (const curve of curves) {
    rows.push(curve.values);
    if (curve.low && curve.high) rows.push(curve.low, curve.high);
  }
  return [x, ...rows] as uPlot.AlignedData;
}

function options(props: Props, width: number): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  const axis = { stroke: of("--text-2"), grid: { stroke: of("--line"), width: 1 }, ticks: { stroke: of("--line"), size: 4 }, font: "11px system-ui, sans-serif" };
  const series: uPlot.Series[] = [{ label: "at", value: (_, value) => (value === null || value === undefined ? "" : props.xText(value)) }];
  const bands: uPlot.Band[] = [];
  for (const curve of props.curves) {
    series.push({ label: curve.label, stroke: curve.colour, width: 1.5, dash: curve.dash, spanGaps: false, points: { show: props.x.length < FEW_POINTS, size: 5 }, value: (_, value) => (value === null ? "–" : props.yText(value)) });
    if (!curve.low || !curve.high) continue;
    const at = series.length;
    series.push({ label: "", stroke: "transparent", points: { show: false } }, { label: "", stroke: "transparent", points: { show: false } });
    bands.push({ series: [at + 1, at], fill: curve.colour + "33" });
  }
  return {
    width,
    height: props.height,
    padding: [8, 14, 0, 0],
    series,
    bands,
    legend: { show: props.legend ?? true, live: true },
    scales: { x: { time: false, range: props.range }, y: { distr: props.isLog ? 3 : 1, range: props.yRange } },
    axes: [
      { ...axis, size: 26, space: 64, values: (_, splits) => splits.map(props.xText) },
      { ...axis, size: 72, space: 26, values: (_, splits) => splits.map((value) => (value === null ? "" : props.yText(value))) },
    ],
    cursor: { sync: props.sync ? { key: props.sync } : undefined, drag: { x: true, y: false, setScale: !props.onZoom } },
    hooks: {
      setSelect: [(made) => {
        if (!props.onZoom || made.select.width < 4) return;
        props.onZoom(made.posToVal(made.select.left, "x"), made.posToVal(made.select.left + made.select.width, "x"));
        made.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
    },
  };
}
