/** What the server answers. Times are nanoseconds since the run began unless a name says `unix`. */

export interface RunsAnswer {
  runs: ListedRun[];
  /** Of how many runs the next list tells more, whether or not the filter hides them. */
  unread: number;
}
export interface ListedRun {
  id: string;
  app: string;
  path: string;
  state: string;
  start_unix_ns: number | null;
  duration_ns: number | null;
  processes: number | null;
  scopes: number | null;
  gpu_work: number | null;
  gpu: string[] | null;
  ranks: number[];
  attributes: Record<string, unknown> | null;
  lost: number | null;
  bytes?: number | null;
  main_mark: { name: string; values: (number | null)[] } | null;
  /** Why the run was not read for it. */
  main_mark_why?: string | null;
}

export interface Cause { cause: string; ns: number; share: number }
export interface CauseScope { cause: string; path: string[]; ns: number }
export interface Verdict {
  bound: string;
  share: number;
  scope: string[] | null;
  advice: string[];
  gpu: { window_ns: number; computing_ns: number; idle_ns: number; not_captured_ns: number; waits_recorded: boolean; causes: Cause[]; scopes: CauseScope[] } | null;
  host: { scopes_ns: number; causes: Cause[]; scopes: CauseScope[] } | null;
  gpu_missing: { reason: string; why: string } | null;
}
export interface Durations { min_ns: number; mean_ns: number; p50_ns: number; p95_ns: number; p99_ns: number; max_ns: number }
export interface KernelShare { name: string; count: number; total_ns: number; mean_ns: number | null; share: number }
export interface Copy { direction: string; count: number; bytes: number; total_ns: number }
export interface GpuWork {
  busy_ns: number;
  kernels: number;
  kernel_ns: number;
  by_kernel: KernelShare[];
  copies: Copy[];
  sets: { count: number; bytes: number; total_ns: number };
  launch: { count: number; mean_ns: number; p50_ns: number; p95_ns: number } | null;
}
export interface Tag { one?: string; many?: number }
export interface ReportMark { name: string; summary: boolean; count: number; first: unknown; last: unknown; min: number | null; max: number | null; mean: number | null }
export interface Bench { iterations: number; warmup: number; min_ns: number; median_ns: number; mean_ns: number; p95_ns: number; ci95_ns: [number, number] | null }
export interface ReportNode {
  path: string[];
  name: string;
  depth: number;
  kind: string;
  tag: Tag | null;
  count: number;
  open: number;
  failed: number;
  total_ns: number;
  self_ns: number;
  parent_ns: number;
  durations: Durations | null;
  cpu: { total_ns: number; captured: number; suspended: number; other_thread: number; off: number; open: number; uncalibrated: number } | null;
  gpu: { own: GpuWork; all: GpuWork; idle_ns: number | null } | null;
  energy: { total_j: number } | null;
  overhead_ns: number | null;
  threads: number;
  bench: Bench | null;
  marks: ReportMark[];
}
export interface Counts { spans: number; marks: number; attrs: number }
export interface Account {
  produced_records: number;
  stored: Counts;
  in_ring: Counts;
  lost: Record<string, Counts>;
  lost_records: number;
  unexplained: number;
  newer: number;
  depth_dropped: number;
}
export interface Ending { path: { name: string; index: number | null }[]; id: string; pid: number; thread: string; after_ns: number; duration_ns: number; error: string | null }
export interface Absence { reason: string; why: string; processes: number }
export interface KernelRow {
  name: string;
  full_names: string[];
  count: number;
  timed: number;
  total_ns: number;
  mean_ns: number | null;
  min_ns: number | null;
  max_ns: number | null;
  share: number;
  typical: { grid: number[]; block: number[]; registers: number; shared_bytes: number } | null;
  shapes: number;
  scopes: { path: string[]; count: number; total_ns: number }[];
}
export interface MachineSeries { source: string; metric: string; unit: string; mean: number | null; min: number | null; max: number | null; last: number | null }
export interface Machine { host: string; live?: boolean; absent: { part: string; why: string; fix: string }[]; gpus: { uuid: string; name: string }[]; series: MachineSeries[]; lost_rows: number }
export interface ReportProcess {
  info: { pid: number; host: string; rank: number | null; argv: string[] };
  state: string;
  calibrated: boolean;
  spans: number;
  marks: number;
  threads: { number: number; name: string }[];
  gpu: { missing: string | null; why: string | null; devices: { device: number; name: string }[]; gaps: { start_ns: number; duration_ns: number | null; why: string }[] } | null;
  damage: { bytes: number; frames: number };
}
export interface Report {
  run: { id: string; app: string; argv: string[]; host: string; cwd: string; git_revision: string | null; hodo: string };
  folder: string;
  state: string;
  start_ns: number;
  wall_ns: number;
  spans: number;
  spans_shown: number;
  spans_untimed: number;
  /** Time in the outermost scopes, and what recording took of it. */
  scopes_ns: number | null;
  overhead_ns: number | null;
  nodes: ReportNode[];
  /** Paths that are not among `nodes`, since there are too many. */
  nodes_left_out?: number;
  /** Threads that are not among those of the processes. */
  threads_left_out?: number;
  by_self: { name: string; count: number; total_ns: number; self_ns: number }[];
  by_total: { name: string; count: number; total_ns: number; self_ns: number }[];
  marks_outside_scopes: ReportMark[];
  gpu: { captured: number; devices: number; missing: Absence[]; all: GpuWork | null; outside: GpuWork | null; gaps: number; lost_kernels: number; counts: { dropped: number; lost: number } | null };
  energy: { total_j: number; gpus: { name: string; total_j: number }[] } | null;
  machines: Machine[];
  verdict: Verdict | null;
  kernels: { rows: KernelRow[]; count: number; total_ns: number; captured: number; missing: Absence[] } | null;
  failed: { count: number; scopes: Ending[] };
  open: { count: number; scopes: Ending[] };
  processes: ReportProcess[];
  records: Account;
}

