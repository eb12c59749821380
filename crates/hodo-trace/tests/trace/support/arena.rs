//! Writes an arena as a killed process would leave it.

use super::{Numbered, Records};
use hodo_format::arena::{
    ARENA_MAGIC, ARENA_VERSION, Anchor, ArenaHeader, Counts, Loss, SLAB_BYTES, SLAB_HEADER_BYTES,
    SLAB_UNITS, SLAB_UNITS_AT, SlabHeader, THREAD_SLOTS_AT, ThreadHeader, slab_kind,
};
use hodo_format::record::{Span, Unit};
use std::mem::offset_of;
use std::path::Path;

/// An arena in the making.
pub struct ArenaFile {
    pub bytes: Vec<u8>,
}

impl ArenaFile {
    /// An arena with the process's names, threads and open scopes; rings are empty.
    pub fn new(records: &Records) -> ArenaFile {
        let mut arena = ArenaFile { bytes: vec![0; SLAB_BYTES] };
        arena.put(offset_of!(ArenaHeader, magic), &ARENA_MAGIC.to_le_bytes());
        arena.put(offset_of!(ArenaHeader, version), &ARENA_VERSION.to_le_bytes());
        arena.put(offset_of!(ArenaHeader, slab_bytes), &(SLAB_BYTES as u32).to_le_bytes());
        arena.put(offset_of!(ArenaHeader, process), &records.process.to_le_bytes());
        arena.put(offset_of!(ArenaHeader, pid), &records.pid.to_le_bytes());
        arena.anchors(&records.anchors);
        arena.strings(records);
        for &thread in records.threads.keys() {
            let open: Vec<&Span> =
                records.open.iter().filter(|s| s.id.thread() == thread).collect();
            arena.thread(thread, &open);
        }
        arena.lost(records);
        arena
    }

    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn slab(&mut self, kind: u32, thread: u32, first: u64, len: u32) -> usize {
        let at = self.bytes.len();
        self.bytes.resize(at + SLAB_BYTES, 0);
        self.put(at + offset_of!(SlabHeader, kind), &kind.to_le_bytes());
        self.put(at + offset_of!(SlabHeader, thread), &thread.to_le_bytes());
        self.put(at + offset_of!(SlabHeader, first), &first.to_le_bytes());
        self.put(at + offset_of!(SlabHeader, len), &len.to_le_bytes());
        let slabs = (self.bytes.len() / SLAB_BYTES) as u32;
        self.put(offset_of!(ArenaHeader, slabs), &slabs.to_le_bytes());
        at
    }

    fn anchors(&mut self, anchors: &[Anchor]) {
        let at = offset_of!(ArenaHeader, anchors);
        for (i, anchor) in anchors.iter().enumerate() {
            let words = [anchor.ticks, anchor.monotonic_ns, anchor.wall_ns];
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            self.put(at + i * size_of::<Anchor>(), &bytes);
        }
        let taken = anchors.len() as u64;
        self.put(offset_of!(ArenaHeader, anchors_taken), &taken.to_le_bytes());
    }

    fn strings(&mut self, records: &Records) {
        let mut bytes = Vec::new();
        for name in &records.names {
            bytes.extend((name.len() as u32).to_le_bytes());
            bytes.extend(name.as_bytes());
        }
        let at = self.slab(slab_kind::STRINGS, 0, 0, bytes.len() as u32);
        self.put(at + SLAB_HEADER_BYTES, &bytes);
    }

    fn thread(&mut self, thread: u32, open: &[&Span]) {
        let at = self.slab(slab_kind::THREAD, thread, 0, 0);
        let header = at + SLAB_HEADER_BYTES;
        self.put(header + offset_of!(ThreadHeader, os_tid), &(100 + thread).to_le_bytes());
        let name = format!("thread-{thread}");
        self.put(header + offset_of!(ThreadHeader, name), name.as_bytes());
        for (i, span) in open.iter().enumerate() {
            self.put(at + THREAD_SLOTS_AT + i * 64, Unit::bytes(&[span.to_unit()]));
        }
    }

    /// Adds ring segments with `records`, which are in order; a gap in their numbers begins a new one.
    pub fn ring(&mut self, records: &[Numbered<'_>]) {
        let mut segment: Vec<Unit> = Vec::new();
        let mut begin = (0, 0);
        let mut next = (0, 0);
        for &(thread, number, units) in records {
            if (thread, number) != next || segment.len() + units.len() > SLAB_UNITS {
                self.segment(begin, &segment);
                segment.clear();
                begin = (thread, number);
            }
            segment.extend(units);
            next = (thread, number + 1);
        }
        self.segment(begin, &segment);
    }

    fn segment(&mut self, (thread, first): (u32, u64), units: &[Unit]) {
        if !units.is_empty() {
            let at = self.slab(slab_kind::RING, thread, first, units.len() as u32);
            self.put(at + SLAB_UNITS_AT, Unit::bytes(units));
        }
    }

    /// What the process had counted as stored.
    pub fn stored(&mut self, counts: Counts) {
        self.counts(offset_of!(ArenaHeader, stored), counts);
    }

    /// Losses of the rings stand with the first thread, others in the header.
    fn lost(&mut self, records: &Records) {
        let first_thread = 2 * SLAB_BYTES + SLAB_HEADER_BYTES;
        let at = match records.reason {
            Loss::RingFull => first_thread + offset_of!(ThreadHeader, lost),
            reason => offset_of!(ArenaHeader, lost) + reason as usize * size_of::<Counts>(),
        };
        if !records.threads.is_empty() {
            self.counts(at, records.lost);
        }
    }

    fn counts(&mut self, at: usize, counts: Counts) {
        let words = [counts.spans, counts.marks, counts.attrs];
        self.put(at, &words.iter().flat_map(|c| c.to_le_bytes()).collect::<Vec<u8>>());
    }

    pub fn write(&self, folder: &Path) {
        std::fs::write(folder.join("arena"), &self.bytes).expect("arena");
    }
}
