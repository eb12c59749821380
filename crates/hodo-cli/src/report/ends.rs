//! Scopes that did not end well: left by a panic or an exception, or never closed.

use super::{View, heading};
use crate::term::number::{self, duration_cell};
use crate::term::style::{ACCENT, DIM, HOT, WARM};
use crate::term::table::{Cell, Column, Table};
use crate::term::text;
use hodo_trace::{Ending, ProcessState, Step};

/// Rows shown of each; the JSON has more, the tree counts them all.
const MAX_ROWS: usize = 8;

/// Both sections; empty when every scope closed as it should, or when a filter is on.
pub fn text(view: &View<'_>) -> String {
    if view.args.is_filtered() {
        return String::new();
    }
    let sections = [failed(view), open(view)];
    sections.into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join("\n")
}

fn failed(view: &View<'_>) -> String {
    let rows = view.run.failed(view.filter);
    let mut table = Table::new(vec![
        Column::text("scope", 0).cut(),
        Column::number("after", 2),
        Column::number("took", 3),
        Column::text("error", 0).cut(),
    ])
    .indent(2);
    for scope in rows.iter().take(MAX_ROWS) {
        table.row(vec![
            Cell::new(HOT, path(scope)),
            time(scope.after_ns),
            time(scope.duration_ns),
            Cell::new(DIM, text::safe(scope.error.as_deref().unwrap_or_default())),
        ]);
    }
    section(&table, view, "Failed", rows.len())
}

fn open(view: &View<'_>) -> String {
    let rows = view.run.open_scopes(view.filter);
    let live = view.run.processes.iter().any(|p| p.state == ProcessState::Live);
    let mut table = Table::new(vec![
        Column::text("scope", 0).cut(),
        Column::number("open for", 0),
        Column::text("thread", 1),
        Column::number("pid", 2),
    ])
    .indent(2);
    for scope in rows.iter().take(MAX_ROWS) {
        table.row(vec![
            Cell::new(WARM, path(scope)),
            time(scope.duration_ns),
            Cell::new(ACCENT, text::safe(&scope.thread)),
            Cell::plain(scope.pid.to_string()),
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

fn time(ns: Option<u64>) -> Cell {
    ns.map_or_else(|| Cell::new(DIM, "–"), |ns| Cell::plain(duration_cell(ns as f64)))
}

/// `forward ‹ batch 12 ‹ epoch 3`: from the inside, so that what is cut off is what says least.
fn path(scope: &Ending) -> String {
    let label = |step: &Step| {
        let index = step.index.map(|i| format!(" {i}")).unwrap_or_default();
        text::safe(&step.name) + &index
    };
    scope.path.iter().map(label).collect::<Vec<_>>().join(" ‹ ")
}
