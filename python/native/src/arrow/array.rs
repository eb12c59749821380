use super::{ArrowColumn, Columns, Texts, Values};
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// `struct ArrowArray` of the interface.
#[repr(C)]
pub struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    pub release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// What an array owns: a share of the columns, which its buffers lie in.
struct Owned {
    _columns: Arc<Columns>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
    dictionary: *mut ArrowArray,
}

impl ArrowArray {
    /// All rows of a table: a struct of its columns.
    pub fn of(columns: &Arc<Columns>) -> ArrowArray {
        let all = columns.all().iter();
        let children = all.map(|column| boxed(ArrowArray::column(columns, column))).collect();
        ArrowArray::new(columns, columns.rows(), 0, vec![null()], children, null_mut())
    }

    fn column(columns: &Arc<Columns>, column: &ArrowColumn) -> ArrowArray {
        let bits = column.bits.as_ref().map_or(null(), |bits| bits.as_ptr().cast());
        let dictionary = match &column.values {
            Values::Text(_, texts) => boxed(ArrowArray::texts(columns, texts)),
            _ => null_mut(),
        };
        let buffers = vec![bits, column.data()];
        ArrowArray::new(columns, columns.rows(), column.missing, buffers, Vec::new(), dictionary)
    }

    fn texts(columns: &Arc<Columns>, texts: &Texts) -> ArrowArray {
        let buffers = vec![null(), texts.ends(), texts.bytes.as_ptr().cast()];
        ArrowArray::new(columns, texts.len, 0, buffers, Vec::new(), null_mut())
    }

    fn new(
        columns: &Arc<Columns>,
        rows: usize,
        missing: usize,
        buffers: Vec<*const c_void>,
        children: Vec<*mut ArrowArray>,
        dictionary: *mut ArrowArray,
    ) -> ArrowArray {
        let _columns = Arc::clone(columns);
        let mut owned = Box::new(Owned { _columns, buffers, children, dictionary });
        ArrowArray {
            length: rows as i64,
            null_count: missing as i64,
            offset: 0,
            n_buffers: owned.buffers.len() as i64,
            n_children: owned.children.len() as i64,
            buffers: owned.buffers.as_mut_ptr(),
            children: owned.children.as_mut_ptr(),
            dictionary,
            release: Some(release),
            private_data: Box::into_raw(owned).cast(),
        }
    }

    /// The array that stands for the end of a stream.
    pub fn none() -> ArrowArray {
        ArrowArray {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: null_mut(),
            children: null_mut(),
            dictionary: null_mut(),
            release: None,
            private_data: null_mut(),
        }
    }
}

fn boxed(array: ArrowArray) -> *mut ArrowArray {
    Box::into_raw(Box::new(array))
}

/// # Safety
///
/// As the interface says: `array` is one of ours, and not released.
unsafe extern "C" fn release(array: *mut ArrowArray) {
    // SAFETY: the caller's word; what it owns was boxed in `new`, and is taken once, since a
    // released array says so by having no `release`.
    unsafe {
        let owned = Box::from_raw((*array).private_data.cast::<Owned>());
        (*array).release = None;
        (*array).private_data = null_mut();
        for &child in owned.children.iter().chain([&owned.dictionary]).filter(|at| !at.is_null()) {
            // What was moved out has no `release`; the box is ours all the same.
            if let Some(release) = (*child).release {
                release(child);
            }
            drop(Box::from_raw(child));
        }
    }
}
