//! What one scope costs here: measured on a thread state of its own, which records into scrap. And
//! the least that reading the counter takes.

use crate::cpu::CpuWatch;
use crate::thread::{Thread, root_slot, span_head};
use hodo_format::record::Unit;
use std::sync::atomic::{AtomicU32, AtomicU64};

const BATCHES: usize = 32;
const BATCH: usize = 64;

/// Readings of the counter that [`readings_cost`] is about: enough for a counter that is slow.
pub const READINGS: u64 = 64;
const READING_BATCHES: usize = 8;

static STILL: AtomicU64 = AtomicU64::new(0);

/// Ticks that one open and close take: the median batch's mean.
pub fn scope_cost() -> u64 {
    let mut units = vec![Unit::ZERO; BATCH];
    let length = AtomicU32::new(0);
    let mut slot = root_slot();
    let mut thread = scrap(&length);
    thread.current = &raw mut thread.root;
    thread.free = &raw mut slot;
    let mut costs: Vec<u64> = (0..BATCHES).map(|_| batch(&mut thread, &mut units)).collect();
    costs.sort_unstable();
    costs[BATCHES / 2]
}

/// Ticks that [`READINGS`] readings of the counter take at the least: the quickest batch's.
pub fn readings_cost() -> u64 {
    (0..READING_BATCHES).map(|_| reading_batch()).min().unwrap_or(0)
}

fn reading_batch() -> u64 {
    let began = crate::clock::counter();
    let mut last = began;
    for _ in 0..READINGS {
        last = std::hint::black_box(crate::clock::counter());
    }
    last.wrapping_sub(began)
}

fn batch(thread: &mut Thread, units: &mut [Unit]) -> u64 {
    thread.cursor = units.as_mut_ptr();
    thread.end = units.as_mut_ptr_range().end;
    let began = crate::clock::counter();
    for _ in 0..BATCH {
        // SAFETY: the scrap state has one slot and room for a batch, and only this thread uses it.
        unsafe {
            if let Some(opened) = Thread::open(thread, span_head(0, 0), 0) {
                Thread::close(thread, opened.slot);
            }
        }
    }
    crate::clock::counter().wrapping_sub(began) / BATCH as u64
}

fn scrap(length: &AtomicU32) -> Box<Thread> {
    let mut cpu = CpuWatch::stale();
    (cpu.watch, cpu.armed, cpu.deadline) = (&STILL, 0, u64::MAX);
    Box::new(Thread {
        fast: AtomicU32::new(1),
        next_id: 1,
        published: length,
        cpu,
        ..Thread::blank()
    })
}
