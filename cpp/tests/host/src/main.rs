//! `hodo-test-host host|plugin LIBRARY...`: who starts the recorder, and the plugins to call.

use std::ffi::{CString, c_void};

type Start = extern "C" fn() -> i32;
type Call = extern "C" fn(i64, extern "C" fn(i64));

extern "C" fn called_back(index: i64) {
    let _s = hodo::scope!("called back", index = index);
}

fn symbol(library: *mut c_void, name: &str) -> *mut c_void {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: a plain call of the loader.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!found.is_null(), "no {name:?}");
    found
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let host_starts = arguments.next().as_deref() == Some("host");
    let hodo = host_starts.then(|| hodo::init(hodo::Config::from_env()));
    for file in arguments {
        let file = CString::new(file).unwrap_or_default();
        // SAFETY: a plain call of the loader.
        let library = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!library.is_null(), "cannot load {file:?}");
        // SAFETY: the plugins define these functions with these types.
        let (start, call) = unsafe {
            (
                std::mem::transmute::<*mut c_void, Start>(symbol(library, "plugin_start")),
                std::mem::transmute::<*mut c_void, Call>(symbol(library, "plugin_call")),
            )
        };
        let answer = start();
        assert!(answer == 0 || answer == 3, "the plugin's start says {answer}");
        for index in 0..100 {
            let _s = hodo::scope!("host", index = index);
            call(index, called_back);
        }
    }
    drop(hodo);
}
