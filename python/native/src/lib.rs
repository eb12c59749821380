//! The native half of the `hodo` package: the fast path of scopes, marks and loops, and the edge to
//! `libhodo.so`, which records.
//!
//! What is called often is written against the C interface of Python; the rest against PyO3's.

mod api;
mod arrow;
mod begin;
mod columns;
mod control;
mod done;
mod gil;
mod gpu;
mod handles;
mod here;
mod loops;
mod mark;
mod names;
mod nodes;
mod numbers;
mod on_thread;
mod probe;
mod read;
mod record;
mod runtime;
mod scope;
mod scope_new;
mod scope_open;
mod scope_type;
mod stack;
mod telemetry;
mod values;

use gil::Gil;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;
use scope_type::{fast, plain};
use std::ffi::CStr;

static FUNCTIONS: Gil<[ffi::PyMethodDef; 6]> = Gil::new([
    fast(c"scope", scope_new::scope, SCOPE),
    fast(c"mark", mark::mark, MARK),
    fast(c"begin", begin::begin, BEGIN),
    plain(c"again", begin::again, ffi::METH_O, c""),
    fast(c"steps", begin::steps, c""),
    ffi::PyMethodDef::zeroed(),
]);

const SCOPE: &CStr = c"scope(name, index=None, *, tag=None, repeat=None, warmup=0, **attrs)
--

A named region of code, recorded each time it runs.

With `with` or `async with` it gives a handle that has `id`, `name`, `index`, `start_ns`, `set(**attrs)`
and `mark(name, value)`. An exception passes through, and the scope is recorded as failed by it.
As a decorator, `@scope` or `@scope(\"name\", k=v)`, it takes functions, methods, coroutines and generators.
With `repeat` it is a benchmark loop: `for i in scope(\"matmul\", repeat=10, warmup=3)` gives the warm-up
passes -3 to -1, then 0 to 9, each of which is timed.

index: which one of many, such as the step.
tag: a word shown next to the name.
attrs: numbers, truths, texts, or anything; what is none of these is kept as JSON or text.";

const BEGIN: &CStr = c"begin(name, index=None, **attrs)
--

Begin a scope under the current one; `end()` ends it, on any thread.

For what is not lexical: a copy that a callback finishes, a request that another thread answers.
It does not become current; `attach` makes it so for a while.";

const MARK: &CStr = c"mark(name, value, kind='point', **attrs)
--

Attach a value to the innermost open scope.

value: an int, float, bool or str, or a scalar of numpy, torch or jax. A tensor on a GPU is fetched, which waits
for it. Anything else is stored as text and counted in `health()[\"values_as_text\"]`.
kind: \"point\", one of a series, or \"summary\", the value of the whole scope.";

/// Record every item of `items` as a scope `epoch` with its index, from 0.
///
/// Keeps `len()` and the attributes of `items`. The scope of an item is open while the body of the
/// loop runs, and is closed by `break` and by exceptions.
#[pyfunction]
fn epochs<'py>(items: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    looped(items, false)
}

/// Record every item of `items` as a scope `batch` with its index, from 0; the time spent waiting for
/// the item is its child `data_wait`.
///
/// Keeps `len()` and the attributes of `items`, such as a DataLoader's `dataset`. The scope of an item
/// is open while the body of the loop runs, and is closed by `break` and by exceptions.
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

/// How many scopes up the innermost open one of a name is; None where none is open here.
#[pyfunction]
fn levels_to(name: &str) -> Option<usize> {
    if !hodo_record::is_on() {
        return None;
    }
    // SAFETY: the lock is held; the first call puts the running context's stack on its thread.
    unsafe {
        here::to_look();
        record::levels_to(hodo_record::intern(name))
    }
}

/// Calls `set` or `reset` of a context variable while the garbage collector stays out.
#[pyfunction]
fn uncollected<'py>(
    change: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the lock is held, and nothing that such a call does lets it go.
    unsafe { here::without_collecting(|| change.call1((value,))) }
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
    // SAFETY: the lock is held.
    unsafe { values::prepare() };
    module.add_class::<handles::Attach>()?;
    module.add_class::<handles::Begin>()?;
    // SAFETY: the lock is held.
    let methods = unsafe { begin::prepare(py.get_type::<handles::Begin>().as_ptr()) };
    if methods.is_err() {
        return Err(PyErr::fetch(py));
    }
    module.add_class::<handles::Link>()?;
    module.add_class::<handles::Steps>()?;
    module.add_class::<numbers::NewScope>()?;
    module.add_class::<read::Reading>()?;
    module.add_class::<columns::Columns>()?;
    module.add("BENCH", hodo_record::flag::BENCH)?;
    module.add("ITERATION", hodo_record::flag::ITERATION)?;
    module.add("WARMUP", hodo_record::flag::WARMUP)?;
    module.add_function(wrap_pyfunction!(epochs, module)?)?;
    module.add_function(wrap_pyfunction!(batches, module)?)?;
    module.add_function(wrap_pyfunction!(flagged, module)?)?;
    module.add_function(wrap_pyfunction!(levels_to, module)?)?;
    module.add_function(wrap_pyfunction!(uncollected, module)?)?;
    module.add_function(wrap_pyfunction!(control::arrive, module)?)?;
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
    module.add_function(wrap_pyfunction!(gpu::gpu_state, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_give_way, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_resume, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_forward, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_swap_forward, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_window_begin, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_window_end, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_forward_of, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_watch_forward, module)?)?;
    module.add_function(wrap_pyfunction!(telemetry::telemetry_nonsense, module)?)?;
    module.add_function(wrap_pyfunction!(telemetry::telemetry_state, module)?)?;
    module.add_function(wrap_pyfunction!(telemetry::telemetry_start, module)?)?;
    module.add_function(wrap_pyfunction!(telemetry::telemetry_stop, module)?)?;
    module.add_function(wrap_pyfunction!(control::log_no_more, module)?)?;
    module.add_function(wrap_pyfunction!(control::log_to, module)?)?;
    module.add_function(wrap_pyfunction!(read::read_run, module)?)?;
    module.add_function(wrap_pyfunction!(read::runs_in, module)?)?;
    module.add_function(wrap_pyfunction!(read::tables, module)?)?;
    module.add_function(wrap_pyfunction!(read::views, module)?)?;
    // A private module: what the package offers is its own list.
    module.as_any().delattr("__all__")
}
