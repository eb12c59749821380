//! puffin: scopes inside an outer one, a frame for every thousand, frames taken by a sink.

use crate::measure::Row;
use std::sync::atomic::{AtomicU64, Ordering};

const PER_FRAME: u64 = 1000;
static KEPT: AtomicU64 = AtomicU64::new(0);

/// Turns puffin on with a sink that counts.
pub fn row() -> Row {
    puffin::set_scopes_on(true);
    puffin::GlobalProfiler::lock().add_sink(Box::new(|frame| {
        // The outer scope of the frame is not one of ours.
        let inner = frame.meta().num_scopes.saturating_sub(1) as u64;
        KEPT.fetch_add(inner, Ordering::Relaxed);
    }));
    Row::drained("puffin profile_scope!", "scope id, times", burst, |cycles| {
        cycles.saturating_sub(KEPT.swap(0, Ordering::Relaxed))
    })
}

#[inline(never)]
fn burst(cycles: u64) {
    for _ in 0..cycles.div_ceil(PER_FRAME) {
        frame(PER_FRAME.min(cycles));
        puffin::GlobalProfiler::lock().new_frame();
    }
}

fn frame(cycles: u64) {
    puffin::profile_scope!("frame");
    for _ in 0..cycles {
        puffin::profile_scope!("x");
    }
}
