//! What a list says of a process, from the little it takes to know: catalog and arena, no records.

use super::account;
use super::collect::Collector;
use super::files::{CATALOG, SpoolReader};
use super::frames::memory_of;
use super::live::ArenaRead;
use super::process::{self, arena_path};
use super::{Meter, json};
use crate::shipped;
use crate::{Clock, Process, ProcessInfo, ProcessState, ReadOptions};
use std::path::Path;

/// A process whose catalog was lost has to be read whole; a larger one is not, for a list.
const READ_BYTES: u64 = 128 << 20;
/// The same while it is shipped, which is looked at again and again.
const SHIPPED_READ_BYTES: u64 = 4 << 20;

/// A catalog that takes more memory than this is not read for a list.
const CATALOG_BYTES: u64 = 512 << 20;

/// A process in a few numbers; those that could not be known are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Brief {
    pub(crate) state: ProcessState,
    /// Nanoseconds since 1970.
    pub(crate) start_ns: Option<i64>,
    pub(crate) end_ns: Option<i64>,
    pub(crate) spans: Option<u64>,
    /// Scopes that are open, where that is told without reading.
    pub(crate) open: u64,
    pub(crate) lost: Option<u64>,
    pub(crate) is_timed: bool,
    pub(crate) rank: Option<u32>,
}

/// Looks at the process in `folder`, which takes `bytes` on disk.
pub(crate) fn brief(folder: &Path, bytes: u64) -> Brief {
    let info: ProcessInfo = json(&folder.join("process.json")).unwrap_or_default();
    if memory_of(&folder.join(CATALOG)) > CATALOG_BYTES {
        return unknown(&info);
    }
    let mut collector = Collector::default();
    let arena = ArenaRead::new(&arena_path(folder, &info), false).and_then(Result::ok);
    SpoolReader::default().read(&folder.join(CATALOG), &mut collector);
    // What the recorder removed may be here all the same: a collector has what was shipped before.
    let lost = collector.losses.unwrap_or_default().lost;
    let is_cut = account::removed(&lost).records() > 0 && bytes <= READ_BYTES;
    let told = shipped::told(folder).filter(|told| told.is_incomplete());
    let most = if told.is_some() { SHIPPED_READ_BYTES } else { READ_BYTES };
    match arena {
        _ if collector.ended && !is_cut => at_end(&info, &collector),
        Some(arena) => from_arena(&info, arena, collector),
        None if bytes <= most => {
            let options = ReadOptions::default();
            of(&process::read(folder, &mut Meter::new(&options, &[])))
        }
        None => match told {
            Some(told) => coming(&info, &collector, told.state()),
            None => unknown(&info),
        },
    }
}

/// The catalog's last frame has the totals.
fn at_end(info: &ProcessInfo, collector: &Collector) -> Brief {
    let losses = collector.losses.unwrap_or_default();
    let clock = collector.clock();
    Brief {
        state: ProcessState::Finished,
        spans: Some(losses.stored.spans),
        open: 0,
        lost: Some(losses.lost.iter().map(|lost| lost.records()).sum()),
        ..moments(info, &clock, collector.latest(), losses.stored.records() > 0)
    }
}

/// What the catalog says of a process whose files come in.
fn coming(info: &ProcessInfo, collector: &Collector, state: ProcessState) -> Brief {
    Brief { state, ..moments(info, &collector.clock(), collector.latest(), true) }
}

/// What the spool holds by the arena's count, what only the rings hold, and the open scopes.
fn from_arena(info: &ProcessInfo, mut arena: ArenaRead, mut collector: Collector) -> Brief {
    let snapshot = &mut arena.snapshot;
    snapshot.describe(&mut collector);
    for segment in &snapshot.view.segments {
        collector.segment(segment.thread, segment.first, segment.drained, &segment.units);
    }
    let in_ring = collector.take_counts().spans;
    let open = snapshot.open.len() as u64;
    let spans = snapshot.should_be_stored().spans + in_ring + open;
    let last = arena.until.unwrap_or(collector.latest().max(snapshot.last_tick()));
    Brief {
        state: process::state(Some(&arena), false),
        spans: Some(spans),
        open,
        lost: Some(arena.snapshot.lost().iter().map(|lost| lost.records()).sum()),
        ..moments(info, &collector.clock(), last, spans > 0)
    }
}

fn moments(info: &ProcessInfo, clock: &Clock, last_tick: u64, has_records: bool) -> Brief {
    let end_ns = clock.is_calibrated().then(|| clock.steady_ns(last_tick));
    let start_ns = clock.start_ns().or(info.started());
    Brief { start_ns, end_ns, is_timed: clock.is_calibrated() || !has_records, ..unknown(info) }
}

fn of(process: &Process) -> Brief {
    Brief {
        state: process.state,
        start_ns: process.start_ns(),
        end_ns: process.end_ns(),
        spans: Some(process.spans.len() as u64),
        open: process.open_count(),
        lost: Some(process.account.lost_records() + process.account.unexplained),
        is_timed: process.is_timed(),
        rank: process.info.rank,
    }
}

fn unknown(info: &ProcessInfo) -> Brief {
    Brief {
        state: ProcessState::Unknown,
        start_ns: info.started(),
        end_ns: None,
        spans: None,
        open: 0,
        lost: None,
        is_timed: true,
        rank: info.rank,
    }
}
