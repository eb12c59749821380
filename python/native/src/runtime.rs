//! `libhodo.so`: loaded when recording is first asked for, from beside the package.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::OnceLock;

/// Options as the library's C interface takes them.
#[repr(C)]
pub struct Options {
    pub struct_size: usize,
    pub app: *const c_char,
    pub dir: *const c_char,
    pub run: *const c_char,
    pub disabled: u32,
    pub max_depth: u32,
    pub memory_bytes: u64,
    pub spool_bytes: u64,
    pub flush_interval_ms: u64,
    pub keep_run_private: u32,
}

/// The functions of the library that this module calls.
#[derive(Clone, Copy)]
pub struct Runtime {
    pub init: unsafe extern "C" fn(*const Options) -> u32,
    pub reason: unsafe extern "C" fn(*mut c_char, usize) -> usize,
    pub on_warning: unsafe extern "C" fn(extern "C" fn(*const c_char, usize)),
}

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// The library, from `path` unless a copy with its name is loaded already.
pub fn load(path: &str) -> PyResult<Runtime> {
    if let Some(runtime) = RUNTIME.get() {
        return Ok(*runtime);
    }
    let library = open(path)?;
    // SAFETY: the symbols have these types in every version of the library.
    let runtime = unsafe {
        Runtime {
            init: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const Options) -> u32>(
                symbol(library, c"hodo_init")?,
            ),
            reason: std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(*mut c_char, usize) -> usize,
            >(symbol(library, c"hodo_reason")?),
            on_warning: std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(extern "C" fn(*const c_char, usize)),
            >(symbol(library, c"hodo_on_warning")?),
        }
    };
    Ok(*RUNTIME.get_or_init(|| runtime))
}

fn open(path: &str) -> PyResult<*mut c_void> {
    let path = CString::new(path).map_err(|_| PyOSError::new_err("a path with a NUL in it"))?;
    // SAFETY: plain calls of the loader; the library stays loaded.
    unsafe {
        let loaded = libc::dlopen(c"libhodo.so".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
        if !loaded.is_null() {
            return Ok(loaded);
        }
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        if library.is_null() { Err(loader_error()) } else { Ok(library) }
    }
}

/// # Safety
/// `library` came from the loader.
unsafe fn symbol(library: *mut c_void, name: &CStr) -> PyResult<*mut c_void> {
    // SAFETY: by the contract.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    if found.is_null() { Err(loader_error()) } else { Ok(found) }
}

fn loader_error() -> PyErr {
    // SAFETY: the loader's message is a string until its next call on this thread.
    let message = unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            "unknown error of the loader".into()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    };
    PyOSError::new_err(format!("libhodo.so cannot be used: {message}"))
}
