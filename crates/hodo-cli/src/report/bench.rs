//! Benchmark loops: what one iteration takes.

use super::{View, heading};
use crate::term::number::{self, duration_cell};
use crate::term::style::{ACCENT, DIM, STRONG};
use crate::term::table::{Cell, Column, Table};
use crate::term::text;
use hodo_trace::{Bench, Node, Tag};

/// The section; empty when the run has no benchmark loop.
pub fn text(view: &View<'_>) -> String {
    let mut table = Table::new(vec![
        Column::text("loop", 0).cut(),
        Column::number("mean", 0),
        Column::text("95 % interval", 3),
        Column::number("median", 0),
        Column::number("min", 4),
        Column::number("p95", 2),
        Column::number("n", 1),
        Column::number("warm-up", 5),
    ])
    .indent(2);
    for node in &view.tree.nodes {
        if let Some(bench) = &node.bench {
            table.row(row(node, bench));
        }
    }
    if table.is_empty() {
        return String::new();
    }
    heading("Benchmarks", "per iteration, warm-up left out") + &table.render(view.width)
}

fn row(node: &Node, bench: &Bench) -> Vec<Cell> {
    let mut name = Cell::plain(text::safe(&node.name));
    if let Some(Tag::One(tag)) = &node.tag {
        name = name.and(ACCENT, format!(" / {}", text::safe(tag)));
    }
    let time = |ns: u64| Cell::plain(duration_cell(ns as f64));
    vec![
        name,
        Cell::new(STRONG, duration_cell(bench.mean_ns as f64)),
        interval(bench),
        time(bench.median_ns),
        time(bench.min_ns),
        time(bench.p95_ns),
        Cell::plain(number::count(bench.iterations)),
        Cell::plain(number::count(bench.warmup)),
    ]
}

fn interval(bench: &Bench) -> Cell {
    let Some([low, high]) = bench.ci95_ns else { return Cell::new(DIM, "–") };
    let half = (high - low.min(high)) as f64 / 2.0;
    let share = half / (bench.mean_ns.max(1)) as f64;
    Cell::plain(format!("± {}", duration_cell(half)))
        .and(DIM, format!(" {}", number::percent(share)))
}
