//! Sums per node: times in ticks while one process is read, nanoseconds after.

use super::children::{Times, own_times};
use super::paths::Paths;
use crate::links::Links;
use crate::select::Selection;
use crate::spans::SpanScan;
use crate::{Cpu, CpuMissing, CpuSum, Process, Row, Run};
use hodo_format::record::flag;

/// What is summed over the scopes of a node.
#[derive(Clone, Default)]
pub(super) struct Sum {
    pub(super) count: u64,
    /// Those of processes whose clock is not calibrated; no time below has a part of them.
    pub(super) untimed: u64,
    /// Those that closed and have a time.
    pub(super) closed: u64,
    pub(super) open: u64,
    pub(super) failed: u64,
    /// All flags seen, for benchmark loops.
    pub(super) flags: u16,
    /// The longest of those that closed.
    pub(super) longest: u64,
    pub(super) total: u64,
    pub(super) own: u64,
    pub(super) cpu: CpuSum,
    pub(super) overhead: Overhead,
    pub(super) first: Option<i64>,
    pub(super) threads: u32,
    pub(super) processes: u32,
}

/// The overhead column as a series.
#[derive(Clone, Default)]
pub(super) struct Overhead {
    pub(super) total: u64,
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) first: u64,
    pub(super) last: u64,
}

/// One process's part, all in ticks.
#[derive(Clone)]
struct Part {
    sum: Sum,
    cpu: u64,
    first_start: u64,
    last_start: u64,
    thread: u32,
    seen_threads: Vec<u32>,
}

impl Default for Part {
    fn default() -> Self {
        Part {
            sum: Sum {
                overhead: Overhead { min: u64::MAX, ..Overhead::default() },
                ..Sum::default()
            },
            cpu: 0,
            first_start: u64::MAX,
            last_start: 0,
            thread: u32::MAX,
            seen_threads: Vec::new(),
        }
    }
}

/// Sums over all processes, by node.
pub(super) fn sums(run: &Run, links: &Links, paths: &Paths, kept: &[Selection]) -> Vec<Sum> {
    let mut sums = vec![Sum::default(); paths.nodes.len()];
    for (at, process) in run.processes.iter().enumerate() {
        if matches!(kept[at], Selection::None) {
            continue;
        }
        let mut parts = vec![Part::default(); sums.len()];
        own_times(run, links, at, |row, times, scan| {
            let node = paths.node(at, row).filter(|_| kept[at].keeps(row));
            if let Some(node) = node {
                parts[node as usize].add(scan, row, times);
            }
        });
        for (sum, part) in sums.iter_mut().zip(parts).filter(|(_, part)| part.sum.count > 0) {
            sum.add(part, process);
        }
    }
    sums
}

impl Part {
    #[inline]
    fn add(&mut self, spans: &mut SpanScan<'_>, row: Row, Times { start, end, own }: Times) {
        let duration = end - start;
        let flags = spans.flags(row);
        let is_open = spans.is_open_by(row, flags);
        let sum = &mut self.sum;
        sum.count += 1;
        sum.open += u64::from(is_open);
        sum.failed += u64::from(flags & flag::FAILED != 0);
        sum.flags |= flags;
        if !is_open {
            sum.longest = sum.longest.max(duration);
        }
        sum.total = sum.total.saturating_add(duration);
        sum.own = sum.own.saturating_add(own);
        self.cpu = self.cpu.saturating_add(sum.cpu.count(spans.cpu(row, flags, is_open)));
        let overhead = spans.overhead(row);
        sum.overhead.total = sum.overhead.total.saturating_add(overhead);
        sum.overhead.min = sum.overhead.min.min(overhead);
        sum.overhead.max = sum.overhead.max.max(overhead);
        if start < self.first_start {
            self.first_start = start;
            sum.overhead.first = overhead;
        }
        if start >= self.last_start {
            self.last_start = start;
            sum.overhead.last = overhead;
        }
        self.on_thread(spans.thread(row));
    }

    #[inline]
    fn on_thread(&mut self, thread: u32) {
        if thread != self.thread {
            self.thread = thread;
            if let Err(at) = self.seen_threads.binary_search(&thread) {
                self.seen_threads.insert(at, thread);
            }
        }
    }
}

impl CpuSum {
    /// Counts one scope; returns its ticks.
    fn count(&mut self, cpu: Cpu) -> u64 {
        let (counter, ticks) = match cpu {
            Cpu::Captured(ticks) => (&mut self.captured, ticks),
            Cpu::Missing(CpuMissing::Suspended) => (&mut self.suspended, 0),
            Cpu::Missing(CpuMissing::OtherThread) => (&mut self.other_thread, 0),
            Cpu::Missing(CpuMissing::Off) => (&mut self.off, 0),
            Cpu::Missing(CpuMissing::Open) => (&mut self.open, 0),
            Cpu::Missing(CpuMissing::Uncalibrated) => (&mut self.uncalibrated, 0),
        };
        *counter += 1;
        ticks
    }

    fn add(&mut self, other: CpuSum, ticks_ns: u64) {
        self.captured += other.captured;
        self.suspended += other.suspended;
        self.other_thread += other.other_thread;
        self.off += other.off;
        self.open += other.open;
        self.uncalibrated += other.uncalibrated;
        if self.captured > 0 {
            self.total_ns = Some(self.total_ns.unwrap_or(0) + ticks_ns);
        }
    }
}

impl Sum {
    fn add(&mut self, part: Part, process: &Process) {
        let first = process.clock.steady_ns(part.first_start);
        if process.is_timed() {
            self.add_times(&part, process, first);
        } else {
            self.untimed += part.sum.count;
            let uncalibrated = part.sum.cpu.captured;
            self.cpu.add(CpuSum { captured: 0, uncalibrated, ..part.sum.cpu }, 0);
        }
        self.count += part.sum.count;
        self.open += part.sum.open;
        self.failed += part.sum.failed;
        self.flags |= part.sum.flags;
        self.first = Some(self.first.map_or(first, |f| f.min(first)));
        self.threads += part.seen_threads.len() as u32;
        self.processes += 1;
    }

    fn add_times(&mut self, part: &Part, process: &Process, first: i64) {
        let ns = |ticks: u64| process.clock.duration_ns(ticks);
        let new = self.timed() == 0;
        let earlier = self.first.is_none_or(|f| first < f);
        self.overhead.add(&part.sum.overhead, ns, new, earlier);
        self.total += ns(part.sum.total);
        self.own += ns(part.sum.own);
        self.closed += part.sum.count - part.sum.open;
        self.longest = self.longest.max(ns(part.sum.longest));
        self.cpu.add(part.sum.cpu, ns(part.cpu));
    }

    /// Scopes that the times are made of.
    pub(super) fn timed(&self) -> u64 {
        self.count - self.untimed
    }

    /// A time that is summed up here; none when no scope has one.
    pub(super) fn time(&self, ns: u64) -> Option<u64> {
        (self.timed() > 0).then_some(ns)
    }
}

impl Overhead {
    fn add(&mut self, other: &Overhead, ns: impl Fn(u64) -> u64, new: bool, earlier: bool) {
        let min = if new { u64::MAX } else { self.min };
        self.total += ns(other.total);
        self.min = min.min(ns(other.min));
        self.max = self.max.max(ns(other.max));
        if earlier {
            self.first = ns(other.first);
        }
        if new || !earlier {
            self.last = ns(other.last);
        }
    }
}
