//! The capture of GPU work.

use crate::guarded;
use std::ffi::{CStr, c_char, c_int};

/// Copies the state of the GPU's capture, a JSON object, NUL-terminated and cut to `size` bytes;
/// returns the bytes the whole text has, 0 when nothing records.
///
/// # Safety
/// `text` points at `size` bytes that may be written; null with `size` 0 only asks for the length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_gpu_state(text: *mut c_char, size: usize) -> usize {
    guarded(0, || {
        let state = hodo_record::binding::gpu_state();
        if !text.is_null() && size > 0 {
            let bytes = state.len().min(size - 1);
            // SAFETY: by the contract; one byte is left for the NUL.
            unsafe {
                text.cast::<u8>().copy_from_nonoverlapping(state.as_ptr(), bytes);
                *text.add(bytes) = 0;
            }
        }
        state.len()
    })
}

/// Lets another tool have CUPTI until `hodo_gpu_resume`: what runs meanwhile is not captured, and
/// reports say so and why.
///
/// # Safety
/// `why` is null or ends in a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_gpu_give_way(why: *const c_char) {
    guarded((), || {
        // SAFETY: by the contract.
        let why = (!why.is_null()).then(|| unsafe { CStr::from_ptr(why) }.to_string_lossy());
        hodo_gpu::give_way(why.as_deref().unwrap_or("another tool has CUPTI"));
    });
}

/// Captures again after `hodo_gpu_give_way`.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_gpu_resume() {
    guarded((), hodo_gpu::resume);
}

/// Says which forward scope the calling thread's launches are the gradient of, 0 for none: the id
/// of a scope of this process. Returns what was said before.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_gpu_forward(scope: u64) -> u64 {
    guarded(0, || hodo_gpu::set_forward(scope))
}

/// Begins to remember which scope each forward operation of torch runs in. False where this process
/// has no torch.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_gpu_watch_forward(on: bool) -> bool {
    guarded(false, || match on {
        true => hodo_gpu::watch(),
        false => {
            hodo_gpu::look_away();
            true
        }
    })
}

/// The scope that torch's autograd node with this number was made in; 0 when not known.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_gpu_forward_of(node: u64) -> u64 {
    guarded(0, || hodo_gpu::scope_of(node))
}

/// The CUDA driver calls this when it starts and `CUDA_INJECTION64_PATH` names this library.
#[allow(non_snake_case, reason = "the driver's name for it")]
#[unsafe(no_mangle)]
pub extern "C" fn InitializeInjection() -> c_int {
    guarded((), || {
        hodo_gpu::install();
        hodo_gpu::injected();
    });
    1
}
