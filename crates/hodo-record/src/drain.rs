//! Moving records from rings to frames: what the pump has read, and what it may give back.

use crate::arena::Arena;
use crate::attach::Arrival;
use crate::ring;
use hodo_format::arena::{
    Counts, Loss, SLAB_HEADER_BYTES, SlabHeader, THREAD_UNITS_AT, ThreadHeader, slab_kind,
};
use hodo_format::record::Unit;
use hodo_format::spool::{Encoder, ThreadInfo};
use std::sync::atomic::Ordering;

/// A place in a thread's chain of segments.
#[derive(Clone, Copy, Debug)]
struct Place {
    slab: u32,
    /// Units read of that slab.
    units: u32,
    /// Records among them.
    records: u32,
}

/// One thread, as the pump sees it.
#[derive(Debug)]
pub struct Source {
    number: u32,
    slab: u32,
    /// All before this is in the spool.
    kept: Place,
    /// All before this was read, and is being written.
    read: Place,
    /// Segments between the two.
    passed: Vec<u32>,
    stored: Counts,
    reading: Counts,
    /// The thread had ended before it was last read.
    ended: bool,
}

impl Source {
    /// A thread that just began.
    pub fn new(arrival: Arrival) -> Source {
        let start = Place { slab: arrival.slab, units: 0, records: 0 };
        Source {
            number: arrival.number,
            slab: arrival.slab,
            kept: start,
            read: start,
            passed: Vec::new(),
            stored: Counts::default(),
            reading: Counts::default(),
            ended: false,
        }
    }

    /// Units that wait to be read, in this segment and those behind it.
    pub fn backlog(&self, arena: &Arena) -> u64 {
        let (mut slab, mut from, mut units) = (self.kept.slab, self.kept.units, 0);
        loop {
            let header = arena.slab(slab);
            let next = ring::linked(&header.next);
            units += u64::from(ring::published(&header.len).saturating_sub(from));
            if next == 0 {
                return units;
            }
            (slab, from) = (next, 0);
        }
    }

    /// Reads on into `encoder` until it is full or nothing is left; true when it stopped full.
    pub fn read_into(&mut self, arena: &Arena, encoder: &mut Encoder) -> bool {
        while !encoder.is_full() {
            let header = arena.slab(self.read.slab);
            // The link first: once it is set, the length is final.
            let next = ring::linked(&header.next);
            let len = ring::published(&header.len);
            if len > self.read.units {
                self.take(arena, header, len, encoder);
            }
            if next == 0 {
                return false;
            }
            self.passed.push(self.read.slab);
            self.read = Place { slab: next, units: 0, records: 0 };
        }
        true
    }

    fn take(&mut self, arena: &Arena, header: &SlabHeader, len: u32, encoder: &mut Encoder) {
        let first = header.first.load(Ordering::Relaxed) + u64::from(self.read.records);
        let start = unit_address(arena, self.read.slab, header);
        // SAFETY: units below the published length are written and stay as they are until the
        // pump gives the slab back.
        let units = unsafe {
            std::slice::from_raw_parts(
                start.add(self.read.units as usize),
                (len - self.read.units) as usize,
            )
        };
        let taken = encoder.push(self.number, first, units);
        self.reading += taken;
        self.read.units = len;
        self.read.records += taken.records() as u32;
    }

    /// What was read is in the spool: release it.
    pub fn keep(&mut self, arena: &Arena) {
        for slab in self.passed.drain(..) {
            let header = arena.slab(slab);
            header.drained.store(ring::published(&header.len), Ordering::Release);
            if slab != self.slab {
                arena.give(slab);
            }
        }
        let header = arena.slab(self.read.slab);
        header.drained_records.store(self.read.records, Ordering::Relaxed);
        header.drained.store(self.read.units, Ordering::Release);
        self.kept = self.read;
        self.stored += std::mem::take(&mut self.reading);
    }

    /// What was read could not be written: it will be read again.
    pub fn forget(&mut self) {
        self.read = self.kept;
        self.passed.clear();
        self.reading = Counts::default();
    }

    /// Notes whether the thread has ended; before reading, so that nothing comes after.
    pub fn note_end(&mut self, arena: &Arena) {
        self.ended = self.has_ended(arena);
    }

    /// Whether the thread has ended and all it recorded is in the spool.
    pub fn is_over(&self, arena: &Arena) -> bool {
        self.ended && self.backlog(arena) == 0
    }

    /// Whether the thread has ended.
    pub fn has_ended(&self, arena: &Arena) -> bool {
        self.header(arena).ended.load(Ordering::Acquire) != 0
    }

    /// Gives back the slabs of a thread that ended and was read to its end.
    pub fn give_back(&self, arena: &Arena) {
        if self.kept.slab != self.slab {
            arena.give(self.kept.slab);
        }
        arena.give(self.slab);
    }

    fn header<'a>(&self, arena: &'a Arena) -> &'a ThreadHeader {
        // SAFETY: the thread's slab is not given back while its source exists.
        unsafe { &*arena.at(self.slab, SLAB_HEADER_BYTES).cast() }
    }

    /// The thread's counters as they stand.
    pub fn info(&self, arena: &Arena) -> ThreadInfo {
        let header = self.header(arena);
        let get = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let ring_lost = load(&header.lost);
        let mut lost = [Counts::default(); Loss::COUNT];
        lost[Loss::RingFull as usize] = ring_lost;
        let mut produced = self.stored;
        produced += ring_lost;
        let name = header.name.each_ref().map(|byte| byte.load(Ordering::Relaxed));
        let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
        ThreadInfo {
            number: self.number,
            os_tid: header.os_tid,
            name: String::from_utf8_lossy(&name[..end]).into_owned(),
            started: header.started,
            ended: self.has_ended(arena).then(|| get(&header.ended_at)),
            produced,
            lost,
            depth_dropped: get(&header.depth_dropped),
            out_of_order: get(&header.out_of_order),
            double_closed: get(&header.double_closed),
            wrong_thread: get(&header.wrong_thread),
            cpu_syscalls: get(&header.cpu_syscalls),
        }
    }
}

fn unit_address(arena: &Arena, slab: u32, header: &SlabHeader) -> *const Unit {
    if header.kind.load(Ordering::Relaxed) == slab_kind::THREAD {
        arena.at(slab, THREAD_UNITS_AT).cast()
    } else {
        arena.units(slab)
    }
}

/// The counts as numbers.
pub fn load(counts: &hodo_format::arena::AtomicCounts) -> Counts {
    Counts {
        spans: counts.spans.load(Ordering::Relaxed),
        marks: counts.marks.load(Ordering::Relaxed),
        attrs: counts.attrs.load(Ordering::Relaxed),
    }
}

/// Adds to counts that a reader may be looking at.
pub fn add(counts: &hodo_format::arena::AtomicCounts, more: Counts) {
    counts.spans.fetch_add(more.spans, Ordering::Relaxed);
    counts.marks.fetch_add(more.marks, Ordering::Relaxed);
    counts.attrs.fetch_add(more.attrs, Ordering::Relaxed);
}
