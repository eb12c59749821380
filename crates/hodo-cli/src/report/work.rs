//! GPU work in the tree: columns of a scope, and lines below it for what it launched.

use super::View;
use super::tree::{Said, unknown};
use crate::term::number::{self, duration_cell};
use crate::term::style::{ACCENT, DIM, PLAIN};
use crate::term::table::Cell;
use crate::term::text;
use hodo_trace::{CopySum, GpuMissing, GpuWork, KernelSum, Node, Tree};

/// Title of the column for time in which its work ran.
pub const BUSY: &str = "GPU";
/// Title of the column for the number of kernels.
pub const KERNELS: &str = "kernels";
/// Title of the column for time inside in which the GPU had nothing to do.
pub const IDLE: &str = "GPU idle";
/// Title of the column for the median time from a launch to the start of the kernel.
pub const LAUNCH: &str = "launch";
/// Title of the line of what belongs to no scope.
pub const OUTSIDE: &str = "(outside any scope)";
/// Cells a kernel's name takes at most: enough to tell kernels apart where there is room, and few
/// where numbers would have to go for it.
fn name_cells(width: usize) -> usize {
    (width.saturating_mul(3) / 10).clamp(20, 48)
}

/// The cells of a scope, for all that is inside it; empty when the run has no GPU numbers.
pub fn cells(tree: &Tree, node: &Node) -> [Cell; 4] {
    if tree.gpu.captured == 0 {
        return Default::default();
    }
    let Some(gpu) = &node.gpu else { return std::array::from_fn(|_| unknown()) };
    let least = if gpu.missing + gpu.in_gap > 0 { "≥ " } else { "" };
    let style = if gpu.all == GpuWork::default() { DIM } else { PLAIN };
    let launch = gpu.all.launch.map(|launch| duration_cell(launch.p50_ns as f64));
    [
        Cell::new(style, format!("{least}{}", duration_cell(gpu.all.busy_ns as f64))),
        Cell::new(style, format!("{least}{}", number::count(gpu.all.kernels))),
        idle(node, least),
        Cell::new(DIM, launch.unwrap_or_default()),
    ]
}

/// Idle time, and its share where that of every scope is known.
fn idle(node: &Node, least: &str) -> Cell {
    let Some(ns) = node.gpu.as_ref().and_then(|gpu| gpu.idle_ns) else { return unknown() };
    let cell = Cell::plain(format!("{least}{}", duration_cell(ns as f64)));
    let whole = node.total_ns.filter(|&whole| whole > 0 && least.is_empty() && node.untimed == 0);
    let share = whole.map(|whole| number::percent(ns as f64 / whole as f64));
    cell.and(DIM, format!(" {:>5}", share.unwrap_or_default()))
}

/// Lines below a scope: what it launched itself, and what it captured for graphs.
pub fn below(view: &View<'_>, at: u32, branch: &str) -> Vec<Said> {
    let node = &view.tree.nodes[at as usize];
    let Some(gpu) = node.gpu.as_ref().filter(|_| view.args.per_scope > 0) else {
        return Vec::new();
    };
    let mut lines = launched(view, &gpu.own, branch);
    let children = view.tree.nodes.iter().filter(|n| n.parent == Some(at));
    let inside: u64 =
        children.filter_map(|n| n.gpu.as_ref()).map(|gpu| gpu.graph_captured.kernels).sum();
    let captured = gpu.graph_captured.kernels.saturating_sub(inside);
    if captured > 0 {
        lines.push(Said {
            name: named(branch, "⧉", "in graphs captured here"),
            count: Some(captured),
            busy_ns: (inside == 0).then_some(gpu.graph_captured.busy_ns),
            ..Said::default()
        });
    }
    lines
}

/// Lines for work that belongs to no scope, each with what it is.
pub fn of_no_scope(view: &View<'_>) -> Vec<Said> {
    let gpu = &view.tree.gpu;
    let buckets = [
        (&gpu.outside, OUTSIDE),
        (&gpu.unknown, "(unknown launch)"),
        (&gpu.lost_scopes, "(lost scope)"),
    ];
    let mut lines = Vec::new();
    for (work, title) in buckets {
        let Some(work) = work.as_ref().filter(|work| **work != GpuWork::default()) else {
            continue;
        };
        lines.push(Said {
            name: Cell::new(DIM, title),
            busy_ns: Some(work.busy_ns),
            kernels: Some(work.kernels),
            launch_ns: work.launch.map(|launch| launch.p50_ns),
            is_outside: title == OUTSIDE,
            ..Said::default()
        });
        lines.extend(launched(view, work, "   "));
    }
    lines
}

