//! What is recorded outside the fast path, and small things of Python's that several files need.

use crate::api::running;
use crate::{here, names, values};
use hodo_record::binding::{
    AttrsRecord, Begun, DROPPED, Head, INERT, Kind, Opened, Raw, SpanId, Thread, code, table,
    thread,
};
use hodo_record::flag;
use pyo3::ffi::{self, PyObject};
use std::ffi::CStr;
use std::sync::atomic::Ordering;

/// `None`, a new reference.
#[inline(always)]
pub fn none() -> *mut PyObject {
    // SAFETY: `None` always exists.
    unsafe {
        let none = ffi::Py_None();
        ffi::Py_INCREF(none);
        none
    }
}

/// A new string; null with an exception set when memory ran out.
///
/// # Safety
/// The lock is held.
pub unsafe fn text(text: &str) -> *mut PyObject {
    // SAFETY: by the contract.
    unsafe { ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast(), text.len() as isize) }
}

/// Calls a function of a module of the package's.
///
/// # Safety
/// The lock is held.
pub unsafe fn call_python(module: &CStr, name: &CStr, args: &[*mut PyObject]) -> *mut PyObject {
    // SAFETY: by the contract; what is called is held meanwhile.
    unsafe {
        let module = running::PyImport_ImportModule(module.as_ptr());
        if module.is_null() {
            return module;
        }
        let function = running::PyObject_GetAttrString(module, name.as_ptr());
        ffi::Py_DECREF(module);
        if function.is_null() {
            return function;
        }
        let tuple = ffi::PyTuple_New(args.len() as isize);
        for (i, &arg) in args.iter().enumerate() {
            ffi::Py_INCREF(arg);
            ffi::PyTuple_SetItem(tuple, i as isize, arg);
        }
        let result = running::PyObject_CallObject(function, tuple);
        ffi::Py_DECREF(tuple);
        ffi::Py_DECREF(function);
        result
    }
}

/// Opens a scope where the fast path could not; also gives the ticks of its start.
///
/// # Safety
/// The lock is held; `known` is what this thread's state was taken for.
#[cold]
pub unsafe fn open(known: *mut Thread, head: u64, index: i64) -> (Opened, u64) {
    let Some(table) = table() else { return (Opened::INERT, 0) };
    let opened = (table.open)(head, index);
    // SAFETY: by the contract.
    unsafe {
        if hodo_record::binding::attach_thread() != known {
            here::forget();
        }
    }
    (opened, if opened.id == 0 { 0 } else { hodo_record::binding::counter() })
}

/// Closes a scope, wherever it is.
///
/// # Safety
/// The lock is held, and the calling thread's context is on it.
#[cold]
pub unsafe fn close(opened: Opened) {
    // SAFETY: by the contract; a slot that is not the innermost is left to the table.
    unsafe {
        if !Thread::close_if(thread(), opened.slot, opened.id)
            && let Some(table) = table()
        {
            (table.close)(opened.slot, opened.id, false);
        }
    }
}

/// Marks a scope as failed, by an exception of this type.
///
/// # Safety
/// The lock is held; `raised` is a class.
#[cold]
pub unsafe fn fail(opened: Opened, raised: *mut PyObject) {
    // SAFETY: by the contract.
    unsafe {
        let Some(table) = table() else { return };
        let is_closing = raised == ffi::PyExc_GeneratorExit;
        if opened.id == 0 || opened.slot == INERT || is_closing {
            return;
        }
        (table.fail)(opened.slot, opened.id);
        let name = values::type_name(raised.cast());
        let (key, kind) = (intern("error"), intern(&name));
        set_fixed(opened, &[(key, code::NAME, u64::from(kind))]);
    }
}

fn intern(text: &str) -> u32 {
    hodo_record::intern(text)
}

/// Sets attributes that have a fixed size.
///
/// # Safety
/// The lock is held.
pub unsafe fn set_fixed(opened: Opened, pairs: &[(u32, u16, u64)]) {
    if opened.id == 0 {
        return;
    }
    // SAFETY: by the contract; the slot is compared before it is used.
    unsafe {
        if pairs.len() <= AttrsRecord::CAPACITY
            && Thread::set(thread(), opened.slot, AttrsRecord::unit(SpanId(opened.id), pairs))
        {
            return;
        }
        let raw =
            |&(key, code, word): &(u32, u16, u64)| Raw { code: code.into(), key, word, len: 0 };
        let raws: Vec<Raw> = pairs.iter().map(raw).collect();
        if let Some(table) = table() {
            (table.set)(opened.slot, opened.id, raws.as_ptr(), raws.len());
        }
    }
}

