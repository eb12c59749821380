//! The arena: the memory-mapped file a process records into, in slabs of 16 KiB.
//!
//! Slab 0 is the [`ArenaHeader`]. Every other slab begins with a [`SlabHeader`] that says what it
//! holds. A `kill -9` leaves the file as the last instruction left it; a reader finds there the
//! records not yet in the spool, the scopes that were open, and the counters.

pub mod read;

use crate::record::UNIT_BYTES;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// `hodo.arn` as a little-endian word.
pub const ARENA_MAGIC: u64 = u64::from_le_bytes(*b"hodo.arn");
/// Layout version: the major part in the upper half; readers refuse another major.
pub const ARENA_VERSION: u32 = 1 << 16;
/// Bytes in a slab.
pub const SLAB_BYTES: usize = 16 * 1024;
/// Clock anchors the header keeps: the first, then a ring of the newest.
pub const ANCHORS: usize = 32;
/// Scopes of a thread that fit its own slab; deeper ones take slot slabs.
pub const THREAD_SLOTS: usize = 64;
/// Bytes of a thread's name that are kept.
pub const THREAD_NAME_BYTES: usize = 32;

/// What a slab holds.
pub mod slab_kind {
    /// Never used.
    pub const UNUSED: u32 = 0;
    /// On the free list.
    pub const FREE: u32 = 1;
    /// A segment of a thread's ring.
    pub const RING: u32 = 2;
    /// A thread: its counters, its slots and its first segment.
    pub const THREAD: u32 = 3;
    /// Interned strings: `u32` length and bytes, one after another; see [`super::SlabHeader::first`].
    pub const STRINGS: u32 = 4;
    /// Slots of scopes that belong to no thread (begin/end handles, futures).
    pub const SLOTS: u32 = 5;
    /// More slots of one thread.
    pub const THREAD_SLOTS: u32 = 6;
}

/// Which clock the ticks come from.
pub mod clock_kind {
    /// The CPU's invariant counter (TSC, CNTVCT).
    pub const COUNTER: u32 = 1;
    /// `CLOCK_MONOTONIC` in nanoseconds.
    pub const MONOTONIC: u32 = 2;
}

/// Why a record was not kept. The numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum Loss {
    /// No free slab: the pump or the disk could not keep up.
    RingFull = 0,
    /// The oldest spool file was removed to stay under the size cap.
    SpoolCap = 1,
    /// The spool file disappeared under the recorder.
    SpoolGone = 2,
    /// The process ended before a recorder without a folder could store it.
    NotStored = 3,
}

impl Loss {
    /// Number of reasons.
    pub const COUNT: usize = 4;
    /// Every reason, in order of its number.
    pub const ALL: [Loss; Self::COUNT] =
        [Loss::RingFull, Loss::SpoolCap, Loss::SpoolGone, Loss::NotStored];

    /// The reason in words that stay the same in JSON, health and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Loss::RingFull => "ring_full",
            Loss::SpoolCap => "spool_cap",
            Loss::SpoolGone => "spool_gone",
            Loss::NotStored => "not_stored",
        }
    }
}

/// Counts by sort of record: spans, marks, attribute records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counts {
    /// Closed scopes.
    pub spans: u64,
    /// Marks.
    pub marks: u64,
    /// Attribute records (one may hold four attributes).
    pub attrs: u64,
}

impl Counts {
    /// Spans, marks and attribute records together.
    pub const fn records(&self) -> u64 {
        self.spans + self.marks + self.attrs
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.spans += other.spans;
        self.marks += other.marks;
        self.attrs += other.attrs;
    }
}

/// [`Counts`] that live in mapped memory.
#[derive(Debug, Default)]
#[repr(C)]
pub struct AtomicCounts {
    /// Closed scopes.
    pub spans: AtomicU64,
    /// Marks.
    pub marks: AtomicU64,
    /// Attribute records.
    pub attrs: AtomicU64,
}

/// One reading of all clocks, close together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Anchor {
    /// Raw ticks, as in records.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC` in nanoseconds.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME` in nanoseconds since 1970.
    pub wall_ns: u64,
}

/// The arena's first slab.
#[derive(Debug)]
#[repr(C)]
pub struct ArenaHeader {
    /// [`ARENA_MAGIC`], written last when the arena is ready.
    pub magic: AtomicU64,
    /// [`ARENA_VERSION`].
    pub version: u32,
    /// [`SLAB_BYTES`].
    pub slab_bytes: u32,
    /// Slabs in the file, this one included.
    pub slabs: u32,
    /// One of [`clock_kind`].
    pub clock: u32,
    /// Random half of every id of this process.
    pub process: u64,
    /// The process's pid.
    pub pid: u32,
    /// Non-zero when the recorder shut down and the spool holds everything.
    pub finished: AtomicU32,
    /// Anchors taken so far; number n lies at 0 for n = 0, else at 1 + (n - 1) % (ANCHORS - 1).
    pub anchors_taken: AtomicU64,
    /// The anchors.
    pub anchors: [Anchor; ANCHORS],
    /// Records the spool holds.
    pub stored: AtomicCounts,
    /// Records lost after they left a ring, by reason; ring losses stand in the threads.
    pub lost: [AtomicCounts; Loss::COUNT],
    /// Totals of threads that ended and whose slabs were reused: records produced.
    pub ended_produced: AtomicCounts,
    /// And those they lost, by reason.
    pub ended_lost: [AtomicCounts; Loss::COUNT],
}

