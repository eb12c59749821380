//! An awaitable that is done at once: entering a scope waits for nothing.

use crate::gil::Gil;
use pyo3::ffi::{self, PyObject};

#[repr(C)]
struct Done {
    base: PyObject,
    value: *mut PyObject,
}

static TYPE: Gil<*mut ffi::PyTypeObject> = Gil::new(std::ptr::null_mut());

/// Makes the type.
///
/// # Safety
/// The lock is held.
pub unsafe fn prepare() -> Result<(), ()> {
    let slot = |slot, pfunc| ffi::PyType_Slot { slot, pfunc };
    let slots = &mut [
        slot(ffi::Py_tp_dealloc, dealloc as *mut _),
        slot(ffi::Py_am_await, ffi::PyObject_SelfIter as *mut _),
        slot(ffi::Py_tp_iter, ffi::PyObject_SelfIter as *mut _),
        slot(ffi::Py_tp_iternext, next as *mut _),
        slot(0, std::ptr::null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"hodo._hodo.Done".as_ptr(),
        basicsize: size_of::<Done>() as i32,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION) as u32,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: by the contract; the specification is complete.
    unsafe {
        let made = ffi::PyType_FromSpec(&mut spec).cast();
        *TYPE.get() = made;
        if made.is_null() { Err(()) } else { Ok(()) }
    }
}

/// Something that awaits to `value`.
///
/// # Safety
/// The lock is held.
pub unsafe fn new(value: *mut PyObject) -> *mut PyObject {
    // SAFETY: by the contract; the object is filled before anybody sees it.
    unsafe {
        let done = ffi::PyObject_Malloc(size_of::<Done>()).cast::<Done>();
        if done.is_null() {
            return ffi::PyErr_NoMemory();
        }
        ffi::PyObject_Init(done.cast(), *TYPE.get());
        ffi::Py_INCREF(value);
        (*done).value = value;
        done.cast()
    }
}

unsafe extern "C" fn dealloc(object: *mut PyObject) {
    // SAFETY: the interpreter calls this once, with the lock, on an object of this type.
    unsafe {
        ffi::Py_DECREF((*object.cast::<Done>()).value);
        let kind = ffi::Py_TYPE(object);
        ffi::PyObject_Free(object.cast());
        ffi::Py_DECREF(kind.cast());
    }
}

unsafe extern "C" fn next(object: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter holds the lock; the object is of this type.
    unsafe {
        ffi::PyErr_SetObject(ffi::PyExc_StopIteration, (*object.cast::<Done>()).value);
        std::ptr::null_mut()
    }
}
