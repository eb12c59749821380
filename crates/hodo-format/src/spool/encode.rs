//! Ring records into RECORDS frames.

use super::codec::{Compressor, Label, Layout};
use super::names::Names;
use super::trail::{BLANK, Trail, column, shape};
use super::varint::Column;
use super::{FRAME_RECORDS, MAX_FRAME_RECORDS, MAX_RAW_BYTES, frame_kind};
use crate::arena::Counts;
use crate::record::{AttrsRecord, Head, Kind, MarkRecord, Span, TextRecord, Unit, code, flag};

/// Raw bytes from which a frame counts as full although it has few records.
const FULL_BYTES: usize = 1 << 20;
/// Columns that end a zstd block: what follows them has another distribution of bytes.
const BREAKS: [usize; 5] =
    [column::OVERHEADS, column::CPUS, column::GAPS, column::LENGTHS, column::INTEGERS];

/// Collects records and writes them as frames. Its buffers are kept from frame to frame.
pub struct Encoder {
    columns: [Column; column::COUNT],
    trail: Trail,
    names: Names,
    runs: Vec<Run>,
    /// Kind and length of the run of equal kinds being counted.
    kind: (u64, u64),
    counts: Counts,
    records: usize,
    compressor: Compressor,
    layout: Layout,
}

#[derive(Clone, Copy)]
struct Run {
    thread: u32,
    first: u64,
    count: u64,
}

impl Encoder {
    /// An empty encoder that compresses with zstd at `zstd_level`.
    pub fn new(zstd_level: i32) -> Self {
        Encoder {
            columns: Default::default(),
            trail: Trail::default(),
            names: Names::default(),
            runs: Vec::new(),
            kind: (BLANK, 0),
            counts: Counts::default(),
            records: 0,
            compressor: Compressor::new(zstd_level),
            layout: Layout::default(),
        }
    }

    /// Takes the complete records in `units`, of which the first is the thread's record `first`.
    ///
    /// Returns what it took. It takes everything, unless a unit is no record of this version or
    /// the frame would grow past what a reader accepts; finish a frame when [`Encoder::is_full`].
    pub fn push(&mut self, thread: u32, first: u64, units: &[Unit]) -> Counts {
        let before = self.counts;
        let records = self.records;
        self.begin(thread, first);
        let mut rest = units;
        while let Some(taken) = self.record(rest) {
            rest = rest.get(taken..).unwrap_or_default();
        }
        if let Some(run) = self.runs.last_mut() {
            run.count += (self.records - records) as u64;
        }
        Counts {
            spans: self.counts.spans - before.spans,
            marks: self.counts.marks - before.marks,
            attrs: self.counts.attrs - before.attrs,
        }
    }

    /// Records collected since the last frame.
    pub fn len(&self) -> usize {
        self.records
    }

    /// Whether nothing was collected since the last frame.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Whether it is time to finish the frame: [`FRAME_RECORDS`] records, or fewer with much text.
    pub fn is_full(&self) -> bool {
        self.records >= FRAME_RECORDS || self.text_bytes() >= FULL_BYTES
    }

    /// What was collected since the last frame, by sort.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Appends one RECORDS frame to `out` and starts anew.
    pub fn finish(&mut self, sequence: u64, out: &mut Vec<u8>) {
        self.end_kinds();
        for run in self.runs.drain(..).filter(|run| run.count > 0) {
            let runs = &mut self.columns[column::RUNS];
            runs.unsigned(run.thread.into());
            runs.unsigned(run.first);
            runs.unsigned(run.count);
        }
        let label = Label { kind: frame_kind::RECORDS, sequence, records: self.records as u32 };
        self.layout.append(label, &self.columns, &BREAKS, &mut self.compressor, out);
        self.reset();
    }

    fn reset(&mut self) {
        self.columns.iter_mut().for_each(Column::clear);
        self.trail.clear();
        self.names.clear();
        self.counts = Counts::default();
        self.records = 0;
    }

    fn text_bytes(&self) -> usize {
        self.columns[column::TEXT].len()
    }

