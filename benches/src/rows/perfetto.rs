//! perfetto-recorder with its fast clock; the thread's buffer reserved before each burst.

use crate::measure::Row;
use perfetto_recorder::{EVENTS_PER_SPAN, ThreadTraceData, current_thread_reserve};

/// Room for a burst.
const SPANS: usize = 1 << 17;

/// Starts recording.
pub fn row() -> Row {
    let started = perfetto_recorder::start();
    assert!(started.is_ok(), "perfetto-recorder was built without `enable`");
    current_thread_reserve(SPANS * EVENTS_PER_SPAN);
    Row::drained("perfetto-recorder scope!", "4 events: source, time", burst, |_| {
        drop(ThreadTraceData::take_current_thread());
        current_thread_reserve(SPANS * EVENTS_PER_SPAN);
        0
    })
}

#[inline(never)]
fn burst(cycles: u64) {
    for _ in 0..cycles {
        perfetto_recorder::scope!("x");
    }
}
