//! Functions of CPython that its stable interface leaves out or learnt late; every version from
//! 3.11 on exports them.

use pyo3::ffi::{Py_ssize_t, PyObject};
use std::ffi::{c_char, c_int};

unsafe extern "C" {
    pub fn PyContextVar_New(name: *const c_char, default: *mut PyObject) -> *mut PyObject;
    pub fn PyContextVar_Get(
        var: *mut PyObject,
        default: *mut PyObject,
        value: *mut *mut PyObject,
    ) -> c_int;
    pub fn PyContextVar_Set(var: *mut PyObject, value: *mut PyObject) -> *mut PyObject;
    pub fn PyVectorcall_Call(
        callable: *mut PyObject,
        args: *mut PyObject,
        kwargs: *mut PyObject,
    ) -> *mut PyObject;
    pub fn _PyObject_GC_New(kind: *mut pyo3::ffi::PyTypeObject) -> *mut PyObject;
    pub fn PyObject_GC_Track(object: *mut std::ffi::c_void);
    pub fn PyObject_GC_UnTrack(object: *mut std::ffi::c_void);
    pub fn PyObject_GC_Del(object: *mut std::ffi::c_void);
    pub fn PyType_GetName(kind: *mut pyo3::ffi::PyTypeObject) -> *mut PyObject;
    pub fn PyThreadState_Get() -> *mut u8;
    pub fn PyThreadState_GetID(state: *mut u8) -> u64;
}

/// Functions that may run code of the program's. A daemon thread that is in such code when the
/// interpreter ends is ended there, by unwinding, which must find its way through Rust.
pub mod running {
    use pyo3::ffi::{Py_ssize_t, PyObject};
    use std::ffi::{c_char, c_int};

    unsafe extern "C-unwind" {
        pub fn PyFloat_AsDouble(value: *mut PyObject) -> f64;
        pub fn PyImport_ImportModule(name: *const c_char) -> *mut PyObject;
        pub fn PyNumber_Index(value: *mut PyObject) -> *mut PyObject;
        pub fn PyObject_CallNoArgs(callable: *mut PyObject) -> *mut PyObject;
        pub fn PyObject_CallObject(callable: *mut PyObject, args: *mut PyObject) -> *mut PyObject;
        pub fn PyObject_GetAttr(object: *mut PyObject, name: *mut PyObject) -> *mut PyObject;
        pub fn PyObject_GetAttrString(object: *mut PyObject, name: *const c_char) -> *mut PyObject;
        pub fn PyObject_GetIter(object: *mut PyObject) -> *mut PyObject;
        pub fn PyObject_IsTrue(object: *mut PyObject) -> c_int;
        pub fn PyObject_Size(object: *mut PyObject) -> Py_ssize_t;
        pub fn PyObject_Str(object: *mut PyObject) -> *mut PyObject;
        pub fn PySequence_GetItem(object: *mut PyObject, index: Py_ssize_t) -> *mut PyObject;
        pub fn PySequence_Size(object: *mut PyObject) -> Py_ssize_t;
    }
}

/// What a vectorcall is told its arguments with.
pub type Vectorcall = unsafe extern "C-unwind" fn(
    *mut PyObject,
    *const *mut PyObject,
    usize,
    *mut PyObject,
) -> *mut PyObject;

/// Set in the count of a vectorcall's arguments when the place before them may be used.
const ARGUMENTS_OFFSET: usize = 1 << (usize::BITS - 1);

/// How many positional arguments a vectorcall has.
#[inline(always)]
pub const fn positional(nargsf: usize) -> usize {
    nargsf & !ARGUMENTS_OFFSET
}

/// `Py_TPFLAGS_HAVE_VECTORCALL`: in the stable interface from 3.12 on, the same bit before.
pub const HAVE_VECTORCALL: u32 = 1 << 11;

/// A member of a type that says where its vectorcall stands.
pub const fn vectorcall_offset(offset: usize) -> pyo3::ffi::PyMemberDef {
    pyo3::ffi::PyMemberDef {
        name: c"__vectorcalloffset__".as_ptr(),
        type_code: pyo3::ffi::Py_T_PYSSIZET,
        offset: offset as Py_ssize_t,
        flags: pyo3::ffi::Py_READONLY,
        doc: std::ptr::null(),
    }
}

/// A zeroed object of a type that the collector knows; null with an exception set when memory ran
/// out. It is tracked by the caller, when it is filled.
///
/// # Safety
/// The lock is held; `T` begins with the object's header and zeros are a value of the rest.
pub unsafe fn new_collected<T>(kind: *mut pyo3::ffi::PyTypeObject) -> *mut T {
    // SAFETY: by the contract; the type was made with the size of `T`.
    unsafe {
        let object = _PyObject_GC_New(kind).cast::<T>();
        if !object.is_null() {
            let rest = size_of::<T>() - size_of::<PyObject>();
            object.cast::<PyObject>().add(1).cast::<u8>().write_bytes(0, rest);
        }
        object
    }
}

/// Frees such an object.
///
/// # Safety
/// The lock is held, the object's count is 0, and it is tracked no more.
pub unsafe fn free_collected(object: *mut PyObject) {
    // SAFETY: by the contract.
    unsafe {
        let kind = pyo3::ffi::Py_TYPE(object);
        PyObject_GC_Del(object.cast());
        pyo3::ffi::Py_DECREF(kind.cast());
    }
}

/// The flags of a type that the collector knows and nobody instantiates.
pub const COLLECTED: u32 = (pyo3::ffi::Py_TPFLAGS_DEFAULT
    | pyo3::ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION
    | pyo3::ffi::Py_TPFLAGS_HAVE_GC) as u32;
