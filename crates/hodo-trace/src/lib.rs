//! Reads a run into one model that every view of it shares: report, page, export, SQL.
//!
//! [`Run::open`] takes a run folder whose processes may be live, finished or killed, merges what
//! the spool and the arenas hold, and says exactly what is missing. [`tree`] aggregates it by path.
//! Whatever number a person sees is computed here.
//!
//! ```no_run
//! use hodo_trace::{Filter, ReadOptions, Run, tree};
//!
//! let folder = Run::find(".hodo".as_ref(), None)?;
//! let run = Run::open(&folder, &ReadOptions::default())?;
//! for node in &tree(&run, &Filter::default()).nodes {
//!     println!("{:indent$}{} {:?}", "", node.name, node.self_ns, indent = 2 * node.depth as usize);
//! }
//! # Ok::<(), hodo_trace::TraceError>(())
//! ```

mod account;
mod clock;
mod diff;
mod document;
mod ends;
mod error;
mod filter;
mod find;
mod follow;
mod gpu;
mod index;
mod last;
mod links;
mod machine;
mod model;
mod names;
pub mod packed;
mod read;
mod select;
mod shipped;
mod spans;
mod table;
mod taken_back;
pub mod timeline;
mod tree;
mod values;
mod verdict;

pub use account::{Account, Damage, Place};
pub use clock::Clock;
pub use diff::{
    Change, DIFF_SCHEMA, Diff, DiffOptions, DifferenceOf, Explanation, Gate, Judgement, KernelDiff,
    KernelNumbers, Obstacle, Part, Regression, RunProfile, ScopeDiff, ScopeNumbers, diff,
};
pub use document::{all_shown, by_total, document};
pub use ends::{Ending, Step};
pub use error::TraceError;
pub use filter::{Comparison, Condition, Filter, NamePattern};
pub use find::RunSummary;
pub use follow::{Follow, Look, Now, NowKernel, NowMark, NowProcess, NowScope, NowSlow};
pub use gpu::{
    CopySum, Gpu, GpuBySpan, GpuCounts, GpuDevice, GpuGap, GpuLaunched, GpuMissing, GpuState,
    GpuTotals, GpuWork, KernelName, KernelSum, LaunchLatency, MemorySum, SetSum, SpanGpu, SyncSum,
    WorkByScope, WorkRow, WorkRows,
};
pub use last::{Last, parse_duration_ns};
pub use machine::{
    Absent, EnergyFrom, EnergyMethod, EnergySummary, GpuEnergy, GpuJoules, Machine, MachineGpu,
    MachineSeries, MachineState, Measures, NodeEnergy, SamplerCost, SeriesMissing, SeriesStats,
    Throttle, TimeRanges, is_locked, is_sampled, money, pid_space,
};
pub use model::{
    ParentLink, Process, ProcessInfo, ProcessState, Progress, ReadOptions, Run, RunInfo, SpanView,
    Thread,
};
pub use names::Names;
pub use read::{Recorder, arena_path, memory_bytes, process_info, recorder};
pub use shipped::{SILENT_AFTER, Shipped, ShippedHost};
pub use spans::{Cpu, CpuMissing, Row, Spans};
pub use table::{Column, Data, columns, sample_columns, tree_columns};
pub use tree::{
    BackwardRow, Bench, CpuSum, Durations, FlatRow, FlatSort, GpuAbsence, GpuSummary, KernelRow,
    KernelScope, KernelShape, KernelTable, MarkSeries, Node, NodeGpu, NodeKind, SCHEMA,
    SampleTable, SampledInstruction, SampledKernel, SampledScope, StallSum, Tag, Tree,
    backward_by_forward, flat, kernels, kernels_in_full, samples, tree,
};
pub use values::{AttrRow, Attrs, MarkAttrs, MarkRow, OVERHEAD_MARK, Value};
pub use verdict::{
    Bound, Cause, CauseScope, CauseSum, GpuAbsent, GpuLedger, HostLedger, Verdict, verdict,
};

pub use hodo_format::arena::{Anchor, Counts, Loss};
pub use hodo_format::machine::{Kind as SeriesKind, Metric, Source};
pub use hodo_format::record::{SpanId, flag};
