//! The largest scopes by name, wherever they stand in the tree.

use super::{View, heading};
use crate::term::number::{self, duration_cell};
use crate::term::style::{ACCENT, DIM};
use crate::term::table::{Cell, Column, Table};
use crate::term::text;
use hodo_trace::{FlatRow, FlatSort};

/// Both tables; empty with `--top 0` or when there is nothing to rank.
pub fn text(view: &View<'_>) -> String {
    const WORTH_RANKING: usize = 3;
    let by_self = hodo_trace::flat(view.tree, FlatSort::SelfTime);
    if view.args.top == 0 || by_self.len() < WORTH_RANKING {
        return String::new();
    }
    let by_total = hodo_trace::flat(view.tree, FlatSort::Total);
    let own: u64 = by_self.iter().map(|r| r.self_ns).sum();
    let first = heading("Most time of their own", "self: in the scope and in none inside it")
        + &table(view, &by_self, "self", own, |r| r.self_ns);
    let second = heading("Most time in total", "with everything inside")
        + &table(view, &by_total, "total", super::select::top_ns(view.tree), |r| r.total_ns);
    format!("{first}\n{second}")
}

fn table(
    view: &View<'_>,
    rows: &[FlatRow],
    title: &'static str,
    whole_ns: u64,
    time: impl Fn(&FlatRow) -> u64,
) -> String {
    let mut table = Table::new(vec![
        Column::number(title, 0),
        Column::number("of run", 1),
        Column::text("scope", 0).cut(),
        Column::number("count", 2),
        Column::number("each", 3),
    ])
    .indent(2);
    for row in rows.iter().take(view.args.top).filter(|r| time(r) > 0) {
        let ns = time(row) as f64;
        table.row(vec![
            Cell::plain(duration_cell(ns)),
            Cell::new(DIM, number::percent(ns / whole_ns.max(1) as f64)),
            Cell::new(ACCENT, text::safe(&row.name)),
            Cell::plain(number::count(row.count)),
            Cell::plain(duration_cell(ns / row.count.max(1) as f64)),
        ]);
    }
    table.render(view.width)
}
