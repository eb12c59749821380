//! Sums per node: times in ticks while one process is read, nanoseconds after.

use super::paths::Paths;
use crate::index::NO_ROW;
use crate::select::Selection;
use crate::{Cpu, CpuMissing, CpuSum, Process, Row, Run, Spans};

/// What is summed over the scopes of a node.
#[derive(Clone, Default)]
pub(super) struct Sum {
    pub(super) count: u64,
    pub(super) open: u64,
    pub(super) failed: u64,
    /// All flags seen, for benchmark loops.
    pub(super) flags: u16,
    pub(super) total: u64,
    pub(super) own: u64,
    pub(super) cpu: CpuSum,
    pub(super) overhead: Overhead,
    pub(super) first: Option<i64>,
    pub(super) last: Option<i64>,
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
    last_end: u64,
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
            last_end: 0,
            thread: u32::MAX,
            seen_threads: Vec::new(),
        }
    }
}

/// Sums over all processes, by node.
pub(super) fn sums(run: &Run, paths: &Paths, kept: &[Selection]) -> Vec<Sum> {
    let mut sums = vec![Sum::default(); paths.nodes.len()];
    for (at, process) in run.processes.iter().enumerate() {
        if matches!(kept[at], Selection::None) {
            continue;
        }
        for (sum, part) in
            sums.iter_mut().zip(parts(process, &paths.of[at], &kept[at], sums_len(paths)))
        {
            if part.sum.count > 0 {
                sum.add(part, process);
            }
        }
    }
    sums
}

fn sums_len(paths: &Paths) -> usize {
    paths.nodes.len()
}

fn parts(process: &Process, nodes: &[u32], kept: &Selection, len: usize) -> Vec<Part> {
    let spans = &process.spans;
    let mut parts = vec![Part::default(); len];
    let mut children = Children::new(spans);
    for row in spans.rows().filter(|&row| kept.keeps(row)) {
        let own = children.own_time(spans, row);
        parts[nodes[row as usize] as usize].add(spans, row, own);
    }
    parts
}

impl Part {
    #[inline]
    fn add(&mut self, spans: &Spans, row: Row, own: u64) {
        let duration = spans.duration(row);
        let start = spans.start(row);
        let sum = &mut self.sum;
        sum.count += 1;
        sum.open += u64::from(spans.is_open(row));
        sum.failed += u64::from(spans.is_failed(row));
        sum.flags |= spans.flags(row);
        sum.total = sum.total.saturating_add(duration);
        sum.own = sum.own.saturating_add(own);
        self.cpu = self.cpu.saturating_add(sum.cpu.count(spans.cpu(row)));
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
        self.last_end = self.last_end.max(start.saturating_add(duration));
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
        if self.captured > 0 {
            self.total_ns = Some(self.total_ns.unwrap_or(0) + ticks_ns);
        }
    }
}

impl Sum {
    fn add(&mut self, part: Part, process: &Process) {
        let clock = &process.clock;
        let ns = |ticks: u64| clock.duration_ns(ticks);
        let other = part.sum;
        let first = clock.steady_ns(part.first_start);
        let last = clock.steady_ns(part.last_end);
        self.overhead.add(
            &other.overhead,
            ns,
            self.count == 0,
            self.first.is_none_or(|f| first < f),
        );
        self.count += other.count;
        self.open += other.open;
        self.failed += other.failed;
        self.flags |= other.flags;
        self.total += ns(other.total);
        self.own += ns(other.own);
        self.cpu.add(other.cpu, ns(part.cpu));
        self.first = Some(self.first.map_or(first, |f| f.min(first)));
        self.last = Some(self.last.map_or(last, |l| l.max(last)));
        self.threads += part.seen_threads.len() as u32;
        self.processes += 1;
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

/// The children of every row, as lists in order of row.
struct Children {
    first: Vec<Row>,
    next: Vec<Row>,
    intervals: Vec<(u64, u64)>,
}

impl Children {
    fn new(spans: &Spans) -> Children {
        let mut first = vec![NO_ROW; spans.len()];
        let mut next = vec![NO_ROW; spans.len()];
        for row in spans.rows().rev() {
            if let Some(parent) = spans.parent_row(row) {
                next[row as usize] = std::mem::replace(&mut first[parent as usize], row);
            }
        }
        Children { first, next, intervals: Vec::new() }
    }

    /// Ticks of `row` that none of its children covers, whichever thread they ran on.
    fn own_time(&mut self, spans: &Spans, row: Row) -> u64 {
        let mut child = self.first[row as usize];
        if child == NO_ROW {
            return spans.duration(row);
        }
        self.intervals.clear();
        while child != NO_ROW {
            self.intervals.push((spans.start(child), spans.end(child)));
            child = self.next[child as usize];
        }
        own_time((spans.start(row), spans.end(row)), &mut self.intervals)
    }
}

/// Length of `whole` outside the union of `parts`.
fn own_time(whole: (u64, u64), parts: &mut [(u64, u64)]) -> u64 {
    if !parts.is_sorted() {
        parts.sort_unstable();
    }
    let mut covered = 0;
    let mut reached = whole.0;
    for &(start, end) in parts.iter() {
        let (start, end) = (start.max(reached), end.min(whole.1));
        if end > start {
            covered += end - start;
            reached = end;
        }
    }
    (whole.1 - whole.0) - covered
}

#[cfg(test)]
mod tests {
    use super::own_time;
    use proptest::prelude::*;

    #[test]
    fn overlapping_children_count_once() {
        assert_eq!(own_time((0, 100), &mut [(10, 30), (20, 40)]), 70);
        assert_eq!(own_time((0, 100), &mut [(20, 40), (10, 30), (15, 18)]), 70);
    }

    #[test]
    fn a_child_that_outlives_its_parent_counts_as_far_as_the_parent() {
        assert_eq!(own_time((50, 100), &mut [(90, 400)]), 40);
        assert_eq!(own_time((50, 100), &mut [(10, 60), (200, 300)]), 40);
    }

    proptest! {
        #[test]
        fn own_time_is_what_counting_ticks_says(
            start in 0u64..60, len in 0u64..60,
            mut parts in prop::collection::vec((0u64..120, 0u64..40), 0..8),
        ) {
            for part in &mut parts {
                part.1 += part.0;
            }
            let free = (start..start + len)
                .filter(|t| !parts.iter().any(|p| p.0 <= *t && *t < p.1))
                .count() as u64;
            prop_assert_eq!(own_time((start, start + len), &mut parts), free);
        }
    }
}
