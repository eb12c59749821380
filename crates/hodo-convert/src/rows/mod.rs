//! Scopes, marks and GPU work as rows of cells: what CSV and JSON lines are made of. One row is
//! made at a time, in the order the run holds them.

mod marks;
mod scopes;
mod work;

use crate::timeline;
use crate::{ConvertError, OnProgress};
use hodo_trace::{Process, Run, SpanId};
use std::borrow::Cow;
use std::io::Write;

/// Which rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// A row a scope.
    Scopes,
    /// A row a mark.
    Marks,
    /// A row a kernel, copy, set, wait, or memory taken or given back.
    Work,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Not captured, or it means nothing here.
    None,
    /// Text.
    Text(Cow<'a, str>),
    /// A whole number.
    Whole(i64),
    /// A whole number without sign.
    Count(u64),
    /// A float.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A JSON document.
    Json(String),
}

impl Table {
    /// All of them.
    pub const ALL: [Table; 3] = [Table::Scopes, Table::Marks, Table::Work];

    /// What one row is.
    pub fn word(self) -> &'static str {
        match self {
            Table::Scopes => "scope",
            Table::Marks => "mark",
            Table::Work => "work",
        }
    }

    /// Its columns.
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Table::Scopes => &scopes::COLUMNS,
            Table::Marks => &marks::COLUMNS,
            Table::Work => &work::COLUMNS,
        }
    }

    /// Calls `each` with the cells of every row, in the order of [`Table::columns`].
    fn rows(
        self,
        run: &Run,
        each: &mut dyn FnMut(&[Cell<'_>]) -> Result<(), ConvertError>,
    ) -> Result<(), ConvertError> {
        for process in &run.processes {
            match self {
                Table::Scopes => scopes::rows(process, each)?,
                Table::Marks => marks::rows(process, each)?,
                Table::Work => work::rows(process, each)?,
            }
        }
        Ok(())
    }

    fn count(self, run: &Run) -> u64 {
        let of = |process: &Process| match self {
            Table::Scopes => process.spans.len(),
            Table::Marks => process.marks.len(),
            Table::Work => process.gpu.work.len(),
        };
        run.processes.iter().map(of).sum::<usize>() as u64
    }
}

/// Writes one table as CSV (RFC 4180): a line of column names, then a line a row. What was not
/// captured is empty; attributes are a JSON object.
pub fn write_csv(
    run: &Run,
    table: Table,
    out: &mut impl Write,
    progress: OnProgress<'_>,
) -> Result<(), ConvertError> {
    let total = table.count(run);
    let mut done = 0;
    out.write_all(table.columns().join(",").as_bytes())?;
    out.write_all(b"\r\n")?;
    let mut line = String::new();
    table.rows(run, &mut |cells| {
        line.clear();
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                line.push(',');
            }
            csv(cell, &mut line);
        }
        line.push_str("\r\n");
        out.write_all(line.as_bytes())?;
        step(&mut done, total, progress);
        Ok(())
    })
}

/// Writes the whole run as JSON lines: first one with the key `run`, then one a row, each with its
/// `type`.
pub fn write_ndjson(
    run: &Run,
    out: &mut impl Write,
    progress: OnProgress<'_>,
) -> Result<(), ConvertError> {
    let total = Table::ALL.iter().map(|table| table.count(run)).sum();
    let mut done = 0;
    writeln!(out, "{}", serde_json::json!({"type": "run", "run": run.info}))?;
    let mut line = String::new();
    for table in Table::ALL {
        table.rows(run, &mut |cells| {
            line.clear();
            line.push_str("{\"type\":\"");
            line.push_str(table.word());
            line.push('"');
            for (column, cell) in table.columns().iter().zip(cells) {
                line.push_str(",\"");
                line.push_str(column);
                line.push_str("\":");
                json(cell, &mut line)?;
            }
            line.push_str("}\n");
            out.write_all(line.as_bytes())?;
            step(&mut done, total, progress);
            Ok(())
        })?;
    }
    Ok(())
}

fn step(done: &mut u64, total: u64, progress: OnProgress<'_>) {
    *done += 1;
    if done.is_multiple_of(65_536) {
        progress(*done, total);
    }
}

fn csv(cell: &Cell<'_>, line: &mut String) {
    let text = match cell {
        Cell::None => return,
        Cell::Text(text) => text,
        Cell::Json(text) => text.as_str(),
        Cell::Whole(n) => return line.push_str(&n.to_string()),
        Cell::Count(n) => return line.push_str(&n.to_string()),
        Cell::Float(n) => return line.push_str(&n.to_string()),
        Cell::Bool(b) => return line.push_str(&b.to_string()),
    };
    // Empty text is told from no value by its quotes.
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        line.push('"');
        line.push_str(&text.replace('"', "\"\""));
        line.push('"');
    } else {
        line.push_str(text);
    }
}

/// NaN and the infinities become text, which JSON can hold.
fn json(cell: &Cell<'_>, line: &mut String) -> Result<(), ConvertError> {
    let text = match cell {
        Cell::None => "null".to_owned(),
        Cell::Text(text) => serde_json::to_string(text)?,
        Cell::Json(text) => text.clone(),
        Cell::Whole(n) => n.to_string(),
        Cell::Count(n) => n.to_string(),
        Cell::Float(n) if n.is_finite() => serde_json::to_string(n)?,
        Cell::Float(n) => format!("\"{n}\""),
        Cell::Bool(b) => b.to_string(),
    };
    line.push_str(&text);
    Ok(())
}

/// The cells that every row begins with: process, pid, rank.
fn of_process(process: &Process) -> [Cell<'static>; 3] {
    [
        Cell::Text(format!("{:016x}", process.process).into()),
        Cell::Count(process.info.pid.into()),
        process.info.rank.map_or(Cell::None, |rank| Cell::Count(rank.into())),
    ]
}

/// An id of a scope, 16 hex digits.
fn id(span: SpanId) -> Cell<'static> {
    if span.is_none() { Cell::None } else { Cell::Text(format!("{:016x}", span.0).into()) }
}

/// A moment; none in a process whose times are not known.
fn moment(process: &Process, ticks: u64) -> Cell<'static> {
    match process.is_timed() {
        true => Cell::Whole(process.clock.steady_ns(ticks)),
        false => Cell::None,
    }
}

/// A duration; none in a process whose times are not known.
fn length(process: &Process, ticks: u64) -> Cell<'static> {
    match process.is_timed() {
        true => Cell::Count(process.clock.duration_ns(ticks)),
        false => Cell::None,
    }
}

/// The scope that started a process: the process's half of its id, and its own.
fn started_in(process: &Process) -> (Cell<'static>, Cell<'static>) {
    match timeline::started_in(process) {
        Some((process, scope)) => (Cell::Text(format!("{process:016x}").into()), id(SpanId(scope))),
        None => (Cell::None, Cell::None),
    }
}
