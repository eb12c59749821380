//! `hodo verify`: whether every record a run produced is stored or counted as lost.

use crate::args::{VerifyArgs, When};
use crate::output::{self, Outcome};
use crate::runs;
use crate::state;
use crate::term::style::{self, DIM, GOOD, HOT, STRONG, WARM};
use crate::term::{number, text};
use hodo_trace::packed;
use hodo_trace::{Account, Damage, Loss, Machine, Process, Run};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Where the records of one or more processes went.
pub struct Sum(Account);

impl Sum {
    /// Adds the accounts up.
    pub fn of(processes: &[Process]) -> Sum {
        Sum(Account::of(processes))
    }

    /// Records lost for a counted reason.
    pub fn lost_records(&self) -> u64 {
        self.0.lost_records()
    }

    /// Records neither read nor counted as lost.
    pub fn unexplained(&self) -> u64 {
        self.0.unexplained
    }

    /// `12 645 produced = 12 000 stored + 600 read from the rings + 45 lost (why)`.
    pub fn equation(&self) -> String {
        let account = &self.0;
        let count = |n: u64| number::count(n);
        let stored = count(account.stored.records());
        let mut out = format!("{} produced = {stored} stored", count(account.produced_records()));
        if account.in_ring.records() > 0 {
            out += &format!(" + {} read from the rings", count(account.in_ring.records()));
        }
        for (reason, lost) in Loss::ALL.iter().zip(&account.lost).filter(|(_, l)| l.records() > 0) {
            out += &format!(" + {} lost ({})", count(lost.records()), why(*reason));
        }
        if account.unexplained > 0 {
            out += &format!(" + {} unexplained", count(account.unexplained));
        }
        out
    }

