//! `hodo.mark`: a value attached to the innermost scope.

use crate::{here, names, record, values};
use hodo_record::binding::{Head, Kind, Raw, Thread, table};
use hodo_record::is_on;
use pyo3::ffi::{self, PyObject};

/// What a call of `mark` says.
struct Call {
    name: *mut PyObject,
    value: *mut PyObject,
    summary: bool,
    /// Positions of the keywords that are attributes.
    attributes: Vec<usize>,
}

/// `hodo.mark(name, value, kind="point", **attrs)`.
pub unsafe extern "C-unwind" fn mark(
    _module: *mut PyObject,
    args: *const *mut PyObject,
    count: ffi::Py_ssize_t,
    keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: the interpreter passes the arguments as it says, and holds the lock.
    unsafe {
        let is_plain =
            count == 2 && keywords.is_null() && ffi::Py_TYPE(*args) == &raw mut ffi::PyUnicode_Type;
        if is_plain && (!is_on() || mark_plainly(*args, *args.add(1))) {
            return record::none();
        }
        mark_slowly(args, count as usize, keywords)
    }
}

#[inline(always)]
unsafe fn mark_plainly(name: *mut PyObject, value: *mut PyObject) -> bool {
    // SAFETY: as for `mark`; a recorder is on.
    unsafe {
        let Some((code, word)) = values::fixed(value) else { return false };
        let name = names::known(name).id;
        let head = Head { kind: Kind::Mark as u8, units: 1, flags: code, name };
        Thread::mark(here::to_look(), head.word(), word)
    }
}

#[cold]
#[inline(never)]
unsafe fn mark_slowly(
    args: *const *mut PyObject,
    count: usize,
    keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `mark`.
    unsafe {
        let Some(call) = understand(args, count, keywords) else { return std::ptr::null_mut() };
        if is_on() {
            here::to_look();
            make(&call, args.add(count), keywords);
        }
        record::none()
    }
}

/// Reads the arguments; `None` with an exception set when they make no sense.
unsafe fn understand(
    args: *const *mut PyObject,
    count: usize,
    keywords: *mut PyObject,
) -> Option<Call> {
    // SAFETY: as for `mark`.
    unsafe {
        let positional = |i: usize| (i < count).then(|| *args.add(i));
        let (mut name, mut value, mut kind) = (positional(0), positional(1), positional(2));
        let mut attributes = Vec::new();
        let names = if keywords.is_null() { 0 } else { ffi::PyTuple_Size(keywords) as usize };
        for i in 0..names {
            let given = *args.add(count + i);
            let key = ffi::PyTuple_GetItem(keywords, i as isize);
            let place = names::with_text(key, |key| match key {
                "name" if name.is_none() => Some(&mut name),
                "value" if value.is_none() => Some(&mut value),
                "kind" if kind.is_none() => Some(&mut kind),
                _ => None,
            });
            match place {
                Some(place) => *place = Some(given),
                None => attributes.push(i),
            }
        }
        let (Some(name), Some(value), true) = (name, value, count <= 3) else {
            crate::scope_new::raise_type("mark() takes a name, a value and a kind");
            return None;
        };
        let summary = kind.is_some_and(|kind| values::shown(kind) == "summary");
        Some(Call { name, value, summary, attributes })
    }
}

unsafe fn make(call: &Call, given: *const *mut PyObject, keywords: *mut PyObject) {
    // SAFETY: as for `mark`; the values live until the calls return.
    unsafe {
        let Some(table) = table() else { return };
        let value = values::convert(call.value);
        let name = name_id(call.name);
        let raw: Raw = value.raw(0);
        if call.attributes.is_empty() {
            (table.mark)(name, &raw, call.summary);
            return;
        }
        let mut text = String::from("{");
        for (i, &at) in call.attributes.iter().enumerate() {
            text.push_str(if i > 0 { "," } else { "" });
            let key = ffi::PyTuple_GetItem(keywords, at as isize);
            values::write_pair(key, *given.add(at), &mut text);
        }
        text.push('}');
        (table.mark_with)(name, &raw, call.summary, text.as_ptr(), text.len());
    }
}

unsafe fn name_id(name: *mut PyObject) -> u32 {
    // SAFETY: the lock is held.
    unsafe {
        if ffi::Py_TYPE(name) == &raw mut ffi::PyUnicode_Type {
            return names::known(name).id;
        }
        if ffi::PyUnicode_Check(name) == 0 {
            *values::STORED_AS_TEXT.get() += 1;
        }
        hodo_record::intern(&values::shown(name))
    }
}
