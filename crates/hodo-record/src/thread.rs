//! A thread's recording state: the versioned C layout that every language's fast path works on.
//!
//! It lies in private memory that the kernel wipes in a forked child, so a child finds `fast` 0
//! there and never writes into its parent's arena.

use crate::cpu::{CpuClock, CpuWatch};
use hodo_format::arena::{SlabHeader, Slot, ThreadHeader};
use hodo_format::record::{Head, Kind, SpanId, Unit};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Version of [`Thread`]'s layout up to and including `shared_readings`.
pub const LAYOUT_VERSION: u32 = 2;

/// One thread's state. Only the thread itself writes it, but for `fast` and `scope_cost`.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Thread {
    /// Non-zero while the fast path may open scopes; 0 in a forked child, after a shutdown, with a
    /// slower clock, or when work waits in the slow path.
    pub fast: AtomicU32,
    /// Numbered contexts that record nothing; part of `current_scope_id`.
    pub unrecorded: u32,
    /// The innermost open scope; the root slot when none is open.
    pub current: *mut Slot,
    /// Slots that scopes of this context have left, linked by `up`. Those that are open and these
    /// are never more than the depth limit: an open that finds none here asks the slow path.
    pub free: *mut Slot,
    /// Id of the next scope.
    pub next_id: u64,
    /// Where the next record goes.
    pub cursor: *mut Unit,
    /// End of the segment.
    pub end: *mut Unit,
    /// The segment's published length.
    pub published: *const AtomicU32,
    /// Thread CPU time.
    pub cpu: CpuWatch,
    /// Ticks that one open and close cost, as calibrated.
    pub scope_cost: AtomicU64,
    /// Openings and closings that had no reading of the clock to themselves.
    pub shared_readings: u64,

    // Not part of the shared layout from here on.
    /// Random id of the recorder it belongs to; 0 when wiped or ended.
    pub(crate) process: u64,
    pub(crate) number: u32,
    pub(crate) slot_slabs: Vec<u32>,
    pub(crate) segment: *const SlabHeader,
    pub(crate) header: *const ThreadHeader,
    /// Number of the segment's first record.
    pub(crate) first: u64,
    /// Units of this segment that are not the first of a record.
    pub(crate) extra_units: u32,
    /// Records lost since the segment filled up.
    pub(crate) gap: u64,
    pub(crate) clock: Option<Box<CpuClock>>,
    pub(crate) suspended: *mut crate::context::Suspended,
    /// Slots that no context uses.
    pub(crate) spare: *mut Slot,
    pub(crate) root: Slot,
    pub(crate) next_free: *mut Thread,
}

/// A scope that was just opened.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Opened {
    /// Its slot, or [`DROPPED`] or [`INERT`]. One byte past the slot when the fast path must not
    /// close it.
    pub slot: *mut Slot,
    /// Its id, 0 unless recorded.
    pub id: u64,
}

/// Stands for the slot of a scope that runs but is not recorded: too deep, or no memory for it.
pub const DROPPED: *mut Slot = std::ptr::without_provenance_mut(1);
/// Stands for the slot of a scope that records nothing and counts for nothing.
pub const INERT: *mut Slot = std::ptr::null_mut();

/// Added to the address of a slot that the fast path must not close.
pub(crate) const TAG: usize = 1;

impl Opened {
    /// A scope that records nothing.
    pub const INERT: Opened = Opened { slot: INERT, id: 0 };
}

/// A slot that is no scope.
pub(crate) const fn root_slot() -> Slot {
    Slot {
        head: 0,
        id: AtomicU64::new(0),
        parent: 0,
        start: 0,
        up: std::ptr::null_mut(),
        cpu: 0,
        index: 0,
        overhead: 0,
    }
}

/// The head of a span to be.
#[inline(always)]
pub const fn span_head(name: u32, flags: u16) -> u64 {
    Head { kind: Kind::Span as u8, units: 1, flags, name }.word()
}

impl Thread {
    /// Stands for the state of a thread that has none: every check of the fast path fails on it.
    pub const NONE: *mut Thread = {
        struct Shared(Thread);
        // SAFETY: nobody writes to it: without free slots and with no current one, the fast path
        // leaves it alone, and the slow path replaces it.
        unsafe impl Sync for Shared {}
        static NONE: Shared = Shared(Thread::blank());
        (&raw const NONE.0).cast_mut()
    };

