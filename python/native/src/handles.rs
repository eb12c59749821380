//! Scopes that are not lexical: begun here and ended anywhere, made current on another thread, or
//! current only between the steps of a generator.

use crate::{here, names, record, scope_type};
use hodo_record::binding::{self, Begun, Entered, Opened, Suspended, swap_entered, table};
use hodo_record::{flag, is_on};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// A scope that belongs to no thread; `hodo.begin()` makes it.
#[pyclass(frozen, module = "hodo", weakref)]
pub struct Begin {
    begun: Begun,
    start: u64,
    #[pyo3(get)]
    name: Py<PyString>,
    #[pyo3(get)]
    index: Option<i64>,
    ended: std::sync::atomic::AtomicBool,
}

// SAFETY: a begun scope is ended by whoever claims it first, on any thread.
unsafe impl Send for Begin {}
// SAFETY: as above.
unsafe impl Sync for Begin {}

/// Begins a scope under the current one, while a recorder is on.
fn start(name: &Bound<'_, PyString>, flags: u16, index: Option<i64>) -> (Begun, u64) {
    let Some(table) = table().filter(|_| is_on()) else { return (Begun::INERT, 0) };
    let flags = flags | if index.is_some() { flag::HAS_INDEX } else { 0 };
    // SAFETY: the lock is held; the name is an exact string.
    let id = unsafe {
        here::to_look();
        names::known(name.as_ptr()).id
    };
    ((table.begin)(id, flags, index.unwrap_or(0)), binding::counter())
}

impl Begin {
    /// What attributes are set on.
    pub fn opened(&self) -> Opened {
        Opened { slot: self.begun.slot, id: self.begun.id }
    }

    /// A link to it.
    pub fn begun(&self) -> Begun {
        self.begun
    }

    /// Ends it, the first time.
    pub fn end_once(&self, failed: bool) {
        if !self.ended.swap(true, std::sync::atomic::Ordering::AcqRel) {
            record::end(self.begun, failed);
        }
    }

    /// Begins a scope with this name.
    pub fn start(name: &Bound<'_, PyString>, index: Option<i64>) -> Begin {
        let (begun, start) = start(name, 0, index);
        Begin { begun, start, name: name.clone().unbind(), index, ended: false.into() }
    }
}

/// Nothing here runs code of the program's: where an interpreter ends, a daemon thread is ended
/// inside such code, and that must not pass through Rust. `begin.rs` has what does.
#[pymethods]
impl Begin {
    /// 32 hex digits; None for a scope that is not recorded.
    #[getter]
    fn id(&self) -> Option<String> {
        binding::scope_id(self.begun.id).map(|id| id.to_string())
    }

    /// When it began, in nanoseconds since 1970; None if it is not recorded.
    #[getter]
    fn start_ns(&self) -> Option<u64> {
        table().filter(|_| self.begun.id != 0).map(|table| (table.wall_ns)(self.start))
    }

    /// Whether it is, or was, recorded.
    #[getter]
    fn recorded(&self) -> bool {
        self.begun.id != 0
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let ended = self.ended.load(std::sync::atomic::Ordering::Relaxed);
        let state = match (self.begun.id, ended) {
            (0, _) => "not recorded",
            (_, true) => "ended",
            _ => "open",
        };
        format!("<hodo.Begin {:?} {state}>", self.name.bind(py).to_string())
    }
}

impl Drop for Begin {
    fn drop(&mut self) {
        self.end_once(false);
    }
}

/// Makes a scope current on this thread, inside a `with`.
#[pyclass(module = "hodo")]
pub struct Attach {
    begun: Begun,
    /// What was entered, and in which context: several may share the object.
    entered: Vec<(usize, Entered)>,
}

// SAFETY: what was entered names its thread, and leaving on another does nothing.
unsafe impl Send for Attach {}
// SAFETY: as above; the interpreter's lock guards the list.
unsafe impl Sync for Attach {}

impl Attach {
    fn to(begun: Begun) -> Attach {
        Attach { begun, entered: Vec::new() }
    }

    fn enter(&mut self) {
        let Some(table) = table().filter(|_| is_on()) else { return };
        // SAFETY: the lock is held.
        let place = unsafe { here::place() };
        self.entered.push((place, (table.enter)(self.begun)));
    }

    fn leave(&mut self) {
        let Some(table) = table().filter(|_| is_on()) else { return };
        // SAFETY: the lock is held.
        let place = unsafe { here::place() };
        if let Some(at) = self.entered.iter().rposition(|(entered, _)| *entered == place) {
            (table.leave)(self.entered.remove(at).1);
        }
    }
}