/// The kernels that took most time, the rest in one line, then copies and sets.
fn launched(view: &View<'_>, work: &GpuWork, branch: &str) -> Vec<Said> {
    let (shown, rest) = work.by_kernel.split_at(view.args.per_scope.min(work.by_kernel.len()));
    let cells = name_cells(view.width);
    let mut lines: Vec<Said> = shown.iter().map(|k| of_kernel(k, branch, cells)).collect();
    lines.extend((!rest.is_empty()).then(|| of_rest(rest, work, branch)));
    lines.extend(work.copies.iter().map(|copy| of_copy(copy, branch)));
    if work.sets.count > 0 {
        lines.push(Said {
            name: named(branch, "·", &format!("set {}", number::bytes(work.sets.bytes))),
            count: Some(work.sets.count),
            busy_ns: Some(work.sets.total_ns),
            ..Said::default()
        });
    }
    if work.inherited > 0 {
        let all = work.kernels + work.sets.count + work.copies.iter().map(|c| c.count).sum::<u64>();
        let part = if work.inherited == all { "all of it " } else { "" };
        lines.push(Said {
            name: named(branch, "↳", &format!("{part}inherited")),
            count: Some(work.inherited),
            ..Said::default()
        });
    }
    lines
}

fn of_kernel(kernel: &KernelSum, branch: &str, cells: usize) -> Said {
    let name = text::fit(&text::safe(&kernel.name), cells);
    Said {
        name: Cell::new(DIM, format!("{branch}∙ ")).and(ACCENT, name),
        count: Some(kernel.count),
        share: kernel.share,
        busy_ns: Some(kernel.total_ns),
        mean_ns: kernel.mean_ns,
        ..Said::default()
    }
}

fn of_rest(rest: &[KernelSum], work: &GpuWork, branch: &str) -> Said {
    let total: u64 = rest.iter().map(|kernel| kernel.total_ns).sum();
    let what = text::plural(rest.len() as u64, "more kernel");
    Said {
        name: named(branch, "∙", &what),
        count: Some(rest.iter().map(|kernel| kernel.count).sum()),
        share: (work.kernel_ns > 0).then(|| total as f64 / work.kernel_ns as f64),
        busy_ns: Some(total),
        ..Said::default()
    }
}

fn of_copy(copy: &CopySum, branch: &str) -> Said {
    Said {
        name: named(branch, "⇄", &format!("{} {}", copy.direction, number::bytes(copy.bytes))),
        count: Some(copy.count),
        busy_ns: Some(copy.total_ns),
        mean_ns: (copy.count > 0).then(|| copy.total_ns / copy.count),
        ..Said::default()
    }
}

fn named(branch: &str, sign: &str, what: &str) -> Cell {
    Cell::new(DIM, format!("{branch}{sign} {what}"))
}

/// What the signs mean, and why numbers are missing.
pub fn notes(view: &View<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let gpu = &view.tree.gpu;
    for absence in &gpu.missing {
        let silent = matches!(absence.reason, GpuMissing::NotRecorded | GpuMissing::Off);
        let why = text::safe(&absence.why);
        let processes = text::plural(absence.processes.into(), "process");
        match gpu.captured {
            0 if silent || super::verdict::is_shown(view) => {}
            0 => notes.push(format!("GPU: not captured: {why}")),
            _ => notes.push(format!("–, ≥ GPU not captured in {processes}: {why}")),
        }
    }
    let in_gap: u64 =
        view.tree.nodes.iter().filter_map(|n| n.gpu.as_ref()).map(|gpu| gpu.in_gap).sum();
    if in_gap > 0 {
        let scopes = text::plural(in_gap, "scope");
        notes.push(format!("–, ≥ GPU: nothing captured in part of {scopes}, see Recording"));
    }
    if gpu.all.inherited > 0 && view.args.per_scope > 0 {
        let why = "work launched by a thread that had no scope open, such as autograd's";
        notes.push(format!("↳ inherited: {why}"));
    }
    notes
}
