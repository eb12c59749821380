//! An arena as a recorder leaves it, written byte by byte at the documented places.

use crate::made::{Loop, pad_units};
use hodo_format::arena::read::{OpenScope, Segment, Strings, Thread};
use hodo_format::arena::*;
use hodo_format::record::{Head, Kind, SpanId, UNIT_BYTES, Unit, flag};
use std::mem::offset_of;

/// What one slab holds, for a reader that finds it intact.
#[derive(Default)]
pub struct Content {
    pub segment: Option<Segment>,
    pub thread: Option<Thread>,
    pub strings: Option<Strings>,
    pub open: Vec<OpenScope>,
}

pub struct ArenaSample {
    pub bytes: Vec<u8>,
    /// By slab; the first is the header's and stays empty.
    pub contents: Vec<Content>,
}

pub const PROCESS: u64 = 0x0123_4567_89ab_cdef;

pub fn counts(n: u64) -> Counts {
    Counts { spans: n, marks: n + 1, attrs: n + 2 }
}

/// Anchor number `n`.
pub fn anchor(n: u64) -> Anchor {
    Anchor { ticks: 10 + n, monotonic_ns: 20 + n, wall_ns: 30 + n }
}

impl ArenaSample {
    /// An arena with each kind of slab, after `anchors` anchors were taken.
    pub fn new(anchors: u64) -> ArenaSample {
        let mut sample = ArenaSample { bytes: vec![0; SLAB_BYTES], contents: Vec::new() };
        sample.contents.push(Content::default());
        let mut loops = [Loop::new(1), Loop::new(2)];
        for (i, source) in loops.iter_mut().enumerate() {
            let thread = i as u32 + 1;
            sample.thread(thread, source);
            sample.ring(thread, 1000, 17, source);
            sample.ring(thread, 5000, 0, source);
        }
        sample.slots(slab_kind::SLOTS, 0);
        sample.strings();
        sample.slab(slab_kind::FREE, 1, 7, 99, 0);
        sample.slots(slab_kind::THREAD_SLOTS, 2);
        sample.slab(slab_kind::UNUSED, 0, 0, 0, 0);
        sample.header(anchors);
        sample
    }

    fn header(&mut self, anchors: u64) {
        let slabs = (self.bytes.len() / SLAB_BYTES) as u32;
        self.put_u64(offset_of!(ArenaHeader, magic), ARENA_MAGIC);
        self.put_u32(offset_of!(ArenaHeader, version), ARENA_VERSION);
        self.put_u32(offset_of!(ArenaHeader, slab_bytes), SLAB_BYTES as u32);
        self.put_u32(offset_of!(ArenaHeader, slabs), slabs);
        self.put_u32(offset_of!(ArenaHeader, clock), clock_kind::COUNTER);
        self.put_u64(offset_of!(ArenaHeader, process), PROCESS);
        self.put_u32(offset_of!(ArenaHeader, pid), 42);
        self.put_u64(offset_of!(ArenaHeader, anchors_taken), anchors);
        for n in 0..anchors {
            let place = if n == 0 { 0 } else { 1 + (n as usize - 1) % (ANCHORS - 1) };
            let at = offset_of!(ArenaHeader, anchors) + 24 * place;
            self.put_u64(at, anchor(n).ticks);
            self.put_u64(at + 8, anchor(n).monotonic_ns);
            self.put_u64(at + 16, anchor(n).wall_ns);
        }
        self.put_counts(offset_of!(ArenaHeader, stored), counts(100));
        self.put_counts(offset_of!(ArenaHeader, ended_produced), counts(200));
        for reason in 0..Loss::COUNT {
            let n = 10 * reason as u64;
            self.put_counts(offset_of!(ArenaHeader, lost) + 24 * reason, counts(300 + n));
            self.put_counts(offset_of!(ArenaHeader, ended_lost) + 24 * reason, counts(400 + n));
        }
    }

    /// Begins a slab; returns where it lies.
    fn slab(&mut self, kind: u32, thread: u32, first: u64, len: u32, drained: u32) -> usize {
        let at = self.bytes.len();
        self.bytes.resize(at + SLAB_BYTES, 0);
        self.put_u32(at + offset_of!(SlabHeader, kind), kind);
        self.put_u32(at + offset_of!(SlabHeader, thread), thread);
        self.put_u64(at + offset_of!(SlabHeader, first), first);
        self.put_u32(at + offset_of!(SlabHeader, len), len);
        self.put_u32(at + offset_of!(SlabHeader, drained), drained);
        self.contents.push(Content::default());
        at
    }

