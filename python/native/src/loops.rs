//! `hodo.epochs` and `hodo.batches`: an iterable whose every item is a scope.

use crate::api::running;
use crate::gil::Gil;
use crate::scope_type::plain;
use crate::{api, here, record};
use hodo_record::binding::{INERT, Opened, SpanId, Thread, span_head, table};
use hodo_record::{flag, intern, is_on};
use pyo3::ffi::{self, PyObject};

/// What `epochs` and `batches` return.
#[repr(C)]
pub struct Loop {
    base: PyObject,
    /// What was given, held.
    items: *mut PyObject,
    /// The iterator that `next` on the loop itself uses; null until then.
    own: *mut PyObject,
    is_batch: bool,
}

/// One pass over it.
#[repr(C)]
pub struct Pass {
    base: PyObject,
    /// The iterator, held.
    items: *mut PyObject,
    next: unsafe extern "C-unwind" fn(*mut PyObject) -> *mut PyObject,
    open: Opened,
    /// Items that other threads are at, of an iterator that several share; null for none.
    elsewhere: *mut Vec<Opened>,
    index: i64,
    is_batch: bool,
}

static LOOP: Gil<*mut ffi::PyTypeObject> = Gil::new(std::ptr::null_mut());
static PASS: Gil<*mut ffi::PyTypeObject> = Gil::new(std::ptr::null_mut());
/// Heads of the spans; 0 until a recorder is on.
static HEADS: Gil<[u64; 3]> = Gil::new([0; 3]);
const EPOCH: usize = 0;
const BATCH: usize = 1;
const DATA_WAIT: usize = 2;

unsafe fn head(which: usize) -> u64 {
    // SAFETY: the lock is held; the place is within bounds.
    unsafe {
        let heads = HEADS.get();
        if (*heads)[which] == 0 {
            let name = ["epoch", "batch", "data_wait"][which];
            (*heads)[which] = span_head(intern(name), 0);
        }
        (*heads)[which]
    }
}

/// Makes the types.
///
/// # Safety
/// The lock is held.
pub unsafe fn prepare() -> Result<(), ()> {
    let end = || ffi::PyType_Slot { slot: 0, pfunc: std::ptr::null_mut() };
    let slot = |slot, pfunc| ffi::PyType_Slot { slot, pfunc };
    let loop_slots = &mut [
        slot(ffi::Py_tp_dealloc, loop_dealloc as *mut _),
        slot(ffi::Py_tp_traverse, loop_traverse as *mut _),
        slot(ffi::Py_tp_clear, loop_clear as *mut _),
        slot(ffi::Py_nb_bool, loop_bool as *mut _),
        slot(ffi::Py_tp_iter, loop_iter as *mut _),
        slot(ffi::Py_tp_iternext, loop_next as *mut _),
        slot(ffi::Py_mp_length, loop_length as *mut _),
        slot(ffi::Py_tp_getattro, loop_getattr as *mut _),
        slot(ffi::Py_tp_methods, METHODS.get().cast()),
        end(),
    ];
    let pass_slots = &mut [
        slot(ffi::Py_tp_dealloc, pass_dealloc as *mut _),
        slot(ffi::Py_tp_traverse, pass_traverse as *mut _),
        slot(ffi::Py_tp_iter, ffi::PyObject_SelfIter as *mut _),
        slot(ffi::Py_tp_iternext, pass_next as *mut _),
        end(),
    ];
    // SAFETY: by the contract; the slots are complete.
    unsafe {
        *LOOP.get() = make(c"hodo.Loop", size_of::<Loop>(), loop_slots);
        *PASS.get() = make(c"hodo._hodo.Pass", size_of::<Pass>(), pass_slots);
        if (*LOOP.get()).is_null() || (*PASS.get()).is_null() { Err(()) } else { Ok(()) }
    }
}

