//! What was lost, damaged or odd, and what recording cost. Always says something.

use super::{View, heading};
use crate::ship;
use crate::term::style::{self, DIM, GOOD, HOT, WARM};
use crate::term::{number, text};
use crate::verify;
use anstyle::Style;
use hodo_trace::{Process, Run};

/// A sign, and words in its style.
type Note = (Style, &'static str, String);

/// The section.
pub fn text(view: &View<'_>) -> String {
    let processes = &view.run.processes;
    let mut notes = vec![equation(processes)];
    notes.extend(damage(view.run));
    notes.extend(gpu(view));
    notes.extend(readings(view.run));
    notes.extend(shipping(view.run));
    notes.extend(oddities(processes));
    notes.extend(overhead(view));
    heading("Recording", "") + &notes.iter().map(|n| lines(n, view.width)).collect::<String>()
}

fn lines((style, sign, words): &Note, width: usize) -> String {
    const INDENT: usize = 4;
    let line = |(at, line): (usize, String)| {
        let sign = if at == 0 { sign } else { " " };
        format!("  {} {}\n", style::paint(*style, sign), style::paint(*style, &line))
    };
    text::wrap(words, width.saturating_sub(INDENT)).into_iter().enumerate().map(line).collect()
}

/// `nothing lost: 12 produced = 12 stored`, or what is missing and why.
fn equation(processes: &[Process]) -> Note {
    let sum = verify::Sum::of(processes);
    let (style, sign, what) = match (sum.unexplained(), sum.lost_records()) {
        (0, 0) => (GOOD, "✓", "nothing lost".to_owned()),
        (0, lost) => (HOT, "✗", format!("{} lost", text::plural(lost, "record"))),
        (gap, _) => (HOT, "✗", format!("{} missing without a reason", text::plural(gap, "record"))),
    };
    (style, sign, format!("{what}: {}", sum.equation()))
}

fn damage(run: &Run) -> Vec<Note> {
    const PLACES: usize = 3;
    let all = || {
        let processes = run.processes.iter().map(|p| &p.damage);
        processes.chain(run.machines.iter().map(|machine| &machine.damage))
    };
    let (bytes, frames) = all().fold((0, 0), |(b, f), d| (b + d.bytes, f + d.frames));
    let places: Vec<_> = all().flat_map(|damage| &damage.places).collect();
    if bytes == 0 && frames == 0 && places.is_empty() {
        return Vec::new();
    }
    let what =
        format!("damaged: {} unreadable, {}", number::bytes(bytes), text::plural(frames, "frame"));
    let mut notes = vec![(HOT, "✗", what)];
    for place in places.iter().take(PLACES) {
        let at = format!("{} at byte {}: {}", place.file.display(), place.offset, place.why);
        notes.push((DIM, " ", text::safe(&at)));
    }
    if places.len() > PLACES {
        notes.push((DIM, " ", format!("and {} more places", places.len() - PLACES)));
    }
    notes
}

/// What a collector should have and does not.
fn shipping(run: &Run) -> Vec<Note> {
    let troubles = ship::words::troubles(&run.folder).into_iter();
    let note = |(host, words)| (WARM, "!", text::safe(&format!("{words} (host {host})")));
    troubles.map(note).collect()
}

/// Work on the GPU that is not there, and stretches without any.
fn gpu(view: &View<'_>) -> Vec<Note> {
    let gpu = &view.tree.gpu;
    let counts = &gpu.counts;
    let lost = [
        (gpu.lost_kernels, "kernel", "launched whose records were lost with the process"),
        (
            counts.lost,
            "record",
            "of GPU work removed to stay under the size cap, or refused by the disk",
        ),
        (counts.dropped, "record", "of GPU work dropped by CUPTI: its buffers were full"),
    ];
    let odd = [
        (
            counts.unstamped,
            "piece",
            "of GPU work without times: the device had no memory left for them",
        ),
        (counts.unfinished, "piece", "of GPU work that had not ended when the capture did"),
        (gpu.under_way_kernels, "kernel", "launched whose records have not come yet"),
        (gpu.newer, "piece", "of GPU work launched while this was read, not shown"),
    ];
    let note = |style, sign| {
        move |(n, what, how): (u64, &str, &str)| {
            let was = if n == 1 { "was " } else { "were " };
            let was = if how.starts_with("launched whose") { was } else { "" };
            (n > 0).then(|| (style, sign, format!("{} {was}{how}", text::plural(n, what))))
        }
    };
    let lost = lost.into_iter().filter_map(note(HOT, "✗"));
    lost.chain(odd.into_iter().filter_map(note(WARM, "!")))
        .chain(late(view))
        .chain(gaps(view))
        .collect()
}

/// Captures that began when CUDA was running already.
fn late(view: &View<'_>) -> Option<Note> {
    let is_late = |p: &&Process| p.gpu.state.as_ref().is_some_and(|state| state.is_late());
    let n = view.run.processes.iter().filter(is_late).count() as u64;
    let what = "GPU: captured only from when recording began, CUDA was running by then: earlier work is not known, \
                nor what scope captured earlier graphs";
    (n > 0).then(|| (WARM, "!", what.into()))
}

/// Readings of the machine that are not there.
fn readings(run: &Run) -> Vec<Note> {
    let states = || run.machines.iter().filter_map(|machine| machine.state.as_ref());
    let lost: u64 = states().map(|state| state.lost_rows()).sum();
    let removed: u64 = states().map(|state| state.removed_blocks()).sum();
    let late: u64 = states().map(|state| state.cost().late).sum();
    let notes = [
        (lost, HOT, "✗", "row", "of readings of the machine could not be written"),
        (removed, WARM, "!", "block", "of readings removed to stay under the size cap"),
        (late, WARM, "!", "round", "of readings left out: the one before took too long"),
    ];
    let noted = notes.into_iter().filter(|note| note.0 > 0);
    noted
        .map(|(n, style, sign, what, how)| {
            (style, sign, format!("{} {how}", text::plural(n, what)))
        })
        .collect()
}

/// Stretches in which nothing was captured, each with its reason.
fn gaps(view: &View<'_>) -> Vec<Note> {
    const MAX_GAPS: usize = 3;
    let of = |p: &Process| {
        let (clock, gaps) = (p.clock.clone(), p.gpu.gaps());
        let last = p.last_tick;
        gaps.into_iter().map(move |gap| {
            let long = clock.duration_ns(gap.end.min(last).saturating_sub(gap.start));
            let ended = if gap.end == u64::MAX { ", to its end" } else { "" };
            let long = number::duration(long as f64);
            (
                WARM,
                "!",
                format!("GPU: nothing captured for {long}{ended}: {}", text::safe(&gap.why)),
            )
        })
    };
    let all: Vec<Note> = view.run.processes.iter().flat_map(of).collect();
    let more = all.len().saturating_sub(MAX_GAPS);
    let mut shown: Vec<Note> = all.into_iter().take(MAX_GAPS).collect();
    shown.extend((more > 0).then(|| (DIM, " ", format!("and {more} more such stretches"))));
    shown
}

/// Things the program did that a reader should know of.
fn oddities(processes: &[Process]) -> Vec<Note> {
    let threads = || processes.iter().flat_map(|p| &p.threads);
    let deep: u64 = processes.iter().map(|p| p.account.depth_dropped).sum();
    let newer: u64 = processes.iter().map(|p| p.account.newer).sum();
    [
        (deep, "scope", "deeper than max_depth: not recorded (HODO_MAX_DEPTH raises it)"),
        (threads().map(|t| t.out_of_order).sum(), "scope", "closed while one inside was open"),
        (
            threads().map(|t| t.double_closed).sum(),
            "scope",
            "closed twice; the second close did nothing",
        ),
        (threads().map(|t| t.wrong_thread).sum(), "scope", "closed on another thread: refused"),
        (newer, "record", "made while this was read, not shown"),
    ]
    .into_iter()
    .filter(|(n, ..)| *n > 0)
    .map(|(n, what, how)| (WARM, "!", format!("{} {how}", text::plural(n, what))))
    .collect()
}

/// What recording itself took, as the outermost scopes saw it.
fn overhead(view: &View<'_>) -> Option<Note> {
    let (cost, whole) = (view.tree.overhead_ns()?, view.tree.scopes_ns());
    if whole == 0 {
        return None;
    }
    let share = number::percent(cost as f64 / whole as f64);
    let took = number::duration(cost as f64);
    Some((DIM, "·", format!("recording took {took} of the time in scopes ({share})")))
}
