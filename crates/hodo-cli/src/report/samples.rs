//! Why kernels stalled, from samples of their instructions.

use super::{View, heading};
use crate::term::number;
use crate::term::style::{ACCENT, DIM};
use crate::term::table::{Cell, Column, Table};
use crate::term::text;
use hodo_trace::{SampleTable, SampledInstruction, StallSum};

/// Rows of each table; the JSON has more.
const MAX_ROWS: usize = 20;
/// Reasons named in a row.
const MAX_REASONS: usize = 3;

/// What is said where there are none.
const NONE: &str = "none were taken; hodo.window(\"pc-sampling\") takes them";

/// The section; empty unless it is asked for.
pub fn text(view: &View<'_>) -> String {
    if !view.args.samples {
        return String::new();
    }
    let samples = hodo_trace::samples(view.run, view.filter);
    if samples.samples == 0 {
        return heading("Samples", &super::gpu::none(view, NONE));
    }
    let note = format!("{}: {}", text::plural(samples.samples, "sample"), reasons(&samples.stalls));
    let cells = (view.width / 3).max(16);
    [
        heading("Samples", &note),
        by_kernel(&samples, cells).render(view.width) + "\n",
        by_scope(&samples, cells).render(view.width) + "\n",
        by_instruction(&samples, cells).render(view.width),
    ]
    .concat()
}

fn by_kernel(samples: &SampleTable, cells: usize) -> Table {
    let mut table = table("kernel");
    for kernel in samples.kernels.iter().take(MAX_ROWS) {
        let name = Cell::new(ACCENT, text::safe(&kernel.name));
        table.row(row(name, kernel.samples, kernel.share, why(&kernel.stalls, cells)));
    }
    table
}

fn by_scope(samples: &SampleTable, cells: usize) -> Table {
    let mut table = table("scope");
    for scope in samples.scopes.iter().take(MAX_ROWS) {
        let name = Cell::new(ACCENT, super::backward::path(&scope.path));
        table.row(row(name, scope.samples, scope.share, why(&scope.stalls, cells)));
    }
    table
}

fn by_instruction(samples: &SampleTable, cells: usize) -> Table {
    let mut table = table("instruction");
    for one in samples.instructions.iter().take(MAX_ROWS) {
        table.row(row(instruction(one), one.samples, one.share, why(&one.stalls, cells)));
    }
    table
}

fn table(title: &'static str) -> Table {
    Table::new(vec![
        Column::text(title, 0).cut(),
        Column::number("samples", 0),
        Column::number("share", 1),
        Column::text("why", 2).cut(),
    ])
    .indent(2)
}

fn row(name: Cell, samples: u64, share: f64, why: Cell) -> Vec<Cell> {
    vec![name, Cell::plain(number::count(samples)), Cell::new(DIM, number::percent(share)), why]
}

/// `gemm.cu:12 in gemm +0x10`, or `gemm +0x10` where the source is not known.
fn instruction(one: &SampledInstruction) -> Cell {
    let at = format!("{} +{:#x}", text::safe(&one.kernel), one.pc);
    match (&one.file, one.line) {
        (Some(file), Some(line)) => {
            let file = file.rsplit('/').next().unwrap_or(file);
            Cell::new(ACCENT, format!("{}:{line}", text::safe(file))).and(DIM, format!(" in {at}"))
        }
        _ => Cell::new(ACCENT, at),
    }
}

fn why(stalls: &[StallSum], cells: usize) -> Cell {
    Cell::new(DIM, text::fit(&reasons(stalls), cells))
}

/// `long_scoreboard 77%, wait 23%`.
fn reasons(stalls: &[StallSum]) -> String {
    let one = |stall: &StallSum| {
        format!("{} {}", text::safe(&stall.reason), number::percent(stall.share))
    };
    stalls.iter().take(MAX_REASONS).map(one).collect::<Vec<_>>().join(", ")
}
