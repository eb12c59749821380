//! Making a scope current that was opened elsewhere: on another thread, or in a suspended future.
//!
//! A *stand-in* slot takes its place on the thread's stack. It carries the scope's id, so that
//! scopes opened inside get the right parent, and is never recorded.

use crate::attach::{attached, existing};
use crate::handle::{Begun, charge_begun};
use crate::process::Process;
use crate::scope::{bypass, spare_slot};
use crate::thread::Thread;
use hodo_format::arena::Slot;
use hodo_format::record::{Head, Kind, flag};
use std::sync::atomic::Ordering;

/// A scope made current; to be given back to [`leave`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Entered {
    stand_in: *mut Slot,
    thread: *mut Thread,
    free: *mut Slot,
    unrecorded: u32,
}

impl Entered {
    /// Nothing was made current.
    pub const INERT: Entered = Entered {
        stand_in: std::ptr::null_mut(),
        thread: std::ptr::null_mut(),
        free: std::ptr::null_mut(),
        unrecorded: 0,
    };
}

/// A future's stack while the future is not being polled; scopes are open on it.
#[derive(Debug)]
pub struct Suspended {
    top: *mut Slot,
    stand_in: *mut Slot,
    free: *mut Slot,
    process: u64,
    number: u32,
    unrecorded: u32,
    next: *mut Suspended,
    /// What points at this one: the thread, or the one before.
    link: *mut *mut Suspended,
}

/// Whether a slot is a scope to be recorded, not a stand-in.
///
/// # Safety
/// `slot` points at a slot.
pub unsafe fn is_span(slot: *mut Slot) -> bool {
    // SAFETY: by the contract.
    Head::from_word(unsafe { (*slot).head }).kind == Kind::Span as u8
}

/// Makes `begun` the current scope of the calling thread.
pub fn enter(begun: Begun) -> Entered {
    if begun.id == 0 && begun.slot.is_null() {
        return Entered::INERT;
    }
    let Some((this, process)) = attached() else { return Entered::INERT };
    if begun.id != 0 && begun.process != process.identity.process {
        return Entered::INERT;
    }
    // SAFETY: `attached` gave this thread's own state.
    let thread = unsafe { &mut *this };
    let Some(stand_in) = stand_in(thread, process, begun) else { return Entered::INERT };
    let entered = remember(thread, stand_in);
    thread.current = stand_in;
    (thread.free, thread.unrecorded) = (std::ptr::null_mut(), 0);
    entered
}

/// What is current now, to be current again.
fn remember(thread: &mut Thread, stand_in: *mut Slot) -> Entered {
    Entered {
        stand_in,
        thread,
        free: thread.free,
        unrecorded: thread.unrecorded,
    }
}

fn stand_in(thread: &mut Thread, process: &Process, begun: Begun) -> Option<*mut Slot> {
    let slot = spare_slot(thread, process)?;
    let head = Head { kind: Kind::Pad as u8, units: 1, flags: 0, name: 0 };
    // SAFETY: the slot was just taken. The kind goes first: a reader takes a slot with an id for
    // an open scope unless its kind says otherwise.
    unsafe {
        (*slot).head = head.word();
        (*slot).up = thread.current;
        (*slot).index = begun.depth.into();
        (*slot).cpu = begun.slot.expose_provenance() as u64;
        (*slot).overhead = 0;
        (*slot).id.store(begun.id, Ordering::Release);
    }
    Some(slot)
}

/// Gives the recording work that a stand-in was charged with to the scope it stood for.
fn settle(stand_in: *mut Slot) {
    let Some(process) = crate::process::current() else { return };
    // SAFETY: the stand-in is a slot of this thread, filled by `stand_in`.
    unsafe {
        let id = (*stand_in).id.load(Ordering::Relaxed);
        let begun = std::ptr::with_exposed_provenance_mut((*stand_in).cpu as usize);
        charge_begun(begun, id, process, std::mem::take(&mut (*stand_in).overhead));
    }
}

