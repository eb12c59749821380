//! The tree of scopes: one line a path.

use super::select::{self, Line};
use super::{View, energy, heading, work};
use crate::term::number::{self, duration_cell};
use crate::term::style::{self, ACCENT, DIM, HOT, PLAIN, WARM};
use crate::term::table::{Cell, Column, Table};
use crate::term::text;
use anstyle::Style;
use hodo_trace::{CpuSum, Node, NodeKind, Tag};

/// Cells of a share's bar.
const BAR: usize = 6;
const BLOCKS: [&str; 9] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"];

/// The section.
pub fn text(view: &View<'_>) -> String {
    if view.tree.nodes.is_empty() {
        return empty(view);
    }
    let chosen = select::select(view);
    let all_ns = view.tree.scopes_ns();
    let mut table = Table::new(columns());
    for line in &chosen.lines {
        table.row(row(view, line, all_ns));
        let below = work::below(view, line.node, &line.below);
        below.into_iter().for_each(|said| table.row(said.cells()));
    }
    let mut outside = work::of_no_scope(view);
    energy::outside(view, &mut outside);
    outside.into_iter().for_each(|said| table.row(said.cells()));
    table.render(view.width) + &notes(view, chosen.hidden, &table.dropped(view.width))
}

/// A line that is not a scope's: work on the GPU.
#[derive(Default)]
pub struct Said {
    /// What it is about.
    pub name: Cell,
    /// How often.
    pub count: Option<u64>,
    /// Of the time of all kernels there.
    pub share: Option<f64>,
    /// Time on the GPU.
    pub busy_ns: Option<u64>,
    /// Kernels, where it is about several.
    pub kernels: Option<u64>,
    /// From a launch to the start.
    pub launch_ns: Option<u64>,
    /// Mean time.
    pub mean_ns: Option<u64>,
    /// Energy.
    pub energy: Option<String>,
    /// What that cost.
    pub cost: Option<String>,
    /// Whether it is about what happened outside any scope.
    pub is_outside: bool,
}

impl Said {
    fn cells(self) -> Vec<Cell> {
        let number = |n: Option<u64>| Cell::new(DIM, n.map(number::count).unwrap_or_default());
        let time = |ns: Option<u64>| {
            Cell::new(DIM, ns.map(|ns| duration_cell(ns as f64)).unwrap_or_default())
        };
        let mut cells = vec![Cell::default(); columns().len()];
        let mut put = |title: &str, cell: Cell| {
            if let Some(at) = columns().iter().position(|c| c.title == title) {
                cells[at] = cell;
            }
        };
        put("scope", self.name);
        put("count", number(self.count));
        put("of parent", self.share.map(|share| part(share, DIM)).unwrap_or_default());
        put(work::BUSY, time(self.busy_ns));
        put(work::KERNELS, number(self.kernels));
        put(work::LAUNCH, time(self.launch_ns));
        put("mean", time(self.mean_ns));
        put(energy::ENERGY, Cell::new(DIM, self.energy.unwrap_or_default()));
        put(energy::COST, Cell::new(DIM, self.cost.unwrap_or_default()));
        cells
    }
}

fn empty(view: &View<'_>) -> String {
    let filtered = view.args.is_filtered();
    let words = if filtered && view.run.span_count() > 0 {
        "No scope fits --name, --where, --last and --rank; leave one out to see more."
    } else if view.run.processes.iter().any(|p| p.account.unexplained > 0 || !p.damage.is_none()) {
        "No scope could be read: the files are damaged, or a newer hodo wrote them."
    } else {
        "No scopes recorded: the program opened none after hodo started, or HODO=0 was set."
    };
    heading(words, "")
}

fn columns() -> Vec<Column> {
    vec![
        Column::text("scope", 0).cut(),
        Column::number("count", 1),
        Column::number("total", 0),
        Column::text("of parent", 3),
        Column::number("self", 4),
        Column::number(work::BUSY, 2),
        Column::number(work::KERNELS, 5),
        Column::number(work::IDLE, 8),
        Column::number(work::LAUNCH, 12),
        Column::number(energy::ENERGY, 3),
        Column::number(energy::COST, 3),
        Column::number("mean", 7),
        Column::number("p50", 11),
        Column::number("p95", 9),
        Column::number("p99", 14),
        Column::number("max", 10),
        Column::number("CPU", 6),
        Column::number("overhead", 13),
    ]
}

fn row(view: &View<'_>, line: &Line, all_ns: u64) -> Vec<Cell> {
    let tree = view.tree;
    let node = &tree.nodes[line.node as usize];
    let mut cells = vec![name(node, &line.branch)];
    if node.kind != NodeKind::Scope {
        cells.resize(columns().len(), Cell::default());
        return cells;
    }
    cells.push(Cell::plain(number::count(node.count)));
    cells.push(time(node, node.total_ns, PLAIN));
    cells.push(share(node));
    cells.push(time(node, node.self_ns, heat(node.self_ns, all_ns)));
    cells.extend(work::cells(tree, node));
    cells.extend(energy::cells(view, node));
    cells.extend(statistics(node));
    cells.push(cpu(&node.cpu));
    cells.push(time(node, node.overhead_ns, DIM));
    cells
}

