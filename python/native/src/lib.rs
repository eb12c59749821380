//! The native half of the `hodo` package: the fast path of scopes, marks and loops, and the edge to
//! `libhodo.so`, which records.
//!
//! What is called often is written against the C interface of Python; the rest against PyO3's.

mod api;
mod control;
mod done;
mod gil;
mod handles;
mod here;
mod loops;
mod mark;
mod names;
mod numbers;
mod probe;
mod read;
mod record;
mod runtime;
mod scope;
mod scope_type;
mod stack;
mod values;

use gil::Gil;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;
use scope_type::fast;

static FUNCTIONS: Gil<[ffi::PyMethodDef; 3]> = Gil::new([
    fast(
        c"scope",
        scope::scope,
        c"scope(name, index=None, *, tag=None, repeat=None, warmup=0, **attrs)\n--\n\nA named region of code: for `with`, `async with`, as a decorator, and as a benchmark loop.",
    ),
    fast(
        c"mark",
        mark::mark,
        c"mark(name, value, kind='point', **attrs)\n--\n\nAttach a value to the innermost open scope.",
    ),
    ffi::PyMethodDef::zeroed(),
]);

/// An iterable that records every item as a scope `epoch`.
#[pyfunction]
fn epochs<'py>(items: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    looped(items, false)
}

/// An iterable that records every item as a scope `batch`, and the wait for it as `data_wait`.
#[pyfunction]
fn batches<'py>(items: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    looped(items, true)
}

fn looped<'py>(items: &Bound<'py, PyAny>, is_batch: bool) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the lock is held; a new reference or null with an exception set comes back.
    unsafe { Bound::from_owned_ptr_or_err(items.py(), loops::new(items.as_ptr(), is_batch)) }
}

/// A scope with flags of its own, for benchmark loops, and the attributes of `like`.
#[pyfunction]
#[pyo3(signature = (name, flags, index=None, like=None))]
fn flagged<'py>(
    name: &Bound<'py, PyString>,
    flags: u16,
    index: Option<i64>,
    like: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: as in `looped`; the package passes exact strings.
    unsafe {
        let like = like.and_then(|like| scope_type::as_scope(like.as_ptr()));
        let like = like.map_or(std::ptr::null_mut(), |like| like.cast());
        Bound::from_owned_ptr_or_err(name.py(), scope::flagged(name.as_ptr(), flags, index, like))
    }
}

#[pymodule]
fn _hodo(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    // SAFETY: the lock is held.
    let made = unsafe {
        stack::prepare()
            .and_then(|()| loops::prepare())
            .and_then(|()| done::prepare())
            .and_then(|()| scope_type::prepare(module.as_ptr()))
    };
    // SAFETY: the functions outlive the module.
    let added = unsafe { ffi::PyModule_AddFunctions(module.as_ptr(), FUNCTIONS.get().cast()) };
    if made.is_err() || added != 0 {
        return Err(PyErr::fetch(py));
    }
    probe::run(py);
    module.add_class::<handles::Attach>()?;
    module.add_class::<handles::Begin>()?;
    module.add_class::<handles::Link>()?;
    module.add_class::<handles::Steps>()?;
    module.add_class::<numbers::NewScope>()?;
    module.add_class::<read::Reading>()?;
    module.add("BENCH", hodo_record::flag::BENCH)?;
    module.add("ITERATION", hodo_record::flag::ITERATION)?;
    module.add("WARMUP", hodo_record::flag::WARMUP)?;
    module.add_function(wrap_pyfunction!(epochs, module)?)?;
    module.add_function(wrap_pyfunction!(batches, module)?)?;
    module.add_function(wrap_pyfunction!(flagged, module)?)?;
    module.add_function(wrap_pyfunction!(handles::begin, module)?)?;
    module.add_function(wrap_pyfunction!(handles::attach, module)?)?;
    module.add_function(wrap_pyfunction!(handles::current, module)?)?;
    module.add_function(wrap_pyfunction!(numbers::current_scope_id, module)?)?;
    module.add_function(wrap_pyfunction!(numbers::enter_new_scope, module)?)?;
    module.add_function(wrap_pyfunction!(control::start, module)?)?;
    module.add_function(wrap_pyfunction!(control::is_on, module)?)?;
    module.add_function(wrap_pyfunction!(control::child_variables, module)?)?;
    module.add_function(wrap_pyfunction!(control::flush, module)?)?;
    module.add_function(wrap_pyfunction!(control::shutdown, module)?)?;
    module.add_function(wrap_pyfunction!(control::health, module)?)?;
    module.add_function(wrap_pyfunction!(control::log_to, module)?)?;
    module.add_function(wrap_pyfunction!(read::read_run, module)?)?;
    // A private module: what the package offers is its own list.
    module.as_any().delattr("__all__")
}
