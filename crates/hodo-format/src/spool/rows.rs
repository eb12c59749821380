//! The rows of a RECORDS payload: decoded and checked first, then delivered.

use super::codec::split;
use super::trail::{BLANK, NameState, Trail, column, shape};
use super::varint::Cursor;
use super::{FrameSink, MAX_FRAME_RECORDS};
use crate::record::{
    Attr, AttrsRecord, Kind, Mark, MarkRecord, Span, SpanId, TextRecord, Value, code, flag,
};

/// The records of one frame, decoded but not delivered yet.
#[derive(Default)]
pub(super) struct Rows {
    trail: Trail,
    names: Vec<NameState>,
    runs: Vec<Run>,
    /// Stretches of one kind; none crosses the end of a run.
    pieces: Vec<Piece>,
    spans: Vec<Span>,
    others: Vec<Other>,
    pairs: Vec<(u32, Stored)>,
}

struct Run {
    thread: u32,
    first: u64,
    count: u64,
    pieces: usize,
}

#[derive(Clone, Copy)]
struct Piece {
    kind: u64,
    count: u64,
}

/// A record that is no span: what stands in front of its values.
struct Other {
    kind: Kind,
    span: SpanId,
    flags: u16,
    at: u64,
    pairs: usize,
}

#[derive(Clone, Copy)]
enum Stored {
    Word(Value<'static>),
    /// Where the text lies in the payload.
    Text(usize, usize),
}

type Columns<'a> = [Cursor<'a>; column::COUNT];

impl Rows {
    /// Decodes a RECORDS payload; `raw` ends with the padding.
    pub(super) fn fill(&mut self, raw: &[u8]) -> Option<()> {
        self.clear();
        let mut columns = split(raw)?;
        let mut kinds = self.outline(&mut columns)?;
        for i in 0..self.runs.len() {
            let (thread, mut left) = (self.runs[i].thread, self.runs[i].count);
            self.trail.begin_run(thread);
            let before = self.pieces.len();
            while left > 0 {
                let piece = kinds.take(left)?;
                left -= piece.count;
                self.pieces.push(piece);
                self.piece(piece, &mut columns)?;
            }
            self.runs[i].pieces = self.pieces.len() - before;
        }
        columns.iter().all(Cursor::is_spent).then_some(())
    }

    fn clear(&mut self) {
        self.trail.clear();
        self.names.clear();
        self.runs.clear();
        self.pieces.clear();
        self.spans.clear();
        self.others.clear();
        self.pairs.clear();
    }

    /// Reads runs and kinds, and checks that the columns can hold what they promise.
    fn outline<'a>(&mut self, columns: &mut Columns<'a>) -> Option<Kinds<'a>> {
        let runs = &mut columns[column::RUNS];
        let mut total = 0u64;
        while runs.left() > 0 {
            let thread = u32::try_from(runs.unsigned()).ok()?;
            let (first, count) = (runs.unsigned(), runs.unsigned());
            total = total.checked_add(count)?;
            self.runs.push(Run { thread, first, count, pieces: 0 });
        }
        let kinds = Kinds { column: columns[column::KINDS], now: Piece { kind: BLANK, count: 0 } };
        let (spans, others, blanks) = kinds.totals()?;
        let fits = spans == columns[column::SHAPES].left() as u64
            && others <= columns[column::SCOPES].left() as u64
            && spans.checked_add(others)?.checked_add(blanks)? == total
            && total <= MAX_FRAME_RECORDS as u64;
        columns[column::KINDS] = Cursor::over(&[]);
        fits.then_some(kinds)
    }

    fn piece(&mut self, piece: Piece, columns: &mut Columns<'_>) -> Option<()> {
        match piece.kind {
            BLANK => Some(()),
            SPAN => self.spans(piece.count as usize, columns),
            _ => {
                let kind = Kind::from_byte(piece.kind as u8)?;
                (0..piece.count).try_for_each(|_| self.other(kind, columns))
            }
        }
    }

    fn spans(&mut self, count: usize, columns: &mut Columns<'_>) -> Option<()> {
        self.spans.reserve(count);
        for _ in 0..count {
            let span = span(columns, &mut self.trail, &mut self.names)?;
            self.spans.push(span);
        }
        Some(())
    }

    fn other(&mut self, kind: Kind, columns: &mut Columns<'_>) -> Option<()> {
        let span = SpanId(columns[column::SCOPES].signed().wrapping_add(self.trail.last_leaf));
        let before = self.pairs.len();
        let flags = u16::try_from(columns[column::CODES].unsigned()).ok()?;
        let mut at = 0;
        match kind {
            Kind::Attrs => {
                let codes = (0..AttrsRecord::CAPACITY).map(|i| flags >> (4 * i) & 0xf);
                for code in codes.filter(|&code| code != code::NONE) {
                    let key = key(columns)?;
                    self.pairs.push((key, word(code, columns)?));
                }
            }
            Kind::Mark | Kind::MarkText => {
                let key = key(columns)?;
                at = columns[column::TIMES].signed().wrapping_add(self.trail.last_end);
                let value = match kind {
                    Kind::Mark => word(flags & MarkRecord::CODE_MASK, columns)?,
                    _ => text(columns)?,
                };
                self.pairs.push((key, value));
            }
            Kind::Text => {
                let key = key(columns)?;
                self.pairs.push((key, text(columns)?));
            }
            Kind::Pad | Kind::Span => return None,
        }
        self.others.push(Other { kind, span, flags, at, pairs: self.pairs.len() - before });
        Some(())
    }

    /// Gives everything to `sink`, run by run.
    pub(super) fn deliver(&self, raw: &[u8], sink: &mut impl FrameSink) {
        let (spans, others, pairs) = (&self.spans[..], &self.others[..], &self.pairs[..]);
        let mut feed = Feed { raw, number: 0, spans, others, pairs };
        let mut pieces = self.pieces.iter();
        for run in &self.runs {
            let wanted = sink.run(run.thread, run.first, run.count);
            feed.number = run.first;
            for piece in pieces.by_ref().take(run.pieces) {
                feed.piece(piece, wanted, sink);
            }
        }
    }
}

