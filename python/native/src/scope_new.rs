//! `hodo.scope(...)`: what its arguments say.

use crate::names::{self, Role};
use crate::record;
use crate::scope::{Scope, more, new};
use crate::values::{self, Value};
use hodo_record::binding::{AttrsRecord, code, span_head};
use hodo_record::{flag, is_on};
use pyo3::ffi::{self, PyObject};

/// `hodo.scope(name, index=None, *, tag=None, repeat=None, warmup=0, **attrs)`.
pub unsafe extern "C-unwind" fn scope(
    _module: *mut PyObject,
    args: *const *mut PyObject,
    count: ffi::Py_ssize_t,
    keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: the interpreter passes the arguments as it says, and holds the lock.
    unsafe {
        let count = count as usize;
        let is_plain =
            (1..=2).contains(&count) && ffi::Py_TYPE(*args) == &raw mut ffi::PyUnicode_Type;
        if !is_plain {
            return unusual(args, count, keywords);
        }
        let scope = new(*args);
        if scope.is_null() {
            return std::ptr::null_mut();
        }
        if is_on() {
            (*scope).head = span_head(names::known(*args).id, 0);
        }
        if count == 2 {
            set_index(scope, *args.add(1));
        }
        if !keywords.is_null() && !set_keywords(scope, args.add(count), keywords) {
            ffi::Py_DECREF(scope.cast());
            return std::ptr::null_mut();
        }
        scope.cast()
    }
}

/// Anything but a name that is a plain string, and perhaps an index.
#[cold]
#[inline(never)]
unsafe fn unusual(
    args: *const *mut PyObject,
    count: usize,
    keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `scope`.
    unsafe {
        if count == 0 {
            return keyword_name(args, keywords);
        }
        if count > 2 {
            return raise_type("scope() takes a name and an index; everything else by keyword");
        }
        let first = *args;
        if count == 1 && keywords.is_null() && is_decorated(first) {
            return record::call_python(c"hodo._decorate", c"bare", &[first]);
        }
        let name = text_object(first);
        if name.is_null() {
            return name;
        }
        let mut all = Vec::with_capacity(8);
        all.push(name);
        all.extend((1..count + keyword_count(keywords)).map(|i| *args.add(i)));
        let made = scope(std::ptr::null_mut(), all.as_ptr(), count as isize, keywords);
        ffi::Py_DECREF(name);
        made
    }
}

/// Whether `@scope` stands on this: a function, or one that is wrapped for its class.
unsafe fn is_decorated(object: *mut PyObject) -> bool {
    // SAFETY: the lock is held.
    unsafe {
        ffi::PyCallable_Check(object) != 0
            || ffi::PyObject_HasAttrString(object, c"__func__".as_ptr()) != 0
    }
}

unsafe fn keyword_count(keywords: *mut PyObject) -> usize {
    // SAFETY: the lock is held; keywords are a tuple or null.
    if keywords.is_null() { 0 } else { unsafe { ffi::PyTuple_Size(keywords) as usize } }
}

/// `scope(name="x")`: the name is among the keywords.
unsafe fn keyword_name(args: *const *mut PyObject, keywords: *mut PyObject) -> *mut PyObject {
    // SAFETY: as for `scope`.
    unsafe {
        let count = keyword_count(keywords);
        let at = (0..count).find(|&i| {
            let key = ffi::PyTuple_GetItem(keywords, i as isize);
            names::with_text(key, |text| text == "name")
        });
        let Some(at) = at else { return raise_type("scope() needs a name") };
        let name = text_object(*args.add(at));
        if name.is_null() {
            return name;
        }
        let others = (0..count).filter(|&i| i != at);
        let mut all = vec![name];
        all.extend(others.clone().map(|i| *args.add(i)));
        let rest = ffi::PyTuple_New(count as isize - 1);
        for (to, from) in others.enumerate() {
            let key = ffi::PyTuple_GetItem(keywords, from as isize);
            ffi::Py_INCREF(key);
            ffi::PyTuple_SetItem(rest, to as isize, key);
        }
        let made = scope(std::ptr::null_mut(), all.as_ptr(), 1, rest);
        ffi::Py_DECREF(rest);
        ffi::Py_DECREF(name);
        made
    }
}

/// A plain string that says what `value` is: itself, or its text, counted.
unsafe fn text_object(value: *mut PyObject) -> *mut PyObject {
    // SAFETY: the lock is held.
    unsafe {
        if ffi::Py_TYPE(value) == &raw mut ffi::PyUnicode_Type {
            ffi::Py_INCREF(value);
            return value;
        }
        if ffi::PyUnicode_Check(value) == 0 {
            *values::STORED_AS_TEXT.get() += 1;
        }
        record::text(&values::shown(value))
    }
}

