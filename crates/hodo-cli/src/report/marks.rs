//! Marks: the values a program noted along the way.

use super::{View, heading};
use crate::term::number;
use crate::term::style::{ACCENT, DIM};
use crate::term::table::{Cell, Column, Table};
use crate::term::text;
use hodo_trace::{MarkSeries, OVERHEAD_MARK, Value};

/// Longest text value shown.
const MAX_VALUE: usize = 40;
/// Rows shown; all of them are in the JSON.
const MAX_ROWS: usize = 20;

/// The section; empty when the program made no marks.
pub fn text(view: &View<'_>) -> String {
    let rows = rows(view);
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new(vec![
        Column::text("mark", 0),
        Column::text("in", 1).cut(),
        Column::number("count", 2),
        Column::number("first", 4),
        Column::number("last", 0),
        Column::number("min", 5),
        Column::number("mean", 6),
        Column::number("max", 3),
    ])
    .indent(2);
    rows.iter().take(MAX_ROWS).for_each(|(place, mark)| table.row(row(place, mark)));
    let more = rows.len().saturating_sub(MAX_ROWS);
    let note = if more > 0 { format!("{more} more with --json") } else { String::new() };
    heading("Marks", &note) + &table.render(view.width)
}

/// Every series but hodo's own, with the scope it was made in.
fn rows<'a>(view: &View<'a>) -> Vec<(&'a str, &'a MarkSeries)> {
    let outside = view.tree.marks.iter().map(|m| ("", m));
    let inside =
        view.tree.nodes.iter().flat_map(|n| n.marks.iter().map(move |m| (n.name.as_str(), m)));
    outside.chain(inside).filter(|(_, m)| m.name != OVERHEAD_MARK).collect()
}

fn row(place: &str, mark: &MarkSeries) -> Vec<Cell> {
    let kind = if mark.summary { " (summary)" } else { "" };
    let number = |v: Option<f64>| Cell::plain(v.map(number::digits).unwrap_or_default());
    vec![
        Cell::new(ACCENT, text::safe(&mark.name)).and(DIM, kind),
        Cell::new(DIM, text::safe(place)),
        Cell::plain(number::count(mark.count)),
        Cell::plain(if mark.count > 1 { value(&mark.first) } else { String::new() }),
        Cell::plain(value(&mark.last)),
        number(mark.min.filter(|_| mark.count > 1)),
        number(mark.mean.filter(|_| mark.count > 1)),
        number(mark.max.filter(|_| mark.count > 1)),
    ]
}

fn value(value: &Value) -> String {
    match value {
        Value::I64(v) => v.to_string(),
        Value::F64(v) => number::digits(*v),
        Value::Bool(v) => v.to_string(),
        Value::Name(id) => format!("(name {id})"),
        Value::Text { text: t, .. } | Value::Json { text: t, .. } => {
            text::fit(&text::safe(t), MAX_VALUE)
        }
    }
}
