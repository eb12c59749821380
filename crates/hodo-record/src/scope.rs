//! Opening and closing when something unusual has to be done: the first scope of a thread, a scope
//! past the depth limit, out of order, after a fork, a full segment.

use crate::arena::Purpose;
use crate::attach::attached;
use crate::process::Process;
use crate::thread::{DROPPED, Opened, TAG, Thread};
use crate::write::{Sort, append, lose, made};
use hodo_format::arena::{SLAB_UNITS, Slot, slab_kind};
use hodo_format::record::{AROUND_KEY, Head, SpanId, Unit, code, flag};
use std::sync::atomic::{AtomicU32, Ordering};

/// In the head of an open slot only: the thread was already panicking when the scope opened.
const OPENED_IN_PANIC: u16 = 1 << 15;

/// Reads the kernel's CPU clock and arms the watch again; returns CPU ticks at `now`.
#[cold]
pub fn resync(thread: &mut Thread, now: u64) -> u64 {
    let Some(process) = crate::process::current() else { return now };
    let Some(mut clock) = thread.clock.take() else { return now };
    let made = made(thread);
    let readings_cost = &process.readings_cost;
    let (cpu, called) = if clock.extend(&mut thread.cpu, now, &made, readings_cost) {
        (now.wrapping_add(thread.cpu.offset), false)
    } else {
        let rate = process.rate();
        clock.resync(&mut thread.cpu, now, process.clock, &rate, made, readings_cost)
    };
    thread.clock = Some(clock);
    if called {
        thread.header().cpu_syscalls.fetch_add(1, Ordering::Relaxed);
    }
    cpu
}

fn cpu_now(thread: &mut Thread, now: u64) -> u64 {
    if thread.cpu.holds(now) { now.wrapping_add(thread.cpu.offset) } else { resync(thread, now) }
}

/// Opens a scope on the calling thread, whatever its state.
pub fn open(head: u64, index: i64) -> Opened {
    let Some((this, process)) = attached() else {
        crate::process::count_unattached(Sort::Span);
        return Opened::INERT;
    };
    process.pump.ensure_running(process);
    // SAFETY: `attached` gave this thread's own state, and nothing else of it runs meanwhile.
    let thread = unsafe { &mut *this };
    let slot = match next_slot(thread, process) {
        Ok(slot) => slot,
        Err(()) => {
            thread.unrecorded += 1;
            return Opened { slot: DROPPED, id: 0 };
        }
    };
    let mut head = head;
    if process.cpu_is_off() {
        head |= u64::from(flag::CPU_OFF) << 16;
    }
    if std::thread::panicking() {
        head |= u64::from(OPENED_IN_PANIC) << 16;
    } else {
        allow_fast(&thread.fast, process);
    }
    let id = push(thread, slot, head, index, process);
    let slow = process.is_slow() || head >> 16 & u64::from(OPENED_IN_PANIC) != 0;
    Opened { slot: if slow { slot.wrapping_byte_add(TAG) } else { slot }, id }
}

/// A slot for one more scope; an error when it is too deep, or there is no memory, both counted.
fn next_slot(thread: &mut Thread, process: &Process) -> Result<*mut Slot, ()> {
    if thread.free.is_null() {
        if thread.depth() >= process.config.max_depth {
            thread.header().depth_dropped.fetch_add(1, Ordering::Relaxed);
            process.warn_depth();
            return Err(());
        }
        let Some(slot) = spare_slot(thread, process) else {
            lose(thread, Sort::Span);
            return Err(());
        };
        return Ok(slot);
    }
    let slot = thread.free;
    // SAFETY: a slot of the free list is this thread's.
    thread.free = unsafe { (*slot).up };
    Ok(slot)
}

/// Takes a slot that no context uses.
pub fn spare_slot(thread: &mut Thread, process: &Process) -> Option<*mut Slot> {
    if thread.spare.is_null() && !add_slots(thread, process) {
        return None;
    }
    let slot = thread.spare;
    // SAFETY: a spare slot is this thread's.
    thread.spare = unsafe { (*slot).up };
    Some(slot)
}

