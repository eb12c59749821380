//! Reading runs: read once, then given as a document or as columns. Nothing here runs, or takes
//! memory, before a program asks for it.

use hodo_trace::{
    Column, Condition, Data, Filter, Last, NamePattern, ReadOptions, Run, SpanId, TraceError,
    by_total, document, mark_columns, reading_columns, span_columns, tree,
};
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Rows of the lists by name in a document, as many as `hodo report --json` has.
const TOP: usize = 5;

/// A run as it was when it was read.
#[pyclass(frozen, module = "hodo._hodo")]
pub struct Reading {
    run: Run,
}

/// Reads a run: the folder `name`, the run in `dir` whose id begins so, or the newest in `dir`.
#[pyfunction]
#[pyo3(signature = (dir, name=None))]
pub fn read_run(py: Python<'_>, dir: PathBuf, name: Option<PathBuf>) -> PyResult<Reading> {
    let read = || {
        let folder = match name.as_deref().map(|name| (name, name.to_str())) {
            None => Run::find(&dir, None)?,
            Some((_, Some(name))) => Run::find(&dir, Some(name))?,
            // No id has such a name.
            Some((folder, None)) => folder.to_owned(),
        };
        Run::open(&folder, &ReadOptions::default())
    };
    Ok(Reading { run: py.detach(read).map_err(raised)? })
}

#[pymethods]
impl Reading {
    /// The run's folder.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.run.folder.clone()
    }

    /// The tree of scopes and all else `hodo report --json` prints, as JSON.
    #[pyo3(signature = (name=None, conditions=Vec::new(), last=None, scope=None))]
    fn document(
        &self,
        py: Python<'_>,
        name: Option<&str>,
        conditions: Vec<String>,
        last: Option<&str>,
        scope: Option<&str>,
    ) -> PyResult<String> {
        let filter = filter(name, &conditions, last, scope)?;
        py.detach(|| {
            let tree = tree(&self.run, &filter);
            serde_json::to_string(&document(&self.run, &tree, &by_total(&tree), TOP))
        })
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// The scopes, a row each, as columns.
    #[pyo3(signature = (name=None, conditions=Vec::new(), last=None, scope=None))]
    fn spans<'py>(
        &self,
        py: Python<'py>,
        name: Option<&str>,
        conditions: Vec<String>,
        last: Option<&str>,
        scope: Option<&str>,
    ) -> PyResult<Vec<Buffers<'py>>> {
        let filter = filter(name, &conditions, last, scope)?;
        Ok(buffers(py, py.detach(|| span_columns(&self.run, &filter))))
    }

    /// The marks, a row each, as columns.
    #[pyo3(signature = (name=None, conditions=Vec::new(), last=None, scope=None))]
    fn marks<'py>(
        &self,
        py: Python<'py>,
        name: Option<&str>,
        conditions: Vec<String>,
        last: Option<&str>,
        scope: Option<&str>,
    ) -> PyResult<Vec<Buffers<'py>>> {
        let filter = filter(name, &conditions, last, scope)?;
        Ok(buffers(py, py.detach(|| mark_columns(&self.run, &filter))))
    }

    /// The readings of the machine, a row each, as columns.
    #[pyo3(signature = (series=None))]
    fn readings<'py>(&self, py: Python<'py>, series: Option<&str>) -> Vec<Buffers<'py>> {
        let pattern = series.map(NamePattern::new);
        buffers(py, py.detach(|| reading_columns(&self.run, pattern.as_ref())))
    }
}

fn filter(
    name: Option<&str>,
    conditions: &[String],
    last: Option<&str>,
    scope: Option<&str>,
) -> PyResult<Filter> {
    let conditions: Result<Vec<Condition>, _> = conditions.iter().map(|c| c.parse()).collect();
    let last: Option<Last> = last.map(str::parse).transpose().map_err(raised)?;
    Ok(Filter {
        name: name.map(NamePattern::new),
        conditions: conditions.map_err(raised)?,
        last,
        scope: scope.map(scope_id).transpose()?,
        ..Filter::default()
    })
}

/// A scope's id as its handle tells it: 16 hex digits of the process, 16 of its own.
fn scope_id(text: &str) -> PyResult<(u64, SpanId)> {
    let half = |part: Option<&str>| u64::from_str_radix(part?, 16).ok();
    match (text.len(), half(text.get(..16)), half(text.get(16..))) {
        (32, Some(process), Some(scope)) => Ok((process, SpanId(scope))),
        _ => {
            Err(PyValueError::new_err(format!("`{text}` is not the id of a scope: 32 hex digits")))
        }
    }
}

/// Name, kind of the numbers as numpy writes it, their bytes, a byte a row that says whether there
/// is one, and the texts that the numbers stand for.
type Buffers<'py> = (
    &'static str,
    &'static str,
    Bound<'py, PyByteArray>,
    Option<Bound<'py, PyByteArray>>,
    Option<Vec<String>>,
);

/// Hands the columns to Python one by one, so that not all are there twice at once.
fn buffers(py: Python<'_>, columns: Vec<Column>) -> Vec<Buffers<'_>> {
    columns
        .into_iter()
        .map(|column| {
            let valid = column.valid.map(|valid| PyByteArray::new(py, &valid));
            let (kind, bytes, texts) = match column.data {
                Data::I64(values) => ("i8", PyByteArray::new(py, bytes(&values)), None),
                Data::U64(values) => ("u8", PyByteArray::new(py, bytes(&values)), None),
                Data::U32(values) => ("u4", PyByteArray::new(py, bytes(&values)), None),
                Data::F64(values) => ("f8", PyByteArray::new(py, bytes(&values)), None),
                Data::Text { codes, texts } => {
                    ("i4", PyByteArray::new(py, bytes(&codes)), Some(texts))
                }
            };
            (column.name, kind, bytes, valid, texts)
        })
        .collect()
}

/// Numbers without padding, of any bits.
trait Plain: Copy {}
impl Plain for i64 {}
impl Plain for u64 {}
impl Plain for u32 {}
impl Plain for f64 {}
impl Plain for i32 {}

fn bytes<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: plain numbers are bytes, as many as the slice is long.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

fn raised(error: TraceError) -> PyErr {
    let text = error.to_string();
    match error {
        TraceError::Io { source, .. } if source.kind() != ErrorKind::NotFound => {
            PyOSError::new_err(text)
        }
        TraceError::Io { .. }
        | TraceError::NotFound { .. }
        | TraceError::NoRuns { .. }
        | TraceError::NotARun { .. } => PyFileNotFoundError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}
