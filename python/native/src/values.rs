//! From a Python value to one that can be recorded. Nothing a user passes can raise from here.

use crate::api::running;
use crate::gil::Gil;
use crate::names;
use hodo_record::binding::{JSON, Raw, TEXT, code};
use pyo3::ffi::{self, PyObject};

/// Values that were no number, truth or text and were stored as what `str` says of them.
pub static STORED_AS_TEXT: Gil<u64> = Gil::new(0);

/// Longest text that is looked at; a record holds less.
const MOST_BYTES: usize = 8192;
/// Deepest nesting of lists and dictionaries that is kept as such.
const MOST_DEPTH: u32 = 6;

/// A value ready to be recorded.
pub enum Value {
    /// A code and its word.
    Fixed(u16, u64),
    /// Text.
    Text(String),
    /// A JSON document.
    Json(String),
}

impl Value {
    /// The value as the recorder takes it; valid while this lives.
    pub fn raw(&self, key: u32) -> Raw {
        match self {
            Value::Fixed(code, word) => Raw { code: u32::from(*code), key, word: *word, len: 0 },
            Value::Text(text) => {
                Raw { code: TEXT, key, word: text.as_ptr() as u64, len: text.len() }
            }
            Value::Json(text) => {
                Raw { code: JSON, key, word: text.as_ptr() as u64, len: text.len() }
            }
        }
    }
}

/// The code and word of a value that has a fixed size, without a call into user code.
///
/// # Safety
/// The lock is held.
#[inline(always)]
pub unsafe fn fixed(value: *mut PyObject) -> Option<(u16, u64)> {
    // SAFETY: by the contract.
    unsafe {
        let kind = ffi::Py_TYPE(value);
        if kind == &raw mut ffi::PyFloat_Type {
            return Some((code::F64, float_bits(value)));
        }
        if kind == &raw mut ffi::PyLong_Type {
            let mut overflow = 0;
            let number = ffi::PyLong_AsLongLongAndOverflow(value, &mut overflow);
            return (overflow == 0).then_some((code::I64, number as u64));
        }
        if kind == &raw mut ffi::PyUnicode_Type {
            return names::as_value(value).map(|id| (code::NAME, u64::from(id)));
        }
        if kind == &raw mut ffi::PyBool_Type {
            return Some((code::BOOL, u64::from(value == ffi::Py_True())));
        }
        None
    }
}

/// Whether a float's bits lie right after its header, as in every version so far.
static FLOAT_IS_PLAIN: Gil<bool> = Gil::new(false);

/// Looks where this interpreter keeps the bits of a float.
///
/// # Safety
/// The lock is held.
pub unsafe fn prepare() {
    const TRIED: f64 = -1234.5678;
    // SAFETY: by the contract; a float is larger than what is read.
    unsafe {
        let float = ffi::PyFloat_FromDouble(TRIED);
        if !float.is_null() {
            *FLOAT_IS_PLAIN.get() = plain_bits(float) == TRIED.to_bits();
            ffi::Py_DECREF(float);
        }
    }
}

#[inline(always)]
unsafe fn plain_bits(float: *mut PyObject) -> u64 {
    // SAFETY: the caller has a float.
    unsafe { float.add(1).cast::<u64>().read() }
}

/// The bits of an exact float.
#[inline(always)]
unsafe fn float_bits(float: *mut PyObject) -> u64 {
    // SAFETY: the lock is held.
    unsafe {
        if *FLOAT_IS_PLAIN.get() {
            plain_bits(float)
        } else {
            running::PyFloat_AsDouble(float).to_bits()
        }
    }
}

/// Drops an exception that a value's own code raised. An interrupt is not that code's, and comes
/// again at the program's next step.
unsafe fn forget_error() {
    // SAFETY: the lock is held.
    unsafe {
        if ffi::PyErr_Occurred().is_null() {
            return;
        }
        let interrupted = ffi::PyErr_ExceptionMatches(ffi::PyExc_KeyboardInterrupt) != 0;
        ffi::PyErr_Clear();
        if interrupted {
            ffi::PyErr_SetInterrupt();
        }
    }
}

