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

/// The same, returning what was said before.
#[pyfunction]
pub fn gpu_swap_forward(scope: u64) -> u64 {
    // SAFETY: a plain call.
    runtime::loaded().map_or(0, |runtime| unsafe { (runtime.gpu_forward)(scope) })
}

/// Opens a window of closer looking; says why not, nothing when it is open.
#[pyfunction]
pub fn gpu_window_begin(
    py: Python<'_>,
    kind: CString,
    mode: CString,
    scope: CString,
) -> Option<String> {
    let Some(runtime) = runtime::loaded() else {
        return Some("nothing records: call hodo.init() first".into());
    };
    py.detach(|| {
        // SAFETY: the texts live until the call returns.
        let code =
            unsafe { (runtime.gpu_window_begin)(kind.as_ptr(), mode.as_ptr(), scope.as_ptr()) };
        (code != 0).then(|| reason(runtime))
    })
}

fn reason(runtime: &runtime::Runtime) -> String {
    let mut text = [0u8; 4096];
    // SAFETY: the buffer has the size that is told.
    let len = unsafe { (runtime.gpu_window_reason)(text.as_mut_ptr().cast(), text.len()) };
    String::from_utf8_lossy(&text[..len.min(text.len() - 1)]).into_owned()
}

/// Ends the window; whether one was open.
#[pyfunction]
pub fn gpu_window_end(py: Python<'_>) -> bool {
    runtime::loaded().is_some_and(|runtime| {
        // SAFETY: a plain call.
        py.detach(|| unsafe { (runtime.gpu_window_end)() }) != 0
    })
}
