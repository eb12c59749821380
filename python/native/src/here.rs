//! Which stack of scopes the running code is on.
//!
//! Every context (a thread's own, an asyncio task's) has a stack; one context variable leads to it
//! and is set once, not per scope. A switch of contexts changes a number in the thread's state, so
//! "still the same context" is three comparisons. That a context was *copied*, as for a new task,
//! shows in its table of variables: a copy holds it too, or it is no longer the same. Then, before
//! the stack changes, the copies are left with what it looked like when they were made.

use crate::api;
use crate::gil::Gil;
use crate::probe::{CONTEXT_AT, VARS_AT, was_entered, word};
use crate::stack::{self, Stack};
use hodo_record::binding::{self, Thread};
use pyo3::ffi::{self, PyObject};

/// Where the last operation found itself.
struct Here {
    state: *mut u8,
    /// Number of the context switch, and id of the thread's state.
    version: usize,
    id: usize,
    /// The context's table of variables.
    vars: usize,
    thread: *mut Thread,
    /// The context's stack, held.
    stack: *mut Stack,
}

static HERE: Gil<Here> = Gil::new(Here {
    state: std::ptr::null_mut(),
    version: 0,
    id: 0,
    vars: 0,
    thread: Thread::NONE,
    stack: std::ptr::null_mut(),
});

/// The calling thread's state with this context's stack on it, to look at.
///
/// # Safety
/// The lock is held and a recorder is on.
#[inline(always)]
pub unsafe fn to_look() -> *mut Thread {
    // SAFETY: by the contract.
    unsafe {
        let state = api::PyThreadState_Get();
        if is_here(state) { (*HERE.get()).thread } else { arrive(state) }
    }
}

/// The same, before a scope is opened or closed.
///
/// # Safety
/// As for [`to_look`].
#[inline(always)]
pub unsafe fn to_change() -> *mut Thread {
    // SAFETY: by the contract; a context that was arrived in has a table of variables.
    unsafe {
        let state = api::PyThreadState_Get();
        if is_here(state) && is_unshared(vars(state)) {
            return (*HERE.get()).thread;
        }
        arrive_to_change(state)
    }
}

#[inline(always)]
unsafe fn is_here(state: *mut u8) -> bool {
    // SAFETY: the lock is held; the offset was probed. One that was not found is 0, and `state`
    // then never the same.
    unsafe {
        let here = HERE.get();
        let at = *CONTEXT_AT.get();
        state == (*here).state
            && word(state, at + 8) == (*here).version
            && word(state, at + 16) == (*here).id
    }
}

#[inline(always)]
unsafe fn vars(state: *mut u8) -> usize {
    // SAFETY: the lock is held, and the thread is in a context.
    unsafe { word(word(state, *CONTEXT_AT.get()) as *const u8, VARS_AT) }
}

/// Whether the table is the one that the stack was put into, and no other context's too.
#[inline(always)]
unsafe fn is_unshared(vars: usize) -> bool {
    // SAFETY: the lock is held, and the place that was arrived at has a stack.
    unsafe { vars == (*HERE.get()).vars && (*(*HERE.get()).stack).is_unshared() }
}

/// The running context's stack as a number, the same as long as the context is not copied; its
/// stack is on the thread then.
///
/// # Safety
/// As for [`to_look`].
pub unsafe fn place() -> usize {
    // SAFETY: by the contract.
    unsafe {
        to_change();
        let at = *CONTEXT_AT.get();
        let state = api::PyThreadState_Get();
        if at == 0 { state as usize } else { word(state, at) }
    }
}

/// Makes the next operation look again: the thread's state has changed.
///
/// # Safety
/// The lock is held.
pub unsafe fn forget() {
    // SAFETY: by the contract.
    unsafe { (*HERE.get()).state = std::ptr::null_mut() };
}

/// An exception that is set while scopes are closed, as when a loop is left, stays set.
unsafe fn keeping_error<T>(work: impl FnOnce() -> T) -> T {
    let mut error = [std::ptr::null_mut(); 3];
    let [kind, value, trace] = &mut error;
    // SAFETY: the lock is held; what is fetched is put back.
    unsafe {
        ffi::PyErr_Fetch(kind, value, trace);
        let result = work();
        ffi::PyErr_Restore(*kind, *value, *trace);
        result
    }
}

/// The collector stays out meanwhile. Python 3.11 runs it inside of allocations, and with it code of
/// the program's that records: it would give up the very stack that is being made or renewed, or the
/// table of variables that Python itself is about to copy.
///
/// # Safety
/// The lock is held, and `work` keeps it.
pub unsafe fn without_collecting<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: the lock is held; the collector is on again afterwards if it was before.
    unsafe {
        let was_on = ffi::PyGC_Disable() != 0;
        let result = work();
        if was_on {
            ffi::PyGC_Enable();
        }
        result
    }
}

#[cold]
#[inline(never)]
unsafe fn arrive_to_change(state: *mut u8) -> *mut Thread {
    // SAFETY: the lock is held.
    unsafe {
        let here = HERE.get();
        let thread = if is_here(state) { (*here).thread } else { arrive(state) };
        if (*here).state == state && !is_unshared(vars(state)) {
            keeping_error(|| leave_copies(state));
        }
        thread
    }
}

/// The context was copied, or its table is another's too: the copies keep the stack as it is.
unsafe fn leave_copies(state: *mut u8) {
    // SAFETY: the lock is held. What is given up goes last: code of the program's may run then.
    unsafe {
        let here = HERE.get();
        let before = (*here).stack;
        match without_collecting(|| stack::renew(before)) {
            Some(renewed) => {
                (*here).stack = renewed;
                (*here).vars = (*renewed).vars();
                stack::release(before);
            }
            None => (*here).vars = vars(state),
        }
    }
}

/// Puts the stack of the context that is running on the thread.
#[cold]
#[inline(never)]
unsafe fn arrive(state: *mut u8) -> *mut Thread {
    // SAFETY: the lock is held.
    unsafe { keeping_error(|| arrive_without_error(state)) }
}

unsafe fn arrive_without_error(state: *mut u8) -> *mut Thread {
    // SAFETY: the lock is held.
    unsafe {
        let thread = binding::attach_thread();
        let at = *CONTEXT_AT.get();
        if at == 0 || thread == Thread::NONE {
            forget();
            return thread;
        }
        let context = word(state, at) as *mut PyObject;
        let is_base = context.is_null() || !was_entered(context.cast());
        let found = without_collecting(|| stack::of_context(context, is_base, thread));
        let Some(stack) = found else {
            forget();
            return thread;
        };
        stack::install(stack);
        let here = Here {
            state,
            version: word(state, at + 8),
            id: word(state, at + 16),
            vars: (*stack).vars(),
            thread,
            stack,
        };
        let before = std::mem::replace(&mut *HERE.get(), here);
        ffi::Py_XDECREF(before.stack.cast());
        thread
    }
}
