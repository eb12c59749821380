//! Scopes that are not lexical: begun here and ended anywhere, made current on another thread, or
//! current only between the steps of a generator.

use crate::{here, names, record, scope_type, values};
use hodo_record::binding::{self, Begun, Entered, Opened, Raw, Suspended, swap_entered, table};
use hodo_record::{flag, is_on};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

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

/// Begin a scope under the current one; `end()` ends it, on any thread.
///
/// For what is not lexical: a copy that a callback finishes, a request that another thread answers.
/// It does not become current; `attach` makes it so for a while.
#[pyfunction]
#[pyo3(signature = (name, index=None, **attrs))]
pub fn begin(
    py: Python<'_>,
    name: &Bound<'_, PyAny>,
    index: Option<&Bound<'_, PyAny>>,
    attrs: Option<&Bound<'_, PyDict>>,
) -> PyResult<Begin> {
    let text: Bound<'_, PyString> = match name.cast_exact::<PyString>() {
        Ok(text) => text.clone(),
        // SAFETY: the lock is held.
        Err(_) => PyString::new(py, &unsafe { values::shown(name.as_ptr()) }),
    };
    // An index that is none is an attribute of that name, as with `scope`.
    let number = index.and_then(|index| index.extract::<i64>().ok());
    let (begun, start) = start(&text, 0, number);
    let ended = false.into();
    let begin = Begin { begun, start, name: text.unbind(), index: number, ended };
    if let Some(index) = index.filter(|_| number.is_none()) {
        let odd = PyDict::new(py);
        odd.set_item("index", index)?;
        begin.set_all(&odd);
    }
    if let Some(attrs) = attrs {
        begin.set_all(attrs);
    }
    Ok(begin)
}

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
    fn opened(&self) -> Opened {
        Opened { slot: self.begun.slot, id: self.begun.id }
    }

    fn set_all(&self, attrs: &Bound<'_, PyDict>) {
        if !is_on() || self.begun.id == 0 {
            return;
        }
        for (key, value) in attrs.iter() {
            // SAFETY: the lock is held; keywords are strings.
            unsafe { record::set(self.opened(), key.as_ptr(), value.as_ptr()) };
        }
    }

    fn end_once(&self, failed: bool) {
        if !self.ended.swap(true, std::sync::atomic::Ordering::AcqRel) {
            record::end(self.begun, failed);
        }
    }
}

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

    /// Set attributes of the scope.
    #[pyo3(signature = (**attrs))]
    fn set(&self, attrs: Option<&Bound<'_, PyDict>>) {
        if let Some(attrs) = attrs {
            self.set_all(attrs);
        }
    }

    /// Attach a value to the scope.
    #[pyo3(signature = (name, value, kind="point", **attrs))]
    fn mark(
        &self,
        py: Python<'_>,
        name: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        kind: &str,
        attrs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let mut attached = Attach::to(self.begun);
        attached.enter();
        let mark = py.import("hodo._hodo")?.getattr("mark")?;
        let done = mark.call((name, value, kind), attrs);
        attached.leave();
        done.map(drop)
    }

    /// End the scope; a second time does nothing. With an exception, or a type of one, as failed.
    #[pyo3(signature = (error=None))]
    fn end(&self, error: Option<&Bound<'_, PyAny>>) {
        if let Some(error) = error.filter(|_| is_on()) {
            let kind = if error.is_instance_of::<pyo3::types::PyType>() {
                error.clone()
            } else {
                error.get_type().into_any()
            };
            // SAFETY: the lock is held; the kind is a type.
            let name = unsafe { values::type_name(kind.as_ptr().cast()) };
            let text = values::Value::Text(name);
            let raw: Raw = text.raw(hodo_record::intern("error"));
            if let Some(table) = table().filter(|_| self.begun.id != 0) {
                // SAFETY: the value borrows its text until the call returns.
                unsafe { (table.set)(self.begun.slot, self.begun.id, &raw, 1) };
            }
        }
        self.end_once(error.is_some());
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (kind, _value, _trace))]
    fn __exit__(
        &self,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) {
        self.end(Some(kind).filter(|kind| !kind.is_none()));
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
    entered: Vec<Entered>,
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
        unsafe { here::to_change() };
        self.entered.push((table.enter)(self.begun));
    }

    fn leave(&mut self) {
        let entered = self.entered.pop();
        if let (Some(entered), Some(table)) = (entered, table().filter(|_| is_on())) {
            // SAFETY: the lock is held.
            unsafe { here::to_change() };
            (table.leave)(entered);
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
        return Ok(begin.get().begun);
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

#[pymethods]
impl Steps {
    /// Begins the scope that `template` describes.
    #[new]
    fn new(template: &Bound<'_, PyAny>) -> PyResult<Steps> {
        // SAFETY: the lock is held; a scope lives as long as its reference.
        let Some(scope) = (unsafe { scope_type::as_scope(template.as_ptr()) }) else {
            return Err(PyTypeError::new_err("steps are those of a scope"));
        };
        // SAFETY: as above.
        let (begun, attributes) = unsafe {
            let name = Bound::from_borrowed_ptr(template.py(), (*scope).name());
            let begun = start(name.cast::<PyString>()?, 0, (*scope).index()).0;
            (begun, (*scope).all_attributes())
        };
        let opened = Opened { slot: begun.slot, id: begun.id };
        for (key, value) in attributes.late {
            // SAFETY: the lock is held.
            unsafe { record::set(opened, key, value) };
        }
        // SAFETY: the lock is held.
        unsafe { record::set_fixed(opened, &attributes.fixed) };
        let aside = std::ptr::null_mut();
        Ok(Steps { begun, aside, entered: Vec::new(), numbers: 0, ended: false })
    }

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

    /// Ends the scope; with an exception, or a type of one, as failed.
    #[pyo3(signature = (error=None))]
    fn end(&mut self, error: Option<&Bound<'_, PyAny>>) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if let Some(error) = error.filter(|_| is_on() && self.begun.id != 0) {
            // SAFETY: the lock is held.
            let name = unsafe { values::type_name(error.get_type().as_ptr().cast()) };
            let text = values::Value::Text(name);
            let raw: Raw = text.raw(hodo_record::intern("error"));
            if let Some(table) = table() {
                // SAFETY: the value borrows its text until the call returns.
                unsafe { (table.set)(self.begun.slot, self.begun.id, &raw, 1) };
            }
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
