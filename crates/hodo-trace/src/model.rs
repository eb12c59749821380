use crate::{
    Account, Attrs, Clock, Cpu, CpuMissing, Damage, Gpu, Machine, MarkAttrs, MarkRow, Names, Row,
    Spans,
};
use hodo_format::arena::{Counts, Loss};
use hodo_format::record::SpanId;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::PathBuf;

/// One recorded execution: all its processes.
#[derive(Debug)]
pub struct Run {
    /// Its folder.
    pub folder: PathBuf,
    /// What `run.json` says.
    pub info: RunInfo,
    /// Its processes, in order of their start.
    pub processes: Vec<Process>,
    /// Readings of the hosts it ran on, by host.
    pub machines: Vec<Machine>,
}

/// `run.json`. Missing fields are empty: a damaged file hides no data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunInfo {
    /// Version of this file.
    pub format: u32,
    /// The run's id.
    pub id: String,
    /// The application's name.
    pub app: String,
    /// Command line.
    pub argv: Vec<String>,
    /// Working folder.
    pub cwd: String,
    /// Git revision of the working folder.
    pub git_revision: Option<String>,
    /// Host name.
    pub host: String,
    /// First process.
    pub pid: u32,
    /// Its rank.
    pub rank: Option<u32>,
    /// Ranks in the job.
    pub world_size: Option<u32>,
    /// Version of hodo that recorded it.
    pub hodo: String,
    /// Start, nanoseconds since 1970.
    pub start_ns: u64,
    /// What it was imported from; empty for a run that hodo recorded.
    pub imported: Vec<String>,
}

/// `process.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessInfo {
    /// Version of this file.
    pub format: u32,
    /// Random half of the ids of this process, 16 hex digits.
    pub process: String,
    /// Its pid.
    pub pid: u32,
    /// Its parent's pid.
    pub parent_pid: u32,
    /// Host name.
    pub host: String,
    /// Command line.
    pub argv: Vec<String>,
    /// Rank in the job.
    pub rank: Option<u32>,
    /// Rank on this host.
    pub local_rank: Option<u32>,
    /// Ranks in the job.
    pub world_size: Option<u32>,
    /// Start, nanoseconds since 1970.
    pub start_ns: u64,
    /// `counter` or `monotonic`.
    pub clock: String,
    /// Where its arena lies; none when it recorded in memory only.
    pub arena: Option<String>,
    /// The scope it was started in, if known.
    pub parent: Option<ParentLink>,
    /// Another tool recorded it, which does not say what that took.
    pub imported: bool,
}

impl ProcessInfo {
    /// Nanoseconds since 1970 when it started, if that is known.
    pub(crate) fn started(&self) -> Option<i64> {
        i64::try_from(self.start_ns).ok().filter(|&ns| ns > 0)
    }
}

/// A scope in another process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ParentLink {
    /// The process, 16 hex digits.
    pub process: String,
    /// The scope, 16 hex digits.
    pub span: String,
}

/// What became of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessState {
    /// It is running and recording.
    Live,
    /// It shut its recorder down.
    Finished,
    /// It ended without doing so, which loses nothing: an exit, a kill, a crash. Which of them,
    /// nothing tells.
    Ended,
    /// It ran when its host told the collector so last, and nothing was heard since.
    Silent,
    /// The files do not say.
    Unknown,
}

impl ProcessState {
    /// The one word for it, the same in every view.
    pub fn word(self) -> &'static str {
        match self {
            ProcessState::Live => "live",
            ProcessState::Finished => "finished",
            ProcessState::Ended => "ended",
            ProcessState::Silent => "silent",
            ProcessState::Unknown => "unknown",
        }
    }
}

/// One process of a run.
#[derive(Debug)]
pub struct Process {
    /// Its folder.
    pub folder: PathBuf,
    /// What `process.json` says.
    pub info: ProcessInfo,
    /// What became of it.
    pub state: ProcessState,
    /// Turns its ticks into nanoseconds.
    pub clock: Clock,
    /// Its interned strings.
    pub names: Names,
    /// Its threads, in order of their number.
    pub threads: Vec<Thread>,
    /// Its scopes.
    pub spans: Spans,
    /// Its attributes.
    pub attrs: Attrs,
    /// Its marks, per thread in the order they were made.
    pub marks: Vec<MarkRow>,
    /// The attributes of those of them that have any.
    pub mark_attrs: MarkAttrs,
    /// What the GPU did for it.
    pub gpu: Gpu,
    /// Where its records went.
    pub account: Account,
    /// What could not be read.
    pub damage: Damage,
    /// Random half of its ids.
    pub process: u64,
    /// The last moment known, in ticks.
    pub last_tick: u64,
}