pub unsafe fn raise_type(message: &str) -> *mut PyObject {
    // SAFETY: the lock is held; the message is copied.
    unsafe {
        if let Ok(message) = std::ffi::CString::new(message) {
            ffi::PyErr_SetString(ffi::PyExc_TypeError, message.as_ptr());
        }
        std::ptr::null_mut()
    }
}

#[inline(always)]
unsafe fn set_index(scope: *mut Scope, index: *mut PyObject) {
    // SAFETY: the lock is held.
    unsafe {
        if ffi::Py_TYPE(index) == &raw mut ffi::PyLong_Type {
            let mut overflow = 0;
            (*scope).index = ffi::PyLong_AsLongLongAndOverflow(index, &mut overflow);
            if overflow == 0 {
                (*scope).flags |= flag::HAS_INDEX;
                return;
            }
        }
        if index != ffi::Py_None() {
            set_unusual_index(scope, index);
        }
    }
}

/// An index of numpy's or the like is one; anything else becomes an attribute called so.
#[cold]
unsafe fn set_unusual_index(scope: *mut Scope, index: *mut PyObject) {
    // SAFETY: the lock is held.
    unsafe {
        if let Value::Fixed(code::I64, word) = values::convert(index) {
            (*scope).index = word as i64;
            (*scope).flags |= flag::HAS_INDEX;
            return;
        }
        *values::STORED_AS_TEXT.get() += 1;
        let key = record::text("index");
        if !key.is_null() {
            keep_late(scope, key, index);
            ffi::Py_DECREF(key);
        }
    }
}

pub unsafe fn keep_late(scope: *mut Scope, key: *mut PyObject, value: *mut PyObject) {
    // SAFETY: the lock is held; `drop_more` gives both back.
    unsafe {
        ffi::Py_INCREF(key);
        ffi::Py_INCREF(value);
        more(scope).late.push((key, value));
    }
}

/// Takes the keywords; false with an exception set when one makes no sense.
#[inline(always)]
unsafe fn set_keywords(
    scope: *mut Scope,
    given: *const *mut PyObject,
    keywords: *mut PyObject,
) -> bool {
    // SAFETY: as for `scope`; there are as many values as keywords.
    unsafe {
        let on = (*scope).head != 0;
        for i in 0..ffi::PyTuple_Size(keywords) {
            let (key, value) = (ffi::PyTuple_GetItem(keywords, i), *given.offset(i));
            if on {
                let known = names::known(key);
                match known.role {
                    Role::Attribute => {
                        set_attribute(scope, key, known.id, value);
                        continue;
                    }
                    Role::Index => {
                        set_index(scope, value);
                        continue;
                    }
                    _ => {}
                }
            }
            if !set_late_keyword(scope, key, value) {
                return false;
            }
        }
        true
    }
}

#[inline(always)]
unsafe fn set_attribute(scope: *mut Scope, key: *mut PyObject, id: u32, value: *mut PyObject) {
    // SAFETY: the lock is held; the place is within bounds.
    unsafe {
        let place = usize::from((*scope).count);
        match values::fixed(value) {
            Some((code, word)) if place < AttrsRecord::CAPACITY => {
                (&mut (*scope).codes)[place] = code;
                (&mut (*scope).keys)[place] = id;
                (&mut (*scope).words)[place] = word;
                (*scope).count += 1;
            }
            _ => keep_late(scope, key, value),
        }
    }
}

/// A keyword with a meaning of its own, or any keyword while no recorder is on.
#[inline(never)]
unsafe fn set_late_keyword(scope: *mut Scope, key: *mut PyObject, value: *mut PyObject) -> bool {
    // SAFETY: the lock is held.
    unsafe {
        let is_none = value == ffi::Py_None();
        match names::with_text(key, names::role) {
            Role::Index => set_index(scope, value),
            Role::Repeat if is_none => {}
            Role::Repeat => match whole(value) {
                Some(repeat) => more(scope).repeat = Some(repeat),
                None => return !raise_type("scope(repeat=...) takes a whole number").is_null(),
            },
            Role::Warmup => match whole(value) {
                Some(0) => {}
                Some(warmup) => more(scope).warmup = warmup,
                None => return !raise_type("scope(warmup=...) takes a whole number").is_null(),
            },
            Role::Tag if is_none => {}
            Role::Tag | Role::Attribute => keep_late(scope, key, value),
        }
        true
    }
}

unsafe fn whole(value: *mut PyObject) -> Option<i64> {
    // SAFETY: the lock is held.
    match unsafe { values::convert(value) } {
        Value::Fixed(code::I64, word) if (word as i64) >= 0 => Some(word as i64),
        _ => None,
    }
}
