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
    pub fn PyThreadState_Get() -> *mut u8;
    pub fn PyThreadState_GetID(state: *mut u8) -> u64;
}

/// What a vectorcall is told its arguments with.
pub type Vectorcall = unsafe extern "C" fn(
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
