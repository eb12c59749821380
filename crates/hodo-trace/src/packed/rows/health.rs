//! Where every record went: of each process as a whole, then of its threads.

use super::{Rows, hex};
use crate::packed::values::Values;
use crate::{Counts, Loss, Process, Run, Thread};
use std::ops::Range;

/// A line of the account.
struct Line {
    process: String,
    thread: Option<i64>,
    what: &'static str,
    reason: Option<&'static str>,
    /// By sort of record, where that is known.
    counts: Option<Counts>,
    records: u64,
}

/// The account of a run.
pub(super) struct Health<'a> {
    run: &'a Run,
    lines: Vec<Line>,
}

impl<'a> Health<'a> {
    pub(super) fn new(run: &'a Run) -> Health<'a> {
        Health { run, lines: run.processes.iter().flat_map(lines).collect() }
    }

    fn counts(&self, rows: Range<usize>, count: fn(&Counts) -> u64) -> Values {
        let lines = self.lines[rows].iter();
        Values::wholes(lines.map(|line| line.counts.as_ref().map(|c| count(c) as i64)))
    }
}

fn lines(process: &Process) -> Vec<Line> {
    let whose = hex(process);
    let account = &process.account;
    let line = |thread: Option<&Thread>, what, reason, counts: Option<Counts>, records| Line {
        process: whose.clone(),
        thread: thread.map(|thread| thread.number.into()),
        what,
        reason,
        counts,
        records,
    };
    let known = |thread, what, reason, counts: Counts| {
        line(thread, what, reason, Some(counts), counts.records())
    };
    let mut lines = vec![
        line(None, "produced", None, Some(account.produced), account.produced_records()),
        known(None, "stored", None, account.stored),
        known(None, "in ring", None, account.in_ring),
    ];
    let lost = Loss::ALL.iter().zip(&account.lost);
    lines.extend(lost.map(|(reason, lost)| known(None, "lost", Some(reason.name()), *lost)));
    lines.push(line(None, "unexplained", None, None, account.unexplained));
    lines.push(line(None, "too deep", None, None, account.depth_dropped));
    lines.push(line(None, "damaged frames", None, None, process.damage.frames));
    lines.push(line(None, "damaged bytes", None, None, process.damage.bytes));
    for thread in &process.threads {
        lines.push(known(Some(thread), "produced", None, thread.produced));
        let lost = Loss::ALL.iter().zip(&thread.lost).filter(|(_, lost)| lost.records() > 0);
        lines.extend(
            lost.map(|(reason, lost)| known(Some(thread), "lost", Some(reason.name()), *lost)),
        );
        let few = [
            ("read", thread.read),
            ("unexplained", thread.unexplained),
            ("too deep", thread.depth_dropped),
            ("out of order", thread.out_of_order),
            ("closed twice", thread.double_closed),
            ("wrong thread", thread.wrong_thread),
        ];
        let few = few.into_iter().filter(|(what, count)| *count > 0 || *what == "read");
        lines.extend(few.map(|(what, count)| line(Some(thread), what, None, None, count)));
    }
    lines
}

impl Rows for Health<'_> {
    fn len(&self) -> usize {
        self.lines.len()
    }

    fn column(&self, name: &'static str, rows: Range<usize>) -> Values {
        let lines = || self.lines[rows.clone()].iter();
        match name {
            "process" => Values::texts(lines().map(|line| Some(&line.process))),
            "thread" => Values::wholes(lines().map(|line| line.thread)),
            "what" => Values::texts(lines().map(|line| Some(line.what))),
            "reason" => Values::texts(lines().map(|line| line.reason)),
            "spans" => self.counts(rows, |counts| counts.spans),
            "marks" => self.counts(rows, |counts| counts.marks),
            "attrs" => self.counts(rows, |counts| counts.attrs),
            "records" => Values::whole(lines().map(|line| line.records as i64)),
            _ => Values::same_text(Some(&self.run.info.id), rows.len()),
        }
    }
}
