//! Names that a program gives its threads.

use hodo_record::binding::{Table, table};

/// Names the thread with this number of the system's, if it records or is the calling one.
pub fn name(os_tid: u32, name: &str) {
    const NAMES_THREADS: usize = std::mem::offset_of!(Table, name_thread) + size_of::<usize>();
    let table = table().filter(|table| table.size as usize >= NAMES_THREADS);
    if let Some(table) = table.filter(|_| hodo_record::is_on()) {
        // SAFETY: the bytes are those of a str.
        unsafe { (table.name_thread)(os_tid, name.as_ptr(), name.len()) };
    }
}
