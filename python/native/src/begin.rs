//! `hodo.begin` and what its handle does with values of the program's: against the C interface of
//! Python, for a daemon thread may be ended inside of their code.

use crate::gil::Gil;
use crate::handles::{Begin, Steps};
use crate::scope_new::raise_type;
use crate::scope_type::{as_scope, fast};
use crate::values::{self, Value};
use crate::{here, record};
use hodo_record::binding::{code, table};
use hodo_record::is_on;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Methods that `Begin` gets besides those it has.
static METHODS: Gil<[ffi::PyMethodDef; 4]> = Gil::new([
    fast(c"set", set, c"set($self, /, **attrs)\n--\n\nSet attributes of the scope."),
    fast(
        c"mark",
        mark,
        c"mark($self, name, value, kind='point', /, **attrs)\n--\n\nAttach a value to the scope.",
    ),
    fast(
        c"end",
        end,
        c"end($self, error=None, /)\n--\n\nEnd the scope; a second time does nothing. With an exception, or a type of one, as failed.",
    ),
    fast(c"__exit__", exit, c""),
]);

/// Gives the type its methods.
///
/// # Safety
/// The lock is held; `kind` is the type of [`Begin`].
pub unsafe fn prepare(kind: *mut PyObject) -> Result<(), ()> {
    // SAFETY: by the contract; the methods live as long as the program.
    unsafe {
        let methods = METHODS.get().cast::<ffi::PyMethodDef>();
        for i in 0..4 {
            let method = methods.add(i);
            let made = ffi::PyDescr_NewMethod(kind.cast(), method);
            if made.is_null() || ffi::PyObject_SetAttrString(kind, (*method).ml_name, made) != 0 {
                return Err(());
            }
            ffi::Py_DECREF(made);
        }
    }
    Ok(())
}

unsafe fn this<'py>(object: *mut PyObject) -> Option<(Python<'py>, Bound<'py, Begin>)> {
    // SAFETY: the interpreter holds the lock where this is called from.
    unsafe {
        let py = Python::assume_attached();
        let begin = Bound::from_borrowed_ptr(py, object).cast_into::<Begin>().ok()?;
        Some((py, begin))
    }
}

/// `hodo.begin(name, index=None, **attrs)`.
pub unsafe extern "C-unwind" fn begin(
    _module: *mut PyObject,
    args: *const *mut PyObject,
    count: ffi::Py_ssize_t,
    keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: the interpreter passes the arguments as it says, and holds the lock.
    unsafe {
        let scope = crate::scope_new::scope(std::ptr::null_mut(), args, count, keywords);
        let Some(described) = as_scope(scope) else {
            if !scope.is_null() {
                ffi::Py_DECREF(scope);
                return raise_type("begin() needs a name");
            }
            return scope;
        };
        let py = Python::assume_attached();
        let name = Bound::from_borrowed_ptr(py, (*described).name());
        let begun = match name.cast::<PyString>() {
            Ok(name) => Py::new(py, Begin::start(name, (*described).index())),
            Err(error) => Err(error.into()),
        };
        let result = match begun {
            Ok(begun) => {
                record::set_described(begun.get().opened(), described);
                begun.into_ptr()
            }
            Err(error) => {
                error.restore(py);
                std::ptr::null_mut()
            }
        };
        ffi::Py_DECREF(scope);
        result
    }
}

/// Another scope that says the same. Not a method of it: a compiler that looks into a decorated
/// function can be told what to see in place of a function.
pub unsafe extern "C-unwind" fn again(
    _module: *mut PyObject,
    template: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `begin`.
    unsafe {
        match as_scope(template) {
            Some(_) => crate::scope::again(template),
            None => raise_type("again() takes a scope"),
        }
    }
}

/// The steps of a decorated generator, by the scope that describes them.
pub unsafe extern "C-unwind" fn steps(
    _module: *mut PyObject,
    args: *const *mut PyObject,
    count: ffi::Py_ssize_t,
    _keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `begin`.
    unsafe {
        let template = if count == 1 { *args } else { std::ptr::null_mut() };
        let Some(scope) = as_scope(template) else {
            return raise_type("steps are those of a scope");
        };
        let py = Python::assume_attached();
        match Steps::start(py, scope).and_then(|steps| Ok((steps.opened(), Py::new(py, steps)?))) {
            Ok((opened, steps)) => {
                record::set_described(opened, scope);
                steps.into_ptr()
            }
            Err(error) => {
                error.restore(py);
                std::ptr::null_mut()
            }
        }
    }
}

unsafe extern "C-unwind" fn set(
    object: *mut PyObject,
    args: *const *mut PyObject,
    count: ffi::Py_ssize_t,
    keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `begin`.
    unsafe {
        if count != 0 {
            return raise_type("set() takes attributes by keyword, as in set(bytes=10)");
        }
        let Some((_, begin)) = this(object) else { return raise_type("this needs a begun scope") };
        let opened = begin.get().opened();
        if is_on() && !keywords.is_null() {
            for i in 0..ffi::PyTuple_Size(keywords) {
                record::set(opened, ffi::PyTuple_GetItem(keywords, i), *args.offset(i));
            }
        }
        record::none()
    }
}

unsafe extern "C-unwind" fn mark(
    object: *mut PyObject,
    args: *const *mut PyObject,
    count: ffi::Py_ssize_t,
    keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `begin`.
    unsafe {
        let Some((_, begin)) = this(object) else { return raise_type("this needs a begun scope") };
        let Some(table) = table().filter(|_| is_on()) else {
            return crate::mark::mark(object, args, count, keywords);
        };
        here::to_change();
        let entered = (table.enter)(begin.get().begun());
        let result = crate::mark::mark(object, args, count, keywords);
        (table.leave)(entered);
        result
    }
}

unsafe extern "C-unwind" fn end(
    object: *mut PyObject,
    args: *const *mut PyObject,
    count: ffi::Py_ssize_t,
    keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `begin`.
    unsafe {
        let named = if keywords.is_null() { 0 } else { ffi::PyTuple_Size(keywords) };
        let error = if count + named > 0 { *args } else { ffi::Py_None() };
        finish(object, error)
    }
}

unsafe extern "C-unwind" fn exit(
    object: *mut PyObject,
    args: *const *mut PyObject,
    count: ffi::Py_ssize_t,
    _keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `begin`.
    unsafe { finish(object, if count > 0 { *args } else { ffi::Py_None() }) }
}

/// Ends a begun scope; with an exception, or a type of one, as failed.
unsafe fn finish(object: *mut PyObject, error: *mut PyObject) -> *mut PyObject {
    // SAFETY: as for `begin`.
    unsafe {
        let Some((_, begin)) = this(object) else { return raise_type("this needs a begun scope") };
        let failed = error != ffi::Py_None();
        if failed && is_on() {
            let is_type = ffi::PyType_Check(error) != 0;
            let kind = if is_type { error } else { ffi::Py_TYPE(error).cast() };
            set_error(&begin, &values::type_name(kind.cast()));
        }
        begin.get().end_once(failed);
        record::none()
    }
}

unsafe fn set_error(begin: &Bound<'_, Begin>, name: &str) {
    let opened = begin.get().opened();
    let value = Value::Fixed(code::NAME, hodo_record::intern(name).into());
    let raw = value.raw(hodo_record::intern("error"));
    if let Some(table) = table().filter(|_| opened.id != 0) {
        // SAFETY: the value holds no text.
        unsafe { (table.set)(opened.slot, opened.id, &raw, 1) };
    }
}
