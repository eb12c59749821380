//! `hodo.scope`: the object behind `with`.
//!
//! `__enter__` and `__exit__` are found as one descriptor that gives the scope itself, which is
//! called with no argument to enter and with three to leave: the interpreter then makes no bound
//! methods. The objects are used again, and their attributes lie in them.

use crate::api::Vectorcall;
use crate::gil::Gil;
use crate::names;
use crate::scope_new::keep_late;
use crate::scope_open::{call, leave};
use hodo_record::binding::{AttrsRecord, INERT, Opened, span_head};
use hodo_record::{flag, is_on};
use pyo3::ffi::{self, PyObject};

/// A scope, open or not.
#[repr(C)]
pub struct Scope {
    base: PyObject,
    call: Vectorcall,
    /// What is open; [`Opened::INERT`] when nothing is.
    pub opened: Opened,
    /// Id of the span, also when it is closed; 0 when none was recorded.
    pub span: u64,
    /// Ticks when it opened.
    pub start: u64,
    /// Ticks when it closed, of a pass of a benchmark loop.
    pub end: u64,
    /// Head of the span; 0 until a recorder is on.
    pub(crate) head: u64,
    pub(crate) index: i64,
    /// Flags of the span; [`flag::HAS_INDEX`] among them.
    pub(crate) flags: u16,
    /// How many attributes lie here.
    pub(crate) count: u8,
    pub(crate) codes: [u16; AttrsRecord::CAPACITY],
    pub(crate) keys: [u32; AttrsRecord::CAPACITY],
    pub(crate) words: [u64; AttrsRecord::CAPACITY],
    pub(crate) name: *mut PyObject,
    /// What few scopes have; null for nothing.
    pub(crate) more: *mut More,
}

/// What few scopes have.
#[derive(Default)]
pub struct More {
    /// Attributes that are converted when the scope opens: held keys and values.
    pub(crate) late: Vec<(*mut PyObject, *mut PyObject)>,
    /// Openings that were not closed when the same object was entered again.
    pub(crate) outer: Vec<(Opened, u64, u64)>,
    pub repeat: Option<i64>,
    pub warmup: i64,
}

/// The attributes of a scope: those of a fixed size, and borrowed keys and values.
pub struct Attributes {
    pub fixed: Vec<(u32, u16, u64)>,
    pub late: Vec<(*mut PyObject, *mut PyObject)>,
}

pub static TYPE: Gil<*mut ffi::PyTypeObject> = Gil::new(std::ptr::null_mut());

/// Scopes to use again.
struct Spare {
    scopes: [*mut Scope; Self::MOST],
    count: usize,
}

impl Spare {
    const MOST: usize = 64;
}

static SPARE: Gil<Spare> =
    Gil::new(Spare { scopes: [std::ptr::null_mut(); Spare::MOST], count: 0 });

/// A scope with a name, nothing else said.
///
/// # Safety
/// The lock is held; `name` is an exact `str`.
#[inline(always)]
pub unsafe fn new(name: *mut PyObject) -> *mut Scope {
    // SAFETY: by the contract; a spare scope's memory and type are ours.
    unsafe {
        let spare = SPARE.get();
        let scope = if (*spare).count > 0 {
            (*spare).count -= 1;
            let scope = (&(*spare).scopes)[(*spare).count];
            scope.cast::<isize>().write(1);
            scope
        } else {
            allocate()
        };
        if !scope.is_null() {
            ffi::Py_INCREF(name);
            (*scope).name = name;
        }
        scope
    }
}

#[cold]
unsafe fn allocate() -> *mut Scope {
    // SAFETY: the lock is held; the object is filled before anybody sees it.
    unsafe {
        let scope = ffi::PyObject_Malloc(size_of::<Scope>()).cast::<Scope>();
        if scope.is_null() {
            ffi::PyErr_NoMemory();
            return scope;
        }
        scope.write_bytes(0, 1);
        ffi::PyObject_Init(scope.cast(), *TYPE.get());
        (*scope).call = call;
        (*scope).opened = Opened::INERT;
        scope
    }
}

