//! The type of a scope: what it has besides being entered and left.

use crate::api;
use crate::gil::Gil;
use crate::scope::{self, Scope, dealloc};
use crate::scope_new::raise_type;
use crate::scope_open::{enter, leave};
use crate::{here, names, record, values};
use hodo_record::binding::{self, Begun, INERT, table};
use hodo_record::is_on;
use pyo3::ffi::{self, PyObject};
use std::ffi::c_void;

/// Makes the type and puts it into the module.
///
/// # Safety
/// The lock is held.
pub unsafe fn prepare(module: *mut PyObject) -> Result<(), ()> {
    static MEMBERS: Gil<[ffi::PyMemberDef; 2]> = Gil::new([
        api::vectorcall_offset(size_of::<PyObject>()),
        // SAFETY: a member of zeros ends the list.
        unsafe { std::mem::zeroed() },
    ]);
    let slot = |slot, pfunc| ffi::PyType_Slot { slot, pfunc };
    let slots = &mut [
        slot(ffi::Py_tp_dealloc, dealloc as *mut _),
        slot(ffi::Py_tp_call, api::PyVectorcall_Call as *mut _),
        slot(ffi::Py_tp_members, MEMBERS.get().cast()),
        slot(ffi::Py_tp_methods, METHODS.get().cast()),
        slot(ffi::Py_tp_getset, GETTERS.get().cast()),
        slot(ffi::Py_tp_iter, iterate as *mut _),
        slot(ffi::Py_tp_repr, repr as *mut _),
        slot(ffi::Py_tp_doc, DOC.as_ptr() as *mut _),
        slot(0, std::ptr::null_mut()),
    ];
    let flags = ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION;
    let mut spec = ffi::PyType_Spec {
        name: c"hodo.Scope".as_ptr(),
        basicsize: size_of::<Scope>() as i32,
        itemsize: 0,
        flags: flags as u32 | api::HAVE_VECTORCALL,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: by the contract; the specification is complete.
    unsafe {
        let kind = ffi::PyType_FromSpec(&mut spec);
        if kind.is_null() {
            return Err(());
        }
        *scope::TYPE.get() = kind.cast();
        let way = way()?;
        let set =
            |name: &std::ffi::CStr| ffi::PyObject_SetAttrString(kind, name.as_ptr(), way) == 0;
        let done = set(c"__enter__")
            && set(c"__exit__")
            && ffi::PyObject_SetAttrString(module, c"Scope".as_ptr(), kind) == 0;
        ffi::Py_DECREF(way);
        if done { Ok(()) } else { Err(()) }
    }
}

const DOC: &std::ffi::CStr = c"A named region of code, as hodo.scope() makes it.";

/// The descriptor behind `__enter__` and `__exit__`: found on a scope, it is that scope; on the
/// type, itself, to be called with the scope first.
unsafe fn way() -> Result<*mut PyObject, ()> {
    let slots = &mut [
        ffi::PyType_Slot { slot: ffi::Py_tp_descr_get, pfunc: way_get as *mut _ },
        ffi::PyType_Slot { slot: ffi::Py_tp_call, pfunc: way_call as *mut _ },
        ffi::PyType_Slot { slot: 0, pfunc: std::ptr::null_mut() },
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"hodo._hodo.Way".as_ptr(),
        basicsize: size_of::<PyObject>() as i32,
        itemsize: 0,
        flags: ffi::Py_TPFLAGS_DEFAULT as u32,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the lock is held; the specification is complete.
    unsafe {
        let kind = ffi::PyType_FromSpec(&mut spec);
        let way = if kind.is_null() { kind } else { ffi::PyObject_CallNoArgs(kind) };
        if way.is_null() { Err(()) } else { Ok(way) }
    }
}

unsafe extern "C" fn way_get(
    way: *mut PyObject,
    object: *mut PyObject,
    _kind: *mut PyObject,
) -> *mut PyObject {
    let found = if object.is_null() { way } else { object };
    // SAFETY: the interpreter holds the lock.
    unsafe { ffi::Py_INCREF(found) };
    found
}

unsafe extern "C-unwind" fn way_call(
    _way: *mut PyObject,
    args: *mut PyObject,
    _keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: the interpreter holds the lock and passes a tuple.
    unsafe {
        let count = ffi::PyTuple_Size(args);
        let object = if count > 0 { ffi::PyTuple_GetItem(args, 0) } else { std::ptr::null_mut() };
        let Some(scope) = as_scope(object) else { return raise_type("this needs a scope") };
        if count == 1 {
            enter(scope);
            ffi::Py_INCREF(object);
            return object;
        }
        leave(scope, raised(ffi::PyTuple_GetItem(args, 1)));
        record::none()
    }
}

/// The type of an exception, or null for `None`.
unsafe fn raised(kind: *mut PyObject) -> *mut PyObject {
    // SAFETY: `None` always exists.
    if kind == unsafe { ffi::Py_None() } { std::ptr::null_mut() } else { kind }
}

/// The object as a scope, if it is one.
///
/// # Safety
/// The lock is held; `object` is an object or null.
pub unsafe fn as_scope(object: *mut PyObject) -> Option<*mut Scope> {
    // SAFETY: by the contract.
    let is_one = !object.is_null() && unsafe { ffi::Py_TYPE(object) == *scope::TYPE.get() };
    is_one.then_some(object.cast())
}

type Fast = unsafe extern "C-unwind" fn(
    *mut PyObject,
    *const *mut PyObject,
    ffi::Py_ssize_t,
    *mut PyObject,
) -> *mut PyObject;

type Plain = unsafe extern "C-unwind" fn(*mut PyObject, *mut PyObject) -> *mut PyObject;

/// A method that takes its arguments as the interpreter has them.
pub const fn fast(
    name: &'static std::ffi::CStr,
    function: Fast,
    doc: &'static std::ffi::CStr,
) -> ffi::PyMethodDef {
    ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer {
            // SAFETY: the same function but for what it says of unwinding.
            PyCFunctionFastWithKeywords: unsafe {
                std::mem::transmute::<Fast, ffi::PyCFunctionFastWithKeywords>(function)
            },
        },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: doc.as_ptr(),
    }
}

/// A method that takes itself and one argument, or none.
pub const fn plain(
    name: &'static std::ffi::CStr,
    function: Plain,
    flags: std::ffi::c_int,
    doc: &'static std::ffi::CStr,
) -> ffi::PyMethodDef {
    ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer {
            // SAFETY: as in `fast`.
            PyCFunction: unsafe { std::mem::transmute::<Plain, ffi::PyCFunction>(function) },
        },
        ml_flags: flags,
        ml_doc: doc.as_ptr(),
    }
}

