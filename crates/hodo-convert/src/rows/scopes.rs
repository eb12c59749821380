//! A row a scope.

use super::{Cell, id, length, moment, of_process, started_in};
use crate::ConvertError;
use hodo_trace::{Cpu, Process, ProcessState, Row, SpanView};
use serde_json::{Map, Value as Json};

/// The columns.
pub const COLUMNS: [&str; 20] = [
    "process",
    "pid",
    "rank",
    "thread",
    "thread_name",
    "id",
    "parent",
    "parent_process",
    "name",
    "index",
    "start_ns",
    "duration_ns",
    "cpu_ns",
    "cpu_not_captured",
    "overhead_ns",
    "gpu_busy_ns",
    "kernels",
    "state",
    "path",
    "attributes",
];

/// Gives the scopes of a process, as they closed.
pub fn rows(
    process: &Process,
    each: &mut dyn FnMut(&[Cell<'_>]) -> Result<(), ConvertError>,
) -> Result<(), ConvertError> {
    let gpu = process.gpu_by_span();
    for row in process.spans.rows() {
        let span = process.span(row);
        let [whose, pid, rank] = of_process(process);
        let (parent, parent_process) = parent(process, row);
        let (cpu, why) = match span.cpu_ns() {
            Cpu::Captured(ns) => (Cell::Count(ns), Cell::None),
            Cpu::Missing(why) => (Cell::None, Cell::Text(why.text().into())),
        };
        let work = gpu.of(row).ok();
        let overhead = process.spans.overhead(row);
        each(&[
            whose,
            pid,
            rank,
            Cell::Count(span.id().thread().into()),
            Cell::Text(process.thread_name(span.id().thread())),
            id(span.id()),
            parent,
            parent_process,
            Cell::Text(span.name()),
            span.index().map_or(Cell::None, Cell::Whole),
            moment(process, process.spans.start(row)),
            length(process, process.spans.duration(row)),
            cpu,
            why,
            if process.has_overhead() { length(process, overhead) } else { Cell::None },
            work.map_or(Cell::None, |work| Cell::Count(work.all.busy_ns)),
            work.map_or(Cell::None, |work| Cell::Count(work.all.kernels)),
            Cell::Text(state(&span).into()),
            Cell::Text(path(process, row).into()),
            attributes(&span),
        ])?;
    }
    Ok(())
}

/// The scope around one, of its process or the one that started it.
fn parent(process: &Process, row: Row) -> (Cell<'static>, Cell<'static>) {
    let parent = process.spans.parent(row);
    if parent.is_none() {
        let (process, scope) = started_in(process);
        return (scope, process);
    }
    (id(parent), Cell::Text(format!("{:016x}", process.process).into()))
}

fn state(span: &SpanView<'_>) -> &'static str {
    match (span.is_open(), span.process.state) {
        (true, ProcessState::Live) => "open",
        (true, _) => "left open",
        (false, _) if span.is_failed() => "failed",
        (false, _) => "closed",
    }
}

/// `epoch/step/forward`.
fn path(process: &Process, row: Row) -> String {
    let mut names = vec![process.span(row).name()];
    let mut next = process.spans.parent_row(row);
    while let Some(row) = next {
        names.push(process.span(row).name());
        next = process.spans.parent_row(row);
    }
    names.reverse();
    names.join("/")
}

fn attributes(span: &SpanView<'_>) -> Cell<'static> {
    let attrs = span.attrs();
    if attrs.is_empty() {
        return Cell::None;
    }
    let names = &span.process.names;
    let pair = |a: &hodo_trace::AttrRow| {
        let value = serde_json::to_value(a.value.resolved(names)).unwrap_or(Json::Null);
        (names.text(a.key).into_owned(), value)
    };
    Cell::Json(Json::Object(attrs.iter().map(pair).collect::<Map<_, _>>()).to_string())
}
