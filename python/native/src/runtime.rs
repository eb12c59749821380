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
    pub gpu: *const c_char,
    pub telemetry: *const c_char,
}

/// Declares the functions of the library that this module calls.
macro_rules! functions {
    ($($name:ident: $symbol:literal ($($argument:ty),*) $(-> $answer:ty)?;)*) => {
        /// The functions of the library that this module calls.
        #[derive(Clone, Copy)]
        pub struct Runtime {
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)*
        }

        impl Runtime {
            /// # Safety
            /// `library` came from the loader.
            unsafe fn of(library: *mut c_void) -> PyResult<Runtime> {
                // SAFETY: the symbols have these types in every version of the library.
                unsafe {
                    Ok(Runtime {
                        $($name: std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C" fn($($argument),*) $(-> $answer)?,
                        >(symbol(library, $symbol)?),)*
                    })
                }
            }
        }
    };
}

functions! {
    init: c"hodo_init" (*const Options) -> u32;
    reason: c"hodo_reason" (*mut c_char, usize) -> usize;
    on_warning: c"hodo_on_warning" (extern "C" fn(*const c_char, usize));
    gpu_give_way: c"hodo_gpu_give_way" (*const c_char);
    gpu_resume: c"hodo_gpu_resume" ();
    gpu_forward: c"hodo_gpu_forward" (u64) -> u64;
    gpu_window_begin: c"hodo_gpu_window_begin" (*const c_char, *const c_char, *const c_char) -> u32;
    gpu_window_end: c"hodo_gpu_window_end" () -> u32;
    gpu_window_reason: c"hodo_gpu_window_reason" (*mut c_char, usize) -> usize;
    gpu_watch_forward: c"hodo_gpu_watch_forward" (bool) -> bool;
    gpu_forward_of: c"hodo_gpu_forward_of" (u64) -> u64;
}

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// The library, from `path` unless a copy with its name is loaded already.
pub fn load(path: &str) -> PyResult<Runtime> {
    if let Some(runtime) = RUNTIME.get() {
        return Ok(*runtime);
    }
    // SAFETY: the library was just opened.
    let runtime = unsafe { Runtime::of(open(path)?)? };
    Ok(*RUNTIME.get_or_init(|| runtime))
}

/// The library, if it was loaded.
pub fn loaded() -> Option<&'static Runtime> {
    RUNTIME.get()
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
