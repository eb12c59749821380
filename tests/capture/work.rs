//! What a run says the GPU did, as lines a person can compare.

use hodo_format::gpu::{Detail, Work, flag};
use hodo_trace::{Process, Run, SpanId};
use std::collections::BTreeMap;

/// The scope a piece of work belongs to; where the reader leaves it open, by thread and time.
fn scope(process: &Process, work: &Work) -> SpanId {
    if !work.span.is_none() || work.flags & flag::BY_TIME == 0 {
        return work.span;
    }
    let spans = &process.spans;
    let is_around = |&row: &u32| {
        let thread = process.thread(spans.thread(row)).map(|thread| thread.os_tid);
        let time = spans.start(row)..=spans.end(row);
        thread == Some(work.thread) && time.contains(&work.launched)
    };
    let innermost = spans.rows().filter(is_around).max_by_key(|&row| spans.start(row));
    innermost.map_or(SpanId::NONE, |row| spans.id(row))
}

/// The names of a scope and of those around it; `-` for none, `?` for one that is not in the run.
pub fn path(process: &Process, span: SpanId) -> String {
    if span.is_none() {
        return "-".into();
    }
    let Some(mut row) = process.spans.row_of(span) else { return "?".into() };
    let mut names = vec![process.span(row).name().into_owned()];
    while let Some(up) = process.spans.parent_row(row) {
        names.insert(0, process.span(up).name().into_owned());
        row = up;
    }
    names.join("/")
}

fn what(process: &Process, work: &Work) -> String {
    match work.detail {
        Detail::Kernel(kernel) => process.gpu.kernel_name(kernel.name).full.to_string(),
        Detail::Copy { bytes, .. } => format!("copy of {bytes}"),
        Detail::Set { bytes, .. } => format!("set of {bytes}"),
        Detail::Sync { .. } => "sync".into(),
        Detail::Memory { bytes, .. } => format!("memory of {bytes}"),
    }
}

fn line(process: &Process, work: &Work) -> String {
    let mut line = format!("{}: {}", path(process, scope(process, work)), what(process, work));
    let words = [
        (work.flags & flag::SCOPE == flag::INHERITED, " inherited"),
        (work.flags & flag::SCOPE == flag::UNKNOWN && work.flags & flag::BY_TIME == 0, " unknown"),
        (work.flags & flag::UNFINISHED != 0, " unfinished"),
        (work.flags & flag::BY_TIME != 0, " by time"),
    ];
    words.iter().filter(|(is, _)| *is).for_each(|(_, word)| line += word);
    if work.flags & flag::GRAPH != 0 {
        line += &format!(" captured in {}", path(process, work.captured));
    }
    line
}

/// How often each line of work occurs, all processes together: `scopes: what` and how it is known.
pub fn counted(run: &Run) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for process in &run.processes {
        for work in process.gpu.work.iter() {
            *counts.entry(line(process, &work)).or_default() += 1;
        }
    }
    counts
}

/// The same as text: a count and its line.
pub fn text(counts: &BTreeMap<String, u64>) -> String {
    counts.iter().map(|(line, count)| format!("{count} {line}\n")).collect()
}

/// Compares a run's work with lines of `count what`.
#[track_caller]
pub fn assert_work(run: &Run, expected: &str) {
    let mut lines: Vec<&str> =
        expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.sort_by_key(|line| line.split_once(' ').map_or("", |(_, what)| what));
    let expected: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let found = text(&counted(run));
    assert!(found == expected, "expected\n{expected}\nfound\n{found}");
}

/// Work that takes its scope from the run's spans, all in all.
pub fn pieces(run: &Run) -> usize {
    run.processes.iter().map(|process| process.gpu.work.len()).sum()
}
