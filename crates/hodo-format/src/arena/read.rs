//! Reading an arena from outside: of a living process, after a crash, or damaged.
//!
//! Read the arena before the spool files: what the pump moves meanwhile is then in both, and its
//! record number tells; the other way round it would be in neither.

mod slab;

use super::{ANCHORS, ARENA_MAGIC, ARENA_VERSION, Anchor, ArenaHeader, Counts, Loss, SLAB_BYTES};
use crate::record::{Head, SpanId, Unit};
use slab::Bytes;
use std::mem::offset_of;

/// Where the bytes come from. They may change at any time.
pub trait Source {
    /// Bytes there are.
    fn bytes(&self) -> usize;
    /// Fills `into` with the bytes from `at` on as they are now; `false` when they are not there.
    fn copy(&self, at: usize, into: &mut [u8]) -> bool;
}

impl Source for [u8] {
    fn bytes(&self) -> usize {
        self.len()
    }

    fn copy(&self, at: usize, into: &mut [u8]) -> bool {
        let bytes = self.get(at..).and_then(|rest| rest.get(..into.len()));
        bytes.map(|bytes| into.copy_from_slice(bytes)).is_some()
    }
}

/// Why an arena gives nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArenaError {
    /// The process had not finished setting it up, so nothing was recorded into it.
    #[error("the arena was not ready yet: nothing was recorded into it")]
    NotReady,
    /// Some other file, or one too short to hold a header.
    #[error("not a hodo arena: its header is missing or damaged")]
    NotArena,
    /// Another major version.
    #[error(
        "arena format {major}.{minor} is not understood, this hodo reads {own}.x: use a matching hodo",
        own = ARENA_VERSION >> 16
    )]
    Version {
        /// The file's major version.
        major: u32,
        /// Its minor version.
        minor: u32,
    },
}

/// What an arena holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArenaView {
    /// Random half of every id of the process.
    pub process: u64,
    /// Its pid.
    pub pid: u32,
    /// One of [`super::clock_kind`].
    pub clock: u32,
    /// Whether the recorder shut down and the spool holds everything.
    pub finished: bool,
    /// Clock anchors, oldest first.
    pub anchors: Vec<Anchor>,
    /// Records the spool holds, as the process counts them.
    pub stored: Counts,
    /// Records lost after they left a ring, by reason.
    pub lost: [Counts; Loss::COUNT],
    /// Records of threads that ended.
    pub ended_produced: Counts,
    /// Those they lost, by reason.
    pub ended_lost: [Counts; Loss::COUNT],
    /// Interned strings, in stretches.
    pub strings: Vec<Strings>,
    /// Threads whose slab is still theirs.
    pub threads: Vec<Thread>,
    /// Scopes that are open.
    pub open: Vec<OpenScope>,
    /// Records in rings, in no particular order.
    pub segments: Vec<Segment>,
    /// What could not be read.
    pub damage: ArenaDamage,
}

/// Strings with ids from `first` up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strings {
    /// Id of the first.
    pub first: u32,
    /// The strings; bytes that are no UTF-8 are replaced.
    pub texts: Vec<String>,
}

/// A thread and its counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Its number in the process, from 1.
    pub number: u32,
    /// Operating-system thread id.
    pub os_tid: u32,
    /// Its name.
    pub name: String,
    /// Ticks when it first recorded.
    pub started: u64,
    /// Ticks when it ended, if it has.
    pub ended: Option<u64>,
    /// Records its ring could not take.
    pub lost: Counts,
    /// Scopes past the depth limit.
    pub depth_dropped: u64,
    /// Scopes closed while one inside them was open.
    pub out_of_order: u64,
    /// Closes of a scope that was closed already.
    pub double_closed: u64,
    /// Closes refused because the scope belongs to another thread.
    pub wrong_thread: u64,
    /// CPU-clock system calls made for it.
    pub cpu_syscalls: u64,
}

/// A scope that was open when the arena was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenScope {
    /// Number of the thread whose slot it is; 0 when it is bound to none.
    pub thread: u32,
    /// Head of the span to be: flags and name.
    pub head: Head,
    /// Its id.
    pub id: SpanId,
    /// The scope it was opened in.
    pub parent: SpanId,
    /// Ticks when it opened.
    pub start: u64,
    /// The thread's CPU ticks when it opened.
    pub cpu: u64,
    /// The user's index.
    pub index: i64,
    /// Ticks of recording work inside it so far.
    pub overhead: u64,
}

