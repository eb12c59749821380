//! A table for Python: Arrow to whoever speaks it, bytes to the rest.

use crate::arrow::{ArrowArrayStream, ArrowSchema, Columns as Arrow, Values};
use hodo_trace::Column;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use std::ffi::CStr;
use std::sync::Arc;

/// Columns of a run, which no longer need it.
#[pyclass(frozen, module = "hodo._hodo")]
pub struct Columns {
    arrow: Arc<Arrow>,
}

impl Columns {
    /// What `read` gives, read without the interpreter's lock.
    pub fn new(py: Python<'_>, read: impl FnOnce() -> Vec<Column> + Send) -> Columns {
        Columns { arrow: py.detach(|| Arc::new(Arrow::new(read()))) }
    }
}

/// Name, kind of the numbers as numpy writes it, their bytes, a bit a row that says whether there is
/// one, and the texts that the numbers stand for.
type Buffers<'py> = (
    String,
    &'static str,
    Bound<'py, PyByteArray>,
    Option<Bound<'py, PyByteArray>>,
    Option<Vec<String>>,
);

#[pymethods]
impl Columns {
    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.arrow.all().iter().map(|c| c.name.to_string_lossy().into_owned()).collect()
    }

    fn __len__(&self) -> usize {
        self.arrow.rows()
    }

    /// The columns, copied: what a program is given so is its own to change. With `limit` the first
    /// rows of them.
    #[pyo3(signature = (limit=None))]
    fn buffers<'py>(&self, py: Python<'py>, limit: Option<usize>) -> Vec<Buffers<'py>> {
        let rows = self.arrow.rows().min(limit.unwrap_or(usize::MAX));
        let columns = self.arrow.all().iter().map(|column| {
            let (kind, data, texts) = match &column.values {
                Values::I64(values) => ("i8", PyByteArray::new(py, bytes(&values[..rows])), None),
                Values::F64(values) => ("f8", PyByteArray::new(py, bytes(&values[..rows])), None),
                Values::Text(codes, texts) => {
                    let (codes, texts) = texts.used(codes, rows);
                    ("i4", PyByteArray::new(py, bytes(&codes)), Some(texts))
                }
            };
            let bits = column.can_miss.then(|| PyByteArray::new(py, &column.all_bits()));
            (column.name.to_string_lossy().into_owned(), kind, data, bits, texts)
        });
        columns.collect()
    }

    /// The types of the columns, as the Arrow PyCapsule interface wants them.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        capsule(py, ArrowSchema::of(&self.arrow))
    }

    /// All rows, as the Arrow PyCapsule interface wants them; not copied.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // A wish that need not be granted: who asks casts what it gets.
        let _ = requested_schema;
        capsule(py, ArrowArrayStream::of(Arc::clone(&self.arrow)))
    }
}

/// A structure of the Arrow C interface that a capsule holds.
trait Held: Sized {
    const NAME: &CStr;

    /// Releases it, unless who took it has.
    fn release(&mut self);
}

impl Held for ArrowSchema {
    const NAME: &CStr = c"arrow_schema";

    fn release(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it is not released.
            unsafe { release(self) };
        }
    }
}

impl Held for ArrowArrayStream {
    const NAME: &CStr = c"arrow_array_stream";

    fn release(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it is not released.
            unsafe { release(self) };
        }
    }
}

fn capsule<T: Held>(py: Python<'_>, value: T) -> PyResult<Bound<'_, PyAny>> {
    let held = Box::into_raw(Box::new(value));
    // SAFETY: the lock is held; the pointer stays good until `dropped`, the name for ever.
    let made = unsafe { ffi::PyCapsule_New(held.cast(), T::NAME.as_ptr(), Some(dropped::<T>)) };
    // SAFETY: a new reference, or null with an exception set.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, made) };
    made.inspect_err(|_| {
        // SAFETY: no capsule took it.
        unsafe { Box::from_raw(held) }.release();
    })
}

/// # Safety
///
/// Called by the interpreter, once, with a capsule that [`capsule`] made.
unsafe extern "C" fn dropped<T: Held>(capsule: *mut ffi::PyObject) {
    // SAFETY: the caller's word; the pointer is the box of `capsule`.
    unsafe {
        let held = ffi::PyCapsule_GetPointer(capsule, T::NAME.as_ptr()).cast::<T>();
        if !held.is_null() {
            Box::from_raw(held).release();
        }
    }
}

/// Numbers without padding, of any bits.
trait Plain: Copy {}
impl Plain for i64 {}
impl Plain for f64 {}
impl Plain for i32 {}

fn bytes<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: plain numbers are bytes, as many as the slice is long.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}
