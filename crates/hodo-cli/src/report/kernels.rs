//! The kernels of a run by name.

use super::{View, heading};
use crate::term::number::{self, duration_cell};
use crate::term::style::{self, ACCENT, DIM};
use crate::term::table::{Cell, Column, Table};
use crate::term::text;
use hodo_trace::{KernelRow, KernelScope, KernelTable};

/// Scopes named in a row; the JSON has all.
const MAX_SCOPES: usize = 3;

/// The kernels, by short name or in full.
pub fn table(view: &View<'_>) -> KernelTable {
    match view.args.kernels_in_full {
        true => hodo_trace::kernels_in_full(view.run, view.filter),
        false => hodo_trace::kernels(view.run, view.filter),
    }
}

/// The section; empty unless it is asked for.
pub fn text(view: &View<'_>) -> String {
    if !view.args.kernels && !view.args.kernels_in_full {
        return String::new();
    }
    let kernels = table(view);
    if kernels.rows.is_empty() {
        return heading("Kernels", &super::gpu::none(view, "no kernel was launched"));
    }
    let mut table = Table::new(vec![
        Column::text("kernel", 0).cut(),
        Column::number("count", 1),
        Column::number("total", 0),
        Column::number("share", 2),
        Column::number("mean", 3),
        Column::number("min", 7),
        Column::number("max", 6),
        Column::number("grid", 8),
        Column::number("block", 9),
        Column::number("registers", 10),
        Column::number("shared", 11),
        Column::text("scopes", 5).cut(),
    ])
    .indent(2);
    // Many scopes in a narrow table would cost it the numbers.
    let cells = (view.width / 4).max(16);
    kernels.rows.iter().for_each(|kernel| table.row(row(kernel, cells)));
    let note = format!(
        "{} by {}, {}",
        text::plural(kernels.count, "kernel"),
        text::plural(kernels.rows.len() as u64, "name"),
        number::duration(kernels.total_ns as f64)
    );
    heading("Kernels", &note) + &table.render(view.width) + &notes(view, &kernels, &table)
}

fn notes(view: &View<'_>, kernels: &KernelTable, table: &Table) -> String {
    let dropped = table.dropped(view.width);
    let mut notes = Vec::new();
    if !dropped.contains(&"grid") && kernels.rows.iter().any(|row| row.shapes > 1) {
        notes.push("~ launched with several shapes: that of most".to_owned());
    }
    if !dropped.is_empty() {
        notes.push(format!("no room for {}; --json has all", dropped.join(", ")));
    }
    let lines = notes.iter().flat_map(|note| text::wrap(note, view.width.saturating_sub(2)));
    lines.map(|line| format!("  {}\n", style::paint(DIM, &line))).collect()
}

fn row(kernel: &KernelRow, scope_cells: usize) -> Vec<Cell> {
    let time = |ns: Option<u64>| match ns {
        Some(ns) => Cell::plain(duration_cell(ns as f64)),
        None => super::tree::unknown(),
    };
    // Several shapes: that of most of them.
    let about = if kernel.shapes > 1 { "~" } else { "" };
    let shape = &kernel.typical;
    vec![
        Cell::new(ACCENT, text::safe(&kernel.name)),
        Cell::plain(number::count(kernel.count)),
        Cell::plain(duration_cell(kernel.total_ns as f64)),
        Cell::new(DIM, kernel.share.map(number::percent).unwrap_or_default()),
        time(kernel.mean_ns),
        time(kernel.min_ns),
        time(kernel.max_ns),
        Cell::new(DIM, format!("{about}{}", size(shape.grid))),
        Cell::new(DIM, size(shape.block)),
        Cell::new(DIM, shape.registers.to_string()),
        Cell::new(DIM, number::bytes(shape.shared_bytes)),
        Cell::new(DIM, text::fit(&scopes(&kernel.scopes), scope_cells)),
    ]
}

/// `1024`, `32×4`, `8×8×2`: without the dimensions that are 1.
fn size(dimensions: [u32; 3]) -> String {
    let used = dimensions.iter().rposition(|&n| n > 1).unwrap_or(0);
    dimensions[..=used].iter().map(u32::to_string).collect::<Vec<_>>().join("×")
}

/// Where they were launched, most time first.
fn scopes(scopes: &[KernelScope]) -> String {
    let name = |scope: &KernelScope| text::safe(scope.path.last().map_or("", String::as_str));
    let mut names: Vec<String> = scopes.iter().take(MAX_SCOPES).map(name).collect();
    if scopes.len() > MAX_SCOPES {
        names.push(format!("{} more", scopes.len() - MAX_SCOPES));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_leave_out_what_is_one() {
        assert_eq!(size([1024, 1, 1]), "1024");
        assert_eq!(size([8, 1, 2]), "8×1×2");
        assert_eq!(size([1, 1, 1]), "1");
    }
}
