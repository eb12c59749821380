//! Entering and leaving a scope.

use crate::api;
use crate::scope::{Scope, more};
use crate::scope_new::raise_type;
use crate::{here, names, record};
use hodo_record::binding::{AttrsRecord, INERT, Opened, SpanId, Thread, Unit, counter, span_head};
use hodo_record::{flag, is_on};
use pyo3::ffi::{self, PyObject};

/// No argument enters, three leave, one makes a decorator.
pub unsafe extern "C-unwind" fn call(
    object: *mut PyObject,
    args: *const *mut PyObject,
    nargsf: usize,
    keywords: *mut PyObject,
) -> *mut PyObject {
    let scope = object.cast::<Scope>();
    // SAFETY: the interpreter passes the arguments as it says, and holds the lock.
    unsafe {
        if keywords.is_null() {
            match api::positional(nargsf) {
                0 => {
                    enter(scope);
                    ffi::Py_INCREF(object);
                    return object;
                }
                3 => {
                    let kind = *args;
                    let raised = if kind == ffi::Py_None() { std::ptr::null_mut() } else { kind };
                    leave(scope, raised);
                    return record::none();
                }
                1 if ffi::PyCallable_Check(*args) != 0 => {
                    return record::call_python(c"hodo._decorate", c"decorate", &[object, *args]);
                }
                _ => {}
            }
        }
        raise_type("a scope is used with `with`, or called with the function it decorates")
    }
}

/// Opens the scope, with the attributes it was made with.
///
/// # Safety
/// The lock is held.
#[inline(always)]
pub unsafe fn enter(scope: *mut Scope) {
    // SAFETY: by the contract; the thread's state is the calling thread's own.
    unsafe {
        if !is_on() {
            return;
        }
        if (*scope).head == 0 || (*scope).opened.slot != INERT {
            prepare_again(scope);
        }
        let thread = here::to_change();
        let head = (*scope).head | u64::from((*scope).flags) << 16;
        let index = (*scope).index;
        let Some(opened) = Thread::open(thread, head, index) else {
            enter_slowly(scope, thread, head);
            return;
        };
        (*scope).opened = opened;
        (*scope).span = opened.id;
        (*scope).start = (*opened.slot).start;
        let count = usize::from((*scope).count);
        if count > 0 && !Thread::set(thread, opened.slot, attributes(scope, count)) {
            record::set_fixed(opened, pairs(scope, count).as_slice());
        }
        if !(*scope).more.is_null() {
            set_late(scope);
        }
    }
}

#[inline(always)]
unsafe fn attributes(scope: *mut Scope, count: usize) -> Unit {
    // SAFETY: the caller has the scope; as many attributes as counted lie in it.
    unsafe {
        let scope = &*scope;
        AttrsRecord::unit_of(SpanId(scope.span), count, &scope.keys, &scope.codes, &scope.words)
    }
}

unsafe fn pairs(scope: *mut Scope, count: usize) -> Vec<(u32, u16, u64)> {
    // SAFETY: as in `attributes`.
    let scope = unsafe { &*scope };
    (0..count).map(|i| (scope.keys[i], scope.codes[i], scope.words[i])).collect()
}

/// A scope that was made before a recorder was on, or that is entered again while it is open.
#[cold]
#[inline(never)]
unsafe fn prepare_again(scope: *mut Scope) {
    // SAFETY: the lock is held.
    unsafe {
        (*scope).head = span_head(names::known((*scope).name).id, 0);
        let opened = std::mem::replace(&mut (*scope).opened, Opened::INERT);
        if opened.slot != INERT {
            let entry = (opened, (*scope).span, (*scope).start);
            more(scope).outer.push(entry);
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn enter_slowly(scope: *mut Scope, thread: *mut Thread, head: u64) {
    // SAFETY: the lock is held.
    unsafe {
        let (opened, start) = record::open(thread, head, (*scope).index);
        (*scope).opened = opened;
        (*scope).span = opened.id;
        (*scope).start = start;
        let count = usize::from((*scope).count);
        if count > 0 {
            record::set_fixed(opened, pairs(scope, count).as_slice());
        }
        if !(*scope).more.is_null() {
            set_late(scope);
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn set_late(scope: *mut Scope) {
    // SAFETY: the lock is held. Conversion may run user code, which may even use this scope: what
    // is converted is held, and looked at by number.
    unsafe {
        let opened = (*scope).opened;
        let mut i = 0;
        while let Some(&(key, value)) = (*scope).more.as_ref().and_then(|m| m.late.get(i)) {
            ffi::Py_INCREF(key);
            ffi::Py_INCREF(value);
            record::set(opened, key, value);
            ffi::Py_DECREF(key);
            ffi::Py_DECREF(value);
            i += 1;
        }
    }
}

/// Closes the scope; `raised` is the type of the exception that leaves it, or null.
///
/// # Safety
/// The lock is held.
#[inline(always)]
pub unsafe fn leave(scope: *mut Scope, raised: *mut PyObject) {
    // SAFETY: by the contract.
    unsafe {
        let opened = std::mem::replace(&mut (*scope).opened, Opened::INERT);
        if opened.slot == INERT || !is_on() {
            return;
        }
        let thread = here::to_change();
        if !raised.is_null() {
            record::fail(opened, raised);
        }
        if (*scope).flags & flag::ITERATION != 0 {
            (*scope).end = counter();
        }
        let plain = (*scope).more.is_null();
        if !plain || !Thread::close_if(thread, opened.slot, opened.id) {
            leave_slowly(scope, opened);
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn leave_slowly(scope: *mut Scope, opened: Opened) {
    // SAFETY: the lock is held.
    unsafe {
        let outer = (*scope).more.as_mut().map(|more| &mut more.outer);
        let Some(outer) = outer.filter(|outer| !outer.is_empty()) else {
            record::close(opened);
            return;
        };
        // Entered several times, perhaps by several tasks or threads: the latest of this one is left.
        outer.push((opened, (*scope).span, (*scope).start));
        let number = record::thread_number();
        let is_here = |&(opened, ..): &(Opened, u64, u64)| record::is_of_context(opened);
        let is_of_thread =
            |&(opened, ..): &(Opened, u64, u64)| SpanId(opened.id).thread() == number;
        let at = outer.iter().rposition(is_here).or_else(|| outer.iter().rposition(is_of_thread));
        let at = at.unwrap_or(outer.len() - 1);
        let (leaving, ..) = outer.remove(at);
        if let Some((opened, span, start)) = outer.pop() {
            ((*scope).opened, (*scope).span, (*scope).start) = (opened, span, start);
        }
        record::close(leaving);
    }
}
