//! The nodes of a table of variables, and the way through them to one of its values.

use crate::gil::Gil;
use pyo3::ffi::{self, PyObject};

/// Levels that a table of variables can have, and one more.
pub const MOST_NODES: usize = 9;

/// The nodes of `table` that lead to `wanted`, from its root, and how many; 0 when there is no way.
///
/// # Safety
/// The lock is held; the table is alive.
pub unsafe fn way_to(
    wanted: *mut PyObject,
    table: *mut PyObject,
) -> ([*mut PyObject; MOST_NODES], usize) {
    let mut search = Search { wanted, nodes: [std::ptr::null_mut(); _], depth: 0 };
    // SAFETY: by the contract; the nodes live as long as the table.
    let found = unsafe { search.visit_inside(table) };
    (search.nodes, if found { search.depth } else { 0 })
}

/// A walk through the nodes of a table of variables.
struct Search {
    wanted: *mut PyObject,
    nodes: [*mut PyObject; MOST_NODES],
    depth: usize,
}

impl Search {
    /// Whether what `object` holds leads to what is wanted.
    unsafe fn visit_inside(&mut self, object: *mut PyObject) -> bool {
        // SAFETY: the lock is held; an object of a type with this slot may be walked.
        unsafe {
            let slot = ffi::PyType_GetSlot(ffi::Py_TYPE(object), ffi::Py_tp_traverse);
            if slot.is_null() {
                return false;
            }
            let walk = std::mem::transmute::<*mut std::ffi::c_void, ffi::traverseproc>(slot);
            walk(object, visit, std::ptr::from_mut(self).cast()) != 0
        }
    }
}

unsafe extern "C" fn visit(object: *mut PyObject, search: *mut std::ffi::c_void) -> i32 {
    // SAFETY: `visit_inside` passes itself, and nothing else uses it meanwhile.
    unsafe {
        let search = &mut *search.cast::<Search>();
        if object == search.wanted {
            return 1;
        }
        let depth = search.depth;
        if depth == MOST_NODES || !is_node(object) {
            return 0;
        }
        search.nodes[depth] = object;
        search.depth = depth + 1;
        if search.visit_inside(object) {
            return 1;
        }
        search.depth = depth;
        0
    }
}

/// Whether an object is a node of a table of variables, not a variable or its value.
unsafe fn is_node(object: *mut PyObject) -> bool {
    static KINDS: Gil<[*mut ffi::PyTypeObject; 3]> = Gil::new([std::ptr::null_mut(); 3]);
    // SAFETY: the lock is held. No code of the program's runs here: types that it made are passed
    // over, and the name of another is read without asking its type.
    unsafe {
        let kind = ffi::Py_TYPE(object);
        let kinds = &mut *KINDS.get();
        if kinds.contains(&kind) {
            return true;
        }
        if ffi::PyType_GetFlags(kind) & ffi::Py_TPFLAGS_HEAPTYPE != 0 {
            return false;
        }
        let name = crate::api::PyType_GetName(kind);
        if name.is_null() {
            ffi::PyErr_Clear();
            return false;
        }
        let is_one = crate::names::with_text(name, |name| name.starts_with("hamt_"));
        ffi::Py_DECREF(name);
        if is_one && let Some(place) = kinds.iter_mut().find(|place| place.is_null()) {
            *place = kind;
        }
        is_one
    }
}
