//! Scopes that belong to no thread: begun here, ended anywhere.

use crate::arena::Purpose;
use crate::attach::attached;
use crate::process::Process;
use crate::scope::charge;
use crate::thread::{Thread, span_head};
use crate::write::{Sort, append};
use hodo_format::arena::{SLAB_UNITS, Slot, slab_kind};
use hodo_format::record::{Head, Unit, flag};
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Free slots of this sort.
#[derive(Debug, Default)]
pub struct Handles {
    free: Mutex<Vec<FreeSlot>>,
    made: AtomicUsize,
}

#[derive(Debug)]
struct FreeSlot(*mut Slot);
// SAFETY: a free slot is owned by the list.
unsafe impl Send for FreeSlot {}

impl Handles {
    fn take(&self, process: &Process) -> Option<*mut Slot> {
        let mut free = crate::lock(&self.free);
        if free.is_empty() {
            let arena = &process.arena;
            let slab = arena.take(Purpose::Needed, 0, 0)?;
            for i in 0..SLAB_UNITS {
                // SAFETY: the slab was just taken; the slot lies inside it.
                let slot = unsafe { arena.units(slab).cast::<Slot>().add(i) };
                // SAFETY: as above.
                unsafe { (*slot).id.store(0, Ordering::Relaxed) };
                free.push(FreeSlot(slot));
            }
            self.made.fetch_add(SLAB_UNITS, Ordering::Relaxed);
            arena.slab(slab).kind.store(slab_kind::SLOTS, Ordering::Release);
        }
        free.pop().map(|slot| slot.0)
    }

    fn give(&self, slot: *mut Slot) {
        crate::lock(&self.free).push(FreeSlot(slot));
    }

    /// How many are in use.
    pub fn in_use(&self) -> usize {
        let free = crate::lock(&self.free).len();
        self.made.load(Ordering::Relaxed).saturating_sub(free)
    }
}

/// A begun scope: its slot and id; the depth a scope inside it would have.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Begun {
    /// Its slot; null when nothing is recorded.
    pub slot: *mut Slot,
    /// Its id, 0 when nothing is recorded.
    pub id: u64,
    /// Random id of the recorder it belongs to; in a forked child or after a restart not ours.
    pub process: u64,
    /// Open scopes above, itself included.
    pub depth: u32,
}

impl Begun {
    /// A handle that records nothing.
    pub const INERT: Begun = Begun { slot: std::ptr::null_mut(), id: 0, process: 0, depth: 0 };
    /// No scope at all, to be made current on purpose: what opens inside has no parent.
    pub const OUTSIDE: Begun = Begun { slot: CLAIMED, id: 0, process: 0, depth: 0 };
}

/// Marks a slot whose scope somebody is ending; ends race, one wins.
const CLAIMED: *mut Slot = std::ptr::without_provenance_mut(1);

fn claim_word(slot: *mut Slot) -> &'static AtomicPtr<Slot> {
    // SAFETY: the slot lies in the arena, which is never unmapped; for shared slots `up` is only
    // ever touched through this.
    unsafe { AtomicPtr::from_ptr(&raw mut (*slot).up) }
}

fn overhead_word(slot: *mut Slot) -> &'static AtomicU64 {
    // SAFETY: as in `claim_word`; while a shared slot is open its overhead is only touched so.
    unsafe { AtomicU64::from_ptr(&raw mut (*slot).overhead) }
}

/// Adds recording work done while `begun` was current somewhere, if it is still open. Work that
/// comes too late, at the very moment of its end, may be charged to the slot's next scope.
pub fn charge_begun(slot: *mut Slot, id: u64, process: &Process, ticks: u64) {
    // SAFETY: a slot inside the arena stays readable, whoever it belongs to by now.
    let is_open = process.arena.holds(slot.cast_const().cast())
        && unsafe { (*slot).id.load(Ordering::Acquire) } == id;
    if is_open {
        overhead_word(slot).fetch_add(ticks, Ordering::Relaxed);
    }
}

/// Begins a scope under the calling thread's current one; it does not become current.
pub fn begin(name: u32, flags: u16, index: i64) -> Begun {
    let Some((this, process)) = attached() else {
        crate::process::count_unattached(Sort::Span);
        return Begun::INERT;
    };
    process.pump.ensure_running(process);
    // SAFETY: `attached` gave this thread's own state.
    let thread = unsafe { &mut *this };
    let depth = thread.depth();
    if depth >= process.config.max_depth {
        thread.header().depth_dropped.fetch_add(1, Ordering::Relaxed);
        process.warn_depth();
        return Begun::INERT;
    }
    let Some(slot) = process.handles.take(process) else {
        crate::write::lose(thread, Sort::Span);
        return Begun::INERT;
    };
    let id = thread.next_id;
    thread.next_id += 1;
    charge(thread.current, thread.scope_cost.load(Ordering::Relaxed));
    // SAFETY: the slot is ours until its id is stored.
    unsafe {
        (*slot).head = span_head(name, flags | flag::CPU_OTHER_THREAD);
        (*slot).parent = thread.current_id().0;
        (*slot).cpu = 0;
        (*slot).index = index;
        (*slot).overhead = 0;
        claim_word(slot).store(std::ptr::null_mut(), Ordering::Relaxed);
        (*slot).start = process.clock.now();
        (*slot).id.store(id, Ordering::Release);
    }
    Begun { slot, id, process: process.identity.process, depth: depth + 1 }
}

/// Ends a begun scope, from any thread; a second end does nothing and is counted.
pub fn end(begun: Begun, flags: u16) {
    let thread = attached().map(|(thread, _)| thread);
    let Some(process) = crate::process::current() else { return };
    let slot = begun.slot;
    if !process.arena.holds(slot.cast_const().cast()) {
        return;
    }
    // SAFETY: `attached` gave this thread's own state.
    let thread = thread.map(|thread| unsafe { &mut *thread });
    let now = process.clock.now();
    if claim(slot, begun.id) {
        finish(thread, process, begun, now, flags);
    } else if let Some(thread) = thread {
        thread.header().double_closed.fetch_add(1, Ordering::Relaxed);
    }
}

/// Makes the caller the slot's only user, if it still holds scope `id` and nobody else ends it.
fn claim(slot: *mut Slot, id: u64) -> bool {
    // SAFETY: the caller has checked that the slot lies in the arena.
    let same = unsafe { (*slot).id.load(Ordering::Acquire) } == id;
    let unclaimed = std::ptr::null_mut();
    same && claim_word(slot)
        .compare_exchange(unclaimed, CLAIMED, Ordering::AcqRel, Ordering::Relaxed)
        .is_ok()
}

/// Writes the span of a claimed slot and frees it; a thread without a state loses it, counted.
fn finish(thread: Option<&mut Thread>, process: &Process, begun: Begun, now: u64, flags: u16) {
    let slot = begun.slot;
    // SAFETY: the claim makes this the slot's only user.
    unsafe {
        let mut head = Head::from_word((*slot).head);
        head.flags |= flags;
        let unit = Unit([
            head.word(),
            begun.id,
            (*slot).parent,
            (*slot).start,
            now,
            0,
            (*slot).index as u64,
            (*slot).overhead,
        ]);
        match thread {
            Some(thread) => drop(append(thread, process, &[unit], Sort::Span)),
            None => crate::process::count_unattached(Sort::Span),
        }
        (*slot).id.store(0, Ordering::Release);
    }
    process.handles.give(slot);
}