/// Any value.
///
/// # Safety
/// The lock is held and no exception is set.
pub unsafe fn convert(value: *mut PyObject) -> Value {
    // SAFETY: by the contract.
    unsafe {
        if ffi::PyUnicode_Check(value) != 0 {
            return match names::as_known_value(value) {
                Some(id) => Value::Fixed(code::NAME, id.into()),
                None => Value::Text(text_of(value)),
            };
        }
        if let Some((code, word)) = fixed(value) {
            return Value::Fixed(code, word);
        }
        if ffi::PyLong_Check(value) != 0 {
            return whole(value).unwrap_or_else(|| as_text(value, false));
        }
        if let Some(number) = number(value) {
            return number;
        }
        if value == ffi::Py_None()
            || ffi::PyDict_Check(value) != 0
            || ffi::PyList_Check(value) != 0
            || ffi::PyTuple_Check(value) != 0
        {
            return json(value);
        }
        match item(value) {
            Some(value) => value,
            None => as_text(value, true),
        }
    }
}

unsafe fn whole(value: *mut PyObject) -> Option<Value> {
    let mut overflow = 0;
    // SAFETY: the lock is held.
    unsafe {
        let number = ffi::PyLong_AsLongLongAndOverflow(value, &mut overflow);
        if number == -1 && !ffi::PyErr_Occurred().is_null() {
            forget_error();
            return None;
        }
        (overflow == 0).then_some(Value::Fixed(code::I64, number as u64))
    }
}

unsafe fn fixed_value(value: *mut PyObject) -> Option<Value> {
    // SAFETY: the lock is held.
    unsafe { fixed(value).map(|(code, word)| Value::Fixed(code, word)) }
}

/// What is a number by its type, or says it is a whole one.
unsafe fn number(value: *mut PyObject) -> Option<Value> {
    // SAFETY: the lock is held.
    unsafe {
        if ffi::PyFloat_Check(value) != 0 {
            return Some(Value::Fixed(code::F64, running::PyFloat_AsDouble(value).to_bits()));
        }
        if ffi::PyIndex_Check(value) == 0 {
            return None;
        }
        let index = running::PyNumber_Index(value);
        if index.is_null() {
            forget_error();
            return None;
        }
        let number = whole(index);
        ffi::Py_DECREF(index);
        number
    }
}

/// A scalar of numpy, torch, jax and their like: what its `item` gives, else its `__float__`.
unsafe fn item(value: *mut PyObject) -> Option<Value> {
    // SAFETY: the lock is held; errors of the value's own code stay here.
    unsafe {
        let method = running::PyObject_GetAttrString(value, c"item".as_ptr());
        if method.is_null() {
            forget_error();
            return as_float(value);
        }
        let item = running::PyObject_CallNoArgs(method);
        ffi::Py_DECREF(method);
        if item.is_null() {
            forget_error();
            return None;
        }
        let is_text = ffi::PyUnicode_Check(item) != 0;
        let found = if is_text { Some(convert(item)) } else { fixed_value(item) };
        ffi::Py_DECREF(item);
        found
    }
}

unsafe fn as_float(value: *mut PyObject) -> Option<Value> {
    // SAFETY: the lock is held.
    unsafe {
        let has = running::PyObject_GetAttrString(value, c"__float__".as_ptr());
        if has.is_null() {
            forget_error();
            return None;
        }
        ffi::Py_DECREF(has);
        let number = running::PyFloat_AsDouble(value);
        if !ffi::PyErr_Occurred().is_null() {
            forget_error();
            return None;
        }
        Some(Value::Fixed(code::F64, number.to_bits()))
    }
}

/// What `str` says, or that it said nothing.
unsafe fn as_text(value: *mut PyObject, count: bool) -> Value {
    // SAFETY: the lock is held.
    unsafe {
        if count {
            *STORED_AS_TEXT.get() += 1;
        }
        Value::Text(shown(value))
    }
}

/// What `str` says of any object, cut.
///
/// # Safety
/// The lock is held and no exception is set.
pub unsafe fn shown(value: *mut PyObject) -> String {
    // SAFETY: by the contract.
    unsafe {
        let text = running::PyObject_Str(value);
        if text.is_null() {
            forget_error();
            return format!("<{} that cannot be shown>", type_name(ffi::Py_TYPE(value)));
        }
        let shown = text_of(text);
        ffi::Py_DECREF(text);
        shown
    }
}