/// Sets one attribute to any value.
///
/// # Safety
/// The lock is held; `key` is a `str`.
pub unsafe fn set(opened: Opened, key: *mut PyObject, value: *mut PyObject) {
    if opened.id == 0 {
        return;
    }
    // SAFETY: by the contract.
    unsafe {
        let value = values::convert(value);
        let raw = value.raw(key_id(key));
        if let Some(table) = table() {
            (table.set)(opened.slot, opened.id, &raw, 1);
        }
    }
}

/// The id of a key; keys made for one use are not kept.
unsafe fn key_id(key: *mut PyObject) -> u32 {
    // SAFETY: the lock is held.
    unsafe {
        if ffi::Py_TYPE(key) == &raw mut ffi::PyUnicode_Type {
            names::known(key).id
        } else {
            names::with_text(key, |text| intern(if text.is_empty() { "(empty)" } else { text }))
        }
    }
}

/// Number of the calling thread in the recorder.
pub fn thread_number() -> u32 {
    table().map_or(0, |table| (table.number)())
}

/// Something to make a scope current with elsewhere, as long as it is open.
///
/// # Safety
/// The lock is held.
pub unsafe fn link_to(opened: Opened) -> Begun {
    let Some(table) = table() else { return Begun::INERT };
    if opened.id == 0 || opened.slot == DROPPED {
        return Begun::INERT;
    }
    // The depth of the innermost scope is right for it, and for one around it not too small.
    let innermost = (table.link)();
    Begun {
        slot: std::ptr::null_mut(),
        id: opened.id,
        process: innermost.process,
        depth: innermost.depth,
    }
}

/// A begun scope, ended as failed or not.
pub fn end(begun: Begun, failed: bool) {
    if let Some(table) = table().filter(|_| begun.id != 0) {
        (table.end)(begun, if failed { flag::FAILED } else { 0 });
    }
}

/// [`fail`] while an exception is set, which stays.
///
/// # Safety
/// The lock is held; `raised` is the type of the exception.
pub unsafe fn fail_with_error_set(opened: Opened, raised: *mut PyObject) {
    let mut error = [std::ptr::null_mut(); 3];
    let [kind, value, trace] = &mut error;
    // SAFETY: by the contract; what is fetched is put back.
    unsafe {
        ffi::PyErr_Fetch(kind, value, trace);
        fail(opened, raised);
        ffi::PyErr_Restore(*kind, *value, *trace);
    }
}

/// Whether an open scope is on the stack of the running context.
///
/// # Safety
/// The lock is held, and the running context's stack is on its thread.
pub unsafe fn is_of_context(opened: Opened) -> bool {
    let state = thread();
    // SAFETY: the state is the calling thread's own; its slots point at each other, ending in null.
    unsafe {
        let mut slot = (*state).current;
        while !slot.is_null() && Head::from_word((*slot).head).kind == Kind::Span as u8 {
            if slot == opened.slot {
                return true;
            }
            slot = (*slot).up;
        }
    }
    false
}

/// Gives an open scope of the running context another name and index.
///
/// # Safety
/// As for [`is_of_context`].
pub unsafe fn rename(opened: Opened, name: u32, index: i64) {
    // SAFETY: a slot on the thread's own stack is open, and no other thread writes to it.
    unsafe {
        if is_of_context(opened) && (*opened.slot).id.load(Ordering::Relaxed) == opened.id {
            (*opened.slot).head = Head { name, ..Head::from_word((*opened.slot).head) }.word();
            (*opened.slot).index = index;
        }
    }
}

/// How many scopes up the innermost open one with this name is; `None` when none is open here.
///
/// # Safety
/// The lock is held, and the running context's stack is on its thread.
pub unsafe fn levels_to(name: u32) -> Option<usize> {
    let state = thread();
    // SAFETY: as in `is_of_context`.
    unsafe {
        let (mut slot, mut level) = ((*state).current, 0);
        while !slot.is_null() {
            let head = Head::from_word((*slot).head);
            if head.kind != Kind::Span as u8 {
                break;
            }
            if head.name == name {
                return Some(level);
            }
            (slot, level) = ((*slot).up, level + 1);
        }
    }
    None
}

/// Sets the attributes that a scope was described with.
///
/// # Safety
/// The lock is held; `scope` is alive.
pub unsafe fn set_described(opened: Opened, scope: *mut crate::scope::Scope) {
    if opened.id == 0 {
        return;
    }
    // SAFETY: by the contract. What is set is held: its code may run anything.
    unsafe {
        let attributes = (*scope).all_attributes();
        set_fixed(opened, &attributes.fixed);
        ffi::Py_INCREF(scope.cast());
        for (key, value) in attributes.late {
            set(opened, key, value);
        }
        ffi::Py_DECREF(scope.cast());
    }
}
