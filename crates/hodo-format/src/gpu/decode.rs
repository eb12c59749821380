//! The rows of a WORK payload: decoded and checked first, then delivered.

use super::shape::{self, FOLLOWING, Lane, Numbers, column, has};
use super::{Detail, Work};
use crate::record::SpanId;
use crate::spool::codec::split;
use crate::spool::varint::Cursor;
use crate::spool::{FrameSink, MAX_FRAME_RECORDS};

/// The work of one frame, decoded but not delivered yet.
#[derive(Default)]
pub(crate) struct Rows {
    shapes: Vec<Known>,
    lanes: Vec<(Lane, u64)>,
    following: [u64; FOLLOWING],
    work: Vec<Work>,
}

/// A shape of the frame and its row before.
struct Known {
    /// With 0 for what the row has; `None` for a kind of work this version does not know.
    detail: Option<Detail>,
    lane: usize,
    flags: u16,
    has: u16,
    graph: u32,
    thread: u32,
    length: u64,
    bytes: u64,
}

type Columns<'a> = [Cursor<'a>; column::COUNT];

impl Rows {
    /// Decodes a WORK payload; `raw` ends with the padding.
    pub(crate) fn fill(&mut self, raw: &[u8]) -> Option<()> {
        self.shapes.clear();
        self.lanes.clear();
        self.following = [0; FOLLOWING];
        self.work.clear();
        let mut columns: Columns<'_> = split(raw)?;
        let mut rows = 0;
        while columns[column::SHAPES].left() > 0 {
            rows += 1;
            if rows > MAX_FRAME_RECORDS {
                return None;
            }
            let row = self.row(&mut columns)?;
            self.work.extend(row);
        }
        columns.iter().all(Cursor::is_spent).then_some(())
    }

    /// Gives everything to `sink`.
    pub(crate) fn deliver(&self, sink: &mut impl FrameSink) {
        self.work.iter().for_each(|work| sink.work(work));
    }

    /// The next row; `Some(None)` for one of a kind this version does not know.
    fn row(&mut self, columns: &mut Columns<'_>) -> Option<Option<Work>> {
        let code = usize::try_from(columns[column::SHAPES].unsigned()).ok()?;
        if code == self.shapes.len() {
            let known = self.definition(columns)?;
            self.shapes.push(known);
        }
        let known = self.shapes.get_mut(code)?;
        let (lane, last_end) = self.lanes.get_mut(known.lane)?;
        let (mut start, mut end) = (0, 0);
        if known.has & has::START != 0 {
            start = columns[column::STARTS].signed().wrapping_add(*last_end);
            *last_end = start;
        }
        if known.has & has::END != 0 {
            known.length = known.length.wrapping_add(columns[column::LENGTHS].signed());
            end = start.wrapping_add(known.length);
            *last_end = end;
        }
        let mut numbers = Numbers::default();
        if known.has & has::BYTES != 0 {
            known.bytes = known.bytes.wrapping_add(columns[column::BYTES].signed());
            numbers.bytes = known.bytes;
        }
        for (i, number) in numbers.following.iter_mut().enumerate() {
            if known.has & 1 << i != 0 {
                let delta = columns[column::FOLLOWING + i].signed();
                self.following[i] = self.following[i].wrapping_add(delta);
                *number = self.following[i];
            }
        }
        let Some(mut detail) = known.detail else { return Some(None) };
        shape::put_numbers(&mut detail, &numbers);
        let [correlation, span, launched, node, captured, forward, _] = numbers.following;
        Some(Some(Work {
            flags: known.flags,
            device: lane[0],
            context: lane[1],
            stream: lane[2],
            start,
            end,
            correlation: u32::try_from(correlation).ok()?,
            span: SpanId(span),
            launched,
            thread: known.thread,
            graph: known.graph,
            node,
            captured: SpanId(captured),
            forward: SpanId(forward),
            detail,
        }))
    }

    /// The next new shape.
    #[cold]
    fn definition(&mut self, columns: &mut Columns<'_>) -> Option<Known> {
        let definitions = &mut columns[column::DEFINITIONS];
        let lane = usize::try_from(definitions.unsigned()).ok()?;
        let flags = u16::try_from(definitions.unsigned()).ok()?;
        // Bits of a newer minor speak of columns that are not read.
        let has = definitions.unsigned() as u16;
        let graph = u32::try_from(definitions.unsigned()).ok()?;
        let thread = u32::try_from(definitions.unsigned()).ok()?;
        let (kind, count) = (definitions.unsigned(), definitions.unsigned());
        if count > definitions.left() as u64 {
            return None;
        }
        let mut fields = (0..count).map(|_| definitions.unsigned());
        let detail = shape::detail(kind, &mut fields).ok()?;
        fields.for_each(drop);
        if lane == self.lanes.len() {
            let lanes = &mut columns[column::LANES];
            let mut part = || u32::try_from(lanes.unsigned()).ok();
            self.lanes.push(([part()?, part()?, part()?], 0));
        }
        Some(Known { detail, lane, flags, has, graph, thread, length: 0, bytes: 0 })
    }
}
