//! Where other libraries of the process attach this one, with no change to the program.

use crate::guarded;
use hodo_gpu::nvtx::{self, GetExportTable};
use std::ffi::c_int;

/// Called by every instance of NVTX in a process that has `NVTX_INJECTION64_PATH` set to this
/// library. Always 1: after a 0 the caller would unload what it has attached.
///
/// cbindgen:ignore
///
/// # Safety
/// `tables` is what NVTX passes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(tables: Option<GetExportTable>) -> c_int {
    guarded((), || {
        hodo_gpu::install();
        hodo_machine::install();
        if let Some(tables) = tables {
            // SAFETY: by the contract.
            unsafe { nvtx::attach(tables) };
        }
    });
    1
}

/// Called by the CUDA driver when it starts in a process that has `CUDA_INJECTION64_PATH` set to
/// this library. Always 1: all is well.
///
/// cbindgen:ignore
#[unsafe(no_mangle)]
pub extern "C" fn InitializeInjection() -> c_int {
    guarded((), || {
        hodo_gpu::install();
        hodo_machine::install();
        hodo_gpu::injected();
    });
    1
}