/// The name of a type.
///
/// # Safety
/// The lock is held and no exception is set.
pub unsafe fn type_name(kind: *mut ffi::PyTypeObject) -> String {
    // SAFETY: by the contract.
    unsafe {
        let name = running::PyObject_GetAttrString(kind.cast(), c"__name__".as_ptr());
        if name.is_null() {
            forget_error();
            return "object".into();
        }
        let is_text = ffi::PyUnicode_Check(name) != 0;
        let text = if is_text { text_of(name) } else { "object".into() };
        ffi::Py_DECREF(name);
        text
    }
}

unsafe fn text_of(text: *mut PyObject) -> String {
    // SAFETY: the lock is held; the object is a `str`.
    unsafe { names::with_text(text, |text| cut(text).to_owned()) }
}

fn cut(text: &str) -> &str {
    let end = text.floor_char_boundary(MOST_BYTES);
    &text[..end]
}

unsafe fn json(value: *mut PyObject) -> Value {
    let mut text = String::new();
    // SAFETY: the lock is held.
    unsafe { write_json(value, &mut text, 0) };
    Value::Json(text)
}

/// Writes as much of a value as fits; what is no JSON becomes what `str` says.
unsafe fn write_json(value: *mut PyObject, out: &mut String, depth: u32) {
    if out.len() > MOST_BYTES {
        return;
    }
    // SAFETY: the lock is held; what is borrowed from a container is held while it is used, for
    // user code may change the container meanwhile.
    unsafe {
        if value == ffi::Py_None() {
            out.push_str("null");
        } else if depth < MOST_DEPTH && ffi::PyDict_Check(value) != 0 {
            write_dict(value, out, depth);
        } else if depth < MOST_DEPTH
            && (ffi::PyList_Check(value) != 0 || ffi::PyTuple_Check(value) != 0)
        {
            write_list(value, out, depth);
        } else {
            write_scalar(value, out);
        }
    }
}

unsafe fn write_list(value: *mut PyObject, out: &mut String, depth: u32) {
    // SAFETY: as in `write_json`.
    unsafe {
        out.push('[');
        let mut i = 0;
        while i < running::PySequence_Size(value) && out.len() <= MOST_BYTES {
            let element = running::PySequence_GetItem(value, i);
            if element.is_null() {
                forget_error();
                break;
            }
            if i > 0 {
                out.push(',');
            }
            write_json(element, out, depth + 1);
            ffi::Py_DECREF(element);
            i += 1;
        }
        forget_error();
        out.push(']');
    }
}

unsafe fn write_dict(value: *mut PyObject, out: &mut String, depth: u32) {
    // SAFETY: as in `write_json`.
    unsafe {
        out.push('{');
        let pairs = ffi::PyDict_Items(value);
        if pairs.is_null() {
            forget_error();
        } else {
            for i in 0..ffi::PyList_Size(pairs) {
                if out.len() > MOST_BYTES {
                    break;
                }
                if i > 0 {
                    out.push(',');
                }
                let pair = ffi::PyList_GetItem(pairs, i);
                write_text(&shown(ffi::PyTuple_GetItem(pair, 0)), out);
                out.push(':');
                write_json(ffi::PyTuple_GetItem(pair, 1), out, depth + 1);
            }
            ffi::Py_DECREF(pairs);
        }
        out.push('}');
    }
}

/// Writes `"key":value`.
///
/// # Safety
/// The lock is held and no exception is set.
pub unsafe fn write_pair(key: *mut PyObject, value: *mut PyObject, out: &mut String) {
    // SAFETY: by the contract.
    unsafe {
        write_text(&shown(key), out);
        out.push(':');
        write_json(value, out, 1);
    }
}

unsafe fn write_scalar(value: *mut PyObject, out: &mut String) {
    // SAFETY: as in `write_json`.
    unsafe {
        if ffi::PyUnicode_Check(value) != 0 {
            return write_text(&text_of(value), out);
        }
        match fixed_value(value).or_else(|| number(value)).or_else(|| item(value)) {
            Some(Value::Fixed(code::I64, word)) => out.push_str(&(word as i64).to_string()),
            Some(Value::Fixed(code::F64, word)) if f64::from_bits(word).is_finite() => {
                out.push_str(&format!("{:?}", f64::from_bits(word)));
            }
            Some(Value::Fixed(code::BOOL, word)) => {
                out.push_str(if word != 0 { "true" } else { "false" });
            }
            _ => write_text(&shown(value), out),
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}
