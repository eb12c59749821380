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

/// Begins or ends remembering which scope each forward operation of torch runs in; whether it can.
#[pyfunction]
pub fn gpu_watch_forward(on: bool) -> bool {
    // SAFETY: a plain call.
    runtime::loaded().is_some_and(|runtime| unsafe { (runtime.gpu_watch_forward)(on) })
}

/// The scope that torch's autograd node with this number was made in; 0 when not known.
#[pyfunction]
pub fn gpu_forward_of(node: u64) -> u64 {
    // SAFETY: a plain call.
    runtime::loaded().map_or(0, |runtime| unsafe { (runtime.gpu_forward_of)(node) })
}

/// The calling thread's launches are, from now on, the gradient of what ran in `scope`; 0 for
/// nothing. What else is passed, as to a hook, is not looked at.
#[pyfunction]
#[pyo3(signature = (scope, *_ignored))]
pub fn gpu_forward(scope: u64, _ignored: &Bound<'_, pyo3::types::PyTuple>) {
    if let Some(runtime) = runtime::loaded() {
        // SAFETY: a plain call.
        unsafe { (runtime.gpu_forward)(scope) };
    }
}
