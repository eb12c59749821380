//! Scopes, attributes and marks, as C and C++ reach them.
//!
//! The calling thread's state is kept by the caller, in a thread-local of its own: reading one of a
//! shared library costs more than everything else these functions do.

use crate::guarded;
use crate::layout::{SlotState, ThreadState};
use crate::value::{Value, bytes};
use hodo_record::binding::{
    self, AttrsRecord, DROPPED, Head, INERT, Kind, MarkRecord, Opened, SpanId, Thread, table,
};
use hodo_record::is_on;
use std::ffi::c_char;

/// A scope that was opened; nothing in it is for the caller.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Scope {
    /// Where it is kept; null when nothing is recorded.
    pub slot: *mut SlotState,
    /// Its id; 0 when it is not recorded.
    pub id: u64,
}

impl From<Opened> for Scope {
    #[inline(always)]
    fn from(opened: Opened) -> Scope {
        Scope { slot: opened.slot.cast(), id: opened.id }
    }
}

/// The scope has an index.
pub const HODO_FLAG_INDEX: u16 = 1;
/// The scope failed.
pub const HODO_FLAG_FAILED: u16 = 2;
/// The scope is a benchmark loop.
pub const HODO_FLAG_BENCH: u16 = 32;
/// The scope is one pass of a benchmark loop.
pub const HODO_FLAG_ITERATION: u16 = 64;
/// The scope is a benchmark loop's warm-up, or a pass of it.
pub const HODO_FLAG_WARMUP: u16 = 128;

const _: () = {
    use hodo_record::flag;
    assert!(HODO_FLAG_INDEX == flag::HAS_INDEX && HODO_FLAG_FAILED == flag::FAILED);
    assert!(HODO_FLAG_BENCH == flag::BENCH && HODO_FLAG_ITERATION == flag::ITERATION);
    assert!(HODO_FLAG_WARMUP == flag::WARMUP);
};

/// The caller's state, or this library's view of it where the caller keeps none.
///
/// # Safety
/// As for `hodo_open`.
#[inline(always)]
unsafe fn state(thread: *mut *mut ThreadState) -> *mut Thread {
    if thread.is_null() {
        return binding::thread();
    }
    // SAFETY: by the contract.
    unsafe { *thread }.cast()
}

pub(crate) fn intern(text: &[u8]) -> u32 {
    let Some(table) = table().filter(|_| is_on()) else { return 0 };
    // SAFETY: the bytes are a slice's; the recorder replaces what is not UTF-8.
    unsafe { (table.intern)(text.as_ptr(), text.len()) }
}

/// The id of a text, to name scopes, attributes and marks with: the same for the same text, for as
/// long as the process lives; 0 while no recorder is on.
///
/// # Safety
/// `text` points at `length` bytes; what is not UTF-8 in them is replaced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_name(text: *const c_char, length: usize) -> u32 {
    guarded(0, || {
        if text.is_null() {
            return 0;
        }
        // SAFETY: by the contract.
        intern(unsafe { std::slice::from_raw_parts(text.cast(), length) })
    })
}

/// The first word of a scope with this name and `HODO_FLAG_INDEX` or other flags: what `hodo_open`
/// takes.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_head(name: u32, flags: u16) -> u64 {
    binding::span_head(name, flags)
}

