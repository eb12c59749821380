//! Where warnings go: standard error, or a function of the host's.

use std::ffi::c_char;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Takes one warning, of `length` bytes without a NUL. May be called on any thread, the recorder's
/// own included, and must not call hodo.
pub type OnWarning = extern "C" fn(message: *const c_char, length: usize);

static ON_WARNING: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Sends warnings to `on_warning` instead of standard error.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_on_warning(on_warning: OnWarning) {
    ON_WARNING.store(on_warning as *mut (), Ordering::Release);
    crate::guarded((), || hodo_record::set_warn(warn));
}

fn warn(message: &str) {
    let function = ON_WARNING.load(Ordering::Acquire);
    if !function.is_null() {
        // SAFETY: only `hodo_on_warning` stores here, and stores a function of this type.
        let on_warning = unsafe { std::mem::transmute::<*mut (), OnWarning>(function) };
        on_warning(message.as_ptr().cast(), message.len());
    }
}