/// One thread that recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Thread {
    /// Its number in the process, from 1.
    pub number: u32,
    /// Operating-system id, 0 when not known.
    pub os_tid: u32,
    /// Its name; empty when nobody gave it one.
    pub name: String,
    /// Ticks when it first recorded, 0 when not known.
    pub started: u64,
    /// Ticks when it ended.
    pub ended: Option<u64>,
    /// Records it made.
    #[serde(serialize_with = "crate::account::counts")]
    pub produced: Counts,
    /// Records it lost, by [`Loss`].
    #[serde(serialize_with = "crate::account::by_reason")]
    pub lost: [Counts; Loss::COUNT],
    /// Records of it that were read.
    pub read: u64,
    /// Records neither read nor counted as lost.
    pub unexplained: u64,
    /// Scopes past the depth limit.
    pub depth_dropped: u64,
    /// Scopes closed while one inside them was open.
    pub out_of_order: u64,
    /// Closes of a scope that was closed already.
    pub double_closed: u64,
    /// Closes refused because the scope belongs to another thread.
    pub wrong_thread: u64,
    /// CPU-clock system calls made for it.
    pub cpu_syscalls: u64,
}

/// How to read a run.
#[derive(Clone, Copy, Default)]
pub struct ReadOptions<'a> {
    /// Called now and then while a large run is read.
    pub progress: Option<&'a dyn Fn(Progress)>,
}

/// How far reading has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read.
    pub bytes: u64,
    /// Bytes there are.
    pub total_bytes: u64,
}

impl Run {
    /// Scopes in all processes.
    pub fn span_count(&self) -> usize {
        self.processes.iter().map(|p| p.spans.len()).sum()
    }

    /// Nanoseconds since 1970 when the run began: when the first of its recorders started.
    pub fn start_ns(&self) -> Option<i64> {
        self.extent().start_ns
    }

    /// How long the run was, or is so far: from [`Run::start_ns`] to the last moment known of any
    /// of its processes. Without a process, how long the machine was sampled.
    pub fn wall_ns(&self) -> Option<u64> {
        self.extent().wall_ns
    }

    fn extent(&self) -> Extent {
        let processes = self.processes.iter().map(|p| (p.start_ns(), p.end_ns()));
        // A sidecar's run has nothing but readings.
        let sampled = self.machines.iter().filter(|_| self.processes.is_empty());
        let sampled = sampled.filter_map(Machine::extent).map(|(from, to)| (Some(from), Some(to)));
        Extent::new(processes.chain(sampled), self.info.start_ns)
    }

    /// The state that says most about the run: of a process that is live, else of one that was not
    /// heard from, ended without shutting down or is unknown; none when there is no process.
    pub fn state(&self) -> Option<ProcessState> {
        most_telling(self.processes.iter().map(|p| p.state))
    }

    /// Bytes of its processes and machines that cannot be read; none when all can.
    pub fn unreadable_bytes(&self) -> Option<u64> {
        let processes = self.processes.iter().map(|process| &process.damage);
        let all = processes.chain(self.machines.iter().map(|machine| &machine.damage));
        let (bytes, frames) =
            all.fold((0, 0), |(bytes, frames), d| (bytes + d.bytes, frames + d.frames));
        (bytes > 0 || frames > 0).then_some(bytes)
    }

    /// Processes whose scopes have no times, since no reading of their clocks is left.
    pub fn uncalibrated(&self) -> impl Iterator<Item = &Process> {
        self.processes.iter().filter(|p| !p.is_timed())
    }
}

/// Where a run begins and how long it is: the one definition.
pub(crate) struct Extent {
    /// See [`Run::start_ns`].
    pub(crate) start_ns: Option<i64>,
    /// See [`Run::wall_ns`].
    pub(crate) wall_ns: Option<u64>,
}

impl Extent {
    /// From the first start to the last end of its processes; `told_ns` is what `run.json` says,
    /// for when they do not know their start.
    pub(crate) fn new(
        processes: impl Iterator<Item = (Option<i64>, Option<i64>)>,
        told_ns: u64,
    ) -> Extent {
        let (starts, ends): (Vec<_>, Vec<_>) = processes.unzip();
        let told = || i64::try_from(told_ns).ok().filter(|&ns| ns > 0);
        let start_ns = starts.into_iter().flatten().min().or_else(told);
        let length = |end: i64| u64::try_from(end.saturating_sub(start_ns?)).ok();
        Extent { start_ns, wall_ns: ends.into_iter().flatten().max().and_then(length) }
    }
}

