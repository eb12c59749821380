//! Scopes that did not end well: left by a panic or an exception, or never closed.

use super::{View, heading};
use crate::term::number::{self, duration_cell};
use crate::term::style::{ACCENT, DIM, HOT, WARM};
use crate::term::table::{Cell, Column, Table};
use crate::term::text;
use hodo_trace::{Process, ProcessState, Row, SpanView};
use std::collections::HashSet;

/// Rows shown of each; the tree counts them all.
const MAX_ROWS: usize = 8;
/// Scopes above the one in question that are named; a damaged file may claim any number.
const MAX_PATH: usize = 64;

/// Both sections; empty when every scope closed as it should, or when a filter is on.
pub fn text(view: &View<'_>) -> String {
    if view.args.name.is_some() || !view.args.tests.is_empty() || view.args.rank.is_some() {
        return String::new();
    }
    let sections = [failed(view), open(view)];
    sections.into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join("\n")
}

fn failed(view: &View<'_>) -> String {
    let rows = innermost(view, |span| span.is_failed());
    let mut table = Table::new(vec![
        Column::text("scope", 0).cut(),
        Column::number("after", 2),
        Column::number("took", 3),
        Column::text("error", 0).cut(),
    ])
    .indent(2);
    for span in rows.iter().take(MAX_ROWS) {
        table.row(vec![
            Cell::new(HOT, path(span)),
            Cell::plain(after(view, span)),
            Cell::plain(duration_cell(span.duration_ns() as f64)),
            Cell::new(DIM, error(span)),
        ]);
    }
    section(&table, view, "Failed", rows.len())
}

fn open(view: &View<'_>) -> String {
    let rows = innermost(view, |span| span.is_open());
    let live = view.run.processes.iter().any(|p| p.state == ProcessState::Live);
    let mut table = Table::new(vec![
        Column::text("scope", 0).cut(),
        Column::number("open for", 0),
        Column::text("thread", 1),
        Column::number("pid", 2),
    ])
    .indent(2);
    for span in rows.iter().take(MAX_ROWS) {
        table.row(vec![
            Cell::new(WARM, path(span)),
            Cell::plain(duration_cell(span.duration_ns() as f64)),
            Cell::new(ACCENT, thread(span)),
            Cell::plain(span.process.info.pid.to_string()),
        ]);
    }
    section(&table, view, if live { "Open now" } else { "Open when it ended" }, rows.len())
}

fn section(table: &Table, view: &View<'_>, title: &str, count: usize) -> String {
    if table.is_empty() {
        return String::new();
    }
    let more = count.saturating_sub(MAX_ROWS);
    let note =
        if more > 0 { format!("and {} more", number::count(more as u64)) } else { String::new() };
    heading(title, &note) + &table.render(view.width)
}

/// Scopes that fit and hold none that fits, in order of their start: a failure passes through all above.
fn innermost<'a>(view: &View<'a>, fits: impl Fn(&SpanView<'a>) -> bool) -> Vec<SpanView<'a>> {
    let mut found: Vec<SpanView<'a>> = Vec::new();
    for process in &view.run.processes {
        let all: Vec<SpanView<'a>> = process.span_views().filter(&fits).collect();
        let above: HashSet<_> = all.iter().map(|s| process.spans.parent(s.row)).collect();
        found.extend(all.into_iter().filter(|s| !above.contains(&s.id())));
    }
    found.sort_by_key(SpanView::start_ns);
    found
}

/// `forward ‹ batch 12 ‹ epoch 3`: from the inside, so that what is cut off is what says least.
fn path(span: &SpanView<'_>) -> String {
    let mut names = Vec::new();
    let mut next = Some(span.row);
    while let Some(row) = next.filter(|_| names.len() < MAX_PATH) {
        names.push(label(span.process, row));
        next = span.process.spans.parent_row(row);
    }
    names.join(" ‹ ")
}

fn label(process: &Process, row: Row) -> String {
    let span = process.span(row);
    let index = span.index().map(|i| format!(" {i}")).unwrap_or_default();
    text::safe(&span.name()) + &index
}

/// How long after the start of the run it began.
fn after(view: &View<'_>, span: &SpanView<'_>) -> String {
    let start = i64::try_from(view.run.info.start_ns).unwrap_or(i64::MAX);
    match span.start_ns().checked_sub(start) {
        Some(ns) if ns >= 0 && start > 0 => duration_cell(ns as f64),
        _ => String::new(),
    }
}

/// What the scope's `error` attribute says.
fn error(span: &SpanView<'_>) -> String {
    let names = &span.process.names;
    let said = span.attrs().iter().rfind(|a| names.get(a.key) == Some("error"));
    said.map(|a| text::safe(&a.value.display(names))).unwrap_or_default()
}

fn thread(span: &SpanView<'_>) -> String {
    let number = span.id().thread();
    match span.process.thread(number) {
        Some(t) if !t.name.is_empty() => text::safe(&t.name),
        _ => format!("thread {number}"),
    }
}
