//! A process's spans by row of the timeline, and its ticks as nanoseconds that keep their order.

use crate::lanes::Item;
use hodo_trace::{MarkRow, Process, Row, Run, flag};
use std::collections::{BTreeMap, HashSet};

/// Where spans are drawn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// A thread, by number.
    Thread(u32),
    /// Scopes that were not bound to one thread: begin/end handles and futures.
    Async,
}

/// Said of a process whose scopes can be drawn in their order only.
pub const NOT_CALIBRATED: &str = "times not calibrated: 1 tick drawn as 1 ns";

/// Turns the ticks of a process into nanoseconds since 1970, by a clock that never steps: a span
/// that lies inside another in ticks does so in nanoseconds.
#[derive(Clone, Copy)]
pub struct Timeline<'a> {
    process: &'a Process,
    first_tick: u64,
}

impl<'a> Timeline<'a> {
    /// The timeline of `process`.
    pub fn new(process: &'a Process) -> Timeline<'a> {
        let spans = process.spans.rows().map(|r| process.spans.start(r));
        let marks = process.marks.iter().map(|m| m.at);
        let work = &process.gpu.work;
        let launched = work.rows().flat_map(|row| [work.start(row), work.launched(row)]);
        let launched = launched.filter(|&ticks| ticks != 0);
        let first_tick = spans.chain(marks).chain(launched).min().unwrap_or(0);
        Timeline { process, first_tick }
    }

    /// Nanoseconds since 1970 at `ticks`; see [`NOT_CALIBRATED`] for processes without a clock.
    pub fn ns(&self, ticks: u64) -> u64 {
        if self.process.is_timed() {
            return u64::try_from(self.process.clock.steady_ns(ticks)).unwrap_or(0);
        }
        self.process.info.start_ns.saturating_add(ticks.saturating_sub(self.first_tick))
    }

    /// The span of a row, ready to be placed.
    pub fn item(&self, row: Row) -> Item {
        let spans = &self.process.spans;
        Item {
            row,
            id: spans.id(row).0,
            parent: spans.parent(row).0,
            start_ns: self.ns(spans.start(row)),
            end_ns: self.ns(spans.end(row)),
        }
    }

    /// When the first record was made.
    pub fn first_ns(&self) -> u64 {
        self.ns(self.first_tick)
    }
}

/// The rows of a process by group, each in the order the scopes were opened.
pub fn groups(process: &Process) -> BTreeMap<Group, Vec<Row>> {
    let spans = &process.spans;
    let mut groups = by_opening(process);
    // Scopes that share an id are found once by it; damage makes such, and they are drawn too.
    if groups.values().map(Vec::len).sum::<usize>() != spans.len() {
        groups.values_mut().for_each(Vec::clear);
        spans.rows().for_each(|row| groups.entry(group(process, row)).or_default().push(row));
    }
    for rows in groups.values_mut() {
        let opened = |&row: &Row| (spans.start(row), spans.id(row));
        if !rows.is_sorted_by_key(opened) {
            rows.sort_unstable_by_key(opened);
        }
    }
    groups
}

/// The rows by group, thread by thread as each opened them: most often that is their order in time.
fn by_opening(process: &Process) -> BTreeMap<Group, Vec<Row>> {
    let mut groups: BTreeMap<Group, Vec<Row>> =
        process.threads.iter().map(|t| (Group::Thread(t.number), Vec::new())).collect();
    for thread in &process.threads {
        for row in process.spans.rows_of_thread(thread.number) {
            groups.entry(group(process, row)).or_default().push(row);
        }
    }
    groups
}

fn group(process: &Process, row: Row) -> Group {
    match process.spans.flags(row) & flag::CPU_MASK {
        flag::CPU_SUSPENDED | flag::CPU_OTHER_THREAD => Group::Async,
        _ => Group::Thread(process.spans.thread(row)),
    }
}

/// The thread a mark was made for: the one that opened its scope; none outside any scope.
pub fn mark_thread(process: &Process, mark: &MarkRow) -> Option<u32> {
    Some(mark.span.thread()).filter(|&t| process.thread(t).is_some())
}

/// A thread's id in the operating system, or its number when that is not known.
pub fn thread_id(process: &Process, number: u32) -> u32 {
    process.thread(number).map(|t| t.os_tid).filter(|&t| t != 0).unwrap_or(number)
}

/// Records to draw: scopes and GPU work.
pub fn record_count(run: &Run) -> u64 {
    let work: usize = run.processes.iter().map(|p| p.gpu.work.len()).sum();
    (run.span_count() + work) as u64
}

/// A pid for every process; where two hosts gave the same one, the later gets a stand-in.
pub fn pids(run: &Run) -> Vec<u32> {
    const STAND_IN: u32 = 1 << 30;
    let mut taken = HashSet::new();
    let pid = |(at, p): (usize, &Process)| {
        if taken.insert(p.info.pid) { p.info.pid } else { STAND_IN + at as u32 }
    };
    run.processes.iter().enumerate().map(pid).collect()
}

/// What a process is called: the app, its rank where it has one, and a warning where one is due.
pub fn process_name(run: &Run, process: &Process) -> String {
    let app = if run.info.app.is_empty() { "hodo run" } else { &run.info.app };
    let rank = process.info.rank.map(|rank| format!(" rank {rank}")).unwrap_or_default();
    let warning = if process.is_timed() { "" } else { NOT_CALIBRATED };
    let name = format!("{app}{rank}");
    if warning.is_empty() { name } else { format!("{name} ({warning})") }
}

/// The scope that an outermost scope of `process` belongs to: the one that started the process,
/// by the process's half of its id and its own.
pub fn started_in(process: &Process) -> Option<(u64, u64)> {
    let link = process.info.parent.as_ref()?;
    let word = |hex: &str| u64::from_str_radix(hex, 16).ok();
    Some((word(&link.process)?, word(&link.span)?))
}
