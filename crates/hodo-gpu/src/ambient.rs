//! The scope of a launch: the launching thread's innermost, else the ambient one.
//!
//! Threads without a scope launch too: autograd's backward, XLA's. Their work belongs to whatever
//! the thread is in that last launched inside a scope, which is the thread that waits for them.

use crate::launches::Launch;
use hodo_format::gpu::flag;
use hodo_format::record::SpanId;
use hodo_record::binding::{Thread, innermost, innermost_of, is_inside};
use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The thread that last launched inside a scope.
static AMBIENT: AtomicPtr<Thread> = AtomicPtr::new(std::ptr::null_mut());

std::thread_local! {
    /// The scope of the forward operation whose gradient this thread computes, if it does.
    static FORWARD: Cell<u64> = const { Cell::new(0) };
}

/// What is known of a call that this thread begins at `now`.
#[inline]
pub fn launch(now: u64) -> Launch {
    let (span, how) = scope();
    Launch { span, how, launched: now, forward: SpanId(FORWARD.get()), thread: thread() }
}

/// The scope that work launched now by this thread belongs to, and how that is known.
#[inline]
pub fn scope() -> (SpanId, u16) {
    let (own, thread) = innermost();
    if own != 0 {
        // Compared first: the line stays shared while one thread launches.
        if !thread.is_null() && AMBIENT.load(Ordering::Relaxed) != thread {
            AMBIENT.store(thread, Ordering::Relaxed);
        }
        return (SpanId(own), flag::BY_LAUNCH);
    }
    let ambient = AMBIENT.load(Ordering::Relaxed);
    // SAFETY: it came from `innermost`, and states are never unmapped.
    let inherited = if ambient.is_null() { 0 } else { unsafe { innermost_of(ambient) } };
    match inherited {
        0 => (SpanId::NONE, flag::NO_SCOPE),
        span => (SpanId(span), flag::INHERITED),
    }
}

/// Whether work launched now by this thread belongs to a scope named `name`, or to one inside it.
pub fn is_in(name: u32) -> bool {
    let (own, thread) = innermost();
    let thread = if own != 0 { thread } else { AMBIENT.load(Ordering::Relaxed) };
    // SAFETY: both come from `innermost`, and states are never unmapped.
    !thread.is_null() && unsafe { is_inside(thread, name) }
}

/// The calling thread, as the operating system numbers it.
#[inline]
fn thread() -> u32 {
    std::thread_local! {
        static THREAD: Cell<u32> = const { Cell::new(0) };
    }
    match THREAD.get() {
        0 => {
            // SAFETY: gettid has no failure.
            let thread = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
            THREAD.set(thread);
            thread
        }
        known => known,
    }
}

/// The thread that last launched inside a scope, or the caller's own state.
#[cfg(feature = "record")]
pub fn thread_of_scope() -> *mut Thread {
    let ambient = AMBIENT.load(Ordering::Relaxed);
    if ambient.is_null() { hodo_record::binding::thread() } else { ambient }
}

/// Says which forward scope this thread's launches are the gradient of, 0 for none; returns what
/// was said before.
pub fn set_forward(scope: u64) -> u64 {
    FORWARD.replace(scope)
}

/// A thread ends: nobody waits in it any more, and its state will be another's.
pub fn ends(thread: *mut Thread) {
    let none = std::ptr::null_mut();
    let _ = AMBIENT.compare_exchange(thread, none, Ordering::Relaxed, Ordering::Relaxed);
}

/// Forgets the ambient thread: in a forked child it is not ours.
pub fn forget() {
    AMBIENT.store(std::ptr::null_mut(), Ordering::Relaxed);
}
