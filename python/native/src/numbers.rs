//! `current_scope_id` and `enter_new_scope`: the number of the current context.

use crate::here;
use hodo_record::binding::swap_entered;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The number of the innermost context: 1 outside every scope, one more inside each scope and each
/// `enter_new_scope()`; per thread, and per asyncio task.
#[pyfunction]
pub fn current_scope_id() -> u64 {
    if hodo_record::is_on() {
        // SAFETY: the lock is held.
        unsafe { here::to_look() };
    }
    hodo_record::current_scope_id()
}

/// A numbered context that records nothing.
#[pyclass(module = "hodo")]
pub struct NewScope;

/// Enter a new context: adds one to `current_scope_id()` until it is left.
#[pyfunction]
pub fn enter_new_scope() -> NewScope {
    NewScope
}

#[pymethods]
impl NewScope {
    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        if hodo_record::is_on() {
            // SAFETY: the lock is held.
            unsafe { here::to_change() };
        }
        let entered = swap_entered(0);
        swap_entered(entered + 1);
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        if hodo_record::is_on() {
            // SAFETY: the lock is held.
            unsafe { here::to_change() };
        }
        let entered = swap_entered(0);
        swap_entered(entered.saturating_sub(1));
    }
}