/// First 64 bytes of every slab but the first.
///
/// For slabs that hold ring units, records are numbered per thread without gaps in time: record
/// `first` is the first of this segment, and numbers the ring lost stay unused.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct SlabHeader {
    /// One of [`slab_kind`], stored last when a slab is taken.
    pub kind: AtomicU32,
    /// Owning thread's number, counted from 1; 0 when the slab belongs to no thread.
    pub thread: AtomicU32,
    /// Number of the first record here (rings, threads), or id of the first string (strings).
    pub first: AtomicU64,
    /// Units published (rings, threads), or bytes of strings published.
    pub len: AtomicU32,
    /// Units of `len` that the spool holds.
    pub drained: AtomicU32,
    /// Slab index of the thread's next segment; 0 while this is its last.
    pub next: AtomicU32,
    /// Units that fit.
    pub capacity: AtomicU32,
    /// Records among the drained units.
    pub drained_records: AtomicU32,
    /// Padding to 64 bytes.
    pub reserved: [u32; 5],
}

/// Bytes of [`SlabHeader`].
pub const SLAB_HEADER_BYTES: usize = 64;
/// Where the slots of a thread slab begin.
pub const THREAD_SLOTS_AT: usize = 512;
/// Where the units of a thread slab begin.
pub const THREAD_UNITS_AT: usize = THREAD_SLOTS_AT + THREAD_SLOTS * UNIT_BYTES;
/// Units in a thread slab's own segment.
pub const THREAD_UNITS: usize = (SLAB_BYTES - THREAD_UNITS_AT) / UNIT_BYTES;
/// Where the units of a ring slab and the slots of a slot slab begin.
pub const SLAB_UNITS_AT: usize = SLAB_HEADER_BYTES;
/// Units in a ring slab.
pub const SLAB_UNITS: usize = (SLAB_BYTES - SLAB_UNITS_AT) / UNIT_BYTES;

/// Counters of one thread, behind the slab header of its thread slab.
#[derive(Debug)]
#[repr(C)]
pub struct ThreadHeader {
    /// Operating-system thread id.
    pub os_tid: u32,
    /// Non-zero once the thread ended.
    pub ended: AtomicU32,
    /// Ticks when it first recorded.
    pub started: u64,
    /// Ticks when it ended.
    pub ended_at: AtomicU64,
    /// Its name, UTF-8, zero-filled.
    pub name: [AtomicU8; THREAD_NAME_BYTES],
    /// Records its ring could not take.
    pub lost: AtomicCounts,
    /// Scopes past the depth limit.
    pub depth_dropped: AtomicU64,
    /// Scopes closed while one inside them was open.
    pub out_of_order: AtomicU64,
    /// Closes of a scope that was closed already.
    pub double_closed: AtomicU64,
    /// Closes refused because the scope belongs to another thread.
    pub wrong_thread: AtomicU64,
    /// CPU-clock system calls made for it.
    pub cpu_syscalls: AtomicU64,
}

/// An open scope, in mapped memory so that it is seen after a crash. One unit.
///
/// The words stand where [`crate::record::Span`] has them, so that closing copies them.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Slot {
    /// [`crate::record::Head`] of the span to be.
    pub head: u64,
    /// Its id, stored last on opening; 0 while the slot is free.
    pub id: AtomicU64,
    /// The parent's id.
    pub parent: u64,
    /// Ticks when it opened.
    pub start: u64,
    /// Address of the parent's slot, or of the next free slot; means nothing to a reader.
    pub up: *mut Slot,
    /// The thread's CPU ticks when it opened.
    pub cpu: u64,
    /// The user's index.
    pub index: i64,
    /// Ticks of recording work inside it so far.
    pub overhead: u64,
}

const _: () = {
    assert!(size_of::<Slot>() == UNIT_BYTES);
    assert!(size_of::<SlabHeader>() == SLAB_HEADER_BYTES);
    assert!(SLAB_HEADER_BYTES + size_of::<ThreadHeader>() <= THREAD_SLOTS_AT);
    assert!(size_of::<ArenaHeader>() <= SLAB_BYTES);
    assert!(THREAD_UNITS * UNIT_BYTES + THREAD_UNITS_AT == SLAB_BYTES);
};