    /// Continues the run of the last push or begins another.
    fn begin(&mut self, thread: u32, first: u64) {
        let next = Run { thread, first, count: 0 };
        match self.runs.last_mut() {
            Some(run) if run.thread == thread && run.first.wrapping_add(run.count) == first => {
                return;
            }
            Some(run) if run.count == 0 => *run = next,
            _ => self.runs.push(next),
        }
        self.trail.begin_run(thread);
    }

    /// Takes the record at the start of `units`; returns the units it lies in.
    #[inline]
    fn record(&mut self, units: &[Unit]) -> Option<usize> {
        let first = units.first()?;
        let head = Head::from_word(first.0[0]);
        let taken = usize::from(head.units);
        let kind = Kind::from_byte(head.kind)?;
        if taken == 0 || taken > units.len() {
            return None;
        }
        if kind == Kind::Span {
            self.count(Kind::Span as u64)?;
            self.counts.spans += 1;
            self.span(&Span::from_unit(first));
        } else if kind != Kind::Pad {
            self.other(kind, head, &units[..taken])?;
        }
        Some(taken)
    }

    /// Counts one more record of a kind; `None` when the frame takes no more.
    #[inline]
    fn count(&mut self, kind: u64) -> Option<()> {
        if self.records >= MAX_FRAME_RECORDS {
            return None;
        }
        if self.kind.0 != kind {
            self.end_kinds();
            self.kind.0 = kind;
        }
        self.kind.1 += 1;
        self.records += 1;
        Some(())
    }

    fn end_kinds(&mut self) {
        let (kind, count) = self.kind;
        if count > 0 {
            self.columns[column::KINDS].unsigned(count << 3 | kind);
        }
        self.kind = (BLANK, 0);
    }

    #[inline]
    fn span(&mut self, span: &Span) {
        let mut bits = self.place(span);
        let (code, last) = self.names.of(span.name, &mut self.columns[column::NAME_IDS]);
        let columns = &mut self.columns;
        columns[column::NAMES].unsigned(u64::from(code));
        if last.flags != span.flags {
            bits |= shape::FLAGS;
            columns[column::FLAGS].unsigned(u64::from(span.flags));
            last.flags = span.flags;
        }
        if span.flags & flag::HAS_INDEX != 0 {
            let delta = (span.index as u64).wrapping_sub(last.index);
            if delta != 1 {
                bits |= shape::INDEX;
                columns[column::INDICES].signed(delta);
            }
            last.index = span.index as u64;
        }
        let idle = span.end.wrapping_sub(span.start).wrapping_sub(span.cpu);
        if span.flags & flag::CPU_MASK == 0 && idle != 0 {
            bits |= shape::CPU;
            columns[column::CPUS].signed(idle);
        }
        if last.overhead != span.overhead {
            bits |= shape::OVERHEAD;
            columns[column::OVERHEADS].signed(span.overhead.wrapping_sub(last.overhead));
            last.overhead = span.overhead;
        }
        columns[column::SHAPES].byte(bits);
    }

    /// Writes id, parent and times; returns their bits of the shape.
    #[inline]
    fn place(&mut self, span: &Span) -> u8 {
        let (id, parent) = (span.id.0, span.parent.0);
        let trail = &mut self.trail;
        let columns = &mut self.columns;
        let mut bits = 0;
        match trail.newest() {
            Some(group) if group.parent == id => {
                bits |= shape::CLOSES;
                trail.pop();
                columns[column::GAPS].signed(span.end.wrapping_sub(trail.last_end));
                columns[column::LENGTHS].signed(group.start.wrapping_sub(span.start));
            }
            _ => {
                let ahead = id.wrapping_sub(trail.last_leaf).wrapping_sub(1);
                if ahead != 0 {
                    bits |= shape::ID;
                    columns[column::IDS].signed(ahead);
                }
                trail.last_leaf = id;
                columns[column::GAPS].signed(span.start.wrapping_sub(trail.last_end));
                columns[column::LENGTHS].signed(span.end.wrapping_sub(span.start));
            }
        }
        trail.last_end = span.end;
        if trail.newest().is_some_and(|group| group.parent == parent) {
            return bits | shape::SIBLING;
        }
        trail.push(parent, span.start);
        if parent == 0 {
            bits | shape::ROOT
        } else if parent == id.wrapping_sub(1) {
            bits | shape::BEFORE
        } else {
            columns[column::PARENTS].signed(id.wrapping_sub(parent));
            bits | shape::WRITTEN
        }
    }

