//! One slab at a time: copy it, and take it only if it was the same slab before and after.

use super::{ArenaView, OpenScope, Parts, Segment, Source, Strings, Thread};
use crate::arena::{
    Anchor, ArenaHeader, AtomicCounts, Counts, Loss, SLAB_BYTES, SLAB_HEADER_BYTES, SLAB_UNITS,
    SLAB_UNITS_AT, SlabHeader, Slot, THREAD_NAME_BYTES, THREAD_SLOTS, THREAD_SLOTS_AT,
    THREAD_UNITS, THREAD_UNITS_AT, ThreadHeader, slab_kind,
};
use crate::record::{Head, Kind, Sink, SpanId, UNIT_BYTES, Unit, decode_one};
use std::mem::offset_of;

/// Times a slab is read again when it changed hands meanwhile.
const TRIES: usize = 8;

/// Bytes with fields at known places; a place outside reads as 0.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn u32(self, at: usize) -> u32 {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    pub(super) fn u64(self, at: usize) -> u64 {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    pub(super) fn counts(self, at: usize) -> Counts {
        Counts { spans: self.u64(at), marks: self.u64(at + 8), attrs: self.u64(at + 16) }
    }

    pub(super) fn counts_by_loss(self, at: usize) -> [Counts; Loss::COUNT] {
        std::array::from_fn(|reason| self.counts(at + reason * size_of::<AtomicCounts>()))
    }

    pub(super) fn anchor(self, number: usize) -> Anchor {
        let at = offset_of!(ArenaHeader, anchors) + number * size_of::<Anchor>();
        Anchor {
            ticks: self.u64(at + offset_of!(Anchor, ticks)),
            monotonic_ns: self.u64(at + offset_of!(Anchor, monotonic_ns)),
            wall_ns: self.u64(at + offset_of!(Anchor, wall_ns)),
        }
    }

    fn from(self, at: usize) -> Bytes<'a> {
        Bytes(self.0.get(at..).unwrap_or_default())
    }

    fn unit(self, at: usize) -> Unit {
        Unit(std::array::from_fn(|word| self.u64(at + 8 * word)))
    }
}

/// The parts of a slab header that a reader needs.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Owner {
    kind: u32,
    thread: u32,
    first: u64,
}

#[derive(Clone, Copy)]
struct Header {
    owner: Owner,
    len: usize,
    drained: usize,
}

fn header(bytes: &[u8]) -> Header {
    let bytes = Bytes(bytes);
    let owner = Owner {
        kind: bytes.u32(offset_of!(SlabHeader, kind)),
        thread: bytes.u32(offset_of!(SlabHeader, thread)),
        first: bytes.u64(offset_of!(SlabHeader, first)),
    };
    let len = bytes.u32(offset_of!(SlabHeader, len)) as usize;
    Header { owner, len, drained: bytes.u32(offset_of!(SlabHeader, drained)) as usize }
}

/// Reads every slab but the first into `view`, as far as it is wanted.
pub(super) fn read_all<S: Source + ?Sized>(source: &S, parts: Parts, view: &mut ArenaView) {
    let mut copy = Copy { parts, ..Copy::default() };
    // The last slab may be cut; what is there of it still counts.
    for slab in 1..source.bytes().div_ceil(SLAB_BYTES) {
        match copy.take(source, slab * SLAB_BYTES) {
            Taken::Slab(header) => copy.read(header, view),
            Taken::Restless => view.damage.restless += 1,
            Taken::Unused => {}
            Taken::Unknown => view.damage.slabs += 1,
        }
    }
}

#[derive(Default)]
struct Copy {
    parts: Parts,
    /// The slab, or what is there of the last one of a cut file.
    bytes: Vec<u8>,
    /// A second copy, to see which slots stood still.
    again: Vec<u8>,
}

enum Taken {
    Slab(Header),
    Unused,
    Unknown,
    Restless,
}

impl Copy {
    fn take<S: Source + ?Sized>(&mut self, source: &S, at: usize) -> Taken {
        let bytes = SLAB_BYTES.min(source.bytes().saturating_sub(at));
        self.bytes.resize(bytes, 0);
        self.again.resize(bytes, 0);
        for _ in 0..TRIES {
            let mut head = [0; SLAB_HEADER_BYTES];
            if !source.copy(at, &mut head) {
                return Taken::Unknown;
            }
            // The length is read before what it covers, so that all of it was published.
            let before = header(&head);
            match before.owner.kind {
                slab_kind::UNUSED | slab_kind::FREE => return Taken::Unused,
                slab_kind::RING if !self.parts.records => return Taken::Unused,
                slab_kind::STRINGS if !self.parts.strings => return Taken::Unused,
                slab_kind::RING..=slab_kind::THREAD_SLOTS => {}
                _ => return Taken::Unknown,
            }
            let whole = source.copy(at, &mut self.bytes) && source.copy(at, &mut self.again);
            if whole && source.copy(at, &mut head) && header(&head).owner == before.owner {
                return Taken::Slab(before);
            }
        }
        Taken::Restless
    }

