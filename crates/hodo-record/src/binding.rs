//! For a language's binding that keeps the calling thread's state itself and inlines the fast path.
//!
//! Everything here works on the state of the calling thread; the table reaches the copy of hodo
//! that records, whichever it is.

use crate::front::THREAD;

pub use crate::attr::{JSON, Raw, TEXT};
pub use crate::clock::{counter, nanoseconds};
pub use crate::companion::{Companion, Recording, UNKNOWN, accompany};
pub use crate::config::parse_bytes;
pub use crate::context::{Entered, Suspended};
pub use crate::control::warn;
pub use crate::front::scope_id;
pub use crate::handle::Begun;
pub use crate::json::Object;
pub use crate::numbers::swap_entered;
pub use crate::own_thread::OwnThread;
pub use crate::process::{is_changing, is_recorder};
pub use crate::rendezvous::{on_word, table};
pub use crate::run::{clean, host, random};
pub use crate::scopes::{Scopes, scopes};
pub use crate::signals::{with_all_blocked, without_sigxfsz};
pub use crate::stand_in::{locks_nothing, stand_in};
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

/// The innermost scope of the calling thread, 0 for none, and its state, null for none.
///
/// Costs a few nanoseconds in the copy that records, and a call through the table in another.
#[inline]
pub fn innermost() -> (u64, *mut Thread) {
    let thread = THREAD.get();
    // SAFETY: the calling thread's own state.
    let known = unsafe { innermost_of(thread) };
    match known {
        0 if thread == Thread::NONE && !is_recorder() => {
            (table().map_or(0, |table| (table.link)().id), std::ptr::null_mut())
        }
        id if thread == Thread::NONE => (id, std::ptr::null_mut()),
        id => (id, thread),
    }
}

/// The innermost scope of a thread, 0 for none: of another thread, as of some moment during the
/// call.
///
/// # Safety
/// `thread` came from [`innermost`]. States and slots are never unmapped while a recorder is on.
#[inline]
pub unsafe fn innermost_of(thread: *mut Thread) -> u64 {
    // SAFETY: by the contract; read like this because the owner may be writing, and any slot it
    // has had is memory that can be read.
    unsafe {
        let slot = std::ptr::read_volatile(&raw const (*thread).current);
        if slot.is_null() { 0 } else { (*slot).id.load(std::sync::atomic::Ordering::Relaxed) }
    }
}

/// Whether a scope named `name` is open on a thread, innermost or around it: of another thread, as
/// of some moment during the call.
///
/// # Safety
/// As for [`innermost_of`].
pub unsafe fn is_inside(thread: *mut Thread, name: u32) -> bool {
    /// More scopes than a thread can have open: a chain that changes while it is followed ends.
    const MOST: usize = 1 << 16;
    // SAFETY: by the contract; slots are memory that can be read, whoever has them now.
    unsafe {
        let mut slot = std::ptr::read_volatile(&raw const (*thread).current);
        for _ in 0..MOST {
            if slot.is_null() || (*slot).id.load(std::sync::atomic::Ordering::Relaxed) == 0 {
                return false;
            }
            if Head::from_word(std::ptr::read_volatile(&raw const (*slot).head)).name == name {
                return true;
            }
            slot = std::ptr::read_volatile(&raw const (*slot).up);
        }
    }
    false
}

/// The interned string with this id; empty for an id that nobody was given.
pub fn name(id: u32) -> &'static str {
    crate::names::lock().texts().get(id as usize).copied().unwrap_or("")
}

/// The id of a symbol that a compiler made, which may be longer than a name that people write; for
/// the companion of this copy's recorder.
pub fn intern_symbol(text: &str) -> u32 {
    let limit = crate::names::MAX_SYMBOL_BYTES;
    crate::names::intern_within(text, limit, crate::process::current())
}

/// The state of the GPU's capture as a JSON object; empty where the recorder has none.
pub fn gpu_state() -> String {
    let known = std::mem::offset_of!(Table, companion_state);
    let Some(table) = table().filter(|table| table.size as usize >= known) else {
        return String::new();
    };
    // SAFETY: the buffer has the size that is told.
    fetched(|text| unsafe { (table.gpu_state)(text.as_mut_ptr(), text.len()) })
}

/// The state of a companion of the recorder as a JSON object; empty where it has none of that name.
pub fn companion_state(name: &str) -> String {
    let Some(table) = whole_table() else { return String::new() };
    // SAFETY: the buffer has the size that is told, and the name is a text.
    fetched(|text| unsafe {
        (table.companion_state)(name.as_ptr(), name.len(), text.as_mut_ptr(), text.len())
    })
}

/// A text of another copy: `fetch` fills in what fits and says how long it is.
fn fetched(fetch: impl Fn(&mut [u8]) -> usize) -> String {
    let mut text = vec![0; 4096];
    for _ in 0..2 {
        let len = fetch(&mut text);
        let fits = len <= text.len();
        text.resize(len, 0);
        if fits {
            break;
        }
    }
    String::from_utf8(text).unwrap_or_default()
}

/// Asks a companion of the recorder for something, in words of its own: 0 when it is done,
/// [`UNKNOWN`] where there is none of that name.
pub fn ask_companion(name: &str, words: &str) -> u32 {
    // SAFETY: both are texts.
    whole_table().map_or(UNKNOWN, |table| unsafe {
        (table.ask_companion)(name.as_ptr(), name.len(), words.as_ptr(), words.len())
    })
}

/// The table of the copy that records, if it has all that this one knows.
fn whole_table() -> Option<&'static Table> {
    table().filter(|table| table.size as usize >= size_of::<Table>())
}