    /// `40 spans and 5 marks were lost while recording: why; why`; none when nothing was.
    fn losses(&self) -> Option<String> {
        let account = &self.0;
        let lost = account.lost_counts();
        let sorts = [(lost.spans, "span"), (lost.marks, "mark"), (lost.attrs, "attribute record")];
        let parts: Vec<String> =
            sorts.iter().filter(|(n, _)| *n > 0).map(|(n, one)| text::plural(*n, one)).collect();
        let reasons = Loss::ALL.iter().zip(&account.lost).filter(|(_, lost)| lost.records() > 0);
        let reasons: Vec<&str> = reasons.map(|(reason, _)| why(*reason)).collect();
        let was = if account.lost_records() == 1 { "was" } else { "were" };
        let what = format!("{} {was} lost while recording", parts.join(" and "));
        (!parts.is_empty()).then(|| format!("{what}: {}", reasons.join("; ")))
    }
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

/// Runs the verb: exit code 1 when something is missing without a reason or cannot be read.
pub fn run(args: &VerifyArgs, dir: &Path, color: When) -> Outcome {
    let run = runs::open(dir, args.run.run.as_deref())?;
    let whole = run.processes.iter().all(is_whole) && own(&run).all(|m| m.damage.is_none());
    // Reading a run takes a part of its tables; other tools read all of them.
    let tables = packed::is_packed(&run.folder).then(|| packed::check(&run.folder));
    let whole = whole && tables.as_ref().is_none_or(Damage::is_none);
    if args.json {
        output::json(&document(&run, tables.as_ref(), whole))?;
    } else {
        style::stdout(color).write_all(text(&run, tables.as_ref(), whole).as_bytes())?;
    }
    Ok(u8::from(!whole))
}

fn is_whole(process: &Process) -> bool {
    process.account.unexplained == 0 && process.damage.is_none() && process.is_timed()
}

/// Machines whose readings are this run's own.
fn own(run: &Run) -> impl Iterator<Item = &Machine> {
    run.machines.iter().filter(|machine| machine.linked.is_none())
}

fn document(run: &Run, tables: Option<&Damage>, whole: bool) -> Value {
    let processes: Vec<Value> = run
        .processes
        .iter()
        .map(|p| {
            json!({
                "process": p.info.process, "pid": p.info.pid, "rank": p.info.rank, "state": p.state,
                "whole": is_whole(p), "calibrated": p.is_timed(), "damage": p.damage.document(),
                "records": p.account.document(),
            })
        })
        .collect();
    let machines: Vec<Value> =
        own(run).map(|m| json!({"host": m.host(), "damage": m.damage.document()})).collect();
    json!({
        "schema": "hodo.verify/1", "run": run.info.id, "state": run.state(), "whole": whole,
        "records": Account::of(&run.processes).document(), "processes": processes,
        "machines": machines, "tables": tables.map(Damage::document),
    })
}

fn text(run: &Run, tables: Option<&Damage>, whole: bool) -> String {
    let mut out = format!("{}\n", style::paint(STRONG, &text::safe(&run.info.id)));
    for process in &run.processes {
        out += &line(process);
    }
    for machine in own(run).filter(|machine| !machine.damage.is_none()) {
        let who = format!("readings of {}", text::safe(machine.host()));
        out += &format!(" {} {}\n", style::paint(HOT, "✗"), style::paint(DIM, &who));
        out += &places(&machine.damage);
    }
    if let Some(damage) = tables.filter(|damage| !damage.is_none()) {
        out += &format!(" {} {}\n", style::paint(HOT, "✗"), style::paint(DIM, "tables"));
        out += &places(damage);
    }
    if let Some(words) = state::not_calibrated(run.uncalibrated()) {
        out += &format!(" {}\n", style::paint(HOT, &format!("✗ {words}")));
    }
    out + &verdict(run, whole) + "\n"
}

fn verdict(run: &Run, whole: bool) -> String {
    match (run.processes.is_empty(), whole, Sum::of(&run.processes).losses()) {
        (true, ..) => style::paint(DIM, "no process has recorded yet"),
        (_, true, None) => style::paint(GOOD, "whole: no record is missing"),
        (_, true, Some(lost)) => style::paint(WARM, &format!("whole, but {lost}")),
        (_, false, _) => style::paint(HOT, "not whole: records are missing or files are damaged"),
    }
}

fn line(process: &Process) -> String {
    let mark = if is_whole(process) { style::paint(GOOD, "✓") } else { style::paint(HOT, "✗") };
    let rank = process.info.rank.map(|r| format!(" rank {r}")).unwrap_or_default();
    let who = format!("pid {}{rank}", process.info.pid);
    let sum = Sum::of(std::slice::from_ref(process)).equation();
    let out = format!(" {mark} {}  {sum}\n", style::paint(DIM, &who));
    out + &places(&process.damage)
}

fn places(damage: &Damage) -> String {
    let mut out = String::new();
    if damage.frames > 0 {
        let frames = text::plural(damage.frames, "frame");
        out += &format!("     {}\n", style::paint(HOT, &format!("{frames} missing or unreadable")));
    }
    for place in &damage.places {
        let at = format!("{} at byte {}: {}", place.file.display(), place.offset, place.why);
        out += &format!("     {}\n", style::paint(HOT, &text::safe(&at)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use hodo_trace::Counts;

    fn spans(n: u64) -> Counts {
        Counts { spans: n, ..Counts::default() }
    }

    #[test]
    fn the_equation_names_every_part_that_is_not_zero() {
        let whole = Account { produced: spans(10), stored: spans(10), ..Account::default() };
        assert_eq!(Sum(whole).equation(), "10 produced = 10 stored");
        let mut account = Account {
            stored: spans(1_000),
            in_ring: spans(4),
            unexplained: 1,
            ..Account::default()
        };
        account.lost[Loss::SpoolCap as usize] = spans(5);
        assert_eq!(
            Sum(account).equation(),
            "1 010 produced = 1 000 stored + 4 read from the rings \
             + 5 lost (oldest removed to stay under the size cap) + 1 unexplained"
        );
    }
}