fn push(thread: &mut Thread, slot: *mut Slot, head: u64, index: i64, process: &Process) -> u64 {
    let id = thread.next_id;
    thread.next_id += 1;
    let now = process.clock.now();
    let cpu = cpu_now(thread, now);
    // SAFETY: the slot was just taken; the parent is an open slot or the root.
    unsafe {
        (*slot).head = head;
        (*slot).parent = thread.current_id().0;
        (*slot).up = thread.current;
        (*slot).start = now;
        (*slot).cpu = cpu;
        (*slot).index = index;
        (*slot).overhead = 0;
        (*slot).id.store(id, Ordering::Release);
    }
    thread.current = slot;
    id
}

/// Takes a slab of slots for a thread that has more scopes open than its own slab holds.
fn add_slots(thread: &mut Thread, process: &Process) -> bool {
    let arena = &process.arena;
    let Some(slab) = arena.take(Purpose::Needed, thread.number, 0) else { return false };
    let slots = arena.units(slab).cast::<Slot>();
    link_slots(thread, slots, SLAB_UNITS);
    arena.slab(slab).kind.store(slab_kind::THREAD_SLOTS, Ordering::Release);
    thread.slot_slabs.push(slab);
    true
}

/// Gives the thread `count` more slots, the first on top.
pub fn link_slots(thread: &mut Thread, slots: *mut Slot, count: usize) {
    for i in (0..count).rev() {
        // SAFETY: the caller gives the address of `count` slots that are the thread's alone.
        thread.spare(unsafe { slots.add(i) });
    }
}

/// Closes a scope: that one or nothing, never another.
pub fn close(slot: *mut Slot, id: u64, failed: bool) {
    let slot = untagged(slot);
    let Some((thread, process)) = own_open(slot, id) else { return };
    let now = process.clock.now();
    let in_order = unlink(thread, slot);
    let mut flags = if in_order { 0 } else { flag::OUT_OF_ORDER };
    if failed || fails_by_panic(thread, slot) {
        flags |= flag::FAILED;
    }
    finish(thread, process, slot, now, flags);
    if in_order { thread.release(slot) } else { thread.spare(slot) }
}

/// Takes a scope back as if it had not been opened; scopes, marks and kernels that were inside it are
/// inside the one around it.
pub fn cancel(slot: *mut Slot, id: u64) {
    let slot = untagged(slot);
    let Some((thread, process)) = own_open(slot, id) else { return };
    // SAFETY: the slot is this thread's and open.
    let around = unsafe { (*slot).parent };
    unlink(thread, slot);
    thread.release(slot);
    // Whether there was something inside is not known here: a kernel leaves no record on its thread.
    let key = crate::names::intern(AROUND_KEY, Some(process));
    let value = crate::attr::Raw { code: code::I64.into(), key, word: around, len: 0 };
    // SAFETY: the value holds no text.
    unsafe { crate::attr::set(SpanId(id), &[value]) };
}

/// Marks an open scope as failed.
pub fn fail(slot: *mut Slot, id: u64) {
    let slot = untagged(slot);
    if own_open(slot, id).is_some() {
        // SAFETY: the slot is this thread's and open.
        unsafe { (*slot).head |= u64::from(flag::FAILED) << 16 };
    }
}

/// The slot itself, of one that the fast path must not close.
fn untagged(slot: *mut Slot) -> *mut Slot {
    if slot == DROPPED { slot } else { slot.map_addr(|address| address & !TAG) }
}

