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

/// Makes the next operation look again: the thread's state has changed.
///
/// # Safety
/// The lock is held.
pub unsafe fn forget() {
    // SAFETY: by the contract.
    unsafe { (*HERE.get()).state = std::ptr::null_mut() };
}

#[cold]
#[inline(never)]
unsafe fn arrive_to_change(state: *mut u8) -> *mut Thread {
    // SAFETY: the lock is held.
    unsafe {
        let here = HERE.get();
        let thread = if is_here(state) { (*here).thread } else { arrive(state) };
        if (*here).state == state && !is_unshared(vars(state)) {
            let renewed = stack::renew((*here).stack);
            hold(renewed);
            (*here).vars = (*renewed).vars();
        }
        thread
    }
}

/// Keeps a stack, given up by the caller, as that of this place.
unsafe fn hold(stack: *mut Stack) {
    // SAFETY: the lock is held; dropping a stack runs no Python code.
    unsafe {
        let before = std::mem::replace(&mut (*HERE.get()).stack, stack);
        ffi::Py_XDECREF(before.cast());
    }
}

/// Puts the stack of the context that is running on the thread.
#[cold]
#[inline(never)]
unsafe fn arrive(state: *mut u8) -> *mut Thread {
    // SAFETY: the lock is held.
    unsafe {
        let thread = binding::attach_thread();
        let at = *CONTEXT_AT.get();
        if at == 0 || thread == Thread::NONE {
            forget();
            return thread;
        }
        let here = HERE.get();
        let context = word(state, at) as *mut PyObject;
        let is_base = context.is_null() || !was_entered(context.cast());
        let Some(stack) = stack::of_context(context, is_base, thread) else {
            forget();
            return thread;
        };
        stack::install(stack);
        hold(stack);
        *here = Here {
            state,
            version: word(state, at + 8),
            id: word(state, at + 16),
            vars: (*stack).vars(),
            thread,
            stack,
        };
        thread
    }
}
