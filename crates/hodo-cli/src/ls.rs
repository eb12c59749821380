//! `hodo ls`: the runs in a folder.

use crate::args::{LsArgs, When};
use crate::output::{self, Outcome};
use crate::ship;
use crate::state::{self, NOT_CALIBRATED};
use crate::term::style::{self, DIM, HOT, STRONG};
use crate::term::table::{Cell, Column, Table};
use crate::term::{number, text};
use hodo_trace::{ProcessState, Run, RunSummary};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Runs the verb.
pub fn run(args: &LsArgs, dir: &Path, color: When) -> Outcome {
    let runs = Run::list(dir);
    if args.json {
        output::json(&document(dir, &runs))?;
        return Ok(0);
    }
    if runs.is_empty() {
        let hint = "`hodo demo` records one, --dir names another folder";
        output::note(&format!("no runs in {}; {hint}", dir.display()));
        return Ok(0);
    }
    let out = table(&runs).render(style::columns(args.width)) + &note(&runs);
    style::stdout(color).write_all(out.as_bytes())?;
    Ok(0)
}

/// What the dashes stand for.
fn note(runs: &[RunSummary]) -> String {
    let unknown = |r: &RunSummary| r.processes > 0 && (r.wall_ns.is_none() || r.spans.is_none());
    if !runs.iter().any(unknown) {
        return String::new();
    }
    style::paint(DIM, "– not known: files are missing or damaged; `hodo verify RUN` says which")
        + "\n"
}

fn table(runs: &[RunSummary]) -> Table {
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

fn row(run: &RunSummary) -> Vec<Cell> {
    let known = |text: Option<String>| text.map_or_else(|| Cell::new(DIM, "–"), Cell::plain);
    let lost = match run.lost {
        Some(lost) if lost > 0 => Cell::new(HOT, number::count(lost)),
        lost => known(lost.map(number::count)),
    };
    vec![
        Cell::new(STRONG, text::safe(&id(run))),
        Cell::plain(text::safe(&run.info.app)),
        Cell::new(DIM, run.start_ns.map_or_else(|| "unknown".to_owned(), number::when)),
        known(run.wall_ns.map(|ns| number::duration_cell(ns as f64))),
        state(run),
        Cell::plain(number::count(run.processes as u64)),
        known(run.spans.map(number::count)),
        lost,
        Cell::plain(number::bytes(run.bytes)),
    ]
}

/// The folder's name is the id; it is there even when `run.json` is not.
fn id(run: &RunSummary) -> String {
    run.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn state(run: &RunSummary) -> Cell {
    let (style, words) = match (run.processes, run.machines) {
        (0, 1..) => state::of_readings(run.sampling),
        _ => state::words(run.state, run.open),
    };
    let since = run.heard_ns.filter(|_| run.state == Some(ProcessState::Silent));
    let since = since.map(|ns| format!(" since {}", number::when(ns as i64))).unwrap_or_default();
    let words = words + &since;
    let cell = Cell::new(style, words);
    let is_behind = !ship::words::troubles(&run.folder).is_empty();
    let cell = if is_behind { cell.and(HOT, ", not all shipped") } else { cell };
    if run.uncalibrated == 0 { cell } else { cell.and(HOT, format!(", {NOT_CALIBRATED}")) }
}

fn document(dir: &Path, runs: &[RunSummary]) -> Value {
    let rows: Vec<Value> = runs
        .iter()
        .map(|r| {
            json!({
                "id": id(r), "folder": r.folder.display().to_string(), "info": r.info,
                "bytes": r.bytes, "processes": r.processes, "machines": r.machines,
                "sampling": r.sampling, "state": r.state, "open": r.open,
                "start_ns": r.start_ns, "wall_ns": r.wall_ns, "spans": r.spans,
                "heard_ns": r.heard_ns, "lost_records": r.lost, "uncalibrated_processes": r.uncalibrated,
                "shipping": shipping(&r.folder),
            })
        })
        .collect();
    json!({"schema": "hodo.ls/1", "dir": dir.display().to_string(), "runs": rows})
}

/// What shippers say of themselves, and whether one is gone, which cannot say so itself.
fn shipping(run: &Path) -> Vec<Value> {
    let told = |status: &hodo_ship::Status| {
        let mut told = json!(status);
        told["is_gone"] = json!(hodo_ship::is_gone(run, status));
        told
    };
    hodo_ship::statuses(run).iter().map(told).collect()
}