    /// A state that records nothing, to be filled in.
    pub(crate) const fn blank() -> Thread {
        Thread {
            fast: AtomicU32::new(0),
            unrecorded: 0,
            current: std::ptr::null_mut(),
            free: std::ptr::null_mut(),
            next_id: 0,
            cursor: std::ptr::null_mut(),
            end: std::ptr::null_mut(),
            published: std::ptr::null(),
            cpu: CpuWatch::stale(),
            scope_cost: AtomicU64::new(0),
            shared_readings: 0,
            process: 0,
            number: 0,
            slot_slabs: Vec::new(),
            segment: std::ptr::null(),
            header: std::ptr::null(),
            first: 0,
            extra_units: 0,
            gap: 0,
            clock: None,
            suspended: std::ptr::null_mut(),
            spare: std::ptr::null_mut(),
            root: root_slot(),
            next_free: std::ptr::null_mut(),
        }
    }

    /// Opens a scope, unless something unusual has to be done first.
    ///
    /// # Safety
    /// `this` is the calling thread's state or [`Thread::NONE`], and nothing else of it is running.
    #[inline(always)]
    pub unsafe fn open(this: *mut Thread, head: u64, index: i64) -> Option<Opened> {
        // SAFETY: by the contract this thread alone uses the state; a free slot means that the
        // pointers in it are set, and slots point at each other or at the root.
        unsafe {
            let slot = (*this).free;
            if slot.is_null() || (*this).fast.load(Ordering::Relaxed) == 0 {
                return None;
            }
            let parent = (*this).current;
            let id = (*this).next_id;
            (*this).free = (*slot).up;
            (*this).current = slot;
            (*this).next_id = id + 1;
            (*slot).head = head;
            (*slot).parent = (*parent).id.load(Ordering::Relaxed);
            (*slot).up = parent;
            (*slot).index = index;
            (*slot).overhead = 0;
            let now = crate::clock::counter();
            (*slot).start = now;
            (*slot).cpu = if (*this).cpu.holds(now) {
                now.wrapping_add((*this).cpu.offset)
            } else {
                crate::front::resync(this, now)
            };
            (*slot).id.store(id, Ordering::Release);
            Some(Opened { slot, id })
        }
    }

    /// Closes the innermost scope, unless something unusual has to be done first.
    ///
    /// # Safety
    /// As for [`Thread::open`]; `slot` came from it on the same thread and is closed once.
    #[inline(always)]
    pub unsafe fn close(this: *mut Thread, slot: *mut Slot) -> bool {
        // SAFETY: as in `open`; `current == slot` means that the slot is this thread's and open.
        unsafe {
            // Before the clock is read: an inert scope must cost next to nothing.
            if !std::ptr::eq((*this).current, slot) {
                return false;
            }
            let now = crate::clock::counter();
            let unit = (*this).cursor;
            if std::ptr::eq(unit, (*this).end) || !(*this).cpu.holds(now) {
                return false;
            }
            let cpu = now.wrapping_add((*this).cpu.offset);
            Self::write_span(this, slot, now, cpu);
            let parent = (*slot).up;
            (*parent).overhead += (*slot).overhead + (*this).scope_cost.load(Ordering::Relaxed);
            (*this).current = parent;
            (*slot).id.store(0, Ordering::Release);
            (*slot).up = (*this).free;
            (*this).free = slot;
            true
        }
    }

    /// [`Thread::close`] for a handle that may have outlived its thread: the slot must still hold
    /// the scope with this id.
    ///
    /// # Safety
    /// As for [`Thread::close`], but the slot may be anybody's by now.
    #[inline(always)]
    pub unsafe fn close_if(this: *mut Thread, slot: *mut Slot, id: u64) -> bool {
        // SAFETY: a slot that is the thread's innermost can be looked at; a thread without a state
        // has none, which is no scope's either.
        unsafe {
            !slot.is_null()
                && std::ptr::eq((*this).current, slot)
                && (*slot).id.load(Ordering::Relaxed) == id
                && Self::close(this, slot)
        }
    }

