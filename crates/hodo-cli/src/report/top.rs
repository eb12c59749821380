//! The largest scopes by name, wherever they stand in the tree.

use super::{View, heading};
use crate::term::number::{self, duration_cell};
use crate::term::style::{ACCENT, DIM};
use crate::term::table::{Cell, Column, Table};
use crate::term::text;
use hodo_trace::{FlatRow, FlatSort};

/// Columns between two tables that stand side by side.
const BETWEEN: usize = 6;

/// Both tables, side by side where they fit; empty with `--top 0` or when there is nothing to rank.
pub fn text(view: &View<'_>) -> String {
    const WORTH_RANKING: usize = 3;
    let by_self = hodo_trace::flat(view.tree, FlatSort::SelfTime);
    let wall = view.tree.wall_ns.unwrap_or(0);
    if view.args.top == 0 || by_self.len() < WORTH_RANKING || wall == 0 {
        return String::new();
    }
    let by_total = hodo_trace::flat(view.tree, FlatSort::Total);
    let own: u64 = by_self.iter().filter_map(|r| r.self_ns).sum();
    let first = heading("Most time of their own", "self, in no scope inside")
        + &table(view, &by_self, ["self", "of all"], own, |r| r.self_ns.unwrap_or(0));
    let second = heading("Most time in total", "with everything inside")
        + &table(view, &by_total, ["total", "of run"], wall, |r| r.total_ns.unwrap_or(0));
    beside(&first, &second, view.width).unwrap_or_else(|| format!("{first}\n{second}"))
}

fn table(
    view: &View<'_>,
    rows: &[FlatRow],
    [title, share]: [&'static str; 2],
    whole_ns: u64,
    time: impl Fn(&FlatRow) -> u64,
) -> String {
    let mut table = Table::new(vec![
        Column::number(title, 0),
        Column::number(share, 1),
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

/// Two blocks of lines side by side; none when they do not fit.
fn beside(left: &str, right: &str, width: usize) -> Option<String> {
    let wide = |line: &str| text::width(&anstream::adapter::strip_str(line).to_string());
    let widest = |block: &str| block.lines().map(wide).max().unwrap_or(0);
    let column = widest(left) + BETWEEN;
    if column + widest(right) > width {
        return None;
    }
    let lines = left.lines().count().max(right.lines().count());
    let (mut left, mut right) = (left.lines(), right.lines());
    let mut out = String::new();
    for _ in 0..lines {
        let (l, r) = (left.next().unwrap_or(""), right.next().unwrap_or(""));
        let pad = " ".repeat(column - wide(l));
        out += format!("{l}{pad}{r}").trim_end();
        out.push('\n');
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stand_side_by_side_only_where_they_fit() {
        let (left, right) = ("one\ntwo two\n", "\u{1b}[1mthree\u{1b}[0m\n");
        let expected = "one          \u{1b}[1mthree\u{1b}[0m\ntwo two\n";
        assert_eq!(beside(left, right, 18).as_deref(), Some(expected));
        assert_eq!(beside(left, right, 17), None);
    }
}
