use super::{ArrowColumn, Columns, Ends, Values};
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::null_mut;

/// `struct ArrowSchema` of the interface.
#[repr(C)]
pub struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    pub release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// `ARROW_FLAG_NULLABLE`.
const NULLABLE: i64 = 2;

/// What a schema owns. Who reads it may take children out of it and release them by themselves.
struct Owned {
    name: CString,
    children: Vec<*mut ArrowSchema>,
    dictionary: *mut ArrowSchema,
}

impl ArrowSchema {
    /// The schema of a table: a struct of its columns.
    pub fn of(columns: &Columns) -> ArrowSchema {
        let children = columns.all().iter().map(|column| boxed(ArrowSchema::column(column)));
        ArrowSchema::new(c"+s", CString::default(), 0, children.collect(), null_mut())
    }

    fn column(column: &ArrowColumn) -> ArrowSchema {
        let flags = if column.can_miss { NULLABLE } else { 0 };
        let (format, dictionary) = match &column.values {
            Values::I64(_) => (c"l", null_mut()),
            Values::F64(_) => (c"g", null_mut()),
            Values::Text(_, texts) => {
                let format = match texts.ends {
                    Ends::Small(_) => c"u",
                    Ends::Large(_) => c"U",
                };
                let of = ArrowSchema::new(format, CString::default(), 0, Vec::new(), null_mut());
                (c"i", boxed(of))
            }
        };
        ArrowSchema::new(format, column.name.clone(), flags, Vec::new(), dictionary)
    }

    fn new(
        format: &'static CStr,
        name: CString,
        flags: i64,
        children: Vec<*mut ArrowSchema>,
        dictionary: *mut ArrowSchema,
    ) -> ArrowSchema {
        let mut owned = Box::new(Owned { name, children, dictionary });
        ArrowSchema {
            format: format.as_ptr(),
            name: owned.name.as_ptr(),
            metadata: std::ptr::null(),
            flags,
            n_children: owned.children.len() as i64,
            children: owned.children.as_mut_ptr(),
            dictionary,
            release: Some(release),
            private_data: Box::into_raw(owned).cast(),
        }
    }
}

fn boxed(schema: ArrowSchema) -> *mut ArrowSchema {
    Box::into_raw(Box::new(schema))
}

/// # Safety
///
/// As the interface says: `schema` is one of ours, and not released.
unsafe extern "C" fn release(schema: *mut ArrowSchema) {
    // SAFETY: the caller's word; what it owns was boxed in `new`, and is taken once, since a
    // released schema says so by having no `release`.
    unsafe {
        let owned = Box::from_raw((*schema).private_data.cast::<Owned>());
        (*schema).release = None;
        (*schema).private_data = null_mut();
        for &child in owned.children.iter().chain([&owned.dictionary]).filter(|at| !at.is_null()) {
            // What was moved out has no `release`; the box is ours all the same.
            if let Some(release) = (*child).release {
                release(child);
            }
            drop(Box::from_raw(child));
        }
    }
}
