//! The first lines: which run this is, how it ended, how much was recorded.

use super::View;
use crate::state;
use crate::term::style::{self, DIM, HOT, STRONG};
use crate::term::{number, text};
use hodo_trace::{Process, ProcessState, Run};

/// The section.
pub fn text(view: &View<'_>) -> String {
    let info = &view.run.info;
    let app = if info.app.is_empty() { "(no name)" } else { &info.app };
    let first = [
        style::paint(STRONG, &text::safe(app)),
        state(view.run),
        view.tree.wall_ns.map_or_else(
            || style::paint(DIM, "duration unknown"),
            |ns| style::paint(STRONG, &number::duration(ns as f64)),
        ),
    ]
    .join("  ");
    let when = |start| format!("{} UTC", number::when(start));
    let started = view.run.start_ns().map_or_else(|| "start unknown".to_owned(), when);
    let imported = match info.imported.is_empty() {
        true => String::new(),
        false => format!("imported from {}", text::safe(&info.imported.join(", "))),
    };
    let (id, host, argv) = (&info.id, &info.host, info.argv.join(" "));
    let what = [text::safe(id), started, text::safe(host), text::safe(&argv), imported];
    let lines =
        [joined(&what), amounts(view)].map(|l| style::paint(DIM, &text::fit(&l, view.width)));
    format!("{first}\n{}\n{}\n{}", lines[0], lines[1], warning(view))
}

/// Missing times are said before any table.
fn warning(view: &View<'_>) -> String {
    let Some(words) = state::not_calibrated(view.run.uncalibrated()) else { return String::new() };
    let lines = text::wrap(&format!("✗ {words}"), view.width);
    lines.iter().map(|line| style::paint(HOT, line) + "\n").collect()
}

fn joined(parts: &[String]) -> String {
    let shown: Vec<&str> = parts.iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
    shown.join(" · ")
}

fn amounts(view: &View<'_>) -> String {
    let processes = &view.run.processes;
    let threads: usize = processes.iter().map(|p| p.threads.len()).sum();
    let marks: usize = processes.iter().map(|p| p.marks.len()).sum();
    let mut ranks: Vec<u32> = processes.iter().filter_map(|p| p.info.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let spans = view.run.span_count() as u64;
    let fitting = match view.tree.spans {
        all if all == spans => String::new(),
        some => format!("{} of them shown", number::count(some)),
    };
    let parts = [
        text::plural(processes.len() as u64, "process"),
        ranges(&ranks),
        text::plural(threads as u64, "thread"),
        text::plural(spans, "scope"),
        fitting,
        text::plural(marks as u64, "mark"),
        kernels(view),
    ];
    joined(&parts)
}

/// Kernels of the whole run; nothing where none could be seen.
fn kernels(view: &View<'_>) -> String {
    let work = |p: &Process| {
        let work = &p.gpu.work;
        work.rows().filter(|&row| work.kernel(row).is_some()).count() as u64
    };
    let captured = view.run.processes.iter().filter(|p| p.gpu.missing().is_none());
    let counts: Vec<u64> = captured.map(work).collect();
    match counts.is_empty() {
        true => String::new(),
        false => text::plural(counts.iter().sum(), "kernel"),
    }
}

/// `rank 3`, `ranks 0-2, 5`; nothing for none. `ranks` is sorted.
pub fn ranges(ranks: &[u32]) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match spans.last_mut() {
            Some((_, to)) if *to + 1 == rank => *to = rank,
            _ => spans.push((rank, rank)),
        }
    }
    let shown: Vec<String> = spans
        .iter()
        .map(|&(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") })
        .collect();
    match ranks.len() {
        0 => String::new(),
        1 => format!("rank {}", shown[0]),
        _ => format!("ranks {}", shown.join(", ")),
    }
}

/// The state that says most, with how many processes are in it if not all are.
fn state(run: &Run) -> String {
    let processes = &run.processes;
    if processes.is_empty() && !run.machines.is_empty() {
        let (style, words) = state::of_readings(run.machines.iter().any(|machine| machine.live));
        return style::paint(style, &words);
    }
    let telling = run.state();
    let count = processes.iter().filter(|p| Some(p.state) == telling).count();
    let ended = processes.iter().filter(|p| p.state == ProcessState::Ended);
    let (style, words) = state::words(telling, ended.map(Process::open_count).sum());
    let of = match count == processes.len() {
        true => String::new(),
        false => format!("{count} of {} processes ", processes.len()),
    };
    style::paint(style, &format!("{of}{words}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_written_as_ranges() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[3]), "rank 3");
        assert_eq!(ranges(&[0, 1, 2, 5]), "ranks 0-2, 5");
    }
}