static METHODS: Gil<[ffi::PyMethodDef; 9]> = Gil::new([
    fast(c"set", set, c"set($self, /, **attrs)\n--\n\nSet attributes of the scope."),
    fast(
        c"mark",
        mark,
        c"mark($self, name, value, kind='point', /, **attrs)\n--\n\nAttach a value to the scope.",
    ),
    plain(c"end", end, ffi::METH_NOARGS, c"end($self, /)\n--\n\nClose the scope now."),
    plain(
        c"_cancel",
        cancel,
        ffi::METH_NOARGS,
        c"_cancel($self, /)\n--\n\nTake the scope back, as if it had not been opened.",
    ),
    fast(
        c"_rename",
        rename,
        c"_rename($self, name, index, /)\n--\n\nRecord the open scope under another name and index.",
    ),
    plain(
        c"fail",
        fail,
        ffi::METH_O,
        c"fail($self, error, /)\n--\n\nMark the scope as failed, by an exception or a type of one.",
    ),
    plain(c"__aenter__", aenter, ffi::METH_NOARGS, c""),
    plain(c"__aexit__", aexit, ffi::METH_VARARGS, c""),
    ffi::PyMethodDef::zeroed(),
]);

const fn getter(
    name: &'static std::ffi::CStr,
    get: ffi::getter,
    doc: &'static std::ffi::CStr,
) -> ffi::PyGetSetDef {
    ffi::PyGetSetDef {
        name: name.as_ptr(),
        get: Some(get),
        set: None,
        doc: doc.as_ptr(),
        closure: std::ptr::null_mut(),
    }
}

static GETTERS: Gil<[ffi::PyGetSetDef; 8]> = Gil::new([
    getter(c"id", get_id, c"32 hex digits; None for a scope that is not recorded."),
    getter(c"name", get_name, c"The scope's name."),
    getter(c"index", get_index, c"The scope's index, or None."),
    getter(
        c"start_ns",
        get_start,
        c"When it opened, in nanoseconds since 1970; None if it did not.",
    ),
    getter(c"recorded", get_recorded, c"Whether it is, or was, recorded."),
    getter(
        c"_took_ns",
        get_took,
        c"How long a pass of a benchmark loop took; None if it was not recorded.",
    ),
    getter(c"_repeat", get_repeat, c"Repeat and warm-up counts of a benchmark loop, or None."),
    // SAFETY: a getter of zeros ends the list.
    unsafe { std::mem::zeroed() },
]);