/// Gives the object back; one that is still open can never be closed by anybody else.
pub unsafe extern "C" fn dealloc(object: *mut PyObject) {
    // SAFETY: the interpreter calls this once, with the lock, on an object of this type.
    unsafe {
        let scope = object.cast::<Scope>();
        // Once for every time it was entered.
        loop {
            if (*scope).opened.slot == INERT {
                break;
            }
            leave(scope, std::ptr::null_mut());
        }
        ffi::Py_DECREF((*scope).name);
        if !(*scope).more.is_null() {
            drop_more(scope);
        }
        (*scope).head = 0;
        (*scope).span = 0;
        (*scope).flags = 0;
        (*scope).count = 0;
        let spare = SPARE.get();
        if (*spare).count < Spare::MOST {
            (&mut (*spare).scopes)[(*spare).count] = scope;
            (*spare).count += 1;
        } else {
            let kind = ffi::Py_TYPE(object);
            ffi::PyObject_Free(object.cast());
            ffi::Py_DECREF(kind.cast());
        }
    }
}

#[cold]
unsafe fn drop_more(scope: *mut Scope) {
    // SAFETY: the lock is held; the box is the scope's own, the attributes held.
    unsafe {
        let more = Box::from_raw(std::mem::replace(&mut (*scope).more, std::ptr::null_mut()));
        for (key, value) in more.late {
            ffi::Py_DECREF(key);
            ffi::Py_DECREF(value);
        }
    }
}

/// What few scopes have, made if need be.
pub unsafe fn more<'a>(scope: *mut Scope) -> &'a mut More {
    // SAFETY: the lock is held; the box lives as long as the scope.
    unsafe {
        if (*scope).more.is_null() {
            (*scope).more = Box::into_raw(Box::default());
        }
        &mut *(*scope).more
    }
}

/// Another scope that says the same, for a decorated function's next call.
///
/// # Safety
/// The lock is held; `object` is a scope.
pub unsafe fn again(object: *mut PyObject) -> *mut PyObject {
    // SAFETY: by the contract.
    unsafe {
        let template = object.cast::<Scope>();
        let scope = new((*template).name);
        if scope.is_null() {
            return std::ptr::null_mut();
        }
        if (*template).head == 0 && is_on() {
            (*template).head = span_head(names::known((*template).name).id, 0);
        }
        (*scope).head = (*template).head;
        (*scope).index = (*template).index;
        (*scope).flags = (*template).flags;
        copy_attributes(template, scope);
        scope.cast()
    }
}

/// A scope with flags of its own, for benchmark loops, and the attributes of `like`.
///
/// # Safety
/// The lock is held; `name` is an exact `str`, `like` a scope or null.
pub unsafe fn flagged(
    name: *mut PyObject,
    flags: u16,
    index: Option<i64>,
    like: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: by the contract.
    unsafe {
        let scope = new(name);
        if scope.is_null() {
            return std::ptr::null_mut();
        }
        if !like.is_null() {
            copy_attributes(like.cast(), scope);
        }
        (*scope).flags = flags | if index.is_some() { flag::HAS_INDEX } else { 0 };
        (*scope).index = index.unwrap_or(0);
        scope.cast()
    }
}

unsafe fn copy_attributes(from: *mut Scope, to: *mut Scope) {
    // SAFETY: the lock is held.
    unsafe {
        (*to).count = (*from).count;
        (*to).codes = (*from).codes;
        (*to).keys = (*from).keys;
        (*to).words = (*from).words;
        if let Some(more) = (*from).more.as_ref() {
            for &(key, value) in &more.late {
                keep_late(to, key, value);
            }
        }
    }
}

impl Scope {
    /// Its name, borrowed.
    pub fn name(&self) -> *mut PyObject {
        self.name
    }

    /// Its index.
    pub fn index(&self) -> Option<i64> {
        (self.flags & flag::HAS_INDEX != 0).then_some(self.index)
    }

    /// The numbers of a benchmark loop.
    pub fn loop_numbers(&self) -> Option<(i64, i64)> {
        // SAFETY: the box lives as long as the scope.
        let more = unsafe { self.more.as_ref() }?;
        more.repeat.map(|repeat| (repeat, more.warmup))
    }

    /// All attributes it was made with.
    pub fn all_attributes(&self) -> Attributes {
        let pair = |i: usize| (self.keys[i], self.codes[i], self.words[i]);
        let fixed = (0..usize::from(self.count)).map(pair).collect();
        Attributes { fixed, late: self.late().to_vec() }
    }

    /// Attributes kept as objects, borrowed.
    pub fn late(&self) -> &[(*mut PyObject, *mut PyObject)] {
        // SAFETY: the box lives as long as the scope.
        unsafe { self.more.as_ref() }.map_or(&[], |more| &more.late)
    }
}
