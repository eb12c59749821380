//! A ring of segments as the recorder has it, with one word for a record.

use crate::ring::{self, FreeList};
use crate::sync::{AtomicU32, UnsafeCell};
use std::sync::atomic::Ordering;

/// Records that fit a segment; small, so that few steps reach a hand-over.
pub const CAPACITY: u32 = 2;

#[derive(Debug)]
struct Segment {
    len: AtomicU32,
    next: AtomicU32,
    units: Vec<UnsafeCell<u64>>,
}

/// Slabs from 1; 0 stands for none.
#[derive(Debug)]
pub struct Segments {
    slabs: Vec<Segment>,
    free: FreeList,
}

// SAFETY: a unit is written by the slab's owner before its length is published and read by the
// drainer after; that this is enough is what the models check.
unsafe impl Send for Segments {}
// SAFETY: as above.
unsafe impl Sync for Segments {}

impl Segments {
    /// `count` free slabs.
    pub fn new(count: u32) -> Segments {
        let segment = |_| Segment {
            len: AtomicU32::new(0),
            next: AtomicU32::new(0),
            units: (0..CAPACITY).map(|_| UnsafeCell::new(0)).collect(),
        };
        let slabs = (0..=count).map(segment).collect();
        let segments = Segments { slabs, free: FreeList::default() };
        (1..=count).rev().for_each(|slab| segments.give(slab));
        segments
    }

    /// Takes a free slab.
    pub fn take(&self) -> Option<u32> {
        let slab = self.free.take(|slab| &self.slab(slab).next)?;
        self.slab(slab).len.store(0, Ordering::Relaxed);
        self.slab(slab).next.store(0, Ordering::Relaxed);
        Some(slab)
    }

    /// Gives a slab back.
    pub fn give(&self, slab: u32) {
        self.free.give(slab, |slab| &self.slab(slab).next);
    }

    fn slab(&self, slab: u32) -> &Segment {
        &self.slabs[slab as usize]
    }

    /// Writes one word into a slab this thread owns.
    pub fn write(&self, slab: u32, at: u32, word: u64) {
        // SAFETY: only the owner writes, and nobody reads this unit before it is published.
        self.slab(slab).units[at as usize].with_mut(|unit| unsafe { *unit = word });
    }

    /// Reads one word of a slab.
    pub fn read(&self, slab: u32, at: u32) -> u64 {
        // SAFETY: the caller saw a length past `at`, which was published after the write.
        self.slab(slab).units[at as usize].with(|unit| unsafe { *unit })
    }
}

/// The thread that records.
pub struct Producer<'a> {
    segments: &'a Segments,
    slab: u32,
    len: u32,
}

impl<'a> Producer<'a> {
    /// A producer that owns the taken `slab`.
    pub fn new(segments: &'a Segments, slab: u32) -> Producer<'a> {
        Producer { segments, slab, len: 0 }
    }

    /// Appends a record; false when no slab is free.
    pub fn push(&mut self, word: u64) -> bool {
        if self.len == CAPACITY && !self.grow() {
            return false;
        }
        self.segments.write(self.slab, self.len, word);
        ring::publish(&self.segments.slab(self.slab).len, 1);
        self.len += 1;
        true
    }

    fn grow(&mut self) -> bool {
        let Some(next) = self.segments.take() else { return false };
        ring::link(&self.segments.slab(self.slab).next, next);
        (self.slab, self.len) = (next, 0);
        true
    }
}

/// The pump.
pub struct Drainer<'a> {
    segments: &'a Segments,
    slab: u32,
    drained: u32,
}

impl<'a> Drainer<'a> {
    /// A drainer of the producer that began with `slab`.
    pub fn new(segments: &'a Segments, slab: u32) -> Drainer<'a> {
        Drainer { segments, slab, drained: 0 }
    }

    /// Takes what is published; returns the number of records it took.
    pub fn drain(&mut self, into: &mut Vec<u64>) -> usize {
        let before = into.len();
        loop {
            let segment = self.segments.slab(self.slab);
            // The link first: what is published before it is the segment's final length.
            let next = ring::linked(&segment.next);
            let len = ring::published(&segment.len);
            into.extend((self.drained..len).map(|at| self.segments.read(self.slab, at)));
            self.drained = len;
            if next == 0 {
                return into.len() - before;
            }
            self.segments.give(self.slab);
            (self.slab, self.drained) = (next, 0);
        }
    }
}