/// The calling thread, if `slot` is an open scope of it; else why not is counted.
fn own_open(slot: *mut Slot, id: u64) -> Option<(&'static mut Thread, &'static Process)> {
    let (this, process) = crate::attach::existing()?;
    // SAFETY: as in `open`.
    let thread = unsafe { &mut *this };
    if slot == DROPPED {
        thread.unrecorded = thread.unrecorded.saturating_sub(1);
        return None;
    }
    // A slot of another arena belongs to the process before a fork or before a restart: not ours.
    if !process.arena.holds(slot.cast()) {
        return None;
    }
    if SpanId(id).thread() != thread.number {
        thread.header().wrong_thread.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    // SAFETY: inside the arena, and a slot of this thread by its id.
    if unsafe { (*slot).id.load(Ordering::Relaxed) } != id {
        thread.header().double_closed.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    Some((thread, process))
}

/// Whether a panic that began inside the scope is leaving it.
fn fails_by_panic(thread: &Thread, slot: *mut Slot) -> bool {
    // SAFETY: the caller has checked the slot.
    let head = Head::from_word(unsafe { (*slot).head });
    let left = std::thread::panicking() && head.flags & OPENED_IN_PANIC == 0;
    if left {
        thread.fast.store(0, Ordering::Relaxed);
    }
    left
}

/// A panic is leaving the scope that the fast path just closed: it failed.
///
/// From here on opens take the slow path until the panic is over, which tells the scopes that
/// destructors open meanwhile from those that the panic leaves.
pub fn left_by_panic(id: u64) {
    let Some((this, process)) = crate::attach::existing() else { return };
    // SAFETY: as in `open`.
    unsafe { (*this).fast.store(0, Ordering::Relaxed) };
    let key = crate::names::intern("error", Some(process));
    let text = crate::names::intern("panic", Some(process));
    let value = crate::attr::Raw { code: code::NAME.into(), key, word: text.into(), len: 0 };
    // SAFETY: the value holds no text.
    unsafe { crate::attr::set(SpanId(id), &[value]) };
}

/// Takes a slot out of the stack it is in. True when it was the innermost, as it should be.
pub fn unlink(thread: &mut Thread, slot: *mut Slot) -> bool {
    // SAFETY: `slot` is open and in this thread's arena slab, so are the slots above it.
    unsafe {
        if thread.current == slot {
            thread.current = (*slot).up;
            return true;
        }
        if !bypass(thread.current, slot) {
            crate::context::unlink_suspended(thread, slot);
        }
        thread.header().out_of_order.fetch_add(1, Ordering::Relaxed);
        false
    }
}

/// Makes the slot opened inside `slot` continue with the one around it.
///
/// # Safety
/// `top` is null or the top of a stack of open slots.
pub unsafe fn bypass(top: *mut Slot, slot: *mut Slot) -> bool {
    let mut inner = top;
    // SAFETY: by the contract each `up` is null or points at a slot.
    unsafe {
        while !inner.is_null() {
            if (*inner).up == slot {
                (*inner).up = (*slot).up;
                return true;
            }
            inner = (*inner).up;
        }
    }
    false
}

/// Writes the span of an unlinked slot.
pub fn finish(thread: &mut Thread, process: &Process, slot: *mut Slot, now: u64, flags: u16) {
    let cpu_end = cpu_now(thread, now);
    // SAFETY: the slot is this thread's, open, and no longer on a stack.
    unsafe {
        let mut head = Head::from_word((*slot).head);
        head.flags = (head.flags & !OPENED_IN_PANIC) | flags;
        let cpu = if head.flags & flag::CPU_MASK != 0 { 0 } else { cpu_end.wrapping_sub((*slot).cpu) };
        let overhead = (*slot).overhead;
        let unit = Unit([
            head.word(),
            (*slot).id.load(Ordering::Relaxed),
            (*slot).parent,
            (*slot).start,
            now,
            cpu,
            (*slot).index as u64,
            overhead,
        ]);
        append(thread, process, &[unit], Sort::Span);
        let up = (*slot).up;
        if !up.is_null() {
            (*up).overhead += overhead + thread.scope_cost.load(Ordering::Relaxed);
        }
    }
}

/// Adds what a record cost to the scope it was made in.
pub fn charge(slot: *mut Slot, ticks: u64) {
    // SAFETY: callers pass the current slot of their own thread, or the root.
    unsafe { (*slot).overhead += ticks };
}

/// Sends each thread's next open to the slow path.
pub fn forbid_fast(process: &Process) {
    for &thread in crate::lock(&process.live).iter() {
        // SAFETY: threads leave this list, under its lock, before their state is reused.
        unsafe { (*thread.0).fast.store(0, Ordering::SeqCst) };
    }
}

/// Lets every thread use the fast path again.
pub fn allow_all_fast(process: &Process) {
    for &thread in crate::lock(&process.live).iter() {
        // SAFETY: as above.
        allow_fast(unsafe { &(*thread.0).fast }, process);
    }
}

/// Lets a thread use the fast path, unless its recorder has been stopped, also just now.
pub fn allow_fast(fast: &AtomicU32, process: &Process) {
    fast.store(process.may_be_fast(), Ordering::SeqCst);
    if process.is_stopped() {
        fast.store(0, Ordering::SeqCst);
    }
}
