//! Whether any scope is open in this process, seen from a thread that opens none.

use crate::process;
use hodo_format::record::SpanId;

/// The scopes of this process at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes {
    /// Whether any is open: on a thread, in a suspended future, or one that belongs to no thread.
    pub is_open: bool,
    /// Scopes that threads which live have opened: changes whenever one was opened.
    pub begun: u64,
}

/// Looks at every thread that records: costs those nothing, but for a thread's first scope and its
/// end, which may wait for the look.
pub fn scopes() -> Scopes {
    let Some(process) = process::current() else { return Scopes::default() };
    let mut scopes = Scopes { is_open: process.handles.in_use() > 0, begun: 0 };
    for live in crate::lock(&process.live).iter() {
        let thread = live.0;
        // SAFETY: threads leave this list, under its lock, before their state is reused. Read like
        // this because the owner may be writing; nothing is followed.
        unsafe {
            let current = std::ptr::read_volatile(&raw const (*thread).current).cast_const();
            let suspended = std::ptr::read_volatile(&raw const (*thread).suspended);
            let next_id = std::ptr::read_volatile(&raw const (*thread).next_id);
            scopes.is_open |= !std::ptr::eq(current, &raw const (*thread).root) || !suspended.is_null();
            let opened = next_id.wrapping_sub(SpanId::new((*thread).number, 1).0);
            scopes.begun = scopes.begun.wrapping_add(opened);
        }
    }
    scopes
}
