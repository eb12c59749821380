use super::{ArrowArray, ArrowSchema, Columns};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// `struct ArrowArrayStream` of the interface: gives the table in one piece, then its end.
#[repr(C)]
pub struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    pub release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

struct Owned {
    columns: Arc<Columns>,
    is_given: bool,
}

impl ArrowArrayStream {
    pub fn of(columns: Arc<Columns>) -> ArrowArrayStream {
        ArrowArrayStream {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release),
            private_data: Box::into_raw(Box::new(Owned { columns, is_given: false })).cast(),
        }
    }
}

/// # Safety
///
/// As the interface says: `stream` is one of ours, not released, and used by one thread at a time.
unsafe fn owned<'a>(stream: *mut ArrowArrayStream) -> &'a mut Owned {
    // SAFETY: the caller's word; `of` put it there.
    unsafe { &mut *(*stream).private_data.cast::<Owned>() }
}

/// # Safety
///
/// As for [`owned`]; `out` can be written to.
unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the caller's word.
    unsafe { out.write(ArrowSchema::of(&owned(stream).columns)) };
    0
}

/// # Safety
///
/// As for [`owned`]; `out` can be written to.
unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: the caller's word.
    unsafe {
        let owned = owned(stream);
        let next = if owned.is_given { ArrowArray::none() } else { ArrowArray::of(&owned.columns) };
        owned.is_given = true;
        out.write(next);
    }
    0
}

/// Nothing here can fail.
unsafe extern "C" fn get_last_error(_: *mut ArrowArrayStream) -> *const c_char {
    null()
}

/// # Safety
///
/// As for [`owned`].
unsafe extern "C" fn release(stream: *mut ArrowArrayStream) {
    // SAFETY: the caller's word; taken once, since a released stream has no `release`.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<Owned>()));
        (*stream).release = None;
        (*stream).private_data = null_mut();
    }
}
