//! Starting, stopping, asking; and the recorder's warnings on their way to `logging`.

use crate::gil::Gil;
use crate::runtime::{self, Options, Runtime};
use crate::{here, probe, values};
use hodo_record::{Counts, Flushed, Loss};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Starts recording: "on", "degraded", "off" or "already", and why.
#[pyfunction]
#[pyo3(signature = (library, *, app, dir, run, enabled, max_depth, memory_bytes, spool_bytes, flush_ms, share_run, gpu, telemetry))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn start(
    py: Python<'_>,
    library: &str,
    app: Option<&[u8]>,
    dir: Option<&[u8]>,
    run: Option<&[u8]>,
    enabled: bool,
    max_depth: u32,
    memory_bytes: u64,
    spool_bytes: u64,
    flush_ms: u64,
    share_run: bool,
    gpu: Option<&[u8]>,
    telemetry: Option<&[u8]>,
) -> PyResult<(&'static str, String)> {
    let runtime = runtime::load(library)?;
    let owned = |text: Option<&[u8]>| text.map(CString::new).transpose();
    let (app, dir, run) = (owned(app)?, owned(dir)?, owned(run)?);
    let (gpu, telemetry) = (owned(gpu)?, owned(telemetry)?);
    let text = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |t| t.as_ptr());
    let options = Options {
        struct_size: size_of::<Options>(),
        app: text(&app),
        dir: text(&dir),
        run: text(&run),
        disabled: (!enabled).into(),
        max_depth,
        memory_bytes,
        spool_bytes,
        flush_interval_ms: flush_ms,
        keep_run_private: (!share_run).into(),
        gpu: text(&gpu),
        telemetry: text(&telemetry),
    };
    // SAFETY: the texts live until the calls return. The lock stays held: starting takes
    // milliseconds, and nobody can open a scope meanwhile.
    let code = unsafe {
        (runtime.on_warning)(on_warning);
        (runtime.init)(&options)
    };
    // SAFETY: the lock is held.
    unsafe { here::forget() };
    deliver(py);
    let state = ["on", "degraded", "off", "already"][code.min(3) as usize];
    Ok((state, reason(&runtime)))
}

fn reason(runtime: &Runtime) -> String {
    let mut bytes = vec![0u8; 1024];
    // SAFETY: the buffer has the length told.
    let length = unsafe { (runtime.reason)(bytes.as_mut_ptr().cast(), bytes.len()) };
    bytes.truncate(length.min(bytes.len() - 1));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a recorder is on.
#[pyfunction]
pub fn is_on() -> bool {
    hodo_record::is_on()
}

/// Puts the running context's stack on its thread: before a fork, which asks the thread what it is in.
#[pyfunction]
pub fn arrive() {
    if hodo_record::is_on() {
        // SAFETY: the lock is held.
        unsafe { here::to_look() };
    }
}

/// The run and the current scope, as variables of the environment give them to a child.
#[pyfunction]
pub fn child_variables() -> (Option<String>, Option<String>) {
    if !hodo_record::is_on() {
        return (None, None);
    }
    // SAFETY: the lock is held.
    unsafe { here::to_look() };
    let mut variables = hodo_record::child_env();
    let mut take = |name: &str| {
        let at = variables.iter().position(|(known, _)| *known == name)?;
        Some(variables.swap_remove(at).1)
    };
    (take("HODO_RUN"), take("HODO_PARENT"))
}

/// Waits until everything recorded so far is on disk: "done", "timed out", "off", or what failed.
#[pyfunction]
pub fn flush(py: Python<'_>, seconds: f64) -> String {
    let timeout = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
    told(py.detach(|| hodo_record::flush(timeout.min(Duration::from_secs(86_400)))))
}

/// Stops recording; answers as `flush`.
#[pyfunction]
pub fn shutdown(py: Python<'_>) -> String {
    let done = told(py.detach(hodo_record::shutdown));
    // SAFETY: the lock is held.
    unsafe { here::forget() };
    deliver(py);
    done
}

fn told(flushed: Flushed) -> String {
    match flushed {
        Flushed::Done => "done".into(),
        Flushed::TimedOut => "timed out".into(),
        Flushed::Failed(why) => why,
        Flushed::Off => "off".into(),
    }
}

/// What the recorder knows about itself.
#[pyfunction]
pub fn health(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let health = py.detach(hodo_record::health);
    let dict = PyDict::new(py);
    dict.set_item("on", health.on)?;
    dict.set_item("produced", counts(py, health.produced)?)?;
    dict.set_item("stored", counts(py, health.stored)?)?;
    dict.set_item("in_ring", counts(py, health.in_ring)?)?;
    let lost = PyDict::new(py);
    for (i, of_reason) in health.lost.iter().enumerate() {
        lost.set_item(Loss::ALL[i].name(), counts(py, *of_reason)?)?;
    }
    dict.set_item("lost", lost)?;
    dict.set_item("lost_records", health.lost_records())?;
    dict.set_item("depth_dropped", health.depth_dropped)?;
    dict.set_item("out_of_order", health.out_of_order)?;
    dict.set_item("double_closed", health.double_closed)?;
    dict.set_item("wrong_thread", health.wrong_thread)?;
    dict.set_item("names_refused", health.names_refused)?;
    // SAFETY: the lock is held.
    dict.set_item("values_as_text", unsafe { *values::STORED_AS_TEXT.get() })?;
    dict.set_item("internal_errors", health.internal_errors)?;
    dict.set_item("threads", health.threads)?;
    dict.set_item("cpu_syscalls", health.cpu_syscalls)?;
    dict.set_item("ring_bytes", health.ring_bytes)?;
    dict.set_item("memory_bytes", health.memory_bytes)?;
    dict.set_item("spool_bytes", health.spool_bytes)?;
    dict.set_item("pump_lag_ns", health.pump_lag_ns)?;
    dict.set_item("scope_cost_ns", health.scope_cost_ns)?;
    dict.set_item("crash_safe", health.crash_safe)?;
    dict.set_item("clock", health.clock)?;
    dict.set_item("cpu_time", health.cpu_time)?;
    dict.set_item("context", context())?;
    dict.set_item("run", health.run.map(|run| run.to_string_lossy().into_owned()))?;
    dict.set_item("degraded", health.degraded)?;
    Ok(dict)
}

/// How the parent of a scope is found.
fn context() -> &'static str {
    // SAFETY: the lock is held by every caller from Python.
    let known = unsafe { *probe::CONTEXT_AT.get() } != 0;
    if known { "context" } else { "thread only: this interpreter's contexts could not be read" }
}