/// See [`Run::state`].
pub(crate) fn most_telling(states: impl Iterator<Item = ProcessState>) -> Option<ProcessState> {
    use ProcessState::{Ended, Finished, Live, Silent, Unknown};
    states.max_by_key(|state| {
        [Finished, Unknown, Ended, Silent, Live].iter().position(|s| s == state)
    })
}

impl Process {
    /// Whether its times are known. A process without records has none that could be unknown.
    pub fn is_timed(&self) -> bool {
        self.clock.is_calibrated() || (self.spans.is_empty() && self.marks.is_empty())
    }

    /// Whether it is known what recording took: another tool does not say.
    pub fn has_overhead(&self) -> bool {
        self.is_timed() && !self.info.imported
    }

    /// Nanoseconds since 1970 when its recorder started.
    pub fn start_ns(&self) -> Option<i64> {
        self.clock.start_ns().or(self.info.started())
    }

    /// Nanoseconds since 1970 at the last moment known.
    pub fn end_ns(&self) -> Option<i64> {
        self.clock.is_calibrated().then(|| self.clock.steady_ns(self.last_tick))
    }

    /// Scopes that were still open.
    pub fn open_count(&self) -> u64 {
        self.spans.open_rows().count() as u64
    }

    /// A thread's name, or its number.
    pub fn thread_name(&self, number: u32) -> Cow<'_, str> {
        match self.thread(number) {
            Some(thread) if !thread.name.is_empty() => Cow::Borrowed(&thread.name),
            _ => Cow::Owned(format!("thread {number}")),
        }
    }

    /// One scope with its numbers in nanoseconds.
    pub fn span(&self, row: Row) -> SpanView<'_> {
        SpanView { process: self, row }
    }

    /// Its scopes.
    pub fn span_views(&self) -> impl Iterator<Item = SpanView<'_>> {
        self.spans.rows().map(|row| self.span(row))
    }

    /// A thread by its number.
    pub fn thread(&self, number: u32) -> Option<&Thread> {
        let at = self.threads.binary_search_by_key(&number, |t| t.number).ok()?;
        self.threads.get(at)
    }
}

/// One scope of a process.
#[derive(Clone, Copy, Debug)]
pub struct SpanView<'a> {
    /// Its process.
    pub process: &'a Process,
    /// Its row.
    pub row: Row,
}

impl<'a> SpanView<'a> {
    /// Its name.
    pub fn name(&self) -> Cow<'a, str> {
        self.process.names.text(self.process.spans.name(self.row))
    }

    /// Its id inside the process.
    pub fn id(&self) -> SpanId {
        self.process.spans.id(self.row)
    }

    /// Its full id, 32 hex digits.
    pub fn full_id(&self) -> String {
        format!("{:016x}{:016x}", self.process.process, self.id().0)
    }

    /// Nanoseconds since 1970 when it opened; see [`Clock::steady_ns`].
    pub fn start_ns(&self) -> i64 {
        self.process.clock.steady_ns(self.process.spans.start(self.row))
    }

    /// Nanoseconds it was open; means something only where [`Process::is_timed`].
    pub fn duration_ns(&self) -> u64 {
        self.process.clock.duration_ns(self.process.spans.duration(self.row))
    }

    /// Nanoseconds since 1970 when it closed.
    pub fn end_ns(&self) -> i64 {
        self.start_ns().saturating_add_unsigned(self.duration_ns())
    }

    /// CPU time in nanoseconds.
    pub fn cpu_ns(&self) -> Cpu {
        match self.process.spans.cpu(self.row) {
            Cpu::Captured(_) if !self.process.is_timed() => Cpu::Missing(CpuMissing::Uncalibrated),
            Cpu::Captured(ticks) => Cpu::Captured(self.process.clock.duration_ns(ticks)),
            missing => missing,
        }
    }

    /// Recording work inside it, in nanoseconds: the mark `hodo.overhead`. Means something only
    /// where [`Process::has_overhead`].
    pub fn overhead_ns(&self) -> u64 {
        self.process.clock.duration_ns(self.process.spans.overhead(self.row))
    }

    /// The user's index.
    pub fn index(&self) -> Option<i64> {
        self.process.spans.index(self.row)
    }

    /// Whether it was still open.
    pub fn is_open(&self) -> bool {
        self.process.spans.is_open(self.row)
    }

    /// Whether it was left by a panic or an exception.
    pub fn is_failed(&self) -> bool {
        self.process.spans.is_failed(self.row)
    }

    /// Its attributes, in the order they were set.
    pub fn attrs(&self) -> &'a [crate::AttrRow] {
        self.process.attrs.of(self.id())
    }
}