#[pymethods]
impl Attach {
    fn __enter__(mut slf: PyRefMut<'_, Self>) -> PyRefMut<'_, Self> {
        slf.enter();
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&mut self, _exception: &Bound<'_, PyTuple>) {
        self.leave();
    }
}

/// Make a scope that was opened or begun elsewhere the parent of what is opened here, in a `with`.
///
/// Takes what `scope()`, `begin()` or `current()` returned, also on another thread.
#[pyfunction]
pub fn attach(handle: &Bound<'_, PyAny>) -> PyResult<Attach> {
    link(handle).map(Attach::to)
}

/// A reference to a scope that another thread can attach.
#[pyclass(frozen, module = "hodo")]
pub struct Link {
    begun: Begun,
}

// SAFETY: a link is an id and a depth.
unsafe impl Send for Link {}
// SAFETY: as above.
unsafe impl Sync for Link {}

#[pymethods]
impl Link {
    /// The scope's 32 hex digits; None for no scope, or one that is not recorded.
    #[getter]
    fn id(&self) -> Option<String> {
        binding::scope_id(self.begun.id).map(|id| id.to_string())
    }
}

/// The current scope, to be attached on another thread.
#[pyfunction]
pub fn current() -> Link {
    let begun = table().filter(|_| is_on()).map_or(Begun::INERT, |table| {
        // SAFETY: the lock is held.
        unsafe { here::to_look() };
        (table.link)()
    });
    Link { begun }
}

fn link(handle: &Bound<'_, PyAny>) -> PyResult<Begun> {
    if let Ok(begin) = handle.cast::<Begin>() {
        return Ok(begin.get().begun());
    }
    if let Ok(link) = handle.cast::<Link>() {
        return Ok(link.get().begun);
    }
    // SAFETY: the lock is held.
    unsafe { scope_type::link(handle.as_ptr()) }.ok_or_else(|| {
        PyTypeError::new_err("attach() takes what scope(), begin() or current() returned")
    })
}

/// A scope with a stack of its own that is current between `__enter__` and `__exit__`: a decorated
/// generator is in it while it runs, and not while it waits at a `yield`.
#[pyclass(module = "hodo")]
pub struct Steps {
    begun: Begun,
    aside: *mut Suspended,
    entered: Vec<(Entered, u64)>,
    numbers: u64,
    ended: bool,
}

// SAFETY: the stack taken aside names its thread, and elsewhere is left alone.
unsafe impl Send for Steps {}
// SAFETY: as above; the interpreter's lock guards the fields.
unsafe impl Sync for Steps {}

impl Steps {
    /// Begins the scope that `scope` describes, but for its attributes.
    ///
    /// # Safety
    /// The lock is held; `scope` is alive.
    pub unsafe fn start(py: Python<'_>, scope: *mut crate::scope::Scope) -> PyResult<Steps> {
        // SAFETY: by the contract.
        let begun = unsafe {
            let name = Bound::from_borrowed_ptr(py, (*scope).name());
            start(name.cast::<PyString>()?, 0, (*scope).index()).0
        };
        let aside = std::ptr::null_mut();
        Ok(Steps { begun, aside, entered: Vec::new(), numbers: 0, ended: false })
    }

    /// What attributes are set on.
    pub fn opened(&self) -> Opened {
        Opened { slot: self.begun.slot, id: self.begun.id }
    }
}

#[pymethods]
impl Steps {
    fn __enter__(&mut self) {
        let Some(table) = table().filter(|_| is_on()) else { return };
        // SAFETY: the lock is held; `aside` is null or what the table put there.
        let entered = unsafe {
            here::to_change();
            (table.resume)(self.begun, &mut self.aside)
        };
        self.entered.push((entered, swap_entered(self.numbers)));
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&mut self, _exception: &Bound<'_, PyTuple>) {
        let Some((entered, outside)) = self.entered.pop() else { return };
        self.numbers = swap_entered(outside);
        if let Some(table) = table().filter(|_| is_on()) {
            // SAFETY: as in `__enter__`.
            unsafe {
                here::to_change();
                (table.suspend)(entered, &mut self.aside);
            }
        }
    }

    /// Ends the scope; as failed, with the name of an exception.
    #[pyo3(signature = (error=None))]
    fn end(&mut self, error: Option<&Bound<'_, PyString>>) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if let Some(error) = error.filter(|_| is_on() && self.begun.id != 0) {
            // SAFETY: the lock is held; the name is a string.
            let kind = unsafe { names::with_text(error.as_ptr(), hodo_record::intern) };
            let pair = (hodo_record::intern("error"), binding::code::NAME, u64::from(kind));
            // SAFETY: the lock is held.
            unsafe { record::set_fixed(self.opened(), &[pair]) };
        }
        record::end(self.begun, error.is_some());
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if let Some(table) = table() {
            if !self.aside.is_null() {
                // SAFETY: as in `__enter__`.
                unsafe { (table.drop_suspended)(&mut self.aside) };
            }
            if !self.ended {
                record::end(self.begun, false);
            }
        }
    }
}
