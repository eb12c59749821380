//! The rows that are C++.

use crate::measure::Row;
use crate::rows::ours;
use std::ffi::CString;
use std::sync::OnceLock;

/// The usual scope.
pub const SCOPE: &str = "hodo HODO_SCOPE";
/// The same before the recorder starts.
pub const NOT_STARTED: &str = "hodo HODO_SCOPE, not started";

mod linked {
    unsafe extern "C" {
        pub fn cpp_scopes(cycles: u64);
        pub fn cpp_attributes(cycles: u64);
        pub fn cpp_marks(cycles: u64);
        pub fn cpp_named(cycles: u64);
        #[cfg(tracy)]
        pub fn cpp_tracy(cycles: u64);
    }
}

macro_rules! bursts {
    ($($(#[$attribute:meta])* $burst:ident => $function:ident;)*) => {$(
        $(#[$attribute])*
        pub fn $burst(cycles: u64) {
            // SAFETY: the loops are safe for any number of cycles.
            unsafe { linked::$function(cycles) }
        }
    )*};
}

bursts! {
    scopes_burst => cpp_scopes;
    attributes_burst => cpp_attributes;
    marks_burst => cpp_marks;
    named_burst => cpp_named;
    #[cfg(tracy)]
    tracy_burst => cpp_tracy;
}

/// A function of a shared library that runs so many cycles.
pub type Burst = unsafe extern "C" fn(u64);

/// Looks a burst up in a library named by a variable.
pub fn load(variable: &str, function: &str) -> Option<Burst> {
    let file = CString::new(std::env::var(variable).ok()?).ok()?;
    let name = CString::new(function).ok()?;
    // SAFETY: plain calls of the loader; the function has the type that our sources give it.
    unsafe {
        let library = libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if library.is_null() {
            return None;
        }
        let symbol = libc::dlsym(library, name.as_ptr());
        (!symbol.is_null()).then(|| std::mem::transmute::<*mut libc::c_void, Burst>(symbol))
    }
}

const SPAN: &str = "64 B: wall, CPU, ids, overhead";

fn recorded(name: &'static str, keeps: &'static str, records: u64, burst: fn(u64)) -> Row {
    ours::start();
    Row::drained(name, keeps, burst, move |cycles| ours::drain(cycles * records))
}

pub fn not_started() -> Row {
    Row::new(NOT_STARTED, "nothing", scopes_burst)
}

pub fn scope() -> Row {
    recorded(SCOPE, SPAN, 1, scopes_burst)
}

/// The same code in a library, which finds its thread-local by a call.
pub fn in_library() -> Row {
    static BURST: OnceLock<Option<Burst>> = OnceLock::new();
    BURST.get_or_init(|| load("HODO_BENCH_SHARED", "cpp_scopes"));
    recorded("hodo HODO_SCOPE, in a shared library", SPAN, 1, |cycles| {
        if let Some(Some(burst)) = BURST.get() {
            // SAFETY: as for the linked ones.
            unsafe { burst(cycles) };
        }
    })
}

pub fn attributes() -> Row {
    recorded("hodo HODO_SCOPE_F, index + 2 attributes", "128 B", 2, attributes_burst)
}

pub fn mark() -> Row {
    recorded("hodo HODO_MARK", "64 B: time, value, scope", 1, marks_burst)
}

pub fn named() -> Row {
    recorded("hodo::Scope, name looked up by address", SPAN, 1, named_burst)
}
