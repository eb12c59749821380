//! `hodo ls`: the runs in a folder.

use crate::args::{LsArgs, When};
use crate::output::{self, Outcome};
use crate::term::style::{self, DIM, STRONG, WARM};
use crate::term::table::{Cell, Column, Table};
use crate::term::{number, text};
use hodo_trace::{Run, RunSummary};
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
        let shown = text::safe(&dir.display().to_string());
        eprintln!("no runs in {shown}; `hodo demo` records one, --dir names another folder");
        return Ok(0);
    }
    let table = table(&runs).render(style::columns(args.width));
    style::stdout(color).write_all(table.as_bytes())?;
    Ok(0)
}

fn table(runs: &[RunSummary]) -> Table {
    let mut table = Table::new(vec![
        Column::text("run", 0),
        Column::text("app", 4).cut(),
        Column::text("when (UTC)", 2),
        Column::number("processes", 5),
        Column::text("state", 1),
        Column::number("size", 3),
    ]);
    for run in runs {
        table.row(row(run));
    }
    table
}

fn row(run: &RunSummary) -> Vec<Cell> {
    let start = i64::try_from(run.info.start_ns).unwrap_or(i64::MAX);
    let state = if run.live { Cell::new(WARM, "live") } else { Cell::default() };
    vec![
        Cell::new(STRONG, text::safe(&run.info.id)),
        Cell::plain(text::safe(&run.info.app)),
        Cell::new(DIM, number::when(start)),
        Cell::plain(number::count(run.processes as u64)),
        state,
        Cell::plain(number::bytes(run.bytes)),
    ]
}

fn document(dir: &Path, runs: &[RunSummary]) -> Value {
    let rows: Vec<Value> = runs
        .iter()
        .map(|r| {
            json!({
                "folder": r.folder.display().to_string(), "info": r.info, "bytes": r.bytes,
                "processes": r.processes, "live": r.live,
            })
        })
        .collect();
    json!({"schema": "hodo.ls/1", "dir": dir.display().to_string(), "runs": rows})
}