fn name(node: &Node, branch: &str) -> Cell {
    let style = if node.kind == NodeKind::Scope { PLAIN } else { DIM };
    let mut cell = Cell::new(DIM, branch).and(style, text::safe(&node.name));
    match &node.tag {
        Some(Tag::One(tag)) => cell = cell.and(ACCENT, format!(" / {}", text::safe(tag))),
        Some(Tag::Many(n)) => cell = cell.and(DIM, format!(" / {}", text::plural(*n, "tag"))),
        None => {}
    }
    if node.failed > 0 {
        cell = cell.and(HOT, format!("  ✗ {} failed", number::count(node.failed)));
    }
    if node.open > 0 {
        cell = cell.and(WARM, format!("  ◌ {} open", number::count(node.open)));
    }
    cell
}

/// A sum of times, which is too small where scopes without a time are among them.
fn time(node: &Node, ns: Option<u64>, style: Style) -> Cell {
    let least = if node.untimed > 0 { "≥ " } else { "" };
    match ns {
        None => unknown(),
        Some(ns) => Cell::new(style, format!("{least}{}", duration_cell(ns as f64))),
    }
}

/// Not captured.
pub fn unknown() -> Cell {
    Cell::new(DIM, "–").and(PLAIN, "  ")
}

/// Mean and percentiles; a single scope has only its total.
fn statistics(node: &Node) -> Vec<Cell> {
    let Some(d) = node.durations.filter(|_| node.count > 1) else {
        return vec![Cell::default(); 5];
    };
    let plain = |ns: u64| Cell::plain(duration_cell(ns as f64));
    vec![plain(d.mean_ns), plain(d.p50_ns), plain(d.p95_ns), plain(d.p99_ns), plain(d.max_ns)]
}

/// Time as part of the parent's, or of the run's for an outermost scope.
fn share(node: &Node) -> Cell {
    node.of_parent().map(|share| part(share, ACCENT)).unwrap_or_default()
}

/// A share with its bar.
fn part(share: f64, style: Style) -> Cell {
    Cell::new(style, bar(share)).and(DIM, format!(" {:>5}", number::percent(share)))
}

/// A bar of [`BAR`] cells, in eighths.
fn bar(share: f64) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (BAR * 8) as f64).round() as usize;
    let drawn = "█".repeat(eighths / 8) + BLOCKS[eighths % 8];
    format!("{drawn:<BAR$}")
}

/// Scopes whose own time is a large part of the run stand out.
fn heat(self_ns: Option<u64>, all_ns: u64) -> Style {
    match self_ns.unwrap_or(0) as f64 / all_ns.max(1) as f64 {
        s if s >= 0.3 => HOT,
        s if s >= 0.1 => WARM,
        _ => PLAIN,
    }
}

fn cpu(sum: &CpuSum) -> Cell {
    let missing = sum.suspended + sum.other_thread + sum.off + sum.open + sum.uncalibrated;
    match sum.total_ns {
        None => unknown(),
        Some(ns) if missing == 0 => Cell::plain(duration_cell(ns as f64)),
        Some(ns) => Cell::plain(format!("≥ {}", duration_cell(ns as f64))),
    }
}

fn notes(view: &View<'_>, hidden: usize, dropped: &[&str]) -> String {
    let mut lines = Vec::new();
    if let Some(line) = cpu_note(view) {
        lines.push(line);
    }
    lines.extend(work::notes(view));
    lines.extend(energy::notes(view));
    if view.tree.nodes.iter().any(|n| n.open > 0) {
        lines.push("◌ open: never closed; counted up to the last moment recorded".to_owned());
    }
    if hidden > 0 {
        let asked = view.args.depth.is_some() || view.args.min.is_some();
        let why = if asked { "--depth, --min" } else { "the smallest; --min 0 shows all" };
        lines.push(format!("{} not shown ({why})", text::plural(hidden as u64, "path")));
    }
    if !dropped.is_empty() {
        let energy = if view.tree.energy.is_some() { 20 } else { 0 };
        let all = energy + if view.tree.gpu.captured > 0 { 180 } else { 140 };
        lines.push(format!("no room for {} (--width {all} shows all)", dropped.join(", ")));
    }
    // With the GPU's columns there is too much to tell for one line.
    let wraps = view.tree.gpu.captured > 0;
    let shown = lines.iter().flat_map(|line| {
        match wraps || line.starts_with("GPU") || line.contains("energy") {
            true => text::wrap(line, view.width),
            false => vec![text::fit(line, view.width)],
        }
    });
    shown.map(|line| style::paint(DIM, &line) + "\n").collect()
}

/// Why CPU time is missing, for the marks `–` and `≥`.
fn cpu_note(view: &View<'_>) -> Option<String> {
    let mut sum = CpuSum::default();
    for node in &view.tree.nodes {
        sum.suspended += node.cpu.suspended;
        sum.other_thread += node.cpu.other_thread;
        sum.off += node.cpu.off;
        sum.open += node.cpu.open;
        sum.uncalibrated += node.cpu.uncalibrated;
    }
    let reasons: Vec<String> = [
        (sum.suspended, "suspended (await)"),
        (sum.other_thread, "not bound to one thread"),
        (sum.off, "recorded without a CPU clock"),
        (sum.open, "never closed"),
        (sum.uncalibrated, "of a process whose times are not calibrated"),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, why)| format!("{} {why}", text::plural(n, "scope")))
    .collect();
    (!reasons.is_empty()).then(|| format!("–, ≥ CPU time not captured: {}", reasons.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_always_the_same_width() {
        for share in [0.0, 0.01, 0.5, 0.999, 1.0, 7.0, f64::NAN] {
            assert_eq!(text::width(&bar(share)), BAR, "{share}");
        }
        assert_eq!(bar(0.5), "███   ");
        assert_eq!(bar(0.0), "      ");
    }
}