    fn read(&self, header: Header, view: &mut ArenaView) {
        let bytes = Bytes(&self.bytes);
        match header.owner.kind {
            slab_kind::STRINGS => strings(bytes, header, view),
            slab_kind::SLOTS | slab_kind::THREAD_SLOTS => {
                self.slots(header, SLAB_UNITS_AT, SLAB_UNITS, view);
            }
            _ if header.owner.thread == 0 => view.damage.slabs += 1,
            slab_kind::RING => segment(bytes.from(SLAB_UNITS_AT), SLAB_UNITS, header, view),
            _ => {
                view.threads.extend(thread(header.owner.thread, bytes.from(SLAB_HEADER_BYTES)));
                self.slots(header, THREAD_SLOTS_AT, THREAD_SLOTS, view);
                if self.parts.records {
                    segment(bytes.from(THREAD_UNITS_AT), THREAD_UNITS, header, view);
                }
            }
        }
    }

    fn slots(&self, header: Header, at: usize, count: usize, view: &mut ArenaView) {
        let slots = (0..count).filter_map(|i| {
            let at = at + i * UNIT_BYTES;
            let scope = open_scope(header.owner.thread, Bytes(&self.bytes).from(at))?;
            let again = open_scope(header.owner.thread, Bytes(&self.again).from(at))?;
            let same = (again.head, again.id, again.parent, again.start)
                == (scope.head, scope.id, scope.parent, scope.start);
            same.then_some(again)
        });
        view.open.extend(slots);
    }
}

fn open_scope(thread: u32, slot: Bytes<'_>) -> Option<OpenScope> {
    if slot.0.len() < size_of::<Slot>() {
        return None;
    }
    let id = SpanId(slot.u64(offset_of!(Slot, id)));
    let head = Head::from_word(slot.u64(offset_of!(Slot, head)));
    // A slot of padding stands for a scope of another thread that this one is attached to.
    let is_scope = !id.is_none() && head.kind != Kind::Pad as u8;
    is_scope.then(|| OpenScope {
        thread,
        head,
        id,
        parent: SpanId(slot.u64(offset_of!(Slot, parent))),
        start: slot.u64(offset_of!(Slot, start)),
        cpu: slot.u64(offset_of!(Slot, cpu)),
        index: slot.u64(offset_of!(Slot, index)) as i64,
        overhead: slot.u64(offset_of!(Slot, overhead)),
    })
}

fn thread(number: u32, bytes: Bytes<'_>) -> Option<Thread> {
    if bytes.0.len() < size_of::<ThreadHeader>() {
        return None;
    }
    let ended = bytes.u32(offset_of!(ThreadHeader, ended)) != 0;
    let name = bytes.from(offset_of!(ThreadHeader, name)).0.get(..THREAD_NAME_BYTES)?;
    let name = name.split(|&byte| byte == 0).next()?;
    Some(Thread {
        number,
        os_tid: bytes.u32(offset_of!(ThreadHeader, os_tid)),
        name: String::from_utf8_lossy(name).into_owned(),
        started: bytes.u64(offset_of!(ThreadHeader, started)),
        ended: ended.then(|| bytes.u64(offset_of!(ThreadHeader, ended_at))),
        lost: bytes.counts(offset_of!(ThreadHeader, lost)),
        depth_dropped: bytes.u64(offset_of!(ThreadHeader, depth_dropped)),
        out_of_order: bytes.u64(offset_of!(ThreadHeader, out_of_order)),
        double_closed: bytes.u64(offset_of!(ThreadHeader, double_closed)),
        wrong_thread: bytes.u64(offset_of!(ThreadHeader, wrong_thread)),
        cpu_syscalls: bytes.u64(offset_of!(ThreadHeader, cpu_syscalls)),
    })
}

/// Takes the published units as far as they are records.
fn segment(bytes: Bytes<'_>, capacity: usize, header: Header, view: &mut ArenaView) {
    // Behind the true length lie records of an earlier use: nothing is taken on a wrong one.
    if header.len > capacity {
        view.damage.slabs += 1;
        return;
    }
    let len = header.len.min(bytes.0.len() / UNIT_BYTES);
    view.damage.units += (header.len - len) as u64;
    let mut segment = Segment {
        thread: header.owner.thread,
        first: header.owner.first,
        units: (0..len).map(|i| bytes.unit(i * UNIT_BYTES)).collect(),
        records: 0,
        drained: 0,
    };
    let mut at = 0;
    while let Some((taken, counted)) = decode_one(&segment.units[at..], &mut Ignore) {
        at += taken;
        segment.records += u64::from(counted);
        if at <= header.drained {
            segment.drained = segment.records;
        }
    }
    view.damage.units += (len - at) as u64;
    segment.units.truncate(at);
    if segment.records > 0 {
        view.segments.push(segment);
    }
}

fn strings(bytes: Bytes<'_>, header: Header, view: &mut ArenaView) {
    let area = bytes.from(SLAB_HEADER_BYTES);
    if header.len > SLAB_BYTES - SLAB_HEADER_BYTES {
        view.damage.slabs += 1;
        return;
    }
    let len = header.len.min(area.0.len());
    let mut rest = Bytes(&area.0[..len]);
    let mut texts = Vec::new();
    while rest.0.len() >= 4 {
        let len = rest.u32(0) as usize;
        let Some(text) = rest.from(4).0.get(..len) else { break };
        texts.push(String::from_utf8_lossy(text).into_owned());
        rest = rest.from(4 + len);
    }
    view.damage.string_bytes += (header.len - len + rest.0.len()) as u64;
    match u32::try_from(header.owner.first) {
        Ok(first) if first.checked_add(texts.len() as u32).is_some() => {
            view.strings.push(Strings { first, texts });
        }
        _ => view.damage.slabs += 1,
    }
}

/// Takes records nobody wants yet: they are only checked.
struct Ignore;

impl Sink for Ignore {}