/** The steps of a run; a run without any has only `why`. */
export interface Steps { path: string[] | string | null; count?: number; durations?: Durations | null; largest_index?: number | null; by_order?: boolean; step_ns?: number[]; start_ns?: number[]; index?: (number | null)[]; rank?: (number | null)[]; parts?: Record<string, (number | null)[]> | null; per_point?: number | null; why?: string | null }
/** The steps of a run that has some. */
export interface SomeSteps extends Steps { durations: Durations; step_ns: number[]; start_ns: number[]; index: (number | null)[] }

export type TrackKind = "thread" | "stream" | "series" | "marks";
export interface Track {
  id: string;
  kind: TrackKind;
  /** Name of the process for people, or its number. */
  process: string | number | null;
  /** Which process of the run. */
  process_index?: number;
  host?: string | null;
  pid: number | null;
  rank: number | null;
  name: string;
  depths: number;
  slices: number;
  start_ns: number | null;
  end_ns: number | null;
  series?: string;
  unit?: string;
  mark?: string;
  device?: string | number | null;
}
export interface TracksAnswer { generation: number; live?: boolean; end_ns: number; start_unix_ns: number | null; names: string[]; tracks: Track[]; tracks_left_out?: number }

export interface Placed { id: string; name: string; track: string; depth: number; start_ns: number; duration_ns: number; kind?: string }
/** Of scopes that ended; none of them may have. */
export interface Instances { count: number; histogram: { edges_ns: number[]; counts: number[] } | null; p50_ns: number | null; p95_ns: number | null; max_ns: number | null }
export interface SpanKernel { id: string; name: string; start_ns: number; duration_ns: number; stream: string | number; launched_ns: number | null; track?: string; depth?: number }
export interface SpanDetails extends Placed {
  tag: string | Tag | null;
  path: string[];
  thread: string | null;
  process: string | null;
  /** Whether it has not ended, or had not when its process did. */
  open?: boolean;
  failed?: boolean;
  /** Which of its loop it is. */
  index?: number | null;
  self_ns: number | null;
  cpu_ns: number | null;
  gpu_ns: number | null;
  attributes: Record<string, unknown>;
  /** The first of its marks, scopes inside and kernels, and how many there are. */
  marks: { name: string; at_ns?: number | null; value: unknown }[];
  marks_count?: number;
  parent: string | null;
  children: Placed[];
  children_count?: number;
  kernels: SpanKernel[];
  kernels_count?: number | null;
  instances: Instances | null;
  /** Why there is no CPU or GPU time. */
  cpu_why?: string | null;
  gpu_why?: string | null;
}
export interface KernelDetails extends Placed {
  full_name?: string;
  stream: string | number;
  device?: string | number;
  grid: number[] | null;
  block: number[] | null;
  registers?: number | null;
  shared_bytes?: number | null;
  bytes?: number | null;
  launch: { span: string | null; track: string; depth: number; at_ns: number; thread?: string } | null;
  scope: { id: string; path: string[] } | null;
  instances: Instances | null;
}

