//! The machines of a run, and the times of its parts on their axis.

use super::{Machine, TimeRanges, linked, machine_folders, read};
use crate::links::Links;
use crate::select::Selection;
use crate::tree::paths::{NodeId, Paths, ROOT};
use crate::{Process, Run};

impl Run {
    /// Reads the run's own machine folders, and those of sidecars where it has none.
    pub(crate) fn read_machines(&mut self) {
        for folder in machine_folders(&self.folder) {
            let read = read::read(&folder, None, &self.processes);
            // Of a packed run those are there already, but for what came after it was packed.
            match self.machines.iter_mut().find(|machine| machine.folder == folder) {
                Some(packed) => packed.absorb(read),
                None => self.machines.push(read),
            }
        }
        self.machines.extend(linked::machines(self));
        self.machines.sort_by(|a, b| a.host().cmp(b.host()));
    }

    /// The machine that `process` ran on; none when nobody sampled it.
    pub fn machine_of(&self, process: &Process) -> Option<&Machine> {
        let near = self.machines.iter().filter_map(|m| Some((m.boot.distance(process)?, m)));
        near.min_by_key(|(apart, machine)| (*apart, machine.boot.host != process.info.host))
            .map(|(_, machine)| machine)
    }

    /// The processes that ran on `machine`.
    pub fn processes_on<'a>(
        &'a self,
        machine: &'a Machine,
    ) -> impl Iterator<Item = (usize, &'a Process)> {
        let here = |p: &Process| self.machine_of(p).is_some_and(|of| std::ptr::eq(of, machine));
        self.processes.iter().enumerate().filter(move |(_, process)| here(process))
    }

    /// When the run was on, on the axis of `machine`: while its processes there lived, or, when it
    /// had none there, while readings were taken.
    pub fn time_on(&self, machine: &Machine) -> TimeRanges {
        let of = |(_, process): (usize, &Process)| {
            let first = process.clock.anchors().first()?.ticks;
            Some((machine.moment(process, first)?, machine.moment(process, process.last_tick)?))
        };
        let lives: Vec<(i64, i64)> = self.processes_on(machine).filter_map(of).collect();
        let first = lives.iter().map(|life| life.0).min();
        let last = lives.iter().map(|life| life.1).max();
        let whole = first.zip(last).or_else(|| machine.extent());
        whole.map(|(from, to)| TimeRanges::one(from, to)).unwrap_or_default()
    }

    /// When any scope of `path` was open, on the axis of `machine`. `path` is names from the
    /// outermost scope, or the last of them, with `/` between: `step/forward`. None when no scope
    /// of the run has such a path.
    pub fn time_in_scope(&self, machine: &Machine, path: &str) -> Option<TimeRanges> {
        let links = Links::new(&self.processes);
        let all: Vec<Selection> = self.processes.iter().map(|_| Selection::All).collect();
        let paths = Paths::new(self, &links, &all);
        let wanted = fitting(&paths, path);
        if !wanted.contains(&true) {
            return None;
        }
        let mut times = Vec::new();
        for (at, process) in self.processes_on(machine) {
            let Some(axis) = machine.axis(process) else { continue };
            let spans = &process.spans;
            let of_path =
                |row: &u32| paths.node(at, *row).is_some_and(|node| wanted[node as usize]);
            let rows = spans.rows().filter(of_path);
            times.extend(rows.map(|row| (axis.at(spans.start(row)), axis.at(spans.end(row)))));
        }
        Some(TimeRanges::union(times))
    }
}

/// By node, whether its path is `path` or ends with it.
fn fitting(paths: &Paths, path: &str) -> Vec<bool> {
    let fits = |node: NodeId| {
        let whole = paths.path(node).join("/");
        whole == path || whole.strip_suffix(path).is_some_and(|before| before.ends_with('/'))
    };
    (0..paths.nodes.len() as NodeId).map(|node| node != ROOT && fits(node)).collect()
}
