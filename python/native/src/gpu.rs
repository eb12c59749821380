//! The capture of GPU work, which lives in `libhodo.so`.

use crate::runtime;
use pyo3::prelude::*;
use std::ffi::CString;

/// The state of the capture as a JSON object; empty when nothing records.
#[pyfunction]
pub fn gpu_state(py: Python<'_>) -> String {
    py.detach(hodo_record::binding::gpu_state)
}

/// Lets another tool have CUPTI until `gpu_resume`.
#[pyfunction]
pub fn gpu_give_way(py: Python<'_>, why: &str) {
    let Ok(why) = CString::new(why) else { return };
    if let Some(runtime) = runtime::loaded() {
        // SAFETY: the text lives until the call returns.
        py.detach(|| unsafe { (runtime.gpu_give_way)(why.as_ptr()) });
    }
}

/// Captures again.
#[pyfunction]
pub fn gpu_resume(py: Python<'_>) {
    if let Some(runtime) = runtime::loaded() {
        // SAFETY: a plain call.
        py.detach(|| unsafe { (runtime.gpu_resume)() });
    }
}

/// Says which forward scope the calling thread's launches are the gradient of, 0 for none; returns
/// what was said before.
#[pyfunction]
pub fn gpu_forward(scope: u64) -> u64 {
    // SAFETY: a plain call.
    runtime::loaded().map_or(0, |runtime| unsafe { (runtime.gpu_forward)(scope) })
}
