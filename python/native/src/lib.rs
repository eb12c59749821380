//! The native half of the `hodo` package.

use pyo3::prelude::*;

#[pymodule]
fn _hodo(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
