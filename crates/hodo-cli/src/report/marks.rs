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
        Column::text("trend", 2),
    ])
    .indent(2);
    for (place, mark) in rows.iter().take(MAX_ROWS) {
        // A trend is drawn over all marks of a name: only where they all stand in one row.
        let only = rows.iter().filter(|(_, m)| m.name == mark.name).count() == 1;
        let trend = if only { trend(view, mark) } else { String::new() };
        table.row(row(place, mark, trend));
    }
    let more = rows.len().saturating_sub(MAX_ROWS);
    let note = if more > 0 { format!("{more} more with --json") } else { String::new() };
    heading("Marks", &note) + &table.render(view.width)
}

/// Every series but hodo's own, with the scope it was made in.
fn rows<'a>(view: &View<'a>) -> Vec<(&'a str, &'a MarkSeries)> {
    let outside = view.tree.marks_outside_scopes.iter().map(|m| ("", m));
    let inside =
        view.tree.nodes.iter().flat_map(|n| n.marks.iter().map(move |m| (n.name.as_str(), m)));
    outside.chain(inside).filter(|(_, m)| m.name != OVERHEAD_MARK).collect()
}

fn row(place: &str, mark: &MarkSeries, trend: String) -> Vec<Cell> {
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
        Cell::new(ACCENT, trend),
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

/// The values of a mark over the run, drawn in a few cells; empty for too few of them.
fn trend(view: &View<'_>, mark: &MarkSeries) -> String {
    let mut points: Vec<(i64, f64)> = Vec::new();
    let mut all = 0;
    for process in &view.run.processes {
        let marks = process.marks.iter().filter(|m| process.names.get(m.name) == Some(&mark.name));
        let marks = marks.inspect(|_| all += 1);
        let finite =
            marks.filter_map(|m| Some((m.at, m.value.as_f64().filter(|v| v.is_finite())?)));
        points.extend(finite.map(|(at, value)| (process.clock.steady_ns(at), value)));
    }
    // A filter left some of them out of the row.
    if all != mark.count {
        return String::new();
    }
    points.sort_unstable_by_key(|p| p.0);
    let values: Vec<f64> = points.into_iter().map(|p| p.1).collect();
    spark(&values)
}

/// One cell a group of values, as high as their middle one stands between the lowest and the highest.
fn spark(values: &[f64]) -> String {
    const CELLS: usize = 16;
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    if values.len() < CELLS {
        return String::new();
    }
    let group = |k: usize| &values[k * values.len() / CELLS..(k + 1) * values.len() / CELLS];
    let middle = |k: usize| {
        let mut sorted = group(k).to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let middles: Vec<f64> = (0..CELLS).map(middle).collect();
    let low = middles.iter().copied().fold(f64::INFINITY, f64::min);
    let high = middles.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let height = |v: f64| ((v - low) / (high - low).max(f64::MIN_POSITIVE) * 7.0).round() as usize;
    middles.into_iter().map(|v| HEIGHTS[height(v).min(7)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trends_rise_fall_and_stay() {
        let falling: Vec<f64> = (0..64).map(|i| f64::from(64 - i)).collect();
        assert_eq!(spark(&falling), "██▇▇▆▆▅▅▄▄▃▃▂▂▁▁");
        assert_eq!(spark(&[3.0; 100]), "▁".repeat(16));
        assert_eq!(spark(&[1.0, 2.0]), "");
    }
}
