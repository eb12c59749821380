//! Forking: no thread, no lock and no record of the parent's is used in the child.

use crate::companion;
use crate::front::THREAD;
use crate::names::Names;
use crate::process::{self, Process};
use crate::scope::forbid_fast;
use crate::thread::Thread;
use hodo_format::record::SpanId;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{MutexGuard, Once};

/// What the forking thread holds while it forks, so that the child finds it unlocked and whole.
struct Held {
    _changing: MutexGuard<'static, ()>,
    _names: MutexGuard<'static, Names>,
}

std::thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

/// The scope that the forking thread is in, while it forks; none for a process that was cloned by
/// a bare system call, which runs no handler.
static FORKED_IN: AtomicU64 = AtomicU64::new(SpanId::NONE.0);

/// Registers the handlers, once.
pub fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handlers have the signature that is asked for and never unwind.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
        // SAFETY: as above.
        unsafe { libc::atexit(at_exit) };
    });
}

/// The id of the scope that `parent` was forked in, for the child's `process.json`.
pub fn link(parent: &Process) -> Option<String> {
    let span = FORKED_IN.load(Ordering::Relaxed);
    Some(format!("{:016x}{span:016x}", parent.identity.process))
}

/// The pump stops, so that no thread of ours is running, and the locks are taken.
extern "C" fn before() {
    crate::guarded((), || {
        let changing = process::hold();
        companion::tell(|companion| (companion.before_fork)());
        if let Some(process) = process::current() {
            process.pump.pause();
            let span = crate::attach::existing().map_or(SpanId::NONE, |(thread, _)| {
                // SAFETY: this thread's own state.
                unsafe { (*thread).current_id() }
            });
            FORKED_IN.store(span.0, Ordering::Relaxed);
        }
        let held = Held { _changing: changing, _names: crate::names::lock() };
        HELD.with(|cell| cell.replace(Some(held)));
    });
}

fn let_go() {
    drop(HELD.with(|cell| cell.borrow_mut().take()));
}

/// The pump starts again with the next scope: a thread started here would be seen by a host that
/// counts its threads right after the fork.
extern "C" fn in_parent() {
    crate::guarded((), || {
        let_go();
        FORKED_IN.store(SpanId::NONE.0, Ordering::Relaxed);
        if let Some(process) = process::current() {
            process.pump.forked();
            forbid_fast(process);
        }
    });
}

/// Also where the kernel did not wipe the states, the child must not use its parent's.
extern "C" fn in_child() {
    crate::guarded((), || {
        let_go();
        process::forget_in_child();
        companion::tell(|companion| (companion.in_child)());
        let thread = THREAD.replace(Thread::NONE);
        if thread != Thread::NONE {
            // SAFETY: this thread's own state, in memory private to this process.
            unsafe {
                (*thread).fast.store(0, Ordering::Relaxed);
                (*thread).current = std::ptr::null_mut();
                (*thread).process = 0;
            }
        }
    });
}

/// A program that ends without shutting down leaves a run that is whole, and mostly compact.
extern "C" fn at_exit() {
    const AT_MOST: std::time::Duration = std::time::Duration::from_secs(2);
    crate::guarded((), || {
        if let Some(process) = process::current() {
            companion::tell(|companion| (companion.at_exit)());
            process.pump.flush(process, AT_MOST);
            // Threads that go on recording need the memory to the last moment.
            let own = crate::attach::existing().map(|(thread, _)| thread);
            if crate::lock(&process.live).iter().all(|live| Some(live.0) == own) {
                process.arena.trim();
            }
        }
    });
}
