//! The backward pass, by the forward scope it is the gradient of.

use super::{View, heading};
use crate::term::number::{self, duration_cell};
use crate::term::style::{ACCENT, DIM};
use crate::term::table::{Cell, Column, Table};
use crate::term::text;
use hodo_trace::GpuWork;

/// Kernels named in a row; the JSON has all.
const MAX_KERNELS: usize = 3;

/// The section; empty unless it is asked for.
pub fn text(view: &View<'_>) -> String {
    if !view.args.backward {
        return String::new();
    }
    let rows = hodo_trace::backward_by_forward(view.run, view.filter);
    if rows.is_empty() {
        let why = "nothing was recorded by layer; hodo.init(by_layer=True) does, for torch";
        return heading("Backward", &super::gpu::none(view, why));
    }
    let mut table = Table::new(vec![
        Column::text("forward scope", 0).cut(),
        Column::number("GPU", 0),
        Column::number("kernels", 1),
        Column::text("launched in", 2).cut(),
        Column::text("most time", 3).cut(),
    ])
    .indent(2);
    for row in &rows {
        table.row(vec![
            Cell::new(ACCENT, path(&row.forward)),
            Cell::plain(duration_cell(row.work.busy_ns as f64)),
            Cell::plain(number::count(row.work.kernels)),
            Cell::new(DIM, path(&row.launched)),
            Cell::new(DIM, longest(&row.work)),
        ]);
    }
    heading("Backward", "gradients, by the scope that computed what they are of")
        + &table.render(view.width)
}

/// `forward ‹ step ‹ epoch`: from the inside, so that what is cut off is what says least.
pub fn path(names: &[String]) -> String {
    names.iter().rev().map(|name| text::safe(name)).collect::<Vec<_>>().join(" ‹ ")
}

fn longest(work: &GpuWork) -> String {
    let kernels = work.by_kernel.iter().take(MAX_KERNELS);
    let words = kernels.map(|kernel| {
        format!("{} {}", text::safe(&kernel.name), number::duration(kernel.total_ns as f64))
    });
    words.collect::<Vec<_>>().join(", ")
}
