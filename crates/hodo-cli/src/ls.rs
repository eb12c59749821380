//! `hodo ls`: the runs in a folder.

use crate::args::{LsArgs, When};
use crate::output::{self, Outcome};
use crate::runs::Bar;
use crate::term::style::{self, DIM, GOOD, HOT, STRONG, WARM};
use crate::term::table::{Cell, Column, Table};
use crate::term::{number, text};
use crate::verify::Sum;
use hodo_trace::{ReadOptions, Run, RunSummary};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Larger runs are listed without being read.
const READ_BYTES: u64 = 128 << 20;

/// A run, and what reading it told.
struct Listed {
    summary: RunSummary,
    read: Option<Read>,
}

struct Read {
    duration_ns: u64,
    spans: u64,
    lost: u64,
}

/// Runs the verb.
pub fn run(args: &LsArgs, dir: &Path, color: When) -> Outcome {
    let runs = list(dir);
    if args.json {
        output::json(&document(dir, &runs))?;
        return Ok(0);
    }
    if runs.is_empty() {
        let hint = "`hodo demo` records one, --dir names another folder";
        output::note(&format!("no runs in {}; {hint}", dir.display()));
        return Ok(0);
    }
    let mut out = table(&runs).render(style::columns(args.width));
    if runs.iter().any(|r| r.read.is_none()) {
        out += &style::paint(DIM, "– not read because it is large; `hodo report RUN` reads it");
        out.push('\n');
    }
    style::stdout(color).write_all(out.as_bytes())?;
    Ok(0)
}

fn list(dir: &Path) -> Vec<Listed> {
    let summaries = Run::list(dir);
    let bar = Bar::new("reading");
    let total = summaries.len() as u64;
    let listed = |(at, summary): (usize, RunSummary)| {
        bar.at(at as u64, total);
        let read = (summary.bytes <= READ_BYTES).then(|| read(&summary)).flatten();
        Listed { summary, read }
    };
    summaries.into_iter().enumerate().map(listed).collect()
}

fn read(summary: &RunSummary) -> Option<Read> {
    let run = Run::open(&summary.folder, &ReadOptions::default()).ok()?;
    let sum = Sum::of(&run.processes);
    let last = run.processes.iter().map(|p| p.clock.steady_ns(p.last_tick)).max();
    let last = last.and_then(|ns| u64::try_from(ns).ok()).unwrap_or(0);
    Some(Read {
        duration_ns: last.saturating_sub(run.info.start_ns),
        spans: run.span_count() as u64,
        lost: sum.lost_records() + sum.unexplained(),
    })
}

fn table(runs: &[Listed]) -> Table {
    let mut table = Table::new(vec![
        Column::text("run", 0).cut(),
        Column::text("app", 6),
        Column::text("when (UTC)", 4),
        Column::number("duration", 2),
        Column::text("state", 1),
        Column::number("processes", 7),
        Column::number("scopes", 3),
        Column::number("lost", 1),
        Column::number("size", 5),
    ]);
    for run in runs {
        table.row(row(run));
    }
    table
}

fn row(run: &Listed) -> Vec<Cell> {
    let summary = &run.summary;
    let start = i64::try_from(summary.info.start_ns).unwrap_or(i64::MAX);
    let unread = || Cell::new(DIM, "–");
    let number =
        |get: fn(&Read) -> String| run.read.as_ref().map_or_else(unread, |r| Cell::plain(get(r)));
    let lost = match &run.read {
        None => unread(),
        Some(r) if r.lost > 0 => Cell::new(HOT, number::count(r.lost)),
        Some(_) => Cell::plain("0"),
    };
    vec![
        Cell::new(STRONG, text::safe(&id(summary))),
        Cell::plain(text::safe(&summary.info.app)),
        Cell::new(DIM, number::when(start)),
        number(|r| number::duration_cell(r.duration_ns as f64)),
        state(summary),
        Cell::plain(number::count(summary.processes as u64)),
        number(|r| number::count(r.spans)),
        lost,
        Cell::plain(number::bytes(summary.bytes)),
    ]
}

/// The folder's name is the id; it is there even when `run.json` is not.
fn id(summary: &RunSummary) -> String {
    summary.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn state(summary: &RunSummary) -> Cell {
    let word = state_word(summary);
    let style = match word {
        "live" => WARM,
        "crashed" => HOT,
        _ => GOOD,
    };
    Cell::new(style, word)
}

fn state_word(summary: &RunSummary) -> &'static str {
    match (summary.live, summary.crashed) {
        (true, _) => "live",
        (_, true) => "crashed",
        _ => "finished",
    }
}

fn document(dir: &Path, runs: &[Listed]) -> Value {
    let rows: Vec<Value> = runs
        .iter()
        .map(|r| {
            let s = &r.summary;
            json!({
                "id": id(s), "folder": s.folder.display().to_string(), "info": s.info,
                "bytes": s.bytes, "processes": s.processes, "state": state_word(s),
                "duration_ns": r.read.as_ref().map(|r| r.duration_ns),
                "spans": r.read.as_ref().map(|r| r.spans),
                "lost_records": r.read.as_ref().map(|r| r.lost),
            })
        })
        .collect();
    json!({"schema": "hodo.ls/1", "dir": dir.display().to_string(), "runs": rows})
}