    /// Goes from one item of a loop to the next, unless something unusual has to be done first:
    /// closes the scope at `before`, which is the innermost or none, opens the next and, with a
    /// head for it, one inside in which the item is waited for. All at one reading of the clock.
    ///
    /// # Safety
    /// As for [`Thread::open`] and [`Thread::close`].
    #[inline(always)]
    pub unsafe fn turn(
        this: *mut Thread,
        before: *mut Slot,
        head: u64,
        index: i64,
        inside: u64,
    ) -> Option<[Opened; 2]> {
        // SAFETY: as in `open` and `close`; both slots are checked before anything is changed.
        unsafe {
            let closes = before != INERT;
            let first = if closes { before } else { (*this).free };
            let fast = (*this).fast.load(Ordering::Relaxed) != 0;
            if first.is_null() || !fast || (closes && (*this).current != before) {
                return None;
            }
            let after = if closes { (*this).free } else { (*first).up };
            let now = crate::clock::counter();
            let unit = (*this).cursor;
            let full = std::ptr::eq(unit, (*this).end);
            if (inside != 0 && after.is_null()) || full || !(*this).cpu.holds(now) {
                return None;
            }
            let cpu = now.wrapping_add((*this).cpu.offset);
            (*this).shared_readings += u64::from(closes) + u64::from(inside != 0);
            if closes {
                Self::write_span(this, before, now, cpu);
                let parent = (*before).up;
                let cost = (*this).scope_cost.load(Ordering::Relaxed);
                (*parent).overhead += (*before).overhead + cost;
                (*this).current = parent;
                (*before).id.store(0, Ordering::Release);
            } else {
                (*this).free = after;
            }
            let item = Self::push(this, first, head, index, now, cpu);
            if inside == 0 {
                return Some([item, Opened::INERT]);
            }
            (*this).free = (*after).up;
            Some([item, Self::push(this, after, inside, 0, now, cpu)])
        }
    }

    /// Fills a slot that was taken, and makes it the innermost.
    ///
    /// # Safety
    /// As for [`Thread::open`]; the slot is on no list.
    #[inline(always)]
    unsafe fn push(
        this: *mut Thread,
        slot: *mut Slot,
        head: u64,
        index: i64,
        now: u64,
        cpu: u64,
    ) -> Opened {
        // SAFETY: by the contract.
        unsafe {
            let parent = (*this).current;
            let id = (*this).next_id;
            (*this).next_id = id + 1;
            (*this).current = slot;
            (*slot).head = head;
            (*slot).parent = (*parent).id.load(Ordering::Relaxed);
            (*slot).up = parent;
            (*slot).index = index;
            (*slot).overhead = 0;
            (*slot).start = now;
            (*slot).cpu = cpu;
            (*slot).id.store(id, Ordering::Release);
            Opened { slot, id }
        }
    }

    /// Writes the span of an open slot; there is room for it.
    ///
    /// # Safety
    /// As for [`Thread::close`].
    #[inline(always)]
    unsafe fn write_span(this: *mut Thread, slot: *mut Slot, now: u64, cpu: u64) {
        // SAFETY: by the contract.
        unsafe {
            let unit = (*this).cursor;
            let [index, overhead] = *(&raw const (*slot).index).cast::<[u64; 2]>();
            unit.write(Unit([
                (*slot).head,
                (*slot).id.load(Ordering::Relaxed),
                (*slot).parent,
                (*slot).start,
                now,
                cpu.wrapping_sub((*slot).cpu),
                index,
                overhead,
            ]));
            Self::advance(this, unit);
        }
    }

    /// Sets attributes of the innermost scope, unless something unusual has to be done first.
    ///
    /// # Safety
    /// As for [`Thread::close`].
    #[inline(always)]
    pub unsafe fn set(this: *mut Thread, slot: *mut Slot, unit: Unit) -> bool {
        // SAFETY: as in `close`.
        unsafe {
            let place = (*this).cursor;
            if !std::ptr::eq((*this).current, slot) || std::ptr::eq(place, (*this).end) {
                return false;
            }
            place.write(unit);
            Self::advance(this, place);
            (*slot).overhead += (*this).scope_cost.load(Ordering::Relaxed) / 2;
            true
        }
    }