/// What is left to deliver.
struct Feed<'a> {
    raw: &'a [u8],
    /// Number of the next record.
    number: u64,
    spans: &'a [Span],
    others: &'a [Other],
    pairs: &'a [(u32, Stored)],
}

impl Feed<'_> {
    /// Takes the records of a piece; they are given to `sink` if `wanted`.
    fn piece(&mut self, piece: &Piece, wanted: bool, sink: &mut impl FrameSink) {
        let count = piece.count as usize;
        match piece.kind {
            BLANK => {}
            SPAN => {
                let spans = take(&mut self.spans, count);
                spans.iter().filter(|_| wanted).for_each(|span| sink.span(span));
            }
            _ => {
                for (i, other) in take(&mut self.others, count).iter().enumerate() {
                    let pairs = take(&mut self.pairs, other.pairs);
                    if wanted {
                        other.give(self.number.wrapping_add(i as u64), pairs, self.raw, sink);
                    }
                }
            }
        }
        self.number = self.number.wrapping_add(piece.count);
    }
}

/// Takes the first `count` off a slice.
fn take<'a, T>(slice: &mut &'a [T], count: usize) -> &'a [T] {
    let (taken, rest) = slice.split_at_checked(count).unwrap_or((slice, &[]));
    *slice = rest;
    taken
}

const SPAN: u64 = Kind::Span as u64;

/// The KINDS column as stretches that can be cut.
struct Kinds<'a> {
    column: Cursor<'a>,
    now: Piece,
}

impl Kinds<'_> {
    /// Spans, other records and blanks it promises.
    fn totals(&self) -> Option<(u64, u64, u64)> {
        let mut column = self.column;
        let (mut spans, mut others, mut blanks) = (0u64, 0u64, 0u64);
        while column.left() > 0 {
            let word = column.unsigned();
            let total = match word & 7 {
                BLANK => &mut blanks,
                SPAN => &mut spans,
                _ => &mut others,
            };
            *total = total.checked_add(word >> 3)?;
        }
        (!column.overran()).then_some((spans, others, blanks))
    }

    /// The next stretch, at most `most` records long.
    fn take(&mut self, most: u64) -> Option<Piece> {
        while self.now.count == 0 {
            if self.column.left() == 0 {
                return None;
            }
            let word = self.column.unsigned();
            self.now = Piece { kind: word & 7, count: word >> 3 };
        }
        let count = most.min(self.now.count);
        self.now.count -= count;
        Some(Piece { kind: self.now.kind, count })
    }
}

