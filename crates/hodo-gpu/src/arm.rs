//! Being called when the program starts CUDA.
//!
//! The driver loads the library that `CUDA_INJECTION64_PATH` names when it is initialised. Set in
//! our own environment it needs no start of CUDA by us and no waiting thread, and comes before the
//! first launch.

use crate::capture;
use hodo_record::binding::is_changing;
use hodo_record::{Config, is_on};
use std::cell::Cell;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// The driver's variable.
pub const PATH: &str = "CUDA_INJECTION64_PATH";
/// Says for which process alone it was set; its children inherit the variables.
const ONLY: &str = "HODO_INJECT_PID";
/// Says that every process is to be recorded, as `hodo run` does.
pub const ALL: &str = "HODO_INJECT";

static ARMED: AtomicBool = AtomicBool::new(false);
static INJECTING: AtomicBool = AtomicBool::new(false);

std::thread_local! {
    /// Whether this thread is starting CUDA.
    static STARTS: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is starting CUDA right now, which has called us. Another thread must
/// not attach meanwhile: it might wait for CUDA's start, which would wait for it.
pub fn is_injecting() -> bool {
    STARTS.get()
}

/// Makes the driver call us when it starts. False when that cannot be: this copy of hodo is part
/// of an executable, or another tool wants to be called.
pub fn arm() -> bool {
    let Some(own) = library() else { return false };
    let set = std::env::var_os(PATH).filter(|path| !path.is_empty());
    if set.as_ref().is_some_and(|path| path != own) {
        return false;
    }
    if set.is_none() {
        // SAFETY: changing the environment races with threads that read it without Rust's lock; a
        // recorder is started before threads are, as for `HODO_RUN`.
        unsafe {
            std::env::set_var(PATH, own);
            std::env::set_var(ONLY, std::process::id().to_string());
        }
        ARMED.store(true, Ordering::Release);
    }
    true
}

/// Takes the variables back, if they are ours.
pub fn disarm() {
    if ARMED.swap(false, Ordering::AcqRel) {
        // SAFETY: as in `arm`.
        unsafe {
            std::env::remove_var(PATH);
            std::env::remove_var(ONLY);
        }
    }
}

/// CUDA is starting in this process. Starts a recorder if `hodo run` asked for it.
pub fn injected() {
    let number = |name: &str| std::env::var(name).ok();
    let all = number(ALL).is_some_and(|word| word == "1");
    let only = number(ONLY).is_some_and(|pid| pid == std::process::id().to_string());
    if !(all || only || is_on()) || INJECTING.swap(true, Ordering::AcqRel) {
        return;
    }
    STARTS.set(true);
    // A start under way in another thread may wait for the very call of CUDA that we are in; it
    // looks for CUDA itself.
    if all && !is_on() && !is_changing() {
        hodo_record::init(Config { share_run: false, ..Config::from_env() });
    }
    capture::attach(false);
    STARTS.set(false);
    INJECTING.store(false, Ordering::Release);
}

/// The shared library this code is in; none when it is an executable.
fn library() -> Option<&'static OsStr> {
    // SAFETY: asks the loader about an address of our own; what it says stays.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let here = library as *const () as *const libc::c_void;
        if libc::dladdr(here, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        let path = CStr::from_ptr(info.dli_fname).to_bytes();
        path.windows(3).any(|part| part == b".so").then(|| OsStr::from_bytes(path))
    }
}