/// Undoes [`enter`] on the same thread, also when scopes inside are still open.
pub fn leave(entered: Entered) {
    let Some(thread) = same_thread(&entered) else { return };
    let slot = entered.stand_in;
    settle(slot);
    // SAFETY: the stand-in and what stands on it are slots of this thread.
    unsafe {
        if thread.current == slot {
            thread.current = (*slot).up;
            thread.spare_free();
            (thread.free, thread.unrecorded) = (entered.free, entered.unrecorded);
        } else if bypass(thread.current, slot) {
            thread.header().out_of_order.fetch_add(1, Ordering::Relaxed);
            // Nobody restores what was in circulation before this was entered.
            let free = std::mem::replace(&mut thread.free, entered.free);
            thread.spare_free();
            thread.free = free;
        } else {
            unlink_suspended(thread, slot);
        }
    }
    thread.spare(slot);
}

fn same_thread(entered: &Entered) -> Option<&'static mut Thread> {
    if entered.stand_in.is_null() {
        return None;
    }
    let (this, process) = existing()?;
    let same = this == entered.thread && process.arena.holds(entered.stand_in.cast());
    // SAFETY: `existing` gave this thread's own state; states are never unmapped.
    same.then(|| unsafe { &mut *this })
}

/// Makes a future's scope current for one poll, with the scopes that were open in it.
pub fn resume(begun: Begun, suspended: &mut Option<Box<Suspended>>) -> Entered {
    let Some(stack) = suspended.take() else { return enter(begun) };
    let Some((this, process)) = attached() else { return Entered::INERT };
    // SAFETY: `attached` gave this thread's own state.
    let thread = unsafe { &mut *this };
    if stack.process != process.identity.process || stack.number != thread.number {
        leave_to_owner(stack);
        return enter(begun);
    }
    forget_suspended(&stack);
    let entered = remember(thread, stack.stand_in);
    // SAFETY: the stand-in is this thread's, at the bottom of the future's stack.
    unsafe { (*stack.stand_in).up = thread.current };
    thread.current = stack.top;
    (thread.free, thread.unrecorded) = (stack.free, stack.unrecorded);
    entered
}

/// Ends one poll: what was current before is current again; scopes still open stay with the future.
pub fn suspend(entered: Entered, suspended: &mut Option<Box<Suspended>>) {
    let Some(thread) = same_thread(&entered) else { return };
    settle(entered.stand_in);
    // What was current before, or what is left of it: a scope around the poll may have been
    // closed inside it.
    // SAFETY: the stand-in is a slot of this thread.
    let before = unsafe { (*entered.stand_in).up };
    if thread.current == entered.stand_in {
        thread.spare_free();
        thread.spare(entered.stand_in);
    } else if on_stack(thread.current, entered.stand_in) {
        let (this, process) = (std::ptr::from_mut(thread), thread.process);
        flag_suspended(thread.current, entered.stand_in);
        let mut stack = Box::new(Suspended {
            top: thread.current,
            stand_in: entered.stand_in,
            free: thread.free,
            process,
            number: thread.number,
            unrecorded: thread.unrecorded,
            next: thread.suspended,
            link: &raw mut thread.suspended,
        });
        // SAFETY: this thread's own state; the box's address stays as it moves.
        unsafe {
            (*this).suspended = &raw mut *stack;
            if let Some(after) = stack.next.as_mut() {
                after.link = &raw mut stack.next;
            }
        }
        *suspended = Some(stack);
    }
    thread.current = before;
    (thread.free, thread.unrecorded) = (entered.free, entered.unrecorded);
}

fn on_stack(top: *mut Slot, slot: *mut Slot) -> bool {
    let mut at = top;
    while !at.is_null() && at != slot {
        // SAFETY: a stack's slots point at each other, ending in null at the root.
        at = unsafe { (*at).up };
    }
    at == slot
}

