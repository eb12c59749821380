//! What a run does: scopes by path, the slowest, kernels, marks.

use super::spark::curve;
use crate::term::style::{ACCENT, DIM, HOT, PLAIN, STRONG, WARM};
use crate::term::table::{Cell, Column, Line, Table};
use crate::term::{number, text};
use crate::top::view::{Order, Pane};
use hodo_trace::{Loss, Now, NowScope, ProcessState};

/// Cells of a mark's curve.
const CURVE: usize = 24;
/// Deeper levels are not moved further to the right.
const DEEPEST: usize = 24;

/// The lines of a pane, its titles first; or what to say where it is empty.
pub fn lines(pane: Pane, run: &Now, order: Order, width: usize) -> Vec<Line> {
    let (table, empty) = match pane {
        Pane::Kernels => (kernels(run), "no GPU work lately"),
        Pane::Slowest => (slowest(run), "nothing closed lately"),
        Pane::Marks => (marks(run), "no marks yet"),
        Pane::Scopes | Pane::Machine => (scopes(run, order), "no scope yet"),
    };
    if table.is_empty() { vec![vec![(DIM, empty.to_owned())]] } else { table.lines(width) }
}

/// The run's name, how it stands, and what it lost.
pub fn header(run: &Now, wall_ns: i64, runs: usize) -> Line {
    let mut line = vec![(STRONG, text::safe(&run.app)), (PLAIN, "  ".to_owned())];
    let live = run.processes.iter().filter(|p| p.state == ProcessState::Live).count();
    let state = match live {
        0 => (DIM, "ended".to_owned()),
        _ => (ACCENT, format!("{} live", text::plural(live as u64, "process"))),
    };
    line.push(state);
    let age = wall_ns.saturating_sub(run.start_ns as i64);
    if run.start_ns > 0 && age > 0 && live > 0 {
        line.push((PLAIN, format!("  for {}", number::duration(age as f64))));
    }
    if run.elsewhere > 0 {
        let words = text::plural(run.elsewhere as u64, "process");
        line.push((DIM, format!("  {words} on other hosts not shown")));
    }
    line.push((PLAIN, "  ".to_owned()));
    line.push(losses(run));
    if runs > 1 {
        line.push((DIM, format!("  {runs} runs record: r shows the next")));
    }
    line
}

/// What is missing, in words.
fn losses(run: &Now) -> (anstyle::Style, String) {
    let mut parts = Vec::new();
    for (reason, counts) in Loss::ALL.iter().zip(&run.lost) {
        if counts.records() > 0 {
            let words = text::plural(counts.records(), "record");
            parts.push(format!("{words} lost ({})", reason.name()));
        }
    }
    for (count, what) in [
        (run.depth_dropped, "too deep"),
        (run.gpu_lost, "pieces of GPU work lost"),
        (run.damaged_frames, "damaged frames"),
        (run.left_out, "scopes of too many names left out"),
    ] {
        if count > 0 {
            parts.push(format!("{} {what}", number::count(count)));
        }
    }
    if run.skipped_bytes > 0 {
        // Nothing is lost by it: the files have it.
        let words = "too much to look at all of it, so counts are estimates";
        if parts.is_empty() {
            return (DIM, format!("nothing lost; {words}"));
        }
        parts.push(words.to_owned());
    }
    match parts.is_empty() {
        true => (DIM, "nothing lost".to_owned()),
        false => (HOT, parts.join(", ")),
    }
}

fn scopes(run: &Now, order: Order) -> Table {
    let mut table = Table::new(vec![
        Column::text("scope", 0).cut().least(16),
        Column::number("open", 1).least(3),
        Column::number("for", 1).least(7),
        Column::number("a second", 1).least(8),
        Column::number("mean", 2).least(7),
        Column::number("slowest", 2).least(7),
        Column::number("last", 5).least(7),
        Column::number("of time", 3).least(7),
        Column::number("closed", 4).least(7),
    ]);
    for scope in in_order(&run.scopes, order) {
        table.row(row(scope, run.window_ns));
    }
    table
}

fn row(scope: &NowScope, window_ns: u64) -> Vec<Cell> {
    let idle = scope.open == 0 && scope.count == 0;
    let style = match scope.open {
        _ if idle => DIM,
        0 => PLAIN,
        _ => STRONG,
    };
    let time = |ns: Option<u64>| {
        Cell::new(style, ns.map_or_else(String::new, |ns| number::duration_cell(ns as f64)))
    };
    let indent = "  ".repeat(scope.depth.min(DEEPEST));
    let open = if scope.open > 0 { number::count(scope.open) } else { String::new() };
    let share = scope.total_ns as f64 / window_ns as f64;
    let lately =
        |text: String| Cell::new(style, if scope.count > 0 { text } else { String::new() });
    vec![
        Cell::plain(indent).and(style, text::safe(&scope.name)),
        Cell::new(ACCENT, open),
        Cell::new(
            ACCENT,
            scope.open_ns.map_or_else(String::new, |ns| number::duration_cell(ns as f64)),
        ),
        lately(number::digits(scope.rate)),
        time(scope.mean_ns),
        time(scope.max_ns),
        time(scope.last_ns),
        lately(format!("{:.0}%", share * 100.0)),
        Cell::new(style, number::count(scope.closed)),
    ]
}