/// Consecutive records of one thread, from one slab.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The thread's number.
    pub thread: u32,
    /// Number of the first record.
    pub first: u64,
    /// The units, each a part of a record that can be decoded.
    pub units: Vec<Unit>,
    /// Records in them.
    pub records: u64,
    /// How many of these records, from the first on, the pump had moved to the spool or given up.
    pub drained: u64,
}

/// What could not be read of an arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArenaDamage {
    /// Bytes missing at the end.
    pub missing_bytes: u64,
    /// Slabs whose header makes no sense.
    pub slabs: u64,
    /// Published units that are no records.
    pub units: u64,
    /// Bytes of strings that are none.
    pub string_bytes: u64,
    /// Slabs that changed hands each time they were read.
    pub restless: u64,
}

/// Reads an arena from memory.
pub fn open(bytes: &[u8]) -> Result<ArenaView, ArenaError> {
    open_source(bytes)
}

/// Reads an arena piece by piece, so that what changes meanwhile is noticed.
pub fn open_source<S: Source + ?Sized>(source: &S) -> Result<ArenaView, ArenaError> {
    open_parts(source, Parts { records: true, strings: true })
}

/// What is wanted of an arena besides its counters, its threads and the scopes that are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The records in rings.
    pub records: bool,
    /// The interned strings.
    pub strings: bool,
}

/// Reads some parts of an arena only, which costs as much less.
pub fn open_parts<S: Source + ?Sized>(source: &S, parts: Parts) -> Result<ArenaView, ArenaError> {
    let mut header = vec![0; size_of::<ArenaHeader>()];
    if !source.copy(0, &mut header) {
        return Err(ArenaError::NotArena);
    }
    let header = Bytes(&header);
    check(header)?;
    let mut view = header_view(header);
    let promised = header.u32(offset_of!(ArenaHeader, slabs)) as usize;
    let there = source.bytes() / SLAB_BYTES;
    let missing = promised.saturating_sub(there).min(MAX_SLABS) * SLAB_BYTES;
    let torn = if missing > 0 { source.bytes() % SLAB_BYTES } else { 0 };
    view.damage.missing_bytes = (missing - torn) as u64;
    slab::read_all(source, parts, &mut view);
    Ok(view)
}

/// Slabs of an arena of one terabyte, so that a damaged count is not added up.
const MAX_SLABS: usize = (1 << 40) / SLAB_BYTES;

/// Accepts a header with one damaged field, but no other major version.
fn check(header: Bytes<'_>) -> Result<(), ArenaError> {
    let magic = header.u64(offset_of!(ArenaHeader, magic));
    let version = header.u32(offset_of!(ArenaHeader, version));
    let slab_bytes = header.u32(offset_of!(ArenaHeader, slab_bytes));
    let same_major = version >> 16 == ARENA_VERSION >> 16;
    match (magic == ARENA_MAGIC, same_major, slab_bytes as usize == SLAB_BYTES) {
        (true, true, _) | (false, true, true) if magic != 0 => Ok(()),
        (true, false, _) => {
            Err(ArenaError::Version { major: version >> 16, minor: version & 0xffff })
        }
        _ if magic == 0 => Err(ArenaError::NotReady),
        _ => Err(ArenaError::NotArena),
    }
}

fn header_view(header: Bytes<'_>) -> ArenaView {
    ArenaView {
        process: header.u64(offset_of!(ArenaHeader, process)),
        pid: header.u32(offset_of!(ArenaHeader, pid)),
        clock: header.u32(offset_of!(ArenaHeader, clock)),
        finished: header.u32(offset_of!(ArenaHeader, finished)) != 0,
        anchors: anchors(header),
        stored: header.counts(offset_of!(ArenaHeader, stored)),
        lost: header.counts_by_loss(offset_of!(ArenaHeader, lost)),
        ended_produced: header.counts(offset_of!(ArenaHeader, ended_produced)),
        ended_lost: header.counts_by_loss(offset_of!(ArenaHeader, ended_lost)),
        ..ArenaView::default()
    }
}

/// The first anchor and the newest. The oldest of a full ring may be being replaced: left out.
fn anchors(header: Bytes<'_>) -> Vec<Anchor> {
    let taken = header.u64(offset_of!(ArenaHeader, anchors_taken));
    let ring = ANCHORS as u64 - 1;
    let newest = taken.saturating_sub(ring).max(1)..taken;
    let newest = newest.skip(usize::from(taken > ring));
    let at = |number: u64| if number == 0 { 0 } else { 1 + (number - 1) % ring };
    (0..taken.min(1))
        .chain(newest)
        .map(|number| header.anchor(at(number) as usize))
        .filter(|anchor| anchor.ticks != 0)
        .collect()
}
