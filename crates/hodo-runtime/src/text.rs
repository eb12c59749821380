//! Texts as C passes them.

use std::ffi::{CStr, c_char};

/// Copies `from`, NUL-terminated and cut to `size` bytes; returns the bytes the whole text has.
///
/// # Safety
/// `text` is null or points at `size` bytes that may be written.
pub(crate) unsafe fn copy(from: &str, text: *mut c_char, size: usize) -> usize {
    if !text.is_null() && size > 0 {
        let bytes = from.len().min(size - 1);
        // SAFETY: by the contract; one byte is left for the NUL.
        unsafe {
            text.cast::<u8>().copy_from_nonoverlapping(from.as_ptr(), bytes);
            *text.add(bytes) = 0;
        }
    }
    from.len()
}

/// What a text says; nothing for null.
///
/// # Safety
/// `text` is null or ends in a NUL.
pub(crate) unsafe fn words(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by the contract.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