    /// Takes a record that is no span.
    fn other(&mut self, kind: Kind, head: Head, units: &[Unit]) -> Option<()> {
        let bytes = Unit::bytes(units);
        let text = text_of(kind, bytes);
        let readable = match kind {
            Kind::Attrs => true,
            Kind::Mark => (code::I64..=code::NAME).contains(&(head.flags & MarkRecord::CODE_MASK)),
            _ => text.is_some(),
        };
        let text = text.unwrap_or_default();
        if self.text_bytes() + text.len() > MAX_RAW_BYTES / 2 {
            return None;
        }
        self.count(if readable { kind as u64 } else { BLANK })?;
        match kind {
            Kind::Mark | Kind::MarkText => self.counts.marks += 1,
            _ => self.counts.attrs += 1,
        }
        if readable {
            self.fields(kind, head, &units[0], text);
        }
        Some(())
    }

    fn fields(&mut self, kind: Kind, head: Head, unit: &Unit, text: &[u8]) {
        let ahead = unit.0[1].wrapping_sub(self.trail.last_leaf);
        self.columns[column::SCOPES].signed(ahead);
        match kind {
            Kind::Attrs => self.attrs(head, unit),
            Kind::Mark | Kind::MarkText => {
                self.key(head.name, head.flags);
                let since = unit.0[2].wrapping_sub(self.trail.last_end);
                self.columns[column::TIMES].signed(since);
                if kind == Kind::Mark {
                    self.value(head.flags & MarkRecord::CODE_MASK, unit.0[3]);
                } else {
                    self.text(text);
                }
            }
            _ => {
                self.key(head.name, head.flags);
                self.text(text);
            }
        }
    }

    /// Writes the codes that carry a value, then key and value of each.
    fn attrs(&mut self, head: Head, unit: &Unit) {
        let w = &unit.0;
        let keys = [head.name, w[2] as u32, (w[2] >> 32) as u32, w[3] as u32];
        let code = |i: usize| {
            let code = head.flags >> (4 * i) & 0xf;
            if code <= code::NAME { code } else { code::NONE }
        };
        let codes = (0..AttrsRecord::CAPACITY).fold(0, |all, i| all | code(i) << (4 * i));
        self.columns[column::CODES].unsigned(u64::from(codes));
        for (i, key) in keys.into_iter().enumerate().filter(|&(i, _)| code(i) != code::NONE) {
            self.columns[column::KEYS].unsigned(u64::from(key));
            self.value(code(i), w[4 + i]);
        }
    }

    fn key(&mut self, key: u32, flags: u16) {
        self.columns[column::KEYS].unsigned(u64::from(key));
        self.columns[column::CODES].unsigned(u64::from(flags));
    }

    fn value(&mut self, code: u16, word: u64) {
        match code {
            code::F64 => self.columns[column::FLOATS].slice(&word.to_le_bytes()),
            code::I64 => self.columns[column::INTEGERS].signed(word),
            code::BOOL => self.columns[column::INTEGERS].unsigned(u64::from(word != 0)),
            _ => self.columns[column::INTEGERS].unsigned(u64::from(word as u32)),
        }
    }

    fn text(&mut self, text: &[u8]) {
        self.columns[column::INTEGERS].unsigned(text.len() as u64);
        self.columns[column::TEXT].slice(text);
    }
}

/// The text of a record that carries one; `None` when its length cannot be right.
fn text_of(kind: Kind, bytes: &[u8]) -> Option<&[u8]> {
    let (at, len) = match kind {
        Kind::Text => {
            let len = bytes.get(TextRecord::LENGTH_AT..)?.first_chunk()?;
            (TextRecord::BYTES_AT, u64::from(u32::from_le_bytes(*len)))
        }
        Kind::MarkText => {
            let len = bytes.get(MarkRecord::BYTES_AT - 8..)?.first_chunk()?;
            (MarkRecord::BYTES_AT, u64::from_le_bytes(*len))
        }
        _ => return None,
    };
    bytes.get(at..)?.get(..usize::try_from(len).ok()?)
}
