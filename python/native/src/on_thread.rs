//! What each thread holds: its own stack, and the one that is on top of it.

use crate::stack::Stack;
use hodo_record::binding::Entered;
use pyo3::ffi::{self, PyObject};
use std::cell::Cell;
use std::sync::Mutex;

std::thread_local! {
    pub static ON_THREAD: OnThread = const { OnThread::new() };
}

/// The stacks of a thread, held: its own, and the one on top of it. Null for none.
pub struct OnThread {
    pub base: Cell<*mut Stack>,
    pub top: Cell<*mut Stack>,
    /// The thread's own count of `enter_new_scope`, while another context's is in its place.
    pub base_numbers: Cell<u64>,
    /// What the recorder gave when the top was put there.
    pub entered: Cell<Entered>,
}

/// Stacks that ended threads held; the lock is not held where a thread ends.
static LEFT_BEHIND: Mutex<Vec<usize>> = Mutex::new(Vec::new());

impl OnThread {
    const fn new() -> OnThread {
        let none = std::ptr::null_mut();
        OnThread {
            base: Cell::new(none),
            top: Cell::new(none),
            base_numbers: Cell::new(0),
            entered: Cell::new(Entered::INERT),
        }
    }
}

impl Drop for OnThread {
    fn drop(&mut self) {
        let Ok(mut left) = LEFT_BEHIND.lock() else { return };
        let held = [self.base.get(), self.top.get()];
        left.extend(held.iter().filter(|stack| !stack.is_null()).map(|&stack| stack as usize));
    }
}

/// One of the thread's places.
pub fn on_thread(which: impl Fn(&OnThread) -> &Cell<*mut Stack>) -> *mut Stack {
    ON_THREAD.try_with(|held| which(held).get()).unwrap_or(std::ptr::null_mut())
}

/// The stack on top of the thread's own.
pub fn installed() -> *mut Stack {
    on_thread(|held| &held.top)
}

/// Puts a stack, or none, into one of the thread's places.
///
/// # Safety
/// The lock is held.
pub unsafe fn hold(which: impl Fn(&OnThread) -> &Cell<*mut Stack>, stack: *mut Stack) {
    // SAFETY: the lock is held; the place holds what it points at.
    unsafe {
        ffi::Py_XINCREF(stack.cast());
        let before = ON_THREAD.try_with(|held| which(held).replace(stack));
        ffi::Py_XDECREF(before.unwrap_or(stack).cast());
    }
}

/// Gives up what ended threads held.
///
/// # Safety
/// The lock is held.
pub unsafe fn give_up_left_behind() {
    let left = LEFT_BEHIND.try_lock().map(|mut left| std::mem::take(&mut *left));
    for stack in left.unwrap_or_default() {
        // SAFETY: the lock is held; the thread that held it has ended.
        unsafe { ffi::Py_DECREF(stack as *mut PyObject) };
    }
}
