//! A comparison for the terminal.

use super::words::Sign;
use super::{rows, words};
use crate::report::heading;
use crate::term::style::{self, DIM, GOOD, HOT, PLAIN, STRONG, WARM};
use crate::term::table::{Cell, Column, Table};
use crate::term::text;
use anstyle::Style;
use hodo_trace::{Diff, Gate, Judgement};

/// The whole output.
pub fn page(diff: &Diff, gate: Option<&Gate>, all: bool, width: usize) -> String {
    let parts = [
        verdict(diff, gate, width),
        scopes(diff, all, width),
        kernels(diff, all, width),
        notes(diff, width),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn wrapped(style: Style, sign: &str, words: &str, width: usize) -> String {
    let lines = text::wrap(words, width.saturating_sub(2));
    let line = |(at, line): (usize, &String)| {
        let sign = if at == 0 { sign } else { " " };
        format!("{} {}\n", style::paint(style, sign), style::paint(PLAIN, line))
    };
    lines.iter().enumerate().map(line).collect()
}

fn verdict(diff: &Diff, gate: Option<&Gate>, width: usize) -> String {
    let mut out = style::paint(DIM, &text::fit(&words::runs(diff), width)) + "\n";
    for (sign, words) in gate.map(words::gate).unwrap_or_default() {
        let (style, sign) = match sign {
            Sign::Good => (GOOD, "✓"),
            Sign::Bad => (HOT, "✗"),
            Sign::Unclear => (WARM, "?"),
        };
        out += &wrapped(style, sign, &words, width);
    }
    for words in words::headlines(diff, gate) {
        out += &wrapped(STRONG, "·", &words, width);
    }
    out
}

fn style_of(judgement: Judgement) -> Style {
    match judgement {
        judgement if judgement.is_slower() => HOT,
        judgement if judgement.is_faster() => GOOD,
        Judgement::Appeared | Judgement::Vanished => WARM,
        _ => DIM,
    }
}

fn scopes(diff: &Diff, all: bool, width: usize) -> String {
    let ranks = [0, 0, 0, 3, 1, 1, 4, 2, 5, 6, 7];
    let mut table = table(&rows::SCOPE_TITLES, &ranks);
    for scope in rows::scopes(diff, all) {
        table.row(cells(words::path(&scope.path), style_of(scope.judgement), rows::scope(scope)));
    }
    if table.is_empty() { String::new() } else { table.render(width) }
}

fn kernels(diff: &Diff, all: bool, width: usize) -> String {
    let mut table = table(&rows::KERNEL_TITLES, &[0, 0, 2, 1, 1, 0, 3]);
    for kernel in rows::kernels(diff, all) {
        let name = text::safe(&kernel.name);
        table.row(cells(name, style_of(kernel.judgement), rows::kernel(kernel)));
    }
    match (&diff.kernels, table.is_empty()) {
        (None, _) => String::new(),
        (Some(_), true) => heading("Kernels", "none changed"),
        _ => heading("Kernels", "") + &table.indent(2).render(width),
    }
}

fn table(titles: &[&'static str], ranks: &[u8]) -> Table {
    let column = |(at, (&title, &rank)): (usize, (&&'static str, &u8))| match at {
        0 => Column::text(title, rank).cut(),
        1 => Column::text(title, rank),
        _ => Column::number(title, rank),
    };
    Table::new(titles.iter().zip(ranks).enumerate().map(column).collect())
}

fn cells(name: String, style: Style, rest: Vec<String>) -> Vec<Cell> {
    let mut cells = vec![Cell::plain(name)];
    for (at, text) in rest.into_iter().enumerate() {
        cells.push(Cell::new(if at < 2 { style } else { PLAIN }, text));
    }
    cells
}

fn notes(diff: &Diff, width: usize) -> String {
    let forced = diff.obstacles.iter().map(|o| format!("compared all the same: {}", o.why));
    let confidence = format!(
        "intervals hold together with {} confidence; `change` is of a typical instance, differences of \
         total, self, count, CPU and GPU are of one run",
        crate::term::number::percent(diff.confidence)
    );
    let all = forced.chain(diff.notes.iter().cloned()).chain([confidence]);
    all.map(|note| wrapped(DIM, "·", &text::safe(&note), width)).collect()
}