unsafe fn make(
    name: &'static std::ffi::CStr,
    size: usize,
    slots: &mut [ffi::PyType_Slot],
) -> *mut ffi::PyTypeObject {
    let mut spec = ffi::PyType_Spec {
        name: name.as_ptr(),
        basicsize: size as i32,
        itemsize: 0,
        flags: api::COLLECTED,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the lock is held; the specification is complete.
    unsafe { ffi::PyType_FromSpec(&mut spec).cast() }
}

/// An iterable that records its items: as `batch` or as `epoch`.
///
/// # Safety
/// The lock is held.
pub unsafe fn new(items: *mut PyObject, is_batch: bool) -> *mut PyObject {
    // SAFETY: by the contract.
    unsafe {
        let made = api::new_collected::<Loop>(*LOOP.get());
        if !made.is_null() {
            ffi::Py_INCREF(items);
            (*made).items = items;
            (*made).is_batch = is_batch;
            api::PyObject_GC_Track(made.cast());
        }
        made.cast()
    }
}

unsafe extern "C" fn loop_dealloc(object: *mut PyObject) {
    // SAFETY: the interpreter calls this once, with the lock, on an object of this type.
    unsafe {
        api::PyObject_GC_UnTrack(object.cast());
        let this = object.cast::<Loop>();
        ffi::Py_XDECREF((*this).own);
        ffi::Py_XDECREF((*this).items);
        api::free_collected(object);
    }
}

/// Shows the collector what an object holds.
unsafe fn visit_all(
    held: [*mut PyObject; 3],
    visit: ffi::visitproc,
    argument: *mut std::ffi::c_void,
) -> i32 {
    for object in held.into_iter().filter(|object| !object.is_null()) {
        // SAFETY: the collector gave both.
        let stop = unsafe { visit(object, argument) };
        if stop != 0 {
            return stop;
        }
    }
    0
}

unsafe extern "C" fn loop_traverse(
    object: *mut PyObject,
    visit: ffi::visitproc,
    argument: *mut std::ffi::c_void,
) -> i32 {
    // SAFETY: the collector calls this with the lock, on an object of this type.
    unsafe {
        let this = object.cast::<Loop>();
        visit_all([(*this).items, (*this).own, ffi::Py_TYPE(object).cast()], visit, argument)
    }
}

unsafe extern "C" fn loop_clear(object: *mut PyObject) -> i32 {
    // SAFETY: as for `loop_traverse`. What was given stays: a loop without it is no loop.
    unsafe {
        let own = std::mem::replace(&mut (*object.cast::<Loop>()).own, std::ptr::null_mut());
        ffi::Py_XDECREF(own);
    }
    0
}

unsafe extern "C-unwind" fn loop_bool(object: *mut PyObject) -> i32 {
    // SAFETY: as for `loop_iter`.
    unsafe { running::PyObject_IsTrue((*object.cast::<Loop>()).items) }
}

unsafe extern "C" fn pass_traverse(
    object: *mut PyObject,
    visit: ffi::visitproc,
    argument: *mut std::ffi::c_void,
) -> i32 {
    // SAFETY: as for `loop_traverse`.
    unsafe {
        let items = (*object.cast::<Pass>()).items;
        visit_all([items, ffi::Py_TYPE(object).cast(), std::ptr::null_mut()], visit, argument)
    }
}

unsafe extern "C-unwind" fn loop_iter(object: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter calls this with the lock, on an object of this type.
    unsafe {
        let this = object.cast::<Loop>();
        let items = running::PyObject_GetIter((*this).items);
        if items.is_null() {
            return items;
        }
        let next = ffi::PyType_GetSlot(ffi::Py_TYPE(items), ffi::Py_tp_iternext);
        let pass = api::new_collected::<Pass>(*PASS.get());
        if pass.is_null() {
            ffi::Py_DECREF(items);
            return std::ptr::null_mut();
        }
        (*pass).items = items;
        (*pass).next = std::mem::transmute::<
            *mut std::ffi::c_void,
            unsafe extern "C-unwind" fn(*mut PyObject) -> *mut PyObject,
        >(next);
        (*pass).open = Opened::INERT;
        (*pass).is_batch = (*this).is_batch;
        api::PyObject_GC_Track(pass.cast());
        pass.cast()
    }
}

unsafe extern "C-unwind" fn loop_next(object: *mut PyObject) -> *mut PyObject {
    // SAFETY: as for `loop_iter`.
    unsafe {
        let this = object.cast::<Loop>();
        if (*this).own.is_null() {
            (*this).own = loop_iter(object);
        }
        let own = (*this).own;
        if own.is_null() {
            return std::ptr::null_mut();
        }
        // Held: somebody may close the loop while it waits for the item.
        ffi::Py_INCREF(own);
        let item = pass_next(own);
        ffi::Py_DECREF(own);
        item
    }
}

static METHODS: Gil<[ffi::PyMethodDef; 2]> = Gil::new([
    plain(
        c"close",
        loop_close,
        ffi::METH_NOARGS,
        c"close($self, /)\n--\n\nClose the scope of the item that next() gave last.",
    ),
    ffi::PyMethodDef::zeroed(),
]);

unsafe extern "C-unwind" fn loop_close(object: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    // SAFETY: as for `loop_iter`; dropping the pass closes what it has open.
    unsafe {
        let own = std::mem::replace(&mut (*object.cast::<Loop>()).own, std::ptr::null_mut());
        ffi::Py_XDECREF(own);
    }
    record::none()
}

unsafe extern "C-unwind" fn loop_length(object: *mut PyObject) -> ffi::Py_ssize_t {
    // SAFETY: as for `loop_iter`.
    unsafe { running::PyObject_Size((*object.cast::<Loop>()).items) }
}

/// What the loop does not have itself, what was given has: `loader.dataset` goes on working.
unsafe extern "C-unwind" fn loop_getattr(
    object: *mut PyObject,
    name: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `loop_iter`.
    unsafe {
        let own = ffi::PyObject_GenericGetAttr(object, name);
        if !own.is_null() || ffi::PyErr_ExceptionMatches(ffi::PyExc_AttributeError) == 0 {
            return own;
        }
        ffi::PyErr_Clear();
        running::PyObject_GetAttr((*object.cast::<Loop>()).items, name)
    }
}

unsafe extern "C" fn pass_dealloc(object: *mut PyObject) {
    // SAFETY: as for `loop_dealloc`.
    unsafe {
        api::PyObject_GC_UnTrack(object.cast());
        let pass = object.cast::<Pass>();
        if (*pass).open.slot != INERT {
            close(&mut (*pass).open);
        }
        if !(*pass).elsewhere.is_null() {
            drop(Box::from_raw((*pass).elsewhere));
        }
        ffi::Py_DECREF((*pass).items);
        api::free_collected(object);
    }
}

/// Ends the scope of the item before, opens that of the next and waits for it.
unsafe extern "C-unwind" fn pass_next(object: *mut PyObject) -> *mut PyObject {
    // SAFETY: as for `loop_iter`; the thread's state is the calling thread's own.
    unsafe {
        let pass = object.cast::<Pass>();
        if !is_on() {
            (*pass).open = Opened::INERT;
            (*pass).index += 1;
            return ((*pass).next)((*pass).items);
        }
        let thread = here::to_change();
        let mine =
            head(if (*pass).is_batch { BATCH } else { EPOCH }) | u64::from(flag::HAS_INDEX) << 16;
        let wait = if (*pass).is_batch { head(DATA_WAIT) } else { 0 };
        if (*pass).open.id != 0 && !is_of(thread, (*pass).open) {
            swap_elsewhere(pass, thread);
        }
        let before = (*pass).open;
        let index = (*pass).index;
        let [item_scope, waiting] = match Thread::turn(thread, before.slot, mine, index, wait) {
            Some(opened) => opened,
            None => turn_slowly(before, mine, index, wait),
        };
        (*pass).open = item_scope;
        (*pass).index = index + 1;
        let item = ((*pass).next)((*pass).items);
        if item.is_null() {
            (*pass).index = index;
            finish(pass, item_scope, waiting);
            return item;
        }
        if wait != 0 {
            let thread = here::to_change();
            if !Thread::close(thread, waiting.slot) {
                record::close(waiting);
            }
        }
        item
    }
}

/// Whether a scope was opened on this thread.
#[inline(always)]
unsafe fn is_of(thread: *mut Thread, opened: Opened) -> bool {
    // SAFETY: the state is the calling thread's own, or one that stands for none.
    let number = SpanId(unsafe { (*thread).next_id }).thread();
    SpanId(opened.id).thread() == number
}

/// Several threads share the iterator: each is at an item of its own.
#[cold]
#[inline(never)]
unsafe fn swap_elsewhere(pass: *mut Pass, thread: *mut Thread) {
    // SAFETY: the lock is held; the list is the pass's own.
    unsafe {
        if (*pass).elsewhere.is_null() {
            (*pass).elsewhere = Box::into_raw(Box::default());
        }
        let elsewhere = &mut *(*pass).elsewhere;
        elsewhere.push((*pass).open);
        let at = elsewhere.iter().position(|&opened| is_of(thread, opened));
        (*pass).open = at.map_or(Opened::INERT, |at| elsewhere.swap_remove(at));
    }
}

#[cold]
#[inline(never)]
unsafe fn turn_slowly(before: Opened, head: u64, index: i64, wait: u64) -> [Opened; 2] {
    // SAFETY: the lock is held.
    unsafe {
        let mut before = before;
        close(&mut before);
        let thread = here::to_change();
        let open = |head, index| match Thread::open(thread, head, index) {
            Some(opened) => opened,
            None => record::open(thread, head, index).0,
        };
        let item = open(head, index);
        let waiting = if wait != 0 { open(wait, 0) } else { Opened::INERT };
        [item, waiting]
    }
}

unsafe fn close(open: &mut Opened) {
    // SAFETY: the lock is held.
    unsafe {
        let opened = std::mem::replace(open, Opened::INERT);
        if opened.slot != INERT && is_on() {
            here::to_change();
            record::close(opened);
        }
    }
}

/// No further item: what was opened for it is taken back, unless the iterator failed.
#[cold]
#[inline(never)]
unsafe fn finish(pass: *mut Pass, opened: Opened, waiting: Opened) {
    // SAFETY: the lock is held.
    unsafe {
        if (*pass).open.id == opened.id {
            (*pass).open = Opened::INERT;
        }
        let raised = ffi::PyErr_Occurred();
        let failed = !raised.is_null()
            && ffi::PyErr_GivenExceptionMatches(raised, ffi::PyExc_StopIteration) == 0;
        here::to_change();
        for opened in [waiting, opened] {
            if opened.slot == INERT {
                continue;
            }
            if failed {
                record::fail_with_error_set(opened, raised);
                record::close(opened);
            } else if let Some(table) = table() {
                (table.cancel)(opened.slot, opened.id);
            }
        }
    }
}
