//! The GPU's time in the scopes of threads that launch work: computing, or idle for a cause.

use super::gap::{Gap, Gaps};
use super::{Cause, CauseScope, GpuLedger, path, summed};
use crate::gpu::{Cover, Seeker};
use crate::{Process, Row, Run, SpanId, WorkRow};
use hodo_format::gpu::Detail;
use std::collections::{BTreeSet, HashMap};

const CAUSES: [Cause; 6] =
    [Cause::Input, Cause::Host, Cause::Launch, Cause::Sync, Cause::Copy, Cause::Unknown];

/// The ledger over all processes that captured the GPU; none when no scope of theirs launched
/// anything.
pub(super) fn ledger(run: &Run) -> Option<GpuLedger> {
    let captured = run.processes.iter().filter(|p| p.gpu.missing_times(&p.clock).is_none());
    let parts: Vec<Part> = captured.filter_map(of_process).collect();
    let mut rows: HashMap<(Cause, Vec<String>), u64> = HashMap::new();
    for (key, ns) in parts.iter().flat_map(|part| &part.rows) {
        *rows.entry(key.clone()).or_default() += ns;
    }
    let row = |((cause, path), ns)| CauseScope { cause, path, ns };
    let (idle_ns, causes, scopes) = summed(rows.into_iter().map(row).collect(), &CAUSES);
    let computing_ns = parts.iter().map(|part| part.computing_ns).sum::<u64>();
    let window_ns = computing_ns + idle_ns;
    (window_ns > 0).then(|| GpuLedger {
        window_ns,
        computing_ns,
        idle_ns,
        not_captured_ns: parts.iter().map(|part| part.not_captured_ns).sum(),
        causes,
        scopes,
        waits_recorded: parts.iter().any(|part| part.waits_recorded),
    })
}

/// One process's part.
struct Part {
    computing_ns: u64,
    not_captured_ns: u64,
    rows: Vec<((Cause, Vec<String>), u64)>,
    waits_recorded: bool,
}

fn of_process(process: &Process) -> Option<Part> {
    let threads = launching_threads(process);
    let all = window(process, &threads);
    if all.is_empty() {
        return None;
    }
    let work = &process.gpu.work;
    let gaps = process.gpu.gaps();
    let lost = Cover::new(gaps.iter().map(|gap| (gap.start, gap.end)));
    let window = all.without(&lost);
    let of = |keep: &dyn Fn(&Detail) -> bool| {
        let rows = work.rows().filter(|&row| work.is_busy(row) && keep(&work.detail(row)));
        Cover::new(rows.filter_map(|row| work.interval(row)))
    };
    let computing = of(&|detail| !matches!(detail, Detail::Copy { .. }));
    let idle = window.without(&computing);
    let mut sums = Sums::default();
    copies(process, &idle, &mut sums);
    let copying = of(&|detail| matches!(detail, Detail::Copy { .. }));
    let finder = Gaps::new(process, &threads);
    let neighbours = Neighbours::new(process);
    for (from, to) in idle.without(&copying).iter() {
        let gap = Gap { from, to, before: neighbours.before(from), after: neighbours.after(from) };
        finder.split(gap, &mut |cause, scope, ticks| sums.add(cause, scope, ticks));
    }
    let ns = |ticks| process.clock.duration_ns(ticks);
    Some(Part {
        computing_ns: ns(window.ticks() - idle.ticks()),
        not_captured_ns: ns(all.ticks() - window.ticks()),
        rows: sums.by_path(process),
        waits_recorded: finder.waits_are_recorded(),
    })
}

/// Threads in whose scopes work was launched.
fn launching_threads(process: &Process) -> Vec<u32> {
    let work = &process.gpu.work;
    let scopes = work.rows().filter(|&row| work.is_busy(row)).map(|row| work.span(row));
    let scoped = scopes.filter(|scope| process.spans.row_of(*scope).is_some());
    scoped.map(SpanId::thread).collect::<BTreeSet<u32>>().into_iter().collect()
}

/// The time of the outermost scopes of those threads.
fn window(process: &Process, threads: &[u32]) -> Cover {
    let spans = &process.spans;
    let outermost = spans.rows().filter(|&row| spans.parent_row(row).is_none());
    let on_them = outermost.filter(|&row| threads.binary_search(&spans.thread(row)).is_ok());
    let mut all: Vec<(u64, u64)> = on_them.map(|row| (spans.start(row), spans.end(row))).collect();
    all.sort_unstable();
    Cover::new(all.into_iter())
}

/// Idle time in which copies ran, by the scope that launched them; what several cover counts once.
fn copies(process: &Process, idle: &Cover, sums: &mut Sums) {
    let work = &process.gpu.work;
    let mut reached = 0;
    let mut seeker = Seeker::new(idle);
    for row in work.rows().filter(|&row| matches!(work.detail(row), Detail::Copy { .. })) {
        let Some((start, end)) = work.interval(row) else { continue };
        let start = start.max(reached);
        if end > start {
            let scope = process.spans.row_of(work.span(row));
            sums.add(Cause::Copy, scope, seeker.covered(start, end));
            reached = end;
        }
    }
}

/// Ticks by cause and row of scope.
#[derive(Default)]
struct Sums(HashMap<(Cause, Option<Row>), u64>);

impl Sums {
    fn add(&mut self, cause: Cause, scope: Option<Row>, ticks: u64) {
        if ticks > 0 {
            *self.0.entry((cause, scope)).or_default() += ticks;
        }
    }

    fn by_path(&self, process: &Process) -> Vec<((Cause, Vec<String>), u64)> {
        let mut by_path: HashMap<(Cause, Vec<String>), u64> = HashMap::new();
        for (&(cause, scope), ticks) in &self.0 {
            *by_path
                .entry((cause, scope.map_or_else(Vec::new, |row| path(process, row))))
                .or_default() += ticks;
        }
        by_path.into_iter().map(|(key, ticks)| (key, process.clock.duration_ns(ticks))).collect()
    }
}

/// The work next to a moment.
struct Neighbours {
    /// By start.
    starts: Vec<(u64, WorkRow)>,
    /// By end.
    ends: Vec<(u64, WorkRow)>,
}

impl Neighbours {
    fn new(process: &Process) -> Neighbours {
        let work = &process.gpu.work;
        let timed = work.rows().filter(|&row| work.is_busy(row));
        let timed: Vec<(WorkRow, (u64, u64))> =
            timed.filter_map(|row| Some((row, work.interval(row)?))).collect();
        let starts = timed.iter().map(|&(row, interval)| (interval.0, row)).collect();
        let mut ends: Vec<(u64, WorkRow)> =
            timed.iter().map(|&(row, interval)| (interval.1, row)).collect();
        ends.sort_unstable();
        Neighbours { starts, ends }
    }

    fn after(&self, moment: u64) -> Option<WorkRow> {
        let at = self.starts.partition_point(|start| start.0 < moment);
        self.starts.get(at).map(|start| start.1)
    }

    fn before(&self, moment: u64) -> Option<WorkRow> {
        let at = self.ends.partition_point(|end| end.0 <= moment);
        at.checked_sub(1).map(|at| self.ends[at].1)
    }
}
