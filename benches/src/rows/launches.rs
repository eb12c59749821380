//! hodo's callback as CUPTI calls it at the start and the end of a launch: no driver, no CUPTI.
//!
//! The capture is attached to the FAKE driver and CUPTI of `tests/fake-cupti`, built into the folder
//! that `HODO_BENCH_FAKE` names: what is measured is hodo's own part, and nothing about a GPU.

use super::ours;
use crate::measure::Row;
use std::ffi::{CString, c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);

/// CUPTI's `CUpti_CallbackData`.
#[repr(C)]
struct CallData {
    site: u32,
    texts: [*const c_void; 2],
    returned: *const c_int,
    symbol: *const c_void,
    context: *const c_void,
    context_id: u32,
    data: *mut c_void,
    correlation: u32,
}

const DRIVER: u32 = 1;
const LAUNCH_KERNEL: u32 = 307;
static CALLBACK: OnceLock<Callback> = OnceLock::new();
static CORRELATION: AtomicU32 = AtomicU32::new(1);

/// A launch while a scope is open.
pub fn in_a_scope() -> Row {
    attach();
    Row::new("launch in a scope", "32 B: scope, time, thread", |cycles| {
        let _scope = hodo::scope!("launches");
        launches(cycles);
    })
}

/// A launch by a thread without a scope, while no other has one.
pub fn outside() -> Row {
    attach();
    Row::new("launch outside any scope", "32 B: time, thread", launches)
}

#[inline(never)]
fn launches(cycles: u64) {
    let Some(&callback) = CALLBACK.get() else { return };
    let none = std::ptr::null();
    let returned = 0;
    let mut correlation = CORRELATION.load(Ordering::Relaxed);
    for _ in 0..cycles {
        correlation = correlation.wrapping_add(1);
        for site in [0, 1] {
            let data = CallData {
                site,
                texts: [none; 2],
                returned: &returned,
                symbol: none,
                context: none,
                context_id: 1,
                data: std::ptr::null_mut(),
                correlation,
            };
            let at = (&raw const data).cast();
            // SAFETY: what CUPTI would pass at the start and the end of a launch.
            unsafe { callback(std::ptr::null_mut(), DRIVER, LAUNCH_KERNEL, at) };
        }
    }
    CORRELATION.store(correlation, Ordering::Relaxed);
}

/// Starts the recorder with a capture, and the fake CUDA for it to attach to.
fn attach() {
    CALLBACK.get_or_init(|| {
        let folder = std::env::var_os("HODO_BENCH_FAKE").map(PathBuf::from).unwrap_or_default();
        let cupti = folder.join("libcupti.so.13");
        // SAFETY: no other thread is running yet.
        unsafe { std::env::set_var("HODO_CUPTI_PATH", &cupti) };
        hodo_gpu::install();
        ours::start();
        // SAFETY: libraries of the tests, and functions of these types in them.
        unsafe {
            let init: extern "C" fn(u32) -> c_int =
                std::mem::transmute(symbol(&folder.join("libcuda.so.1"), "cuInit"));
            init(0);
            let began = Instant::now();
            while !hodo_record::binding::gpu_state().contains("\"capturing\"") {
                assert!(began.elapsed() < Duration::from_secs(5), "the capture does not attach");
                std::thread::sleep(Duration::from_millis(5));
            }
            let subscribed: extern "C" fn() -> Option<Callback> =
                std::mem::transmute(symbol(&cupti, "fake_callback"));
            subscribed().unwrap_or_else(|| panic!("nothing was subscribed"))
        }
    });
}

/// # Safety
/// The file is a library that may be loaded.
unsafe fn symbol(file: &std::path::Path, name: &str) -> *mut c_void {
    let text = |text: &str| CString::new(text).unwrap_or_default();
    // SAFETY: by the contract.
    unsafe {
        let file = text(&file.to_string_lossy());
        let library = libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL);
        assert!(!library.is_null(), "no {file:?}: HODO_BENCH_FAKE names the folder");
        let found = libc::dlsym(library, text(name).as_ptr());
        assert!(!found.is_null(), "no {name} in {file:?}");
        found
    }
}
