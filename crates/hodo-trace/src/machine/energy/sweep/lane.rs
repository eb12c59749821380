//! The scopes of a process, the one that ends last first.

use super::super::users::User;
use super::Receive;
use super::leaves::Leaves;
use crate::machine::Machine;
use crate::{Process, Row, Run, Spans};

/// The scopes of a process's threads that count, on the way back.
pub(super) struct Lane<'a> {
    pub(super) at: usize,
    process: &'a Process,
    machine: &'a Machine,
    /// By number of thread, whether its scopes count; empty: all do.
    counts: Vec<bool>,
    /// Rows in order of their end, where they are not stored so.
    order: Option<Vec<Row>>,
    /// How many are left.
    left: usize,
    /// When the next ends.
    next: Option<i64>,
}

/// What comes next of scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A scope ends: going back, it comes to be open.
    Ends { lane: usize, moment: i64 },
    /// An open scope begins: going back, it is no more.
    Begins(i64),
}

impl Next {
    /// What comes next of all lanes and open scopes.
    #[inline]
    pub(super) fn of(lanes: &mut [Lane<'_>], leaves: &Leaves) -> Option<Next> {
        let ends = lanes.iter().enumerate().filter_map(|(at, lane)| Some((lane.next?, at)));
        let ends = ends.max_by_key(|(moment, _)| *moment);
        match (ends, leaves.next()) {
            // A scope of no length is open before it is no more.
            (Some((moment, lane)), begins) if begins.is_none_or(|begins| moment >= begins) => {
                Some(Next::Ends { lane, moment })
            }
            (_, begins) => begins.map(Next::Begins),
        }
    }

    pub(super) fn moment(self) -> i64 {
        match self {
            Next::Ends { moment, .. } | Next::Begins(moment) => moment,
        }
    }
}

impl<'a> Lane<'a> {
    pub(super) fn new(run: &'a Run, machine: &'a Machine, user: &User) -> Lane<'a> {
        let process = &run.processes[user.process];
        let spans = &process.spans;
        let counts = match &user.threads {
            None => Vec::new(),
            Some(threads) => {
                let mut counts = vec![false; threads.last().map_or(0, |&last| last as usize + 1)];
                threads.iter().for_each(|&thread| counts[thread as usize] = true);
                counts
            }
        };
        let mut lane =
            Lane { at: user.process, process, machine, counts, order: None, left: 0, next: None };
        lane.left = spans.len();
        let ends = spans.rows().filter(|&row| lane.is_counted(row)).map(|row| spans.end(row));
        if !ends.is_sorted() {
            let mut order: Vec<Row> = spans.rows().filter(|&row| lane.is_counted(row)).collect();
            order.sort_by_key(|&row| spans.end(row));
            lane.left = order.len();
            lane.order = Some(order);
        }
        lane.find_next();
        lane
    }

    /// Whether a scope counts: its thread launches on the GPUs.
    #[inline]
    pub(super) fn is_counted(&self, row: Row) -> bool {
        let thread = self.process.spans.thread(row) as usize;
        self.counts.is_empty() || self.counts.get(thread).is_some_and(|counts| *counts)
    }

    pub(super) fn spans(&self) -> &'a Spans {
        &self.process.spans
    }

    /// The scope that ends next comes to be open.
    pub(super) fn pop(&mut self, leaves: &mut Leaves, lane: usize, receive: &mut impl Receive) {
        self.left -= 1;
        let row = self.row(self.left);
        let begins = self.moment(self.process.spans.start(row));
        leaves.open((lane, row), begins, self.parent(row), receive);
        self.find_next();
    }

    /// The scope around it on a thread that counts, if there is one in this process.
    fn parent(&self, row: Row) -> Option<Row> {
        let mut next = self.process.spans.parent_row(row);
        while let Some(up) = next.filter(|&up| !self.is_counted(up)) {
            next = self.process.spans.parent_row(up);
        }
        next
    }

    fn find_next(&mut self) {
        if self.order.is_none() {
            while self.left > 0 && !self.is_counted(self.row(self.left - 1)) {
                self.left -= 1;
            }
        }
        let row = self.left.checked_sub(1).map(|last| self.row(last));
        self.next = row.map(|row| self.moment(self.process.spans.end(row)));
    }

    #[inline]
    fn row(&self, at: usize) -> Row {
        self.order.as_ref().map_or(at as Row, |order| order[at])
    }

    #[inline]
    fn moment(&self, ticks: u64) -> i64 {
        self.machine.moment(self.process, ticks).unwrap_or(i64::MIN)
    }
}
