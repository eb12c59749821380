//! The capture of GPU work.

use crate::guarded;
use crate::text::{copy, words};
use std::ffi::c_char;

/// Copies the state of the GPU's capture, a JSON object, NUL-terminated and cut to `size` bytes;
/// returns the bytes the whole text has, 0 when nothing records.
///
/// # Safety
/// `text` points at `size` bytes that may be written; null with `size` 0 only asks for the length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_gpu_state(text: *mut c_char, size: usize) -> usize {
    guarded(0, || {
        let state = hodo_record::binding::gpu_state();
        // SAFETY: by the contract.
        unsafe { copy(&state, text, size) }
    })
}

/// Opens a window of closer looking, which slows the program down until `hodo_gpu_window_end`.
///
/// `kind` is "pc-sampling": where kernels stand and why. `mode` is "serialized" or null (kernels
/// run one after another, and every sample has its launch, so its scope) or "continuous" (they
/// overlap as usual, and all samples belong to the scope that is innermost here). `scope`, unless
/// null, is the name of the scopes whose work is to be kept. Waits for the work under way; not to
/// be called while a graph is being captured.
///
/// Returns 0, or why there is no window: 1 GPU work is not captured, 2 there is no CUDA context
/// yet, 3 a window is open, 4 no such kind or mode, 5 profiling is not allowed, 6 CUPTI or the
/// driver refused; `hodo_gpu_window_reason` has the words.
///
/// # Safety
/// The texts are null or end in a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_gpu_window_begin(
    kind: *const c_char,
    mode: *const c_char,
    scope: *const c_char,
) -> u32 {
    guarded(hodo_gpu::window::Code::Failed as u32, || {
        // SAFETY: by the contract.
        let [kind, mode, scope] = [kind, mode, scope].map(|text| unsafe { words(text) });
        match hodo_gpu::window::begin(&kind, &mode, &scope) {
            Ok(()) => 0,
            Err(refused) => refused.code as u32,
        }
    })
}

/// Ends the window: waits for the work in it and fetches the samples. Returns 1, or 0 when none
/// was open.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_gpu_window_end() -> u32 {
    guarded(0, || hodo_gpu::window::end().into())
}

/// Copies why the last window that was asked for was not opened, and what to do, NUL-terminated
/// and cut to `size` bytes; returns the bytes the whole text has, 0 when it was opened.
///
/// # Safety
/// `text` points at `size` bytes that may be written; null with `size` 0 only asks for the length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_gpu_window_reason(text: *mut c_char, size: usize) -> usize {
    guarded(0, || {
        let reason = hodo_gpu::window::reason();
        // SAFETY: by the contract.
        unsafe { copy(&reason, text, size) }
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
        let why = unsafe { words(why) };
        hodo_gpu::give_way(if why.is_empty() { "another tool has CUPTI" } else { &why });
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
