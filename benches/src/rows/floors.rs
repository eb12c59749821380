//! What no recorder can go below.

use crate::machine::ticks;
use crate::measure::Row;
use std::cell::{Cell, UnsafeCell};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

/// Nothing but the loop.
pub fn empty_row() -> Row {
    Row::new("empty loop", "nothing", empty)
}

/// Two clock reads: the floor the ratios refer to.
pub fn clock_row() -> Row {
    Row::new("floor A: two clock reads", "nothing", clock_reads)
}

/// Two clock reads and the record they are for.
pub fn store_row() -> Row {
    Row::new("floor B: two clock reads, 64-byte store", "64 B: times, id, parent", store)
}

#[inline(never)]
fn empty(cycles: u64) {
    for i in 0..cycles {
        black_box(i);
    }
}

/// Reads the raw counter twice a cycle.
#[inline(never)]
pub fn clock_reads(cycles: u64) {
    for _ in 0..cycles {
        let start = ticks();
        let end = ticks();
        black_box(end.wrapping_sub(start));
    }
}

/// As many records as a burst makes, so that it streams through as much memory as a recorder.
const RING: usize = 1 << 17;

struct Ring {
    records: UnsafeCell<Box<[[u64; 8]]>>,
    head: AtomicU64,
    current: Cell<u64>,
}

thread_local! {
    static OWN: Ring = Ring {
        records: UnsafeCell::new(vec![[1; 8]; RING].into_boxed_slice()),
        head: AtomicU64::new(0),
        current: const { Cell::new(0) },
    };
}

#[inline(never)]
fn store(cycles: u64) {
    OWN.with(|ring| {
        for i in 0..cycles {
            let start = ticks();
            let parent = ring.current.replace(i);
            let end = ticks();
            ring.current.set(parent);
            let head = ring.head.load(Ordering::Relaxed);
            // SAFETY: only this thread reaches its ring, and the index is masked to its length.
            unsafe {
                let records = &mut *ring.records.get();
                *records.get_unchecked_mut(head as usize & (RING - 1)) =
                    [7 << 32, i, parent, start, end, 0, 0, 0];
            }
            ring.head.store(head + 1, Ordering::Release);
        }
    });
}
