//! Values of attributes and marks, as C passes them.

use hodo_record::binding::{self, Raw};
use std::borrow::Cow;
use std::ffi::{CStr, c_char};

/// A value of an attribute or a mark; made by `hodo_int` and its like.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Value {
    /// One of `HODO_VALUE_INT` to `HODO_VALUE_JSON`.
    pub code: u32,
    /// `hodo_name` of the attribute's key, or of the mark.
    pub key: u32,
    /// The number; the bits of a `double`; 0 or 1; a name; the address of a text.
    pub word: u64,
    /// Bytes of the text.
    pub length: usize,
}

/// A whole number.
pub const HODO_VALUE_INT: u32 = 1;
/// A `double`.
pub const HODO_VALUE_FLOAT: u32 = 2;
/// True or false.
pub const HODO_VALUE_BOOL: u32 = 3;
/// A text that is the same each time: its `hodo_name`.
pub const HODO_VALUE_NAME: u32 = 4;
/// A text, copied by the call that takes the value.
pub const HODO_VALUE_TEXT: u32 = 16;
/// A JSON document, as text.
pub const HODO_VALUE_JSON: u32 = 17;

const _: () = {
    assert!(size_of::<Value>() == size_of::<Raw>());
    assert!(std::mem::offset_of!(Value, length) == std::mem::offset_of!(Raw, len));
    assert!(
        HODO_VALUE_INT == binding::code::I64 as u32
            && HODO_VALUE_FLOAT == binding::code::F64 as u32
    );
    assert!(
        HODO_VALUE_BOOL == binding::code::BOOL as u32
            && HODO_VALUE_NAME == binding::code::NAME as u32
    );
    assert!(HODO_VALUE_TEXT == binding::TEXT && HODO_VALUE_JSON == binding::JSON);
};

impl Value {
    const NONE: Value = Value { code: 0, key: 0, word: 0, length: 0 };
    /// More of a text is never looked at; the recorder cuts it shorter, and says so.
    const LONGEST: usize = 8 << 10;

    pub(crate) fn is_text(&self) -> bool {
        self.code >= HODO_VALUE_TEXT
    }

    pub(crate) fn raw(&self) -> Raw {
        Raw { code: self.code, key: self.key, word: self.word, len: self.length }
    }

    /// The text; what is not UTF-8 in it is replaced.
    ///
    /// # Safety
    /// The value is text, and points at as many bytes as it says, or at null.
    unsafe fn text(&self) -> Cow<'_, str> {
        if self.word == 0 {
            return Cow::Borrowed("");
        }
        let length = self.length.min(Self::LONGEST);
        // SAFETY: by the contract.
        String::from_utf8_lossy(unsafe {
            std::slice::from_raw_parts(self.word as *const u8, length)
        })
    }

    /// Hands the value over with its text checked.
    ///
    /// # Safety
    /// As for [`Value::text`]; a value that is no text is always fine.
    pub(crate) unsafe fn with_raw(&self, then: impl FnOnce(&Raw)) {
        if !self.is_text() {
            return then(&self.raw());
        }
        // SAFETY: by the contract.
        let text = unsafe { self.text() };
        let code = self.code.min(HODO_VALUE_JSON);
        then(&Raw { code, key: self.key, word: text.as_ptr() as u64, len: text.len() });
    }
}

/// # Safety
/// `text` is null or ends in a NUL.
pub(crate) unsafe fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    // SAFETY: by the contract.
    if text.is_null() { b"" } else { unsafe { CStr::from_ptr(text) }.to_bytes() }
}

/// # Safety
/// `key` is null or ends in a NUL.
unsafe fn value(key: *const c_char, code: u32, word: u64, length: usize) -> Value {
    crate::guarded(Value::NONE, || {
        // SAFETY: by the contract.
        let key = unsafe { bytes(key) };
        Value { code, key: crate::scope::intern(key), word, length }
    })
}

/// A whole number.
///
/// # Safety
/// `key` ends in a NUL; so in the functions that follow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_int(key: *const c_char, number: i64) -> Value {
    // SAFETY: by the contract.
    unsafe { value(key, HODO_VALUE_INT, number as u64, 0) }
}

/// A `double`; NaN and infinities are kept.
///
/// # Safety
/// As for `hodo_int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_float(key: *const c_char, number: f64) -> Value {
    // SAFETY: by the contract.
    unsafe { value(key, HODO_VALUE_FLOAT, number.to_bits(), 0) }
}

/// True or false.
///
/// # Safety
/// As for `hodo_int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_bool(key: *const c_char, truth: bool) -> Value {
    // SAFETY: by the contract.
    unsafe { value(key, HODO_VALUE_BOOL, truth.into(), 0) }
}

/// A text, which must live until the value is passed on; at most 4 KiB of it are kept.
///
/// # Safety
/// As for `hodo_int`; `text` is null or ends in a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_text(key: *const c_char, text: *const c_char) -> Value {
    // SAFETY: by the contract.
    unsafe { value(key, HODO_VALUE_TEXT, text as u64, bytes(text).len()) }
}

/// A JSON document, as `hodo_text`; it is not checked.
///
/// # Safety
/// As for `hodo_text`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_json(key: *const c_char, text: *const c_char) -> Value {
    // SAFETY: by the contract.
    unsafe { value(key, HODO_VALUE_JSON, text as u64, bytes(text).len()) }
}
