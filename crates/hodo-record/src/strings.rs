//! Strings in the arena: they are there before the first record that uses them.

use crate::arena::Purpose;
use crate::process::Process;
use hodo_format::arena::{SLAB_BYTES, SLAB_HEADER_BYTES, slab_kind};
use std::sync::Mutex;
use std::sync::atomic::Ordering;

/// The share of the arena that strings may take: one part in so many.
const SHARE: u32 = 4;

/// The slab being filled.
#[derive(Debug, Default)]
pub struct Strings {
    open: Mutex<OpenSlab>,
}

#[derive(Debug, Default)]
struct OpenSlab {
    slab: u32,
    used: usize,
    slabs: u32,
    next_id: u32,
}

impl Strings {
    /// Writes string `id`; false when the arena has no place for it. Ids come in order.
    pub fn keep(&self, process: &Process, id: u32, text: &str) -> bool {
        let mut open = crate::lock(&self.open);
        // An id is known by its place: once one found no room, none after it may be kept.
        if id != open.next_id {
            return false;
        }
        let bytes = size_of::<u32>() + text.len();
        let full = open.slab == 0 || SLAB_HEADER_BYTES + open.used + bytes > SLAB_BYTES;
        if full && !open.next(process, id) {
            return false;
        }
        let arena = &process.arena;
        let at = arena.at(open.slab, SLAB_HEADER_BYTES + open.used);
        // SAFETY: the bytes lie inside the slab, as checked, and are unpublished: the lock makes
        // this their only writer, and readers stop at the published length.
        unsafe {
            at.copy_from_nonoverlapping((text.len() as u32).to_le_bytes().as_ptr(), 4);
            at.add(4).copy_from_nonoverlapping(text.as_ptr(), text.len());
        }
        open.used += bytes;
        open.next_id = id + 1;
        arena.slab(open.slab).len.store(open.used as u32, Ordering::Release);
        true
    }
}

impl OpenSlab {
    fn next(&mut self, process: &Process, first: u32) -> bool {
        let arena = &process.arena;
        if self.slabs >= (arena.slabs() / SHARE).max(1) {
            return false;
        }
        let Some(slab) = arena.take(Purpose::Needed, 0, u64::from(first)) else { return false };
        arena.slab(slab).kind.store(slab_kind::STRINGS, Ordering::Release);
        (self.slab, self.used, self.slabs) = (slab, 0, self.slabs + 1);
        true
    }
}