    /// Makes a mark in the innermost scope, unless something unusual has to be done first.
    ///
    /// # Safety
    /// As for [`Thread::open`].
    #[inline(always)]
    pub unsafe fn mark(this: *mut Thread, head: u64, word: u64) -> bool {
        // SAFETY: as in `open`: `fast` means that the pointers are set.
        unsafe {
            let place = (*this).cursor;
            if (*this).fast.load(Ordering::Relaxed) == 0 || std::ptr::eq(place, (*this).end) {
                return false;
            }
            let slot = (*this).current;
            let span = (*slot).id.load(Ordering::Relaxed);
            place.write(Unit([head, span, crate::clock::counter(), word, 0, 0, 0, 0]));
            Self::advance(this, place);
            (*slot).overhead += (*this).scope_cost.load(Ordering::Relaxed) / 2;
            true
        }
    }

    /// Publishes the unit at the cursor.
    ///
    /// # Safety
    /// `unit` is the cursor, and was written.
    #[inline(always)]
    unsafe fn advance(this: *mut Thread, unit: *mut Unit) {
        // SAFETY: by the contract; the cursor was not at the end, so one past it is inside or the
        // end, and the segment's length is mapped.
        unsafe {
            (*this).cursor = unit.add(1);
            fetch_to_write(unit.wrapping_add(FETCHED_AHEAD));
            crate::ring::publish(&*(*this).published, 1);
        }
    }

    /// Open scopes around the next one, across threads and futures.
    pub(crate) fn depth(&self) -> u32 {
        let mut depth = 0;
        let mut slot = self.current;
        // SAFETY: slots point at each other, ending in the root, whose `up` is null; a stand-in
        // keeps the depth of the scope it stands for in its index.
        unsafe {
            while !slot.is_null() && !(*slot).up.is_null() {
                if !crate::context::is_span(slot) {
                    return depth + (*slot).index as u32;
                }
                depth += 1;
                slot = (*slot).up;
            }
        }
        depth
    }

    /// The number of the innermost context: 1 outside every scope.
    pub fn context_number(&self) -> u64 {
        1 + u64::from(self.depth()) + u64::from(self.unrecorded)
    }

    /// Id of the innermost open scope.
    pub(crate) fn current_id(&self) -> SpanId {
        // SAFETY: `current` is the root or an open slot of this thread.
        SpanId(unsafe { (*self.current).id.load(Ordering::Relaxed) })
    }

    pub(crate) fn header(&self) -> &ThreadHeader {
        // SAFETY: set when the thread was attached; the slab stays the thread's until it ends.
        unsafe { &*self.header }
    }

    /// Puts the slot of the scope that was innermost back; a crash no longer shows it as open.
    pub(crate) fn release(&mut self, slot: *mut Slot) {
        // SAFETY: the slot is this thread's and nothing refers to it any more.
        unsafe { give(&mut self.free, slot) };
    }

    /// Puts a slot back that the current context does not count as its own.
    pub(crate) fn spare(&mut self, slot: *mut Slot) {
        // SAFETY: as in `release`.
        unsafe { give(&mut self.spare, slot) };
    }

    /// Gives up the slots that the current context has left.
    pub(crate) fn spare_free(&mut self) {
        while !self.free.is_null() {
            let slot = self.free;
            // SAFETY: a slot of the free list is this thread's.
            self.free = unsafe { (*slot).up };
            self.spare(slot);
        }
    }
}

/// # Safety
/// The slot is the list owner's, and nothing refers to it any more.
unsafe fn give(list: &mut *mut Slot, slot: *mut Slot) {
    // SAFETY: by the contract.
    unsafe {
        (*slot).id.store(0, Ordering::Release);
        (*slot).up = *list;
    }
    *list = slot;
}

/// Units ahead of the cursor that are fetched for writing: a thread that records faster than a cache
/// line comes from memory would else wait for each. Past the end of a slab it fetches in vain.
const FETCHED_AHEAD: usize = 17;

/// Asks for the cache line of a unit that will be written; any address will do.
#[inline(always)]
fn fetch_to_write(unit: *const Unit) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch reads and writes nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(unit.cast());
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    let _ = unit;
}