/// The scopes with siblings in the order that is wanted; each still follows its parent.
fn in_order(scopes: &[NowScope], order: Order) -> Vec<&NowScope> {
    let mut out = Vec::with_capacity(scopes.len());
    put_siblings(scopes, order, &mut out);
    out
}

/// `scopes` are siblings, each with what is inside it behind it.
fn put_siblings<'a>(scopes: &'a [NowScope], order: Order, out: &mut Vec<&'a NowScope>) {
    let Some(depth) = scopes.first().map(|scope| scope.depth) else { return };
    let mut families: Vec<&[NowScope]> = Vec::new();
    let mut from = 0;
    for at in 1..=scopes.len() {
        if scopes.get(at).is_none_or(|scope| scope.depth <= depth) {
            families.push(&scopes[from..at]);
            from = at;
        }
    }
    families.sort_by(|a, b| compare(&a[0], &b[0], order));
    for family in families {
        out.push(&family[0]);
        put_siblings(&family[1..], order, out);
    }
}

fn compare(a: &NowScope, b: &NowScope, order: Order) -> std::cmp::Ordering {
    // What is open and takes longer than the window has no time in it yet.
    let time = |s: &NowScope| s.total_ns.max(s.open_ns.unwrap_or(0));
    let by = match order {
        Order::Time => time(b).cmp(&time(a)),
        Order::Rate => b.rate.total_cmp(&a.rate),
        Order::Mean => b.mean_ns.cmp(&a.mean_ns),
        Order::Slowest => b.max_ns.cmp(&a.max_ns),
        Order::Name => std::cmp::Ordering::Equal,
    };
    by.then_with(|| a.name.cmp(&b.name))
}

fn slowest(run: &Now) -> Table {
    let mut table = Table::new(vec![
        Column::text("slowest of the last 10 s", 0).cut().least(16),
        Column::number("index", 3),
        Column::number("took", 0).least(7),
        Column::number("x mean", 1).least(6),
        Column::number("ago", 2).least(7),
    ]);
    // One of its kind is no slower than its kind.
    for slow in run.slowest.iter().filter(|slow| slow.ns > slow.mean_ns) {
        let path: Vec<String> = slow.path.iter().map(|name| text::safe(name)).collect();
        let times = slow.ns as f64 / slow.mean_ns.max(1) as f64;
        table.row(vec![
            Cell::plain(tail(&path)),
            Cell::plain(slow.index.map_or_else(String::new, |index| index.to_string())),
            Cell::plain(number::duration_cell(slow.ns as f64)),
            Cell::new(if times >= 3.0 { WARM } else { PLAIN }, format!("{times:.1}")),
            Cell::new(DIM, number::duration_cell(slow.ago_ns as f64)),
        ]);
    }
    table
}

/// The innermost names, which tell most.
fn tail(path: &[String]) -> String {
    match path {
        [.., up, name] if path.len() > 2 => format!("… {up} / {name}"),
        _ => path.join(" / "),
    }
}

fn kernels(run: &Now) -> Table {
    let mut table = Table::new(vec![
        Column::text("GPU work of the last 10 s", 0).cut().least(16),
        Column::number("a second", 1).least(8),
        Column::number("of time", 0).least(5),
        Column::number("mean", 2).least(7),
        Column::number("slowest", 3).least(7),
        Column::number("bytes a second", 4),
    ]);
    for kernel in &run.kernels {
        let bytes = kernel.bytes_per_s;
        table.row(vec![
            Cell::plain(text::safe(&kernel.name)),
            Cell::plain(number::digits(kernel.rate)),
            Cell::plain(number::percent(kernel.share)),
            Cell::plain(number::duration_cell(kernel.mean_ns as f64)),
            Cell::plain(number::duration_cell(kernel.max_ns as f64)),
            Cell::plain(if bytes > 0.0 { super::rate(bytes) } else { String::new() }),
        ]);
    }
    table
}

fn marks(run: &Now) -> Table {
    let mut table = Table::new(vec![
        Column::text("mark", 0).cut().least(12),
        Column::number("newest", 0).least(8),
        Column::text("", 1),
        Column::number("ago", 2).least(7),
        Column::number("count", 3).least(7),
    ]);
    for mark in &run.marks {
        let value = mark.values.last().map_or_else(
            || text::fit(&text::safe(&mark.value), CURVE),
            |&value| number::digits(value),
        );
        table.row(vec![
            Cell::plain(text::safe(&mark.name)),
            Cell::new(STRONG, value),
            Cell::new(ACCENT, curve(&mark.values, CURVE)),
            Cell::new(DIM, number::duration_cell(mark.ago_ns as f64)),
            Cell::plain(number::count(mark.count)),
        ]);
    }
    table
}