    fn thread(&mut self, thread: u32, source: &mut Loop) {
        let mut units = source.step();
        units.extend(pad_units(2));
        let records = units.len() as u64 - 2;
        let at = self.slab(slab_kind::THREAD, thread, 0, units.len() as u32, 0);
        let info = Thread {
            number: thread,
            os_tid: 4711 + thread,
            name: format!("worker {thread}"),
            started: 5,
            ended: (thread == 2).then_some(6),
            lost: counts(7),
            depth_dropped: 10,
            out_of_order: 11,
            double_closed: 12,
            wrong_thread: 13,
            cpu_syscalls: 14,
        };
        self.thread_header(at + SLAB_HEADER_BYTES, &info);
        self.put_units(at + THREAD_UNITS_AT, &units);
        let open = vec![
            self.slot(at + THREAD_SLOTS_AT, thread, 0),
            self.slot(at + THREAD_SLOTS_AT, thread, 1),
        ];
        let segment = Segment { thread, first: 0, units, records, drained: 0 };
        let content = Content { segment: Some(segment), thread: Some(info), open, strings: None };
        self.keep(content);
    }

    fn thread_header(&mut self, at: usize, info: &Thread) {
        self.put_u32(at + offset_of!(ThreadHeader, os_tid), info.os_tid);
        self.put_u32(at + offset_of!(ThreadHeader, ended), info.ended.is_some().into());
        self.put_u64(at + offset_of!(ThreadHeader, started), info.started);
        self.put_u64(at + offset_of!(ThreadHeader, ended_at), info.ended.unwrap_or(0));
        let name = at + offset_of!(ThreadHeader, name);
        self.bytes[name..name + info.name.len()].copy_from_slice(info.name.as_bytes());
        self.put_counts(at + offset_of!(ThreadHeader, lost), info.lost);
        self.put_u64(at + offset_of!(ThreadHeader, depth_dropped), info.depth_dropped);
        self.put_u64(at + offset_of!(ThreadHeader, out_of_order), info.out_of_order);
        self.put_u64(at + offset_of!(ThreadHeader, double_closed), info.double_closed);
        self.put_u64(at + offset_of!(ThreadHeader, wrong_thread), info.wrong_thread);
        self.put_u64(at + offset_of!(ThreadHeader, cpu_syscalls), info.cpu_syscalls);
    }

    fn ring(&mut self, thread: u32, first: u64, drained: u32, source: &mut Loop) {
        let mut units = Vec::new();
        while units.len() + 17 < SLAB_UNITS {
            units.extend(source.step());
        }
        let records = units.len() as u64;
        let at = self.slab(slab_kind::RING, thread, first, units.len() as u32, drained);
        self.put_units(at + SLAB_UNITS_AT, &units);
        let drained = drained.into();
        let segment = Some(Segment { thread, first, units, records, drained });
        self.keep(Content { segment, ..Content::default() });
    }

    fn slots(&mut self, kind: u32, thread: u32) {
        let at = self.slab(kind, thread, 0, 0, 0) + SLAB_UNITS_AT;
        let open = [0, 3, SLAB_UNITS - 1].map(|i| self.slot(at, thread, i)).to_vec();
        self.keep(Content { open, ..Content::default() });
    }

    fn slot(&mut self, at: usize, thread: u32, number: usize) -> OpenScope {
        let name = number as u32;
        let head = Head { kind: Kind::Span as u8, units: 1, flags: flag::HAS_INDEX, name };
        let scope = OpenScope {
            thread,
            head,
            id: SpanId::new(thread, 50 + number as u64),
            parent: SpanId::new(thread, 49),
            start: 70,
            cpu: 71,
            index: -3,
            overhead: 72,
        };
        let at = at + number * UNIT_BYTES;
        self.put_u64(at + offset_of!(Slot, head), scope.head.word());
        self.put_u64(at + offset_of!(Slot, id), scope.id.0);
        self.put_u64(at + offset_of!(Slot, parent), scope.parent.0);
        self.put_u64(at + offset_of!(Slot, start), scope.start);
        self.put_u64(at + offset_of!(Slot, cpu), scope.cpu);
        self.put_u64(at + offset_of!(Slot, index), scope.index as u64);
        self.put_u64(at + offset_of!(Slot, overhead), scope.overhead);
        scope
    }

    fn strings(&mut self) {
        let texts = ["step", "", "größe"].map(String::from).to_vec();
        let mut bytes = Vec::new();
        for text in &texts {
            bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        let at = self.slab(slab_kind::STRINGS, 0, 9, bytes.len() as u32, 0) + SLAB_HEADER_BYTES;
        self.bytes[at..at + bytes.len()].copy_from_slice(&bytes);
        self.keep(Content { strings: Some(Strings { first: 9, texts }), ..Content::default() });
    }

    fn keep(&mut self, content: Content) {
        *self.contents.last_mut().unwrap() = content;
    }

    fn put_u32(&mut self, at: usize, value: u32) {
        self.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn put_u64(&mut self, at: usize, value: u64) {
        self.bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn put_counts(&mut self, at: usize, counts: Counts) {
        self.put_u64(at, counts.spans);
        self.put_u64(at + 8, counts.marks);
        self.put_u64(at + 16, counts.attrs);
    }

    fn put_units(&mut self, at: usize, units: &[Unit]) {
        self.bytes[at..at + units.len() * UNIT_BYTES].copy_from_slice(Unit::bytes(units));
    }
}
