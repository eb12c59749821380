//! Appending records to a thread's ring, and what happens at the end of a segment.

use crate::arena::Purpose;
use crate::cpu::Made;
use crate::process::Process;
use crate::ring;
use crate::thread::Thread;
use hodo_format::arena::{AtomicCounts, SLAB_UNITS, slab_kind};
use hodo_format::record::{Head, Kind, Unit};
use std::sync::atomic::Ordering;

/// What sort of record, for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A closed scope.
    Span,
    /// A mark.
    Mark,
    /// Attributes.
    Attr,
}

/// Adds one to the count of `sort`.
pub fn count(counts: &AtomicCounts, sort: Sort) {
    let counter = match sort {
        Sort::Span => &counts.spans,
        Sort::Mark => &counts.marks,
        Sort::Attr => &counts.attrs,
    };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Appends one record, or counts it as lost when there is no room.
pub fn append(thread: &mut Thread, process: &Process, units: &[Unit], sort: Sort) -> bool {
    if room(thread) < units.len() && !make_room(thread, process) {
        count(&thread.header().lost, sort);
        thread.gap += 1;
        return false;
    }
    // SAFETY: the room was checked; the units past the published length are this thread's alone.
    unsafe {
        thread.cursor.copy_from_nonoverlapping(units.as_ptr(), units.len());
        thread.cursor = thread.cursor.add(units.len());
        ring::publish(&*thread.published, units.len() as u32);
    }
    thread.extra_units += units.len() as u32 - 1;
    true
}

/// What the thread has recorded so far.
pub fn made(thread: &Thread) -> Made {
    let units = u64::from(segment_capacity(thread)) - room(thread) as u64;
    Made {
        opened: thread.next_id,
        records: thread.first + units - u64::from(thread.extra_units),
        shared_readings: thread.shared_readings,
    }
}

/// A scope that could not even be opened is produced and lost at once.
pub fn lose(thread: &mut Thread, sort: Sort) {
    count(&thread.header().lost, sort);
    fill(thread);
    thread.gap += 1;
}

fn room(thread: &Thread) -> usize {
    (thread.end as usize - thread.cursor as usize) / size_of::<Unit>()
}

/// Takes the next segment; the rest of this one stays unused.
fn make_room(thread: &mut Thread, process: &Process) -> bool {
    fill(thread);
    let segment_records = segment_capacity(thread) - thread.extra_units;
    let first = thread.first + u64::from(segment_records) + thread.gap;
    let Some(slab) = process.arena.take(Purpose::Ring, thread.number, first) else {
        process.pump.wake();
        return false;
    };
    let header = process.arena.slab(slab);
    header.kind.store(slab_kind::RING, Ordering::Release);
    // SAFETY: the segment is this thread's; it stays until the pump has drained it, and the pump
    // gives it back only after it has seen the link.
    ring::link(unsafe { &(*thread.segment).next }, slab);
    thread.cursor = process.arena.units(slab);
    // SAFETY: one past the last unit of the slab.
    thread.end = unsafe { thread.cursor.add(SLAB_UNITS) };
    thread.published = &header.len;
    thread.segment = header;
    (thread.first, thread.extra_units, thread.gap) = (first, 0, 0);
    process.pump.nudge(&process.arena);
    true
}

fn segment_capacity(thread: &Thread) -> u32 {
    // SAFETY: the segment is this thread's until it links the next one.
    unsafe { (*thread.segment).capacity.load(Ordering::Relaxed) }
}

/// Pads the rest of the segment, so that its length says that it is full.
fn fill(thread: &mut Thread) {
    let rest = room(thread);
    if rest == 0 {
        return;
    }
    let head = Head { kind: Kind::Pad as u8, units: rest as u8, flags: 0, name: 0 };
    let mut pad = Unit::ZERO;
    pad.0[0] = head.word();
    // SAFETY: at least one unit is left, and it is unpublished.
    unsafe {
        thread.cursor.write(pad);
        ring::publish(&*thread.published, rest as u32);
    }
    thread.cursor = thread.end;
    thread.extra_units += rest as u32;
}

const _: () = assert!(SLAB_UNITS <= u8::MAX as usize, "a pad must cover a whole segment");
