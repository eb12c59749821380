//! The first lines: which run this is, how it ended, how much was recorded.

use super::View;
use crate::term::style::{self, DIM, GOOD, HOT, STRONG, WARM};
use crate::term::{number, text};
use hodo_trace::{Process, ProcessState};

/// The section.
pub fn text(view: &View<'_>) -> String {
    let info = &view.run.info;
    let app = if info.app.is_empty() { "(no name)" } else { &info.app };
    let first = format!(
        "{}  {}  {}",
        style::paint(STRONG, &text::safe(app)),
        state(&view.run.processes),
        style::paint(STRONG, &number::duration(view.tree.wall_ns as f64)),
    );
    let start = i64::try_from(info.start_ns).unwrap_or(i64::MAX);
    let started = if start == 0 { String::new() } else { format!("{} UTC", number::when(start)) };
    let what =
        [text::safe(&info.id), started, text::safe(&info.host), text::safe(&info.argv.join(" "))];
    let lines =
        [joined(&what), amounts(view)].map(|l| style::paint(DIM, &text::fit(&l, view.width)));
    format!("{first}\n{}\n{}\n", lines[0], lines[1])
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
    ];
    joined(&parts)
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

/// How the run ended, in words: the worst state of its processes, with how many are in it.
fn state(processes: &[Process]) -> String {
    let count = |state| processes.iter().filter(|p| p.state == state).count();
    let of = |n: usize| {
        if n == processes.len() {
            String::new()
        } else {
            format!("{n} of {} processes ", processes.len())
        }
    };
    for (state, style, words) in [
        (ProcessState::Live, WARM, "still running"),
        (ProcessState::Crashed, HOT, "ended without shutting down"),
        (ProcessState::Unknown, HOT, "state unknown"),
    ] {
        if count(state) > 0 {
            return style::paint(style, &format!("{}{words}", of(count(state))));
        }
    }
    match processes.len() {
        0 => style::paint(WARM, "nothing recorded yet"),
        _ => style::paint(GOOD, "finished"),
    }
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
