//! State that only the holder of Python's global lock touches.

use std::cell::UnsafeCell;

/// A value guarded by the global interpreter lock. Free-threaded builds cannot load this module:
/// it is built against the stable interface, which they do not offer.
pub struct Gil<T>(UnsafeCell<T>);

// SAFETY: every access goes through `get`, whose callers hold the lock.
unsafe impl<T> Sync for Gil<T> {}

impl<T> Gil<T> {
    /// A value to be shared.
    pub const fn new(value: T) -> Gil<T> {
        Gil(UnsafeCell::new(value))
    }

    /// The value; whoever uses the pointer holds the lock and keeps no reference across a call
    /// into Python.
    #[inline(always)]
    pub const fn get(&self) -> *mut T {
        self.0.get()
    }
}
