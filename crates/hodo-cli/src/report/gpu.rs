//! What the GPU did over the whole run, and how that is known.

use super::{View, heading};
use crate::term::number::{self, duration, duration_cell};
use crate::term::style::{self, ACCENT, DIM, PLAIN};
use crate::term::table::{Cell, Column, Table};
use crate::term::text;
use hodo_trace::{GpuState, GpuWork};

/// The section; empty where nothing was captured.
pub fn text(view: &View<'_>) -> String {
    if view.tree.gpu.captured == 0 {
        return String::new();
    }
    let about = text::fit(&about(view), view.width.saturating_sub(5));
    heading("GPU", &about) + &sentence(view) + &table(&view.tree.gpu.all).render(view.width)
}

/// Why a section about the GPU has nothing to show: it was not captured, or `otherwise`.
pub fn none(view: &View<'_>, otherwise: &str) -> String {
    let absence = view.tree.gpu.missing.first().filter(|_| view.tree.gpu.captured == 0);
    absence.map_or(otherwise.to_owned(), |a| format!("not captured: {}", text::safe(&a.why)))
}

/// The devices, and what captured them.
fn about(view: &View<'_>) -> String {
    let states = || view.run.processes.iter().filter_map(|p| p.gpu.state.as_ref());
    let devices = states().flat_map(GpuState::devices).map(|device| device.name);
    let drivers = states().filter_map(GpuState::driver).map(str::to_owned);
    let versions = states().filter_map(GpuState::version).filter(|v| !v.is_empty());
    let versions = versions.map(|version| format!("CUPTI {version}"));
    let tiers = states().filter_map(GpuState::tier).map(|tier| match tier {
        "time" => "scopes by thread and time of launch".to_owned(),
        tier => format!("scopes by {tier}"),
    });
    let all = [once(devices), once(drivers), once(versions), once(tiers)];
    let shown: Vec<String> = all.into_iter().flatten().map(|part| text::safe(&part)).collect();
    shown.join(" · ")
}

/// Every text once, in the order they first come.
fn once(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    texts.for_each(|text| {
        if !all.contains(&text) {
            all.push(text);
        }
    });
    all
}

/// How long it was busy, and how long kernels waited for their start.
fn sentence(view: &View<'_>) -> String {
    let work = &view.tree.gpu.all;
    let mut parts = vec![format!("busy {}", duration(work.busy_ns as f64))];
    if let Some(share) = of_run(view) {
        parts[0] += &format!(", {} of the run", number::percent(share));
    }
    parts.extend(work.launch.map(|launch| {
        let (p50, p95) = (duration(launch.p50_ns as f64), duration(launch.p95_ns as f64));
        format!("a kernel starts {p50} after its launch (median; 95 %: {p95})")
    }));
    let lines = text::wrap(&parts.join(" · "), view.width.saturating_sub(2));
    lines.iter().map(|line| format!("  {}\n", style::paint(PLAIN, line))).collect()
}

/// Busy time as part of the run, where one device makes that a share.
fn of_run(view: &View<'_>) -> Option<f64> {
    let one = view.tree.gpu.devices == 1;
    let wall = view.tree.wall_ns.filter(|&wall| one && wall > 0)?;
    Some(view.tree.gpu.all.busy_ns as f64 / wall as f64)
}

fn table(work: &GpuWork) -> Table {
    let mut table = Table::new(vec![
        Column::text("work", 0),
        Column::number("count", 0),
        Column::number("time", 0),
        Column::number("bytes", 0),
    ])
    .indent(2);
    let mut row = |what: &str, count: u64, ns: Option<u64>, bytes: Option<u64>| {
        if count > 0 {
            table.row(vec![
                Cell::new(ACCENT, what),
                Cell::plain(number::count(count)),
                Cell::plain(ns.map(|ns| duration_cell(ns as f64)).unwrap_or_default()),
                Cell::new(DIM, bytes.map(number::bytes).unwrap_or_default()),
            ]);
        }
    };
    row("kernels", work.kernels, Some(work.kernel_ns), None);
    row("  in CUDA graphs", work.graph, None, None);
    for copy in &work.copies {
        let what = format!("copies, {}", copy.direction);
        row(&what, copy.count, Some(copy.total_ns), Some(copy.bytes));
    }
    row("sets", work.sets.count, Some(work.sets.total_ns), Some(work.sets.bytes));
    row("waits", work.syncs.count, Some(work.syncs.total_ns), None);
    row("memory taken", work.memory.taken, None, Some(work.memory.taken_bytes));
    row("memory given back", work.memory.freed, None, Some(work.memory.freed_bytes));
    row("of all, inherited", work.inherited, None, None);
    table
}
