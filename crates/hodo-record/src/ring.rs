//! What threads and the pump hand each other: segments of records, and free slabs.
//!
//! A thread appends units to its segment and publishes each record by storing the new length; the
//! pump reads up to that length. When a segment is full the thread links the next one, and the pump
//! gives the drained one back to the free list. Nothing here locks or waits.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::atomic::Ordering;
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64};

/// How a length is published; the seeded bug of the race tests weakens it.
#[cfg(not(seeded_bug))]
const PUBLISH: Ordering = Ordering::Release;
#[cfg(seeded_bug)]
const PUBLISH: Ordering = Ordering::Relaxed;

/// Makes `units` more units of a segment visible. Only the segment's owner calls this.
#[inline(always)]
pub fn publish(len: &AtomicU32, units: u32) {
    let now = len.load(Ordering::Relaxed).wrapping_add(units);
    len.store(now, PUBLISH);
}

/// Units of a segment that may be read.
#[inline]
pub fn published(len: &AtomicU32) -> u32 {
    len.load(Ordering::Acquire)
}

/// Links the owner's next segment behind a full one.
#[inline]
pub fn link(next: &AtomicU32, slab: u32) {
    next.store(slab, PUBLISH);
}

/// The segment behind this one, or 0 while the owner still writes here.
#[inline]
pub fn linked(next: &AtomicU32) -> u32 {
    next.load(Ordering::Acquire)
}

/// A stack of slab numbers; any thread takes, any thread gives back.
///
/// The head is a slab number with a count of changes above it, so that a slab that left and came
/// back between two looks is noticed.
#[derive(Debug)]
pub struct FreeList {
    head: AtomicU64,
    free: AtomicU32,
}

impl Default for FreeList {
    fn default() -> Self {
        FreeList { head: AtomicU64::new(0), free: AtomicU32::new(0) }
    }
}

impl FreeList {
    /// Takes a slab; `link_of` gives the word where a slab keeps the one below it.
    pub fn take<'a>(&self, link_of: impl Fn(u32) -> &'a AtomicU32) -> Option<u32> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let slab = head as u32;
            if slab == 0 {
                return None;
            }
            let below = link_of(slab).load(Ordering::Relaxed);
            match self.swap(head, below) {
                Ok(()) => {
                    self.free.fetch_sub(1, Ordering::Relaxed);
                    return Some(slab);
                }
                Err(seen) => head = seen,
            }
        }
    }

    /// Gives a slab back. What its owner wrote before is seen by whoever takes it next.
    pub fn give<'a>(&self, slab: u32, link_of: impl Fn(u32) -> &'a AtomicU32) {
        self.free.fetch_add(1, Ordering::Relaxed);
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            link_of(slab).store(head as u32, Ordering::Relaxed);
            match self.swap(head, slab) {
                Ok(()) => return,
                Err(seen) => head = seen,
            }
        }
    }

    /// Slabs on the list, give or take those on their way.
    pub fn count(&self) -> u32 {
        self.free.load(Ordering::Relaxed)
    }

    fn swap(&self, head: u64, slab: u32) -> Result<(), u64> {
        let changes = Self::next_change(head);
        let new = changes << 32 | u64::from(slab);
        self.head.compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Acquire).map(drop)
    }

    #[cfg(not(seeded_bug))]
    fn next_change(head: u64) -> u64 {
        (head >> 32).wrapping_add(1)
    }

    #[cfg(seeded_bug)]
    fn next_change(_head: u64) -> u64 {
        0
    }
}