unsafe extern "C-unwind" fn set(
    object: *mut PyObject,
    args: *const *mut PyObject,
    count: ffi::Py_ssize_t,
    keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: the interpreter holds the lock; the object is a scope.
    unsafe {
        if count != 0 {
            return raise_type("set() takes attributes by keyword, as in set(loss=0.5)");
        }
        let opened = (*object.cast::<Scope>()).opened;
        if !keywords.is_null() && opened.slot != INERT && is_on() {
            here::to_look();
            for i in 0..ffi::PyTuple_Size(keywords) {
                set_one(opened, ffi::PyTuple_GetItem(keywords, i), *args.offset(i));
            }
        }
        record::none()
    }
}

unsafe fn set_one(opened: binding::Opened, key: *mut PyObject, value: *mut PyObject) {
    // SAFETY: the lock is held; keywords are exact strings or are looked up by content.
    unsafe {
        let is_exact = ffi::Py_TYPE(key) == &raw mut ffi::PyUnicode_Type;
        match values::fixed(value).filter(|_| is_exact) {
            Some((code, word)) => record::set_fixed(opened, &[(names::known(key).id, code, word)]),
            None => record::set(opened, key, value),
        }
    }
}

/// A mark of this scope, also when it is not the innermost.
unsafe extern "C-unwind" fn mark(
    object: *mut PyObject,
    args: *const *mut PyObject,
    count: ffi::Py_ssize_t,
    keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `set`.
    unsafe {
        let opened = (*object.cast::<Scope>()).opened;
        if !is_on() || opened.id == 0 {
            return crate::mark::mark(object, args, count, keywords);
        }
        let thread = here::to_look();
        if (*thread).current == opened.slot {
            return crate::mark::mark(object, args, count, keywords);
        }
        let link = record::link_to(opened);
        let Some(table) = table() else { return record::none() };
        let entered = (table.enter)(link);
        let result = crate::mark::mark(object, args, count, keywords);
        (table.leave)(entered);
        result
    }
}

unsafe extern "C-unwind" fn end(object: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter holds the lock; the object is a scope.
    unsafe { leave(object.cast(), std::ptr::null_mut()) };
    record::none()
}

/// Of a scope that was opened for something that did not come.
unsafe extern "C-unwind" fn cancel(object: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    // SAFETY: as for `end`.
    unsafe {
        let scope = object.cast::<Scope>();
        let opened = std::mem::replace(&mut (*scope).opened, binding::Opened::INERT);
        if opened.slot != INERT && is_on() {
            here::to_change();
            (*scope).span = 0;
            if let Some(table) = table() {
                (table.cancel)(opened.slot, opened.id);
            }
        }
    }
    record::none()
}

/// Of a scope that turns out, while it is open, to be of another kind.
unsafe extern "C-unwind" fn rename(
    object: *mut PyObject,
    args: *const *mut PyObject,
    count: ffi::Py_ssize_t,
    _keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `set`; as many arguments as counted are there.
    unsafe {
        if count != 2 || ffi::Py_TYPE(*args) != &raw mut ffi::PyUnicode_Type {
            return raise_type("_rename() takes a name and an index");
        }
        let index = ffi::PyLong_AsLongLong(*args.add(1));
        if !ffi::PyErr_Occurred().is_null() {
            return std::ptr::null_mut();
        }
        let opened = (*object.cast::<Scope>()).opened;
        if opened.slot != INERT && is_on() {
            here::to_look();
            record::rename(opened, names::known(*args).id, index);
        }
    }
    record::none()
}

unsafe extern "C-unwind" fn fail(object: *mut PyObject, error: *mut PyObject) -> *mut PyObject {
    // SAFETY: as for `end`.
    unsafe {
        let is_type = ffi::PyType_Check(error) != 0;
        let kind = if is_type { error } else { ffi::Py_TYPE(error).cast() };
        let opened = (*object.cast::<Scope>()).opened;
        if is_on() && opened.slot != INERT {
            here::to_look();
            record::fail(opened, kind);
        }
    }
    record::none()
}

unsafe extern "C-unwind" fn aenter(object: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    // SAFETY: as for `end`.
    unsafe {
        enter(object.cast());
        crate::done::new(object)
    }
}