/// The CPU time of a scope that waits is not its thread's: say so.
fn flag_suspended(top: *mut Slot, stand_in: *mut Slot) {
    let mut slot = top;
    while slot != stand_in {
        // SAFETY: `on_stack` found the stand-in below the top.
        unsafe {
            let mut head = Head::from_word((*slot).head);
            head.flags = (head.flags & !flag::CPU_MASK) | flag::CPU_SUSPENDED;
            (*slot).head = head.word();
            slot = (*slot).up;
        }
    }
}

/// Lets go of a future's stack: called before its memory goes.
pub fn drop_suspended(suspended: &mut Option<Box<Suspended>>) {
    let Some(stack) = suspended.take() else { return };
    let Some((this, process)) = existing() else { return leave_to_owner(stack) };
    // SAFETY: `existing` gave this thread's own state.
    let thread = unsafe { &mut *this };
    if stack.process != process.identity.process || stack.number != thread.number {
        return leave_to_owner(stack);
    }
    forget_suspended(&stack);
    let free = std::mem::replace(&mut thread.free, stack.free);
    thread.spare_free();
    thread.free = free;
    thread.spare(stack.stand_in);
}

/// The thread a stack belongs to may still have it on its list: it is never freed elsewhere.
fn leave_to_owner(stack: Box<Suspended>) {
    Box::leak(stack);
}

/// Takes a stack off its thread's list.
fn forget_suspended(stack: &Suspended) {
    // SAFETY: the list holds boxes that are alive, each of which leaves it before it is dropped; it
    // is the calling thread's.
    unsafe {
        *stack.link = stack.next;
        if let Some(after) = stack.next.as_mut() {
            after.link = stack.link;
        }
    }
}

/// A thread ends: what is open in stacks that wait on it will never be closed there.
pub fn end_suspended(thread: &mut Thread, process: &Process, now: u64) {
    let mut next = std::mem::replace(&mut thread.suspended, std::ptr::null_mut());
    // SAFETY: as in `forget_suspended`. Whoever holds the box finds that it is no process's.
    while let Some(stack) = unsafe { next.as_mut() } {
        next = stack.next;
        stack.process = 0;
        while stack.top != stack.stand_in {
            let slot = stack.top;
            // SAFETY: the slots of a suspended stack are this thread's, the stand-in below them.
            unsafe {
                stack.top = (*slot).up;
                if is_span(slot) {
                    crate::scope::finish(thread, process, slot, now, flag::LEFT_OPEN);
                }
            }
            thread.spare(slot);
        }
    }
}

/// Takes a slot out of whichever suspended stack holds it.
pub fn unlink_suspended(thread: &mut Thread, slot: *mut Slot) {
    let mut stack = thread.suspended;
    // SAFETY: as in `forget_suspended`; the slots of a suspended stack are this thread's.
    unsafe {
        while !stack.is_null() {
            if (*stack).top == slot {
                (*stack).top = (*slot).up;
                return;
            }
            if bypass((*stack).top, slot) {
                return;
            }
            stack = (*stack).next;
        }
    }
}

/// The scope that the thread with this number is in: for a stack that another thread inherits.
/// Exact while that thread records nothing, as while it waits for what the caller holds.
///
/// # Safety
/// `this` is or was the state of some thread.
pub unsafe fn link_of(this: *mut Thread, number: u32) -> Begun {
    let Some(process) = crate::process::current() else { return Begun::INERT };
    // SAFETY: states are never unmapped, and their slots lie in the arena, which is not either.
    unsafe {
        if (*this).process != process.identity.process || (*this).number != number {
            return Begun::INERT;
        }
        let top = (&raw const (*this).current).read_volatile();
        if top.is_null() {
            return Begun::INERT;
        }
        let id = (*top).id.load(Ordering::Acquire);
        let depth = (*this).depth();
        Begun { slot: std::ptr::null_mut(), id, process: (*this).process, depth }
    }
}
