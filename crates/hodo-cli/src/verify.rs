//! `hodo verify`: whether every record a run produced is stored or counted as lost.

use crate::args::{VerifyArgs, When};
use crate::output::{self, Outcome};
use crate::runs;
use crate::term::style::{self, DIM, GOOD, HOT, STRONG};
use crate::term::{number, text};
use hodo_trace::{Counts, Loss, Process, Run};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Where the records of one or more processes went.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    produced: Counts,
    stored: Counts,
    in_ring: Counts,
    lost: [Counts; Loss::COUNT],
    /// Records neither read nor counted as lost.
    pub unexplained: u64,
}

impl Sum {
    /// Adds the accounts up.
    pub fn of(processes: &[Process]) -> Sum {
        let mut sum = Sum::default();
        for account in processes.iter().map(|p| &p.account) {
            sum.produced += account.produced;
            sum.stored += account.stored;
            sum.in_ring += account.in_ring;
            sum.unexplained += account.unexplained;
            sum.lost.iter_mut().zip(account.lost).for_each(|(to, from)| *to += from);
        }
        sum
    }

    /// Records lost for a counted reason.
    pub fn lost_records(&self) -> u64 {
        self.lost.iter().map(Counts::records).sum()
    }

    /// Records made; of the unexplained nobody may have said of which sort they were.
    pub fn produced_records(&self) -> u64 {
        let read = self.stored.records() + self.in_ring.records();
        read + self.lost_records() + self.unexplained
    }

    /// `12 645 produced = 12 000 stored + 600 in the rings + 45 lost (ring full)`.
    pub fn equation(&self) -> String {
        let count = |n: u64| number::count(n);
        let mut out = format!(
            "{} produced = {} stored",
            count(self.produced_records()),
            count(self.stored.records())
        );
        if self.in_ring.records() > 0 {
            out += &format!(" + {} read from the rings", count(self.in_ring.records()));
        }
        for (reason, lost) in Loss::ALL.iter().zip(&self.lost).filter(|(_, l)| l.records() > 0) {
            out += &format!(" + {} lost ({})", count(lost.records()), why(*reason));
        }
        if self.unexplained > 0 {
            out += &format!(" + {} unexplained", count(self.unexplained));
        }
        out
    }

    /// The same as JSON.
    pub fn document(&self) -> Value {
        let lost: serde_json::Map<String, Value> = Loss::ALL
            .iter()
            .zip(&self.lost)
            .map(|(r, l)| (r.name().to_owned(), counts(l)))
            .collect();
        json!({
            "produced": counts(&self.produced),
            "stored": counts(&self.stored),
            "in_ring": counts(&self.in_ring),
            "lost": lost,
            "lost_records": self.lost_records(),
            "unexplained": self.unexplained,
        })
    }
}

fn counts(c: &Counts) -> Value {
    json!({"spans": c.spans, "marks": c.marks, "attrs": c.attrs, "records": c.records()})
}

/// A reason in words.
fn why(reason: Loss) -> &'static str {
    match reason {
        Loss::RingFull => "ring full: disk or pump too slow",
        Loss::SpoolCap => "oldest removed to stay under the size cap",
        Loss::SpoolGone => "spool file deleted while recording",
        Loss::NotStored => "ended before it could be stored",
    }
}

/// What could not be read of a process, as JSON.
pub fn damage(process: &Process) -> Value {
    let places: Vec<Value> = process
        .damage
        .places
        .iter()
        .map(|p| json!({"file": p.file.display().to_string(), "offset": p.offset, "why": p.why}))
        .collect();
    json!({"bytes": process.damage.bytes, "frames": process.damage.frames, "places": places})
}

/// Runs the verb: exit code 1 when something is missing without a reason or cannot be read.
pub fn run(args: &VerifyArgs, dir: &Path, color: When) -> Outcome {
    let run = runs::open(dir, args.run.run.as_deref())?;
    let whole = run.processes.iter().all(is_whole);
    if args.json {
        output::json(&document(&run, whole))?;
    } else {
        style::stdout(color).write_all(text(&run, whole).as_bytes())?;
    }
    Ok(u8::from(!whole))
}

fn is_whole(process: &Process) -> bool {
    process.account.unexplained == 0 && process.damage.is_none()
}

fn document(run: &Run, whole: bool) -> Value {
    let processes: Vec<Value> = run
        .processes
        .iter()
        .map(|p| {
            json!({
                "process": p.info.process, "pid": p.info.pid, "rank": p.info.rank, "state": p.state,
                "whole": is_whole(p), "damage": damage(p),
                "records": Sum::of(std::slice::from_ref(p)).document(),
            })
        })
        .collect();
    json!({"schema": "hodo.verify/1", "run": run.info.id, "whole": whole, "processes": processes})
}

fn text(run: &Run, whole: bool) -> String {
    let mut out = format!("{}\n", style::paint(STRONG, &text::safe(&run.info.id)));
    for process in &run.processes {
        out += &line(process);
    }
    let verdict = match (run.processes.is_empty(), whole) {
        (true, _) => style::paint(DIM, "no process has recorded yet"),
        (_, true) => style::paint(GOOD, "whole: every record is stored or counted as lost"),
        (_, false) => style::paint(HOT, "not whole: records are missing or files are damaged"),
    };
    out + &verdict + "\n"
}

fn line(process: &Process) -> String {
    let mark = if is_whole(process) { style::paint(GOOD, "✓") } else { style::paint(HOT, "✗") };
    let rank = process.info.rank.map(|r| format!(" rank {r}")).unwrap_or_default();
    let who = format!("pid {}{rank}", process.info.pid);
    let sum = Sum::of(std::slice::from_ref(process)).equation();
    let mut out = format!(" {mark} {}  {sum}\n", style::paint(DIM, &who));
    for place in &process.damage.places {
        let at = format!("{} at byte {}: {}", place.file.display(), place.offset, place.why);
        out += &format!("     {}\n", style::paint(HOT, &text::safe(&at)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(n: u64) -> Counts {
        Counts { spans: n, ..Counts::default() }
    }

    #[test]
    fn the_equation_names_every_part_that_is_not_zero() {
        let mut sum = Sum { produced: spans(10), stored: spans(10), ..Sum::default() };
        assert_eq!(sum.equation(), "10 produced = 10 stored");
        sum = Sum {
            produced: spans(1_010),
            stored: spans(1_000),
            in_ring: spans(4),
            unexplained: 1,
            ..sum
        };
        sum.lost[Loss::SpoolCap as usize] = spans(5);
        assert_eq!(
            sum.equation(),
            "1 010 produced = 1 000 stored + 4 read from the rings \
             + 5 lost (oldest removed to stay under the size cap) + 1 unexplained"
        );
    }
}