fn counts(py: Python<'_>, counts: Counts) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("spans", counts.spans)?;
    dict.set_item("marks", counts.marks)?;
    dict.set_item("attrs", counts.attrs)?;
    Ok(dict)
}

/// Warnings not yet logged; `None` once the interpreter is going down and nobody will.
static WARNINGS: Mutex<Option<Vec<String>>> = Mutex::new(Some(Vec::new()));
/// A bound on how many, for nobody may ever log them.
const MOST_WARNINGS: usize = 100;
/// What takes a warning; null until the package sets it.
static LOG: Gil<Option<Py<PyAny>>> = Gil::new(None);

/// Sends warnings to `log`, a function of one text.
#[pyfunction]
pub fn log_to(log: Py<PyAny>) {
    // SAFETY: the lock is held.
    unsafe { *LOG.get() = Some(log) };
}

/// Takes a warning on whatever thread it comes from; the main thread logs it.
extern "C" fn on_warning(message: *const c_char, length: usize) {
    // SAFETY: the library passes a text of this length.
    let bytes = unsafe { std::slice::from_raw_parts(message.cast::<u8>(), length) };
    let mut warnings = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(waiting) = warnings.as_mut() else { return };
    if waiting.len() < MOST_WARNINGS {
        waiting.push(String::from_utf8_lossy(bytes).into_owned());
    }
    // SAFETY: may be called on any thread, with or without the lock of the interpreter, which is
    // not going down: that would have taken the warnings away first.
    unsafe { ffi::Py_AddPendingCall(Some(deliver_pending), std::ptr::null_mut()) };
}

/// The interpreter is going down: from now on warnings go nowhere.
#[pyfunction]
pub fn log_no_more(py: Python<'_>) {
    deliver(py);
    // A thread that warns may hold the list while it waits for nothing of Python's.
    *WARNINGS.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

extern "C" fn deliver_pending(_: *mut c_void) -> c_int {
    Python::attach(deliver);
    0
}

/// Logs what has been warned of. An exception in a handler of the program's is not ours to raise
/// at an arbitrary place of it.
fn deliver(py: Python<'_>) {
    // SAFETY: the lock is held.
    let log = unsafe { (*LOG.get()).as_ref().map(|log| log.clone_ref(py)) };
    let Some(log) = log else { return };
    let mut waiting = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let warnings = waiting.as_mut().map(std::mem::take).unwrap_or_default();
    drop(waiting);
    for warning in warnings {
        if let Err(error) = log.call1(py, (warning,)) {
            error.write_unraisable(py, None);
        }
    }
}
