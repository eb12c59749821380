//! Where this interpreter keeps the current context, found out by trying.
//!
//! A thread's state holds its context, then a number that changes with every switch of contexts,
//! then the state's own id. The place differs between versions of Python, so it is looked for while
//! a context is entered whose address is known, twice; what does not look as expected is not used.

use crate::api;
use crate::gil::Gil;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Offset of the context in a thread's state; 0 when it could not be found.
pub static CONTEXT_AT: Gil<usize> = Gil::new(0);

/// Words of a thread's state that are looked at; no version has a smaller one.
const WORDS: usize = 36;
/// Offsets in a context: of its variables, and of whether it was entered.
pub const VARS_AT: usize = 24;
const ENTERED_AT: usize = 40;

/// # Safety
/// `base + offset` lies in a live object and is aligned.
#[inline(always)]
pub unsafe fn word(base: *const u8, offset: usize) -> usize {
    // SAFETY: by the contract.
    unsafe { base.add(offset).cast::<usize>().read() }
}

/// Whether a context was entered by `run`: a thread's own never is.
///
/// # Safety
/// `context` is a live context.
pub unsafe fn was_entered(context: *const u8) -> bool {
    // SAFETY: by the contract; the probe has checked what lies there.
    unsafe { context.add(ENTERED_AT).cast::<i32>().read() != 0 }
}

/// What is seen from inside a context.
#[pyclass(frozen)]
struct Look {
    context: usize,
}

#[pymethods]
impl Look {
    /// The offset at which the thread's state points at the context, and the number after it.
    fn __call__(&self) -> (usize, usize) {
        // SAFETY: the lock is held; the words lie inside the state.
        unsafe {
            let state = api::PyThreadState_Get();
            let id = api::PyThreadState_GetID(state) as usize;
            let is_here =
                |&at: &usize| word(state, at) == self.context && word(state, at + 16) == id;
            let found = (1..WORDS - 2).map(|i| i * 8).find(is_here);
            found.map_or((0, 0), |at| (at, word(state, at + 8)))
        }
    }
}

/// Looks for the context; a failure leaves [`CONTEXT_AT`] at 0.
pub fn run(py: Python<'_>) {
    let found = look_twice(py).unwrap_or(0);
    // SAFETY: the lock is held.
    unsafe { *CONTEXT_AT.get() = found };
}

fn look_twice(py: Python<'_>) -> PyResult<usize> {
    let contexts = py.import("contextvars")?;
    // A variable makes the thread's own context exist, and its variables not the empty ones.
    let variable = contexts.getattr("ContextVar")?.call1(("hodo.probe",))?;
    let token = variable.call_method1("set", (1,))?;
    let looks = [look(&contexts)?, look(&contexts)?];
    variable.call_method1("reset", (token,))?;
    let [(first, number), (second, later)] = looks;
    Ok(if first == second && later > number { first } else { 0 })
}

fn look(contexts: &Bound<'_, PyModule>) -> PyResult<(usize, usize)> {
    let py = contexts.py();
    let context = contexts.call_method0("copy_context")?;
    let address = context.as_ptr() as usize;
    let look = Bound::new(py, Look { context: address })?;
    let seen: (usize, usize) = context.call_method1("run", PyTuple::new(py, [look])?)?.extract()?;
    // SAFETY: the context is alive, and larger than what is read.
    let plausible = unsafe {
        let vars = word(address as *const u8, VARS_AT) as *const u8;
        let kind = Bound::from_borrowed_ptr_or_opt(py, word(vars, 8) as *mut pyo3::ffi::PyObject);
        let named = kind.is_some_and(|kind| kind.to_string().contains("hamt"));
        named && !was_entered(address as *const u8)
    };
    Ok(if plausible { seen } else { (0, 0) })
}