/// Opens a scope on the calling thread. The index counts if the head has `HODO_FLAG_INDEX`.
///
/// # Safety
/// `thread` points at a `_Thread_local hodo_thread *` of the caller's, null at first, that only
/// these functions write; or is null, which costs a few nanoseconds more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_open(thread: *mut *mut ThreadState, head: u64, index: i64) -> Scope {
    // SAFETY: by the contract the state is the calling thread's own.
    unsafe {
        let state = state(thread);
        let opened = if state.is_null() { None } else { Thread::open(state, head, index) };
        match opened {
            Some(opened) => opened.into(),
            None => open_slowly(thread, head, index),
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn open_slowly(thread: *mut *mut ThreadState, head: u64, index: i64) -> Scope {
    guarded(Opened::INERT.into(), || {
        let Some(table) = table().filter(|_| is_on()) else { return Opened::INERT.into() };
        let opened = (table.open)(head, index);
        let state = binding::attach_thread();
        if !thread.is_null() {
            // SAFETY: the caller's variable; the state is the calling thread's or one that fails
            // every check.
            unsafe { *thread = state.cast() };
        }
        opened.into()
    })
}

/// Opens a scope with this name, looked up each time. `hodo_close` closes it.
///
/// # Safety
/// `name` ends in a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_open_named(name: *const c_char) -> Scope {
    // SAFETY: by the contract.
    unsafe { open_named(name, 0, 0) }
}

/// Opens a scope with this name and an index.
///
/// # Safety
/// As for `hodo_open_named`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_open_indexed(name: *const c_char, index: i64) -> Scope {
    // SAFETY: by the contract.
    unsafe { open_named(name, HODO_FLAG_INDEX, index) }
}

unsafe fn open_named(name: *const c_char, flags: u16, index: i64) -> Scope {
    guarded(Opened::INERT.into(), || {
        if !is_on() {
            return Opened::INERT.into();
        }
        // SAFETY: by the contract of the callers.
        unsafe {
            let name = intern(bytes(name));
            hodo_open(std::ptr::null_mut(), hodo_head(name, flags), index)
        }
    })
}

/// Closes a scope: that one or nothing.
///
/// # Safety
/// As for `hodo_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_close(thread: *mut *mut ThreadState, scope: Scope) {
    // A thread without a state has no innermost slot either: null would be taken for it.
    if scope.slot.is_null() {
        return;
    }
    // SAFETY: by the contract; a slot that is not the innermost is left alone.
    unsafe {
        let state = state(thread);
        if state.is_null() || !Thread::close_if(state, scope.slot.cast(), scope.id) {
            close_slowly(scope);
        }
    }
}

#[cold]
#[inline(never)]
fn close_slowly(scope: Scope) {
    guarded((), || {
        if let Some(table) = table().filter(|_| scope.slot != INERT.cast()) {
            (table.close)(scope.slot.cast(), scope.id, false);
        }
    });
}

/// The thread's CPU ticks at `now`, where what the state says of them no longer holds.
///
/// # Safety
/// `state` is the calling thread's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_resync(state: *mut ThreadState, now: u64) -> u64 {
    guarded(now, || {
        // SAFETY: by the contract.
        table().map_or(now, |table| unsafe { (table.resync)(state.cast(), now) })
    })
}

/// Marks an open scope as failed.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_fail(scope: Scope) {
    let recorded = scope.slot != INERT.cast() && scope.slot != DROPPED.cast();
    guarded((), || {
        if let Some(table) = table().filter(|_| recorded) {
            (table.fail)(scope.slot.cast(), scope.id);
        }
    });
}

/// Takes an open scope back, as if it had not been opened.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_cancel(scope: Scope) {
    guarded((), || {
        if let Some(table) = table().filter(|_| scope.slot != INERT.cast()) {
            (table.cancel)(scope.slot.cast(), scope.id);
        }
    });
}

/// Sets attributes of an open scope. Two have a meaning: `tag` is shown next to the name, and a
/// scope with `error` counts as failed.
///
/// # Safety
/// As for `hodo_open`; `values` points at `count` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_set(
    thread: *mut *mut ThreadState,
    scope: Scope,
    values: *const Value,
    count: usize,
) {
    if scope.id == 0 || count == 0 || values.is_null() {
        return;
    }
    // SAFETY: by the contract.
    unsafe {
        let values = std::slice::from_raw_parts(values, count);
        if !set_quickly(state(thread), scope, values) {
            set_slowly(scope, values);
        }
    }
}

