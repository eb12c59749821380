//! tracing: a registry and the cheapest layer that keeps name, start and end of a span.

use crate::measure::Row;
use std::cell::RefCell;
use tracing::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

#[derive(Default)]
struct Kept {
    open: Vec<(Id, &'static str, fastant::Instant)>,
    closed: Vec<(&'static str, fastant::Instant, fastant::Instant)>,
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

/// Keeps spans in the thread that made them, timed by the CPU's counter.
struct Store;

impl<S: tracing::Subscriber> Layer<S> for Store {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        let entry = (id.clone(), attributes.metadata().name(), fastant::Instant::now());
        KEPT.with_borrow_mut(|kept| kept.open.push(entry));
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        let end = fastant::Instant::now();
        KEPT.with_borrow_mut(|kept| {
            if let Some((_, name, start)) = kept.open.pop_if(|(open, ..)| *open == id) {
                kept.closed.push((name, start, end));
            }
        });
    }
}

/// Sets tracing up for this process.
pub fn row() -> Row {
    let subscriber = tracing_subscriber::registry().with(Store);
    let set = tracing::subscriber::set_global_default(subscriber);
    assert!(set.is_ok(), "another tracing subscriber is in place");
    Row::drained("tracing, storing layer", "name, times", burst, |cycles| {
        let kept = KEPT.with_borrow_mut(|kept| {
            let len = kept.closed.len() as u64;
            kept.closed.clear();
            len
        });
        cycles.saturating_sub(kept)
    })
}

#[inline(never)]
fn burst(cycles: u64) {
    for _ in 0..cycles {
        let _span = tracing::info_span!("x").entered();
    }
}
