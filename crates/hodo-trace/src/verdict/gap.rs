//! One gap in the GPU's work, and whose it is.

use super::Cause;
use super::timeline::Timeline;
use super::waits::Waits;
use crate::{Clock, Process, Row, SpanId, WorkRow, WorkRows};
use std::collections::HashMap;

/// A host that launches again within this time does nothing but launch: an operation of an eager
/// framework takes some ten microseconds, under a profiler or on a slow CPU more than a hundred.
const LAUNCH_AFTER_LAUNCH_NS: u64 = 200_000;

/// Gives gaps to causes.
pub(super) struct Gaps<'a> {
    work: &'a WorkRows,
    waits: Waits<'a>,
    /// By number of thread.
    timelines: HashMap<u32, Timeline>,
    /// Number of a thread by the system's.
    threads: HashMap<u32, u32>,
    /// By row of scope.
    waits_for_input: Vec<bool>,
    launch_after_launch: u64,
    process: &'a Process,
}

/// A stretch in which no device had work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) from: u64,
    pub(super) to: u64,
    /// The work that ended when it began.
    pub(super) before: Option<WorkRow>,
    /// The work that began next, at its end or later.
    pub(super) after: Option<WorkRow>,
}

impl<'a> Gaps<'a> {
    pub(super) fn new(process: &'a Process, scoped_threads: &[u32]) -> Gaps<'a> {
        let spans = &process.spans;
        let mut scopes: HashMap<u32, Vec<Row>> =
            scoped_threads.iter().map(|&thread| (thread, Vec::new())).collect();
        for row in spans.rows() {
            scopes.get_mut(&spans.thread(row)).into_iter().for_each(|rows| rows.push(row));
        }
        let timeline = |(thread, rows)| (thread, Timeline::new(spans, rows));
        Gaps {
            work: &process.gpu.work,
            waits: Waits::new(&process.gpu.work),
            timelines: scopes.into_iter().map(timeline).collect(),
            threads: process.threads.iter().map(|t| (t.os_tid, t.number)).collect(),
            waits_for_input: super::input::waits(process),
            launch_after_launch: ticks(&process.clock, LAUNCH_AFTER_LAUNCH_NS),
            process,
        }
    }

    pub(super) fn waits_are_recorded(&self) -> bool {
        self.waits.are_recorded()
    }

    /// Calls `give` with every part of a gap: its cause, its scope, its ticks.
    pub(super) fn split(&self, gap: Gap, give: &mut dyn FnMut(Cause, Option<Row>, u64)) {
        let mut from = gap.from;
        // A wait of so long can have made the host late by so long, and no more.
        if let Some(waited) = self.waits.at(gap.from, gap.before) {
            let part = waited.ticks.min(gap.to - gap.from);
            give(Cause::Sync, self.row(waited.scope), part);
            from += part;
        }
        let launched = gap.after.map(|row| self.work.launched(row)).filter(|&at| at != 0);
        let until = launched.map_or(gap.to, |at| at.clamp(from, gap.to));
        let is_rhythm = launched.is_some_and(|at| self.follows_a_launch(at));
        let launcher = gap.after.and_then(|row| self.row(self.work.span(row)));
        if let Some(timeline) = self.timeline(gap.after) {
            timeline.visit(from, until, |ticks, scope| {
                let waits_for_input = scope.is_some_and(|row| self.waits_for_input[row as usize]);
                match scope {
                    _ if waits_for_input => give(Cause::Input, scope, ticks),
                    _ if is_rhythm => give(Cause::Launch, scope.or(launcher), ticks),
                    Some(_) => give(Cause::Host, scope, ticks),
                    None => give(Cause::Unknown, None, ticks),
                }
            });
        } else {
            let cause = if is_rhythm { Cause::Launch } else { Cause::Unknown };
            give(cause, launcher, until - from);
        }
        give(Cause::Launch, launcher, gap.to - until);
    }

    fn row(&self, scope: SpanId) -> Option<Row> {
        self.process.spans.row_of(scope)
    }

    /// Whether the launch at a moment came right after another.
    fn follows_a_launch(&self, at: u64) -> bool {
        self.waits.launch_before(at).is_some_and(|before| at - before <= self.launch_after_launch)
    }

    /// The scopes of the thread that launched a piece of work, or that it worked for; else of the
    /// only thread that launches.
    fn timeline(&self, work: Option<WorkRow>) -> Option<&Timeline> {
        let by_scope = work.map(|row| self.work.span(row)).filter(|scope| !scope.is_none());
        let by_thread = || self.threads.get(&self.work.thread(work?)).copied();
        let known = by_scope.map(SpanId::thread).or_else(by_thread);
        let only = || self.timelines.keys().next().copied().filter(|_| self.timelines.len() == 1);
        known
            .and_then(|thread| self.timelines.get(&thread))
            .or_else(|| self.timelines.get(&only()?))
    }
}

fn ticks(clock: &Clock, ns: u64) -> u64 {
    const MANY: u64 = 1 << 30;
    let ns_per_tick = clock.duration_ns(MANY) as f64 / MANY as f64;
    if ns_per_tick > 0.0 { (ns as f64 / ns_per_tick) as u64 } else { ns }
}
