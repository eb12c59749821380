//! fastrace: `LocalSpan`, its fastest form; a root for every thousand, below its queue's cap.

use crate::measure::Row;
use fastrace::collector::{Config, Reporter, SpanRecord};
use fastrace::prelude::{LocalSpan, Span, SpanContext};
use std::sync::atomic::{AtomicU64, Ordering};

const PER_ROOT: u64 = 1000;
static KEPT: AtomicU64 = AtomicU64::new(0);

struct Count;

impl Reporter for Count {
    fn report(&mut self, spans: Vec<SpanRecord>) {
        let children = spans.iter().filter(|s| s.name == "x").count();
        KEPT.fetch_add(children as u64, Ordering::Relaxed);
    }
}

/// Sets fastrace up with a reporter that counts.
pub fn row() -> Row {
    fastrace::set_reporter(Count, Config::default());
    Row::drained("fastrace LocalSpan", "id, parent, times, name", burst, |cycles| {
        fastrace::flush();
        cycles.saturating_sub(KEPT.swap(0, Ordering::Relaxed))
    })
}

#[inline(never)]
fn burst(cycles: u64) {
    for _ in 0..cycles.div_ceil(PER_ROOT) {
        let root = Span::root("root", SpanContext::random());
        let _parent = root.set_local_parent();
        for _ in 0..PER_ROOT.min(cycles) {
            let _span = LocalSpan::enter_with_local_parent("x");
        }
    }
}
