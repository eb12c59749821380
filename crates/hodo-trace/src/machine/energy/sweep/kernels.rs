//! The kernels that run on a GPU, and whose they are.

use super::{Place, Receive};
use crate::clock::Axis;
use crate::machine::Machine;
use crate::{Run, WorkRow};
use std::collections::BinaryHeap;

/// The kernels of a GPU on the way back.
pub(super) struct Kernels<'a> {
    run: &'a Run,
    /// By place of a process.
    axes: Vec<Option<Axis>>,
    /// In order of their end.
    rows: Vec<(i64, u32, WorkRow)>,
    /// When running ones begin, the latest on top.
    begins: BinaryHeap<(i64, u32, WorkRow)>,
    /// Whose kernels run; none: no scope's.
    owners: Vec<Owner>,
    /// Joules that one of them got so far.
    each: f64,
    pub(super) outside: f64,
}

struct Owner {
    scope: Option<Place>,
    kernels: u32,
    /// What [`Kernels::each`] was when the first of them came to run.
    since: f64,
}

impl<'a> Kernels<'a> {
    pub(super) fn new(
        run: &'a Run,
        machine: &Machine,
        kernels: &[(usize, WorkRow)],
    ) -> Kernels<'a> {
        let axes: Vec<Option<Axis>> = run.processes.iter().map(|p| machine.axis(p)).collect();
        let end = |&(at, row): &(usize, WorkRow)| {
            let (_, end) = run.processes[at].gpu.work.interval(row)?;
            Some((axes[at]?.at(end), at as u32, row))
        };
        let mut rows: Vec<(i64, u32, WorkRow)> = kernels.iter().filter_map(end).collect();
        rows.sort();
        let (begins, owners) = (BinaryHeap::new(), Vec::new());
        Kernels { run, axes, rows, begins, owners, each: 0.0, outside: 0.0 }
    }

    /// When something changes next.
    #[inline]
    pub(super) fn next(&self) -> Option<i64> {
        let begins = self.begins.peek().map(|top| top.0);
        self.rows.last().map(|last| last.0).max(begins)
    }

    #[inline]
    pub(super) fn is_running(&self) -> bool {
        !self.owners.is_empty()
    }

    /// The scopes whose kernels run get joules in equal parts.
    #[inline]
    pub(super) fn get(&mut self, joules: f64) {
        self.each += joules / self.owners.len() as f64;
    }

    /// Takes what changes at `moment`, if it does.
    pub(super) fn step(&mut self, moment: i64, receive: &mut impl Receive) {
        while let Some(&(end, at, row)) = self.rows.last().filter(|last| last.0 == moment) {
            self.rows.pop();
            let begin = self.run.processes[at as usize].gpu.work.start(row);
            let begin = self.axes[at as usize].map_or(end, |axis| axis.at(begin));
            self.begins.push((begin, at, row));
            self.starts_running(self.scope(at, row));
        }
        while let Some(&(_, at, row)) = self.begins.peek().filter(|top| top.0 == moment) {
            self.begins.pop();
            self.stops_running(self.scope(at, row), receive);
        }
    }

    /// The scope that launched a kernel; none when no scope did, or its record is lost.
    fn scope(&self, at: u32, row: WorkRow) -> Option<Place> {
        let process = &self.run.processes[at as usize];
        let scope = process.spans.row_of(process.gpu.work.span(row))?;
        Some((at as usize, scope))
    }

    fn starts_running(&mut self, scope: Option<Place>) {
        match self.owners.iter_mut().find(|owner| owner.scope == scope) {
            Some(owner) => owner.kernels += 1,
            None => self.owners.push(Owner { scope, kernels: 1, since: self.each }),
        }
    }

    fn stops_running(&mut self, scope: Option<Place>, receive: &mut impl Receive) {
        let Some(at) = self.owners.iter().position(|owner| owner.scope == scope) else { return };
        self.owners[at].kernels -= 1;
        if self.owners[at].kernels > 0 {
            return;
        }
        let owner = self.owners.swap_remove(at);
        let joules = self.each - owner.since;
        match owner.scope {
            Some(scope) => receive.give(scope, joules, true),
            None => self.outside += joules,
        }
        if self.owners.is_empty() {
            // Small sums keep their digits.
            self.each = 0.0;
        }
    }
}
