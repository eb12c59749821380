//! Names and keys: from a string object to its id by address.
//!
//! The cache holds its strings, so an address in it always means the same text. A string that was
//! made for one use misses, and is looked up by content.

use crate::gil::Gil;
use hodo_record::intern;
use pyo3::ffi;
use pyo3::ffi::PyObject;

const WAYS: usize = 2;
const SETS: usize = 1024;

/// What a keyword of `scope` means besides being an attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Nothing.
    Attribute,
    Index,
    Tag,
    Repeat,
    Warmup,
}

/// A known string.
#[derive(Clone, Copy)]
pub struct Known {
    text: *mut PyObject,
    pub id: u32,
    pub role: Role,
    /// Whether the id stands for the whole text: a long one is cut.
    is_whole: bool,
}

const EMPTY: Known =
    Known { text: std::ptr::null_mut(), id: 0, role: Role::Attribute, is_whole: false };
/// Longest text, in characters, that the cache keeps alive.
const MOST_KEPT_CHARACTERS: isize = 1024;
/// Longest text, in characters, that a value is given an id for.
const MOST_VALUE_CHARACTERS: isize = 256;
static CACHE: Gil<[[Known; WAYS]; SETS]> = Gil::new([[EMPTY; WAYS]; SETS]);

/// Strings that were seen as values once; one that comes again is worth an id.
static SEEN: Gil<[*mut PyObject; SETS]> = Gil::new([std::ptr::null_mut(); SETS]);

#[inline(always)]
fn set_of(text: *mut PyObject) -> usize {
    let address = text as usize;
    (address >> 4 ^ address >> 14) % SETS
}

/// What is known about `text`, an exact `str`; it is learnt if need be. While a recorder is on.
///
/// # Safety
/// The lock is held.
#[inline(always)]
pub unsafe fn known(text: *mut PyObject) -> Known {
    // SAFETY: by the contract.
    unsafe { find(text).unwrap_or_else(|| learn(text)) }
}

/// # Safety
/// The lock is held.
#[inline(always)]
pub unsafe fn find(text: *mut PyObject) -> Option<Known> {
    // SAFETY: by the contract; the set is within bounds.
    let set = unsafe { &(*CACHE.get())[set_of(text)] };
    set.iter().find(|known| std::ptr::eq(known.text, text)).copied()
}

#[cold]
#[inline(never)]
unsafe fn learn(text: *mut PyObject) -> Known {
    // SAFETY: the lock is held; a string that leaves the cache is given back.
    unsafe {
        let (id, role) = with_text(text, |text| (intern(text_or_placeholder(text)), role(text)));
        let is_whole = (1..=MOST_VALUE_CHARACTERS).contains(&ffi::PyUnicode_GetLength(text));
        let known = Known { text, id, role, is_whole };
        if id != 0 && ffi::PyUnicode_GetLength(text) <= MOST_KEPT_CHARACTERS {
            ffi::Py_INCREF(text);
            let set = &mut (*CACHE.get())[set_of(text)];
            let out = set[WAYS - 1].text;
            set.rotate_right(1);
            set[0] = known;
            ffi::Py_XDECREF(out);
        }
        known
    }
}

/// The empty string's id means "no string", so an empty name is shown as one.
fn text_or_placeholder(text: &str) -> &str {
    if text.is_empty() { "(empty)" } else { text }
}

pub fn role(text: &str) -> Role {
    match text {
        "index" => Role::Index,
        "tag" => Role::Tag,
        "repeat" => Role::Repeat,
        "warmup" => Role::Warmup,
        _ => Role::Attribute,
    }
}

/// The id of a string used as a value, if it is worth one: a literal is the same object each time,
/// a string made for one use is not and stays text.
///
/// # Safety
/// The lock is held; `text` is an exact `str`.
#[inline(always)]
pub unsafe fn as_value(text: *mut PyObject) -> Option<u32> {
    // SAFETY: by the contract.
    unsafe {
        match find(text) {
            Some(known) => known.is_whole.then_some(known.id),
            None => second_sight(text),
        }
    }
}

/// The same of a string that has been looked at before: nothing is learnt.
///
/// # Safety
/// As for [`as_value`].
pub unsafe fn as_known_value(text: *mut PyObject) -> Option<u32> {
    // SAFETY: by the contract.
    unsafe { find(text).filter(|known| known.is_whole).map(|known| known.id) }
}

#[cold]
#[inline(never)]
unsafe fn second_sight(text: *mut PyObject) -> Option<u32> {
    // SAFETY: the lock is held; the place owns what it points at.
    unsafe {
        let length = ffi::PyUnicode_GetLength(text);
        if !(1..=MOST_VALUE_CHARACTERS).contains(&length) {
            return None;
        }
        let place = &mut (&mut *SEEN.get())[set_of(text)];
        if std::ptr::eq(*place, text) {
            return Some(learn(text).id).filter(|&id| id != 0);
        }
        ffi::Py_INCREF(text);
        ffi::Py_XDECREF(std::mem::replace(place, text));
        None
    }
}

/// Calls `with` with the text of a `str`; what UTF-8 cannot say is escaped.
///
/// # Safety
/// The lock is held; `text` is a `str` or a subclass's.
pub unsafe fn with_text<T>(text: *mut PyObject, with: impl FnOnce(&str) -> T) -> T {
    let mut length = 0;
    // SAFETY: by the contract; the bytes belong to the string, which the caller holds.
    unsafe {
        let bytes = ffi::PyUnicode_AsUTF8AndSize(text, &mut length);
        if !bytes.is_null() {
            let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), length as usize);
            return with(std::str::from_utf8_unchecked(bytes));
        }
        ffi::PyErr_Clear();
        let errors = c"backslashreplace".as_ptr();
        let encoded = ffi::PyUnicode_AsEncodedString(text, c"utf-8".as_ptr(), errors);
        if encoded.is_null() {
            ffi::PyErr_Clear();
            return with("(unreadable text)");
        }
        let bytes = ffi::PyBytes_AsString(encoded).cast::<u8>();
        let bytes = std::slice::from_raw_parts(bytes, ffi::PyBytes_Size(encoded) as usize);
        let result = with(&String::from_utf8_lossy(bytes));
        ffi::Py_DECREF(encoded);
        result
    }
}