#[inline]
fn span(columns: &mut Columns<'_>, trail: &mut Trail, names: &mut Vec<NameState>) -> Option<Span> {
    let bits = columns[column::SHAPES].byte();
    let (id, parent, start, end) = place(bits, columns, trail)?;
    let code = columns[column::NAMES].unsigned() as usize;
    if code >= names.len() {
        new_name(code, columns, names)?;
    }
    let last = names.get_mut(code)?;
    if bits & shape::FLAGS != 0 {
        last.flags = columns[column::FLAGS].unsigned() as u16;
    }
    let mut index = 0;
    if last.flags & flag::HAS_INDEX != 0 {
        let written = bits & shape::INDEX != 0;
        let delta = if written { columns[column::INDICES].signed() } else { 1 };
        last.index = last.index.wrapping_add(delta);
        index = last.index as i64;
    }
    let mut cpu = 0;
    if last.flags & flag::CPU_MASK == 0 {
        let idle = if bits & shape::CPU != 0 { columns[column::CPUS].signed() } else { 0 };
        cpu = end.wrapping_sub(start).wrapping_sub(idle);
    }
    if bits & shape::OVERHEAD != 0 {
        last.overhead = last.overhead.wrapping_add(columns[column::OVERHEADS].signed());
    }
    Some(Span {
        flags: last.flags,
        name: last.id,
        id: SpanId(id),
        parent: SpanId(parent),
        start,
        end,
        cpu,
        index,
        overhead: last.overhead,
    })
}

/// Id, parent, start and end of the next span.
#[inline]
fn place(bits: u8, columns: &mut Columns<'_>, trail: &mut Trail) -> Option<(u64, u64, u64, u64)> {
    let gap = columns[column::GAPS].signed().wrapping_add(trail.last_end);
    let length = columns[column::LENGTHS].signed();
    let (id, start, end);
    if bits & shape::CLOSES != 0 {
        let group = trail.newest()?;
        trail.pop();
        (id, start, end) = (group.parent, group.start.wrapping_sub(length), gap);
    } else {
        let ahead = if bits & shape::ID != 0 { columns[column::IDS].signed() } else { 0 };
        id = trail.last_leaf.wrapping_add(1).wrapping_add(ahead);
        trail.last_leaf = id;
        (start, end) = (gap, gap.wrapping_add(length));
    }
    trail.last_end = end;
    let parent = match bits & shape::PARENT {
        shape::SIBLING => return Some((id, trail.newest()?.parent, start, end)),
        shape::BEFORE => id.wrapping_sub(1),
        shape::ROOT => 0,
        _ => id.wrapping_sub(columns[column::PARENTS].signed()),
    };
    trail.push(parent, start);
    Some((id, parent, start, end))
}

#[cold]
fn new_name(code: usize, columns: &mut Columns<'_>, names: &mut Vec<NameState>) -> Option<()> {
    let id = u32::try_from(columns[column::NAME_IDS].unsigned()).ok()?;
    names.push(NameState { id, ..NameState::default() });
    (code < names.len()).then_some(())
}

fn key(columns: &mut Columns<'_>) -> Option<u32> {
    u32::try_from(columns[column::KEYS].unsigned()).ok()
}

fn word(code: u16, columns: &mut Columns<'_>) -> Option<Stored> {
    let word = match code {
        code::F64 => columns[column::FLOATS].word(),
        code::I64 => columns[column::INTEGERS].signed(),
        _ => columns[column::INTEGERS].unsigned(),
    };
    Value::from_code(code, word).map(Stored::Word)
}

fn text(columns: &mut Columns<'_>) -> Option<Stored> {
    let len = columns[column::INTEGERS].unsigned();
    let at = columns[column::TEXT].position();
    columns[column::TEXT].take(len)?;
    Some(Stored::Text(at, at + len as usize))
}

impl Other {
    fn give(&self, number: u64, pairs: &[(u32, Stored)], raw: &[u8], sink: &mut impl FrameSink) {
        let is_mark = matches!(self.kind, Kind::Mark | Kind::MarkText);
        if is_mark || self.flags & TextRecord::OF_MARK != 0 && self.kind == Kind::Text {
            sink.mark_number(number);
        }
        let span = self.span;
        for &(key, stored) in pairs {
            let text = |from, to| raw.get(from..to).unwrap_or_default();
            match stored {
                Stored::Word(value) if is_mark => sink.mark(&self.mark(key, value)),
                Stored::Word(value) => sink.attr(&Attr { span, key, value }),
                Stored::Text(from, to) if is_mark => {
                    let cut = self.flags & MarkRecord::CUT != 0;
                    sink.mark(&self.mark(key, Value::Text { bytes: text(from, to), cut }));
                }
                Stored::Text(from, to) => {
                    TextRecord::give(self.flags, span, key, text(from, to), sink);
                }
            }
        }
    }

    fn mark<'a>(&self, name: u32, value: Value<'a>) -> Mark<'a> {
        let summary = self.flags & MarkRecord::SUMMARY != 0;
        Mark { name, span: self.span, at: self.at, summary, value }
    }
}