export interface RangeScope { path: string[] | string; name: string; count: number; total_ns: number; self_ns: number; cpu_ns: number | null; cpu_why?: string | null; gpu_ns: number | null }
export interface RangeAnswer {
  /** The longest scopes and kernels, and how many there are. */
  scopes: RangeScope[];
  scopes_count?: number;
  kernels: { name: string; count: number; total_ns: number; mean_ns?: number | null }[];
  kernels_count?: number;
  gpu_busy_ns: number | null;
  /** Devices that the time is added up over, counted by process. */
  gpu_devices?: number;
  marks: { name: string; count: number; mean?: number | null; min?: number | null; max?: number | null; last?: unknown }[];
}
export interface FlameNode {
  name: string;
  tag: string | Tag | null;
  value_ns: number;
  self_ns: number;
  /** By how much its own time and that of its children are more than it took: they ran at the same time. */
  parallel_ns?: number;
  /** Scopes of the path; none where it is only there for what fits the filter inside it. */
  count: number;
  children: FlameNode[];
  rest?: FlameRest | null;
}
/** Paths that are too small to be shown by themselves. */
export interface FlameRest { paths: number; value_ns: number }
export interface FlameAnswer { by: string; total_ns?: number; roots: FlameNode[]; why?: string | null; rest?: FlameRest | null }
export interface SearchAnswer { hits: Placed[]; total: number }
export interface MarkName { name: string; kind?: string; count: number; last: unknown }
export interface MarkValues {
  x: number[];
  y: (number | null)[];
  min?: (number | null)[];
  max?: (number | null)[];
  /** Values at or below 0, of those that the points stand for. */
  not_positive: number;
  /** Values that are no number: NaN, infinite or text. */
  not_number: number;
}
export interface SeriesName { id: string; name?: string; metric?: string; source?: string; unit: string; device?: string | null; host?: string }
export interface SeriesValues { t_ns: number[]; mean: (number | null)[]; min: (number | null)[]; max: (number | null)[] }

export interface Change { ratio: number; low: number; high: number }
export interface ScopeNumbers { count: number; total_ns: number; self_ns: number; mean_ns: number | null; cpu_ns: number | null; gpu_busy_ns: number | null }
export interface ComparedScope { path: string[]; judgement: string; share: number; base: ScopeNumbers | null; head: ScopeNumbers | null; difference: ScopeNumbers | null; change: Change | null; mean_change: Change | null }
export interface KernelNumbers { count: number; count_each: number | null; total_ns: number; mean_ns: number | null }
export interface ComparedKernel { name: string; judgement: string; base: KernelNumbers | null; head: KernelNumbers | null; change: Change | null }
export interface Explanation {
  path: string[];
  judgement: string;
  of: "typical" | "mean";
  difference_ns: number;
  ratio: number;
  parts_ns: number;
  parallel: boolean;
  parts: { path: string[]; difference_ns: number; share: number; by_count_ns: number; real: boolean }[];
}
export interface Comparison {
  comparable: boolean;
  obstacles: { code: string; why: string }[];
  base?: string[];
  head?: string[];
  confidence?: number;
  judged?: number;
  explanations?: Explanation[];
  scopes?: ComparedScope[];
  kernels?: ComparedKernel[] | null;
  notes?: string[];
}
export interface SqlAnswer { columns: { name: string; type: string }[]; rows: unknown[][]; cut: boolean; took_ms: number }

/** How far a run has been read. */
export type Opening =
  | { state: "closed" | "open" }
  | { state: "reading"; read_bytes: number; total_bytes: number; passed_ms: number }
  | { state: "ordering"; passed_ms: number };
