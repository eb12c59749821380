//! The scopes of threads, the one that ends last first.

use super::super::users::User;
use crate::clock::Axis;
use crate::machine::Machine;
use crate::{Row, Run, Spans};
use std::collections::{BinaryHeap, HashMap};

/// The scopes of a process whose threads count.
pub(super) struct Lane<'a> {
    /// Its place in the run.
    pub(super) process: usize,
    pub(super) spans: &'a Spans,
    axis: Axis,
    /// By number of thread, whether its scopes count; empty: all do.
    counts: Vec<bool>,
}

impl<'a> Lane<'a> {
    /// None when the process's clock is not calibrated.
    pub(super) fn new(run: &'a Run, machine: &Machine, user: &User) -> Option<Lane<'a>> {
        let process = &run.processes[user.process];
        let most = user.threads.as_ref().and_then(|threads| threads.last().copied());
        let mut counts = vec![false; most.map_or(0, |last| last as usize + 1)];
        for &thread in user.threads.iter().flatten() {
            counts[thread as usize] = true;
        }
        let axis = machine.axis(process)?;
        Some(Lane { process: user.process, spans: &process.spans, axis, counts })
    }

    /// Whether a scope counts: its thread launches on the GPUs.
    #[inline]
    pub(super) fn is_counted(&self, row: Row) -> bool {
        let thread = self.spans.thread(row) as usize;
        self.counts.is_empty() || self.counts.get(thread).is_some_and(|counts| *counts)
    }

    /// When a scope begins.
    #[inline]
    pub(super) fn begins(&self, row: Row) -> i64 {
        self.axis.at(self.spans.start(row))
    }

    #[inline]
    fn ends(&self, row: Row) -> i64 {
        self.axis.at(self.spans.end(row))
    }

    /// The scope around one on a thread that counts, if there is one in this process.
    #[inline]
    pub(super) fn parent(&self, row: Row) -> Option<Row> {
        let mut next = self.spans.parent_row(row);
        while let Some(up) = next.filter(|&up| !self.is_counted(up)) {
            next = self.spans.parent_row(up);
        }
        next
    }

    /// Its scopes by thread, each thread's in order of their end: they are stored so, but for those
    /// whose end came late.
    fn by_thread(&self) -> Vec<Vec<Row>> {
        let mut places = Places::default();
        let mut counts: Vec<usize> = Vec::new();
        let counted = || self.spans.rows().filter(|&row| self.is_counted(row));
        for row in counted() {
            let place = places.of(self.spans.thread(row));
            counts.resize(counts.len().max(place + 1), 0);
            counts[place] += 1;
        }
        let mut threads: Vec<Vec<Row>> = counts.into_iter().map(Vec::with_capacity).collect();
        counted().for_each(|row| threads[places.of(self.spans.thread(row))].push(row));
        for rows in &mut threads {
            if !rows.is_sorted_by_key(|&row| self.spans.end(row)) {
                rows.sort_by_key(|&row| self.spans.end(row));
            }
        }
        threads
    }
}

/// Thread numbers as places from 0.
#[derive(Default)]
struct Places {
    known: HashMap<u32, usize>,
    last: Option<(u32, usize)>,
}

impl Places {
    fn of(&mut self, thread: u32) -> usize {
        if let Some((_, place)) = self.last.filter(|last| last.0 == thread) {
            return place;
        }
        let next = self.known.len();
        let place = *self.known.entry(thread).or_insert(next);
        self.last = Some((thread, place));
        place
    }
}

/// The ends of all scopes on the way back.
pub(super) struct Ends {
    /// Lane and rows that are left, by thread.
    threads: Vec<(usize, Vec<Row>)>,
    /// When the next of each thread ends, the latest on top.
    next: BinaryHeap<(i64, usize)>,
}

impl Ends {
    pub(super) fn new(lanes: &[Lane<'_>]) -> Ends {
        let of = |(at, lane): (usize, &Lane<'_>)| {
            lane.by_thread().into_iter().map(move |rows| (at, rows)).collect::<Vec<_>>()
        };
        let threads: Vec<(usize, Vec<Row>)> = lanes.iter().enumerate().flat_map(of).collect();
        let first = |(place, (lane, rows)): (usize, &(usize, Vec<Row>))| {
            Some((lanes[*lane].ends(*rows.last()?), place))
        };
        let next = threads.iter().enumerate().filter_map(first).collect();
        Ends { threads, next }
    }

    /// When the scope ends that ends next.
    #[inline]
    pub(super) fn next(&self) -> Option<i64> {
        self.next.peek().map(|top| top.0)
    }

    /// That scope: its lane and row.
    #[inline]
    pub(super) fn pop(&mut self, lanes: &[Lane<'_>]) -> Option<(usize, Row)> {
        let mut top = self.next.peek_mut()?;
        let (lane, rows) = &mut self.threads[top.1];
        let row = rows.pop()?;
        match rows.last() {
            Some(&next) => top.0 = lanes[*lane].ends(next),
            None => drop(std::collections::binary_heap::PeekMut::pop(top)),
        }
        Some((*lane, row))
    }
}
