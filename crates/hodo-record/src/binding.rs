//! For a language's binding that keeps the calling thread's state itself and inlines the fast path.
//!
//! Everything here works on the state of the calling thread; the table reaches the copy of hodo
//! that records, whichever it is.

use crate::front::THREAD;

pub use crate::attr::{JSON, Raw, TEXT};
pub use crate::clock::counter;
pub use crate::context::{Entered, Suspended};
pub use crate::front::scope_id;
pub use crate::handle::Begun;
pub use crate::numbers::swap_entered;
pub use crate::rendezvous::{on_word, table};
pub use crate::table::Table;
pub use crate::thread::{DROPPED, INERT, LAYOUT_VERSION, Opened, Thread, span_head};
pub use hodo_format::arena::Slot;
pub use hodo_format::record::{AttrsRecord, Head, Kind, MarkRecord, SpanId, Unit, code};

/// The calling thread's state as far as this copy knows it; never null.
pub fn thread() -> *mut Thread {
    THREAD.get()
}

/// The calling thread's state, made if need be; [`Thread::NONE`] when nothing records.
pub fn attach_thread() -> *mut Thread {
    let known = THREAD.get();
    let Some(table) = table().filter(|_| crate::is_on()) else { return known };
    crate::front::remember((table.thread)(LAYOUT_VERSION));
    THREAD.get()
}