unsafe extern "C-unwind" fn aexit(object: *mut PyObject, args: *mut PyObject) -> *mut PyObject {
    // SAFETY: as for `end`; the arguments are a tuple.
    unsafe {
        let kind = ffi::PyTuple_GetItem(args, 0);
        if kind.is_null() {
            return kind;
        }
        leave(object.cast(), raised(kind));
        crate::done::new(ffi::Py_None())
    }
}

/// `for i in hodo.scope("x", repeat=10)`.
unsafe extern "C-unwind" fn iterate(object: *mut PyObject) -> *mut PyObject {
    // SAFETY: as for `end`.
    unsafe {
        if (*object.cast::<Scope>()).loop_numbers().is_none() {
            return raise_type(
                "this scope is not a loop: say how often, as in hodo.scope(\"x\", repeat=10)",
            );
        }
        record::call_python(c"hodo._bench", c"passes", &[object])
    }
}

unsafe extern "C" fn repr(object: *mut PyObject) -> *mut PyObject {
    // SAFETY: as for `end`.
    unsafe {
        let scope = &*object.cast::<Scope>();
        let name = values::shown(scope.name());
        let state = match (scope.opened.slot == INERT, scope.span) {
            (false, 0) => "not recorded",
            (false, _) => "open",
            (true, 0) => "not open",
            (true, _) => "closed",
        };
        record::text(&format!("<hodo.Scope {name:?} {state}>"))
    }
}

unsafe extern "C" fn get_id(object: *mut PyObject, _: *mut c_void) -> *mut PyObject {
    // SAFETY: as for `end`.
    unsafe {
        match binding::scope_id((*object.cast::<Scope>()).span) {
            Some(id) => record::text(&id.to_string()),
            None => record::none(),
        }
    }
}

unsafe extern "C" fn get_name(object: *mut PyObject, _: *mut c_void) -> *mut PyObject {
    // SAFETY: as for `end`.
    unsafe {
        let name = (*object.cast::<Scope>()).name();
        ffi::Py_INCREF(name);
        name
    }
}

unsafe extern "C" fn get_index(object: *mut PyObject, _: *mut c_void) -> *mut PyObject {
    // SAFETY: as for `end`.
    unsafe {
        let index = (*object.cast::<Scope>()).index();
        index.map_or_else(record::none, |index| ffi::PyLong_FromLongLong(index))
    }
}

unsafe extern "C" fn get_start(object: *mut PyObject, _: *mut c_void) -> *mut PyObject {
    // SAFETY: as for `end`.
    unsafe {
        let start = (*object.cast::<Scope>()).start;
        match table().filter(|_| (*object.cast::<Scope>()).span != 0) {
            Some(table) => ffi::PyLong_FromUnsignedLongLong((table.wall_ns)(start)),
            None => record::none(),
        }
    }
}

unsafe extern "C" fn get_took(object: *mut PyObject, _: *mut c_void) -> *mut PyObject {
    // SAFETY: as for `end`.
    unsafe {
        let scope = &*object.cast::<Scope>();
        match table().filter(|_| scope.span != 0 && scope.end > scope.start) {
            Some(table) => {
                let took = (table.ticks_ns)(scope.end - scope.start);
                ffi::PyLong_FromUnsignedLongLong(took)
            }
            None => record::none(),
        }
    }
}

unsafe extern "C" fn get_recorded(object: *mut PyObject, _: *mut c_void) -> *mut PyObject {
    // SAFETY: as for `end`.
    unsafe { ffi::PyBool_FromLong(((*object.cast::<Scope>()).span != 0).into()) }
}

unsafe extern "C" fn get_repeat(object: *mut PyObject, _: *mut c_void) -> *mut PyObject {
    // SAFETY: as for `end`.
    unsafe {
        let Some((repeat, warmup)) = (*object.cast::<Scope>()).loop_numbers() else {
            return record::none();
        };
        let tuple = ffi::PyTuple_New(2);
        ffi::PyTuple_SetItem(tuple, 0, ffi::PyLong_FromLongLong(repeat));
        ffi::PyTuple_SetItem(tuple, 1, ffi::PyLong_FromLongLong(warmup));
        tuple
    }
}

/// A link to an open scope or a begun one, to make it current elsewhere.
///
/// # Safety
/// The lock is held.
pub unsafe fn link(object: *mut PyObject) -> Option<Begun> {
    // SAFETY: by the contract.
    unsafe {
        let scope = as_scope(object)?;
        here::to_look();
        Some(record::link_to((*scope).opened))
    }
}
