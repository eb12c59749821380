//! What was lost, damaged or odd, and what recording cost. Always says something.

use super::{View, heading};
use crate::term::style::{self, DIM, GOOD, HOT, WARM};
use crate::term::{number, text};
use crate::verify;
use hodo_trace::{NodeKind, Process};

/// The section.
pub fn text(view: &View<'_>) -> String {
    let processes = &view.run.processes;
    let mut lines = vec![equation(processes)];
    lines.extend(damage(processes));
    lines.extend(oddities(processes));
    lines.extend(overhead(view));
    let body: String = lines.iter().map(|l| format!("  {l}\n")).collect();
    heading("Recording", "") + &body
}

/// `✓ nothing lost: 12 produced = 12 stored`, or what is missing and why.
fn equation(processes: &[Process]) -> String {
    let sum = verify::Sum::of(processes);
    let mark = match (sum.unexplained, sum.lost_records()) {
        (0, 0) => style::paint(GOOD, "✓ nothing lost:"),
        (0, lost) => style::paint(HOT, &format!("✗ {} lost:", text::plural(lost, "record"))),
        (gap, _) => style::paint(HOT, &format!("✗ {} missing without a reason:", text::plural(gap, "record"))),
    };
    format!("{mark} {}", sum.equation())
}

fn damage(processes: &[Process]) -> Vec<String> {
    const PLACES: usize = 3;
    let (bytes, frames) =
        processes.iter().fold((0, 0), |(b, f), p| (b + p.damage.bytes, f + p.damage.frames));
    let places: Vec<_> = processes.iter().flat_map(|p| &p.damage.places).collect();
    if bytes == 0 && frames == 0 && places.is_empty() {
        return Vec::new();
    }
    let what = format!("✗ damaged: {} unreadable, {}", number::bytes(bytes), text::plural(frames, "frame"));
    let mut lines = vec![style::paint(HOT, &what)];
    for place in places.iter().take(PLACES) {
        let at = format!("  {} at byte {}: {}", place.file.display(), place.offset, place.why);
        lines.push(style::paint(DIM, &text::safe(&at)));
    }
    if places.len() > PLACES {
        lines.push(style::paint(DIM, &format!("  and {} more places", places.len() - PLACES)));
    }
    lines
}

/// Things the program did that a reader should know of.
fn oddities(processes: &[Process]) -> Vec<String> {
    let threads = || processes.iter().flat_map(|p| &p.threads);
    let deep: u64 = processes.iter().map(|p| p.account.depth_dropped).sum();
    let newer: u64 = processes.iter().map(|p| p.account.newer).sum();
    [
        (deep, "deeper than max_depth: not recorded (HODO_MAX_DEPTH raises it)"),
        (threads().map(|t| t.out_of_order).sum(), "closed while one inside was open"),
        (threads().map(|t| t.double_closed).sum(), "closed twice; the second close did nothing"),
        (threads().map(|t| t.wrong_thread).sum(), "closed on another thread: refused"),
        (newer, "recorded while this was read, not shown"),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, what)| style::paint(WARM, &format!("! {} {what}", text::plural(n, "scope"))))
    .collect()
}

/// What recording itself took, as the outermost scopes saw it.
fn overhead(view: &View<'_>) -> Option<String> {
    let roots = || view.tree.nodes.iter().filter(|n| n.parent.is_none() && n.kind == NodeKind::Scope);
    let cost: u64 = roots().map(|n| n.overhead_ns).sum();
    let whole: u64 = roots().map(|n| n.total_ns).sum();
    if whole == 0 {
        return None;
    }
    let share = number::percent(cost as f64 / whole as f64);
    let words = format!("recording took {} of the time in scopes ({share})", number::duration(cost as f64));
    Some(style::paint(DIM, &words))
}
