//! Scopes that begin here and end anywhere, and parents on other threads.

use crate::guarded;
use crate::layout::SlotState;
use crate::scope::{Scope, hodo_set};
use crate::value::Value;
use hodo_record::binding::{self, Begun, table};
use hodo_record::is_on;

/// A scope that may end on another thread, or a reference to one; nothing in it is for the caller.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Handle {
    /// Where it is kept; null in a mere reference, and when nothing is recorded.
    pub slot: *mut SlotState,
    /// Its id; 0 when it is not recorded.
    pub id: u64,
    /// The recorder it belongs to.
    pub process: u64,
    /// Scopes around one that is opened in it.
    pub depth: u32,
}

/// What `hodo_attach` changed; to be given to `hodo_detach`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Entered {
    /// Nothing here is for the caller.
    pub words: [usize; 4],
}

const _: () = {
    assert!(size_of::<Handle>() == size_of::<Begun>());
    assert!(size_of::<Entered>() == size_of::<binding::Entered>());
};

const NOTHING: Handle = of(Begun::INERT);

const fn of(begun: Begun) -> Handle {
    let Begun { slot, id, process, depth } = begun;
    Handle { slot: slot.cast(), id, process, depth }
}

impl Handle {
    fn begun(self) -> Begun {
        Begun { slot: self.slot.cast(), id: self.id, process: self.process, depth: self.depth }
    }
}

/// Begins a scope that belongs to no thread, under the calling thread's current one; it does not
/// become current itself.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_begin(name: u32, flags: u16, index: i64) -> Handle {
    guarded(NOTHING, || {
        let table = table().filter(|_| is_on());
        table.map_or(NOTHING, |table| of((table.begin)(name, flags, index)))
    })
}

/// Ends it, on any thread, with 0 or `HODO_FLAG_FAILED`; a second time does nothing and is counted.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_end(handle: Handle, flags: u16) {
    guarded((), || {
        if let Some(table) = table().filter(|_| handle.id != 0 && !handle.slot.is_null()) {
            (table.end)(handle.begun(), flags);
        }
    });
}

/// Sets attributes of a begun scope.
///
/// # Safety
/// As for `hodo_set`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_set_begun(handle: Handle, values: *const Value, count: usize) {
    let scope = Scope { slot: handle.slot, id: handle.id };
    // SAFETY: by the contract.
    unsafe { hodo_set(std::ptr::null_mut(), scope, values, count) };
}

/// A reference to the calling thread's current scope, to be attached on another.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_current() -> Handle {
    guarded(NOTHING, || table().filter(|_| is_on()).map_or(NOTHING, |table| of((table.link)())))
}

/// A reference to no scope: what opens while it is attached has no parent.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_outside() -> Handle {
    of(Begun::OUTSIDE)
}

/// Makes a scope current on the calling thread, until `hodo_detach`.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_attach(handle: Handle) -> Entered {
    let entered = guarded(binding::Entered::INERT, || {
        let table = table().filter(|_| is_on());
        table.map_or(binding::Entered::INERT, |table| (table.enter)(handle.begun()))
    });
    // SAFETY: three pointers and a number, padded; zeroed first, so that every byte is one.
    unsafe {
        let mut kept = Entered { words: [0; 4] };
        (&raw mut kept).cast::<binding::Entered>().write(entered);
        kept
    }
}

/// Undoes `hodo_attach`, on the same thread.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_detach(entered: Entered) {
    guarded((), || {
        if let Some(table) = table() {
            // SAFETY: `hodo_attach` put it there; all zero, it is one that does nothing.
            (table.leave)(unsafe { (&raw const entered).cast::<binding::Entered>().read() });
        }
    });
}
