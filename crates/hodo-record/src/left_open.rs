//! Scopes that are open when the recorder shuts down.

use crate::process::Process;
use hodo_format::arena::{
    SLAB_UNITS, SLAB_UNITS_AT, Slot, THREAD_SLOTS, THREAD_SLOTS_AT, slab_kind,
};
use hodo_format::record::{Head, Kind, Span, SpanId, Unit, flag};
use std::sync::atomic::Ordering;

/// Every open scope, with its slot.
pub struct Left {
    open: Vec<(*const Slot, Unit)>,
}

impl Left {
    /// Looks for slots in use: each as a span that ends now and says that nobody closed it.
    pub fn find(process: &Process) -> Left {
        let now = process.clock.now();
        let slots = (1..=process.arena.slabs()).flat_map(|slab| slots(process, slab));
        Left { open: slots.filter_map(|slot| Some((slot, span(slot, now)?))).collect() }
    }

    /// Those that have not closed since they were found.
    pub fn still_open(&mut self) -> Vec<Unit> {
        // SAFETY: the slots lie in the arena, and ids are atomic.
        let id = |slot: *const Slot| unsafe { (*slot).id.load(Ordering::Acquire) };
        self.open.drain(..).filter(|(slot, unit)| id(*slot) == unit.0[1]).map(|o| o.1).collect()
    }
}

fn slots(process: &Process, slab: u32) -> impl Iterator<Item = *const Slot> {
    let arena = &process.arena;
    let (at, count) = match arena.slab(slab).kind.load(Ordering::Acquire) {
        slab_kind::THREAD => (THREAD_SLOTS_AT, THREAD_SLOTS),
        slab_kind::SLOTS | slab_kind::THREAD_SLOTS => (SLAB_UNITS_AT, SLAB_UNITS),
        _ => (SLAB_UNITS_AT, 0),
    };
    let first = arena.at(slab, at).cast_const().cast::<Slot>();
    (0..count).map(move |i| first.wrapping_add(i))
}

fn span(slot: *const Slot, now: u64) -> Option<Unit> {
    // SAFETY: the slot lies in the arena. Recording has stopped; a thread that is late may still
    // write, and then this span is as it was a moment ago.
    let (id, words) = unsafe {
        let id = (*slot).id.load(Ordering::Acquire);
        (id, ((*slot).head, (*slot).parent, (*slot).start, (*slot).index, (*slot).overhead))
    };
    let (head, parent, start, index, overhead) = words;
    let head = Head::from_word(head);
    if id == 0 || head.kind != Kind::Span as u8 {
        return None;
    }
    let own = flag::HAS_INDEX | flag::BENCH | flag::ITERATION | flag::WARMUP | flag::FAILED;
    let flags = (head.flags & own) | flag::LEFT_OPEN | flag::CPU_OTHER_THREAD;
    let (id, parent) = (SpanId(id), SpanId(parent));
    let end = now.max(start);
    Some(Span { flags, name: head.name, id, parent, start, end, cpu: 0, index, overhead }.to_unit())
}
