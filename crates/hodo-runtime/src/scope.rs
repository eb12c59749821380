//! Scopes, attributes and marks, as C and C++ reach them.
//!
//! The calling thread's state is kept by the caller, in a thread-local of its own: reading one of a
//! shared library costs more than everything else these functions do.

use crate::guarded;
use hodo_record::binding::{self, DROPPED, INERT, Opened, Slot, Thread, table};
use hodo_record::{binding::Begun, binding::Entered, binding::Raw, is_on};

/// A scope that was opened; nothing in it is for the caller.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Scope {
    /// Where it is kept; null when nothing is recorded.
    pub slot: *mut Slot,
    /// Its id; 0 when it is not recorded.
    pub id: u64,
}

impl From<Opened> for Scope {
    fn from(opened: Opened) -> Scope {
        Scope { slot: opened.slot, id: opened.id }
    }
}

/// A thread's state; nothing in it is for the caller.
pub type ThreadState = *mut Thread;

/// The id of a text, to name scopes, attributes and marks with; 0 while no recorder is on.
///
/// # Safety
/// `text` points at `length` bytes; what is not UTF-8 in them is replaced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_name(text: *const u8, length: usize) -> u32 {
    guarded(0, || {
        let Some(table) = table().filter(|_| is_on() && !text.is_null()) else { return 0 };
        // SAFETY: by the contract.
        unsafe { (table.intern)(text, length) }
    })
}

/// The first word of a scope with this name: what `hodo_open` takes.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_head(name: u32, flags: u16) -> u64 {
    binding::span_head(name, flags)
}

/// Opens a scope on the calling thread.
///
/// # Safety
/// `thread` points at a variable of the calling thread's own, null at first, that only these
/// functions write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_open(thread: *mut ThreadState, head: u64, index: i64) -> Scope {
    // SAFETY: by the contract the state is the calling thread's own.
    unsafe {
        let state = *thread;
        let opened = if state.is_null() { None } else { Thread::open(state, || head, index) };
        match opened {
            Some(opened) => opened.into(),
            None => open_slowly(thread, head, index),
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn open_slowly(thread: *mut ThreadState, head: u64, index: i64) -> Scope {
    guarded(Opened::INERT.into(), || {
        let Some(table) = table().filter(|_| is_on()) else { return Opened::INERT.into() };
        let opened = (table.open)(head, index);
        // SAFETY: the caller's variable; the state is the calling thread's or one that fails
        // every check.
        unsafe { *thread = binding::attach_thread() };
        opened.into()
    })
}

/// Closes a scope: that one or nothing.
///
/// # Safety
/// As for `hodo_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_close(thread: *mut ThreadState, scope: Scope) {
    // SAFETY: by the contract; a slot that is not the innermost is left alone.
    unsafe {
        let state = *thread;
        if state.is_null() || !Thread::close(state, scope.slot) {
            close_slowly(scope, false);
        }
    }
}

#[cold]
#[inline(never)]
fn close_slowly(scope: Scope, failed: bool) {
    guarded((), || {
        if let Some(table) = table().filter(|_| scope.slot != INERT) {
            (table.close)(scope.slot, scope.id, failed);
        }
    });
}

/// Marks an open scope as failed.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_fail(scope: Scope) {
    guarded((), || {
        if let Some(table) = table().filter(|_| scope.slot != INERT && scope.slot != DROPPED) {
            (table.fail)(scope.slot, scope.id);
        }
    });
}

/// Takes an open scope back, as if it had not been opened.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_cancel(scope: Scope) {
    guarded((), || {
        if let Some(table) = table().filter(|_| scope.slot != INERT) {
            (table.cancel)(scope.slot, scope.id);
        }
    });
}

/// Sets attributes of an open scope.
///
/// # Safety
/// `values` points at `count` values, whose texts are UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_set(scope: Scope, values: *const Raw, count: usize) {
    guarded((), || {
        if let Some(table) = table().filter(|_| scope.id != 0 && count > 0) {
            // SAFETY: by the contract.
            unsafe { (table.set)(scope.slot, scope.id, values, count) };
        }
    });
}

/// Makes a mark in the innermost scope of the calling thread.
///
/// # Safety
/// `value` points at a value, whose text is UTF-8; its key is the mark's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_mark(value: *const Raw, summary: bool) {
    guarded((), || {
        if let Some(table) = table().filter(|_| is_on()) {
            // SAFETY: by the contract.
            unsafe { (table.mark)((*value).key, value, summary) };
        }
    });
}

/// Writes the 32 hex digits of a scope's id and a NUL; an empty text when it is not recorded.
///
/// # Safety
/// `text` points at 33 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_id(id: u64, text: *mut u8) {
    guarded((), || {
        let digits = binding::scope_id(id).map_or_else(String::new, |id| id.to_string());
        // SAFETY: by the contract; the text is 32 bytes or none.
        unsafe {
            text.copy_from_nonoverlapping(digits.as_ptr(), digits.len());
            *text.add(digits.len()) = 0;
        }
    });
}

/// Begins a scope that belongs to no thread, under the calling thread's current one.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_begin(name: u32, flags: u16, index: i64) -> Begun {
    guarded(Begun::INERT, || {
        table().filter(|_| is_on()).map_or(Begun::INERT, |table| (table.begin)(name, flags, index))
    })
}

/// Ends a begun scope, on any thread; a second time does nothing and is counted.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_end(begun: Begun, flags: u16) {
    guarded((), || {
        if let Some(table) = table().filter(|_| begun.id != 0) {
            (table.end)(begun, flags);
        }
    });
}

/// Sets attributes of a begun scope.
///
/// # Safety
/// As for `hodo_set`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_set_begun(begun: Begun, values: *const Raw, count: usize) {
    // SAFETY: by the contract.
    unsafe { hodo_set(Scope { slot: begun.slot, id: begun.id }, values, count) };
}

/// The calling thread's current scope, to be attached on another.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_current() -> Begun {
    guarded(Begun::INERT, || {
        table().filter(|_| is_on()).map_or(Begun::INERT, |table| (table.link)())
    })
}

/// Makes a scope current on the calling thread, until `hodo_detach`.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_attach(begun: Begun) -> Entered {
    guarded(Entered::INERT, || {
        table().filter(|_| is_on()).map_or(Entered::INERT, |table| (table.enter)(begun))
    })
}

/// Undoes `hodo_attach`, on the same thread.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_detach(entered: Entered) {
    guarded((), || {
        if let Some(table) = table() {
            (table.leave)(entered);
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
