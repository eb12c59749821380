//! Reading runs: read once, then given as a document or as columns. Nothing here runs, or takes
//! memory, before a program asks for it.

use crate::columns::Columns;
use hodo_trace::packed::Table;
use hodo_trace::{
    Condition, Filter, Last, NamePattern, ReadOptions, Run, SpanId, TraceError, by_total, columns,
    document, sample_columns, tree, tree_columns,
};
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
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

/// The folders of the runs in a folder.
#[pyfunction]
pub fn runs_in(folder: PathBuf) -> Vec<PathBuf> {
    Run::list(&folder).into_iter().map(|run| run.folder).collect()
}

#[pymethods]
impl Reading {
    /// The run's folder.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.run.folder.clone()
    }

    /// The run's id.
    #[getter]
    fn id(&self) -> &str {
        &self.run.info.id
    }

    /// Bytes of the run that cannot be read; none when all can.
    #[getter]
    fn unreadable_bytes(&self) -> Option<u64> {
        self.run.unreadable_bytes()
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
            serde_json::to_string(&document(&self.run, &filter, &tree, &by_total(&tree), TOP))
        })
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// A table of the run, of the scopes that the filters keep: one of those that `hodo export --to
    /// parquet` writes, or the tree.
    #[pyo3(signature = (table, name=None, conditions=Vec::new(), last=None, scope=None))]
    fn table(
        &self,
        py: Python<'_>,
        table: &str,
        name: Option<&str>,
        conditions: Vec<String>,
        last: Option<&str>,
        scope: Option<&str>,
    ) -> PyResult<Columns> {
        let filter = filter(name, &conditions, last, scope)?;
        if table == TREE {
            return Ok(Columns::new(py, || tree_columns(&self.run, &filter)));
        }
        let found = Table::ALL.into_iter().find(|one| one.name() == table);
        let found = found.ok_or_else(|| {
            PyValueError::new_err(format!("`{table}` is no table: {}", tables().join(", ")))
        })?;
        Ok(Columns::new(py, || columns(&self.run, found, &filter)))
    }

    /// The readings of the machines, of the series whose metric fits.
    #[pyo3(signature = (series=None))]
    fn samples(&self, py: Python<'_>, series: Option<&str>) -> Columns {
        let pattern = series.map(NamePattern::new);
        Columns::new(py, || sample_columns(&self.run, pattern.as_ref()))
    }
}

/// The table of paths, which is made for every question anew.
const TREE: &str = "tree";

/// The names of all tables.
#[pyfunction]
pub fn tables() -> Vec<&'static str> {
    Table::ALL.into_iter().map(Table::name).chain([TREE]).collect()
}

/// The views that `hodo sql` has on them, as name and query. The tree is a table here, with the
/// numbers of a report.
#[pyfunction]
pub fn views() -> Vec<(&'static str, &'static str)> {
    vec![
        ("steps", include_str!("../../../sql/src/views/steps.sql")),
        ("slowest", include_str!("../../../sql/src/views/slowest.sql")),
        ("kernels_by_scope", include_str!("../../../sql/src/views/kernels_by_scope.sql")),
        ("gpu_idle", include_str!("../../../sql/src/views/gpu_idle.sql")),
    ]
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