/// Sets a few numbers of the innermost scope, with one record; false when it must be done slowly.
///
/// # Safety
/// As for `hodo_open`.
#[inline(always)]
unsafe fn set_quickly(state: *mut Thread, scope: Scope, values: &[Value]) -> bool {
    let few = values.len() <= AttrsRecord::CAPACITY && !state.is_null();
    if !few || values.iter().any(Value::is_text) {
        return false;
    }
    let mut pairs = [(0, 0, 0); AttrsRecord::CAPACITY];
    for (pair, value) in pairs.iter_mut().zip(values) {
        *pair = (value.key, value.code as u16, value.word);
    }
    let unit = AttrsRecord::unit(SpanId(scope.id), &pairs[..values.len()]);
    // SAFETY: by the contract; a slot that is not the innermost is left alone.
    unsafe { Thread::set(state, scope.slot.cast(), unit) }
}

#[cold]
#[inline(never)]
unsafe fn set_slowly(scope: Scope, values: &[Value]) {
    guarded((), || {
        let Some(table) = table() else { return };
        for value in values {
            // SAFETY: by the contract of `hodo_set`.
            unsafe {
                value.with_raw(|raw| (table.set)(scope.slot.cast(), scope.id, raw, 1));
            }
        }
    });
}

/// Makes a mark in the innermost scope of the calling thread: a point of a series, or with
/// `summary` the one value that stands for the scope.
///
/// # Safety
/// As for `hodo_open`; `value` points at a value, whose key is the mark's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_mark(
    thread: *mut *mut ThreadState,
    value: *const Value,
    summary: bool,
) {
    if value.is_null() || !is_on() {
        return;
    }
    // SAFETY: by the contract.
    unsafe {
        let state = state(thread);
        let value = &*value;
        if state.is_null() || value.is_text() || !mark_quickly(state, value, summary) {
            mark_slowly(thread, value, summary);
        }
    }
}

/// # Safety
/// As for `hodo_open`; the state is not null.
#[inline(always)]
unsafe fn mark_quickly(state: *mut Thread, value: &Value, summary: bool) -> bool {
    let flags = value.code as u16 | if summary { MarkRecord::SUMMARY } else { 0 };
    let head = Head { kind: Kind::Mark as u8, units: 1, flags, name: value.key };
    // SAFETY: by the contract.
    unsafe { Thread::mark(state, head.word(), value.word) }
}

#[cold]
#[inline(never)]
unsafe fn mark_slowly(thread: *mut *mut ThreadState, value: &Value, summary: bool) {
    guarded((), || {
        let Some(table) = table() else { return };
        // SAFETY: by the contract of `hodo_mark`; as in `open_slowly`.
        unsafe {
            value.with_raw(|raw| (table.mark)(value.key, raw, summary));
            if !thread.is_null() {
                *thread = binding::attach_thread().cast();
            }
        }
    });
}

/// Writes the 32 hex digits of a scope's id and a NUL; an empty text when it is not recorded.
///
/// # Safety
/// `text` points at 33 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_id(id: u64, text: *mut c_char) {
    guarded((), || {
        let digits = binding::scope_id(id).map_or_else(String::new, |id| id.to_string());
        // SAFETY: by the contract; the text is 32 bytes or none.
        unsafe {
            text.cast::<u8>().copy_from_nonoverlapping(digits.as_ptr(), digits.len());
            *text.add(digits.len()) = 0;
        }
    });
}

/// The number of the innermost context of the calling thread: 1 outside every scope.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_current_scope_id() -> u64 {
    guarded(1, || {
        if is_on() {
            binding::attach_thread();
        }
        hodo_record::current_scope_id()
    })
}

/// Enters a new context that records nothing: adds one to `hodo_current_scope_id`.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_enter_new_scope() {
    guarded((), || {
        let entered = binding::swap_entered(0);
        binding::swap_entered(entered + 1);
    });
}

/// Leaves it again.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_leave_new_scope() {
    guarded((), || {
        let entered = binding::swap_entered(0);
        binding::swap_entered(entered.saturating_sub(1));
    });
}
