//! Building the columns: rows as they are read, then the links between them.

use super::ids::{Ids, IdsBuilder};
use super::narrow::{BLOCK, Narrow, NarrowBuilder};
use super::{Row, Spans};
use crate::index::{Announced, Claims, NO_ROW};
use crate::taken_back::TakenBack;
use hodo_format::record::{Span, SpanId, flag};
use std::collections::HashSet;

/// Takes spans as they are read, then links them.
#[derive(Debug, Default)]
pub(crate) struct SpansBuilder {
    blocks: Blocks,
    /// Spans after the last block.
    rest: Vec<Span>,
    announced: Announced,
    len: usize,
    /// Scopes that are none, and what is around them.
    pub(crate) taken_back: TakenBack,
}

/// Rows are 32 bits wide; more scopes than that do not fit one process's columns.
const MAX_ROWS: usize = NO_ROW as usize - 1;

impl SpansBuilder {
    /// Whether it was taken; a span past the last possible row is not.
    #[inline]
    pub(crate) fn push(&mut self, span: &Span) -> bool {
        if self.len >= MAX_ROWS {
            return false;
        }
        self.len += 1;
        self.announced.add(span.id);
        self.rest.push(*span);
        if self.rest.len() == BLOCK {
            self.blocks.push(&mut self.rest);
        }
        true
    }

    /// Keeps the first of scopes that came twice; returns how many it dropped.
    pub(crate) fn drop_doubles(&mut self) -> u64 {
        let before = self.len;
        let taken_back = std::mem::take(&mut self.taken_back);
        let (columns, _) = std::mem::take(self).columns();
        self.taken_back = taken_back;
        let mut seen = HashSet::new();
        for row in 0..before as Row {
            let span = columns.span(row);
            if seen.insert(span.id) {
                self.push(&span);
            }
        }
        (before - self.len) as u64
    }

    /// Adds the scopes in `open` that have not closed, and links every scope to its parent.
    pub(crate) fn finish(mut self, open: &[Span]) -> Spans {
        let first_open = self.len;
        let mut claims = self.claims(open);
        let taken_back = std::mem::take(&mut self.taken_back);
        for span in open {
            if claims.claim(span.id, self.len as Row) {
                self.push(span);
            }
        }
        let (columns, flags_seen) = self.columns();
        let links = Links::new(&columns, &mut claims, &taken_back);
        Spans {
            flags: columns.flags,
            name: columns.name,
            id: columns.id,
            up: links.up,
            lost_parents: links.lost_parents,
            upward: links.upward,
            index_of: claims.finish(),
            end: columns.end,
            duration: columns.duration,
            cpu: columns.cpu,
            index: columns.index,
            overhead: columns.overhead,
            failed: Vec::new(),
            flags_seen,
            first_open,
        }
    }

    /// The rows of all scopes so far, with room for those in `open`.
    fn claims(&mut self, open: &[Span]) -> Claims {
        let mut announced = std::mem::take(&mut self.announced);
        open.iter().for_each(|span| announced.add(span.id));
        let ids = || self.blocks.id.iter().chain(self.rest.iter().map(|span| span.id));
        let mut claims = Claims::new(announced, || ids().chain(open.iter().map(|span| span.id)));
        let mut row = 0;
        ids().for_each(|id| {
            claims.claim(id, row);
            row += 1;
        });
        claims
    }

    /// The columns, and the flags that any span has.
    fn columns(mut self) -> (Columns, u16) {
        if !self.rest.is_empty() {
            self.blocks.push(&mut self.rest);
        }
        let flags_seen = self.blocks.flags_seen;
        (self.blocks.finish(), flags_seen)
    }
}

/// The columns in the making, a block at a time.
#[derive(Debug, Default)]
struct Blocks {
    flags: NarrowBuilder,
    name: NarrowBuilder,
    id: IdsBuilder,
    above: NarrowBuilder,
    end: NarrowBuilder,
    duration: NarrowBuilder,
    cpu: NarrowBuilder,
    index: NarrowBuilder,
    overhead: NarrowBuilder,
    last_index: u64,
    flags_seen: u16,
}

impl Blocks {
    /// Takes the spans.
    #[inline(never)]
    fn push(&mut self, spans: &mut Vec<Span>) {
        let all = || spans.iter();
        self.flags_seen = all().fold(self.flags_seen, |seen, span| seen | span.flags);
        self.flags.push_block(all().map(|span| span.flags.into()));
        self.name.push_block(all().map(|span| span.name.into()));
        self.id.push_block(all().map(|span| span.id));
        self.above.push_block(all().map(|span| above(span.id, span.parent)));
        self.end.push_block(all().map(|span| span.end.max(span.start)));
        self.duration.push_block(all().map(|span| span.end.saturating_sub(span.start)));
        self.cpu.push_block(all().map(|span| span.cpu));
        self.overhead.push_block(all().map(|span| span.overhead));
        // Where there is no index any number will do: the one before takes no room.
        let last = &mut self.last_index;
        self.index.push_block(all().map(|span| {
            *last = if span.flags & flag::HAS_INDEX != 0 { span.index as u64 } else { *last };
            *last
        }));
        spans.clear();
    }

    fn finish(self) -> Columns {
        Columns {
            flags: self.flags.finish(),
            name: self.name.finish(),
            id: self.id.finish(),
            above: self.above.finish(),
            end: self.end.finish(),
            duration: self.duration.finish(),
            cpu: self.cpu.finish(),
            index: self.index.finish(),
            overhead: self.overhead.finish(),
        }
    }
}

/// How far a scope's id is past its parent's: mostly little, where both are of one thread. None has
/// the place of a scope that is its own parent, and the other way round.
#[inline]
fn above(id: SpanId, parent: SpanId) -> u64 {
    match id.0.wrapping_sub(parent.0) {
        0 => id.0,
        _ if parent.is_none() => 0,
        far => far,
    }
}

/// The parent that [`above`] was made of.
#[inline]
fn parent(id: SpanId, above: u64) -> SpanId {
    match above {
        0 => SpanId::NONE,
        own if own == id.0 => id,
        far => SpanId(id.0.wrapping_sub(far)),
    }
}

/// All rows, not yet linked.
struct Columns {
    flags: Narrow,
    name: Narrow,
    id: Ids,
    above: Narrow,
    end: Narrow,
    duration: Narrow,
    cpu: Narrow,
    index: Narrow,
    overhead: Narrow,
}

impl Columns {
    fn parent(&self, row: Row) -> SpanId {
        parent(self.id.get(row), self.above.get(row))
    }

    fn span(&self, row: Row) -> Span {
        let end = self.end.get(row);
        Span {
            flags: self.flags.get(row) as u16,
            name: self.name.get(row) as u32,
            id: self.id.get(row),
            parent: self.parent(row),
            start: end - self.duration.get(row),
            end,
            cpu: self.cpu.get(row),
            index: self.index.get(row) as i64,
            overhead: self.overhead.get(row),
        }
    }
}

/// Where every scope hangs.
struct Links {
    up: Narrow,
    lost_parents: Vec<(Row, SpanId)>,
    upward: bool,
}

impl Links {
    fn new(columns: &Columns, claims: &mut Claims, taken_back: &TakenBack) -> Links {
        let (mut up, mut lost_parents, mut upward) = (NarrowBuilder::default(), Vec::new(), true);
        let parents = columns.id.iter().zip(columns.above.iter());
        let mut last = (SpanId::NONE, SpanId::NONE, NO_ROW);
        for (row, (id, above)) in (0..).zip(parents) {
            let parent = parent(id, above);
            // Scopes side by side have one parent.
            if parent != last.0 {
                let around = match claims.row(parent) {
                    NO_ROW => taken_back.around(parent),
                    _ => parent,
                };
                last = (parent, around, claims.row(around));
            }
            let found = if last.1.is_none() { NO_ROW } else { last.2 };
            let above = if found == row { NO_ROW } else { found };
            if above == NO_ROW && !last.1.is_none() {
                lost_parents.push((row, parent));
            }
            // Records come in the order scopes close, so a link nearly always leads to a later
            // row, and links that all do cannot form a circle.
            upward &= above > row; // NO_ROW is past every row
            up.push(distance(row, above));
        }
        let mut links = Links { up: up.finish(), lost_parents, upward };
        if !upward {
            links.cut_circles(columns);
        }
        links
    }

    fn cut_circles(&mut self, columns: &Columns) {
        let cut: HashSet<Row> = circles(&self.up).into_iter().collect();
        if cut.is_empty() {
            return;
        }
        let up = (0..).zip(self.up.iter());
        self.up = up.map(|(row, far)| if cut.contains(&row) { NO_PARENT } else { far }).collect();
        self.lost_parents.extend(cut.into_iter().map(|row| (row, columns.parent(row))));
        self.lost_parents.sort_unstable();
    }
}

/// What [`distance`] says of a scope without a parent.
const NO_PARENT: u64 = 0;

/// How many rows a scope's parent is after it, around past the last possible one.
fn distance(row: Row, up: Row) -> u64 {
    if up == NO_ROW { NO_PARENT } else { up.wrapping_sub(row).into() }
}

/// The parent's row that [`distance`] was made of, or [`NO_ROW`].
#[inline]
pub(super) fn up(row: Row, distance: u64) -> Row {
    if distance == NO_PARENT { NO_ROW } else { row.wrapping_add(distance as Row) }
}

/// One row of every circle of links that lead back to themselves, which only damage makes.
fn circles(distances: &Narrow) -> Vec<Row> {
    const DONE: u8 = 2;
    const ON_WAY: u8 = 1;
    let mut state = vec![0u8; distances.len()];
    let (mut way, mut cut) = (Vec::new(), Vec::new());
    for first in 0..distances.len() as Row {
        let mut row = first;
        while row != NO_ROW && state[row as usize] == 0 {
            state[row as usize] = ON_WAY;
            way.push(row);
            row = up(row, distances.get(row));
        }
        if row != NO_ROW && state[row as usize] == ON_WAY {
            cut.push(row);
        }
        for row in way.drain(..) {
            state[row as usize] = DONE;
        }
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn parents_come_first_whatever_the_order_of_rows() {
        let id = |sequence| SpanId::new(1, sequence);
        let mut builder = SpansBuilder::default();
        for (sequence, parent) in [(3, 2), (1, 0), (2, 1), (5, 4), (4, 1)] {
            let parent = if parent == 0 { SpanId::NONE } else { id(parent) };
            let (flags, name, cpu, index, overhead) = (0, 0, 0, 0, 0);
            let (id, start, end) = (id(sequence), 1, 2);
            builder.push(&Span { flags, name, id, parent, start, end, cpu, index, overhead });
        }
        let spans = builder.finish(&[]);
        let mut seen = Vec::new();
        spans.parents_first(|row, up| {
            assert!(up.is_none_or(|up| seen.contains(&up)), "{row} after {up:?} in {seen:?}");
            seen.push(row);
        });
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4]);
    }

    /// Scopes as recorded and as damage makes them; few ids, so that parents are found, lost, later,
    /// earlier, or the scope itself.
    fn some_spans() -> impl Strategy<Value = Vec<Span>> {
        let wide = || prop_oneof![8 => 0_u64..1000, 1 => any::<u64>(), 1 => Just(u64::MAX)];
        let id = || (0_u32..3, 0_u64..40).prop_map(|(thread, at)| SpanId::new(thread, at));
        let numbers = (wide(), wide(), wide(), wide(), any::<i64>());
        let span = (any::<u16>(), any::<u32>(), id(), id(), numbers).prop_map(|parts| {
            let (flags, name, id, parent, (start, end, cpu, overhead, index)) = parts;
            Span { flags, name, id, parent, start, end, cpu, index, overhead }
        });
        prop::collection::vec(span, 0..80)
    }

    proptest! {
        #[test]
        fn columns_hold_the_spans_that_were_pushed(pushed in some_spans(), doubles: bool) {
            let mut builder = SpansBuilder::default();
            pushed.iter().for_each(|span| assert!(builder.push(span)));
            let mut first = HashMap::new();
            (0..).zip(&pushed).for_each(|(row, span)| _ = first.entry(span.id).or_insert(row));
            let mut expected = pushed.clone();
            if doubles {
                let mut seen = HashSet::new();
                expected.retain(|span| seen.insert(span.id));
                let dropped = (pushed.len() - expected.len()) as u64;
                prop_assert_eq!(builder.drop_doubles(), dropped);
                first = (0..).zip(&expected).map(|(row, span)| (span.id, row)).collect();
            }
            let spans = builder.finish(&[]);
            prop_assert_eq!(spans.len(), expected.len());
            for (row, span) in (0..).zip(&expected) {
                prop_assert_eq!(spans.flags(row), span.flags);
                prop_assert_eq!(spans.name(row), span.name);
                prop_assert_eq!((spans.id(row), spans.parent(row)), (span.id, span.parent));
                prop_assert_eq!(spans.thread(row), span.id.thread());
                prop_assert_eq!(spans.start(row), span.start);
                prop_assert_eq!(spans.end(row), span.end.max(span.start));
                prop_assert_eq!(spans.duration(row), span.end.saturating_sub(span.start));
                prop_assert_eq!(spans.overhead(row), span.overhead);
                let index = Some(span.index).filter(|_| span.flags & flag::HAS_INDEX != 0);
                prop_assert_eq!(spans.index(row), index);
                prop_assert_eq!(spans.row_of(span.id), first.get(&span.id).copied());
                if let Some(up) = spans.parent_row(row) {
                    prop_assert_eq!(Some(&up), first.get(&span.parent));
                }
            }
            let mut seen = vec![false; spans.len()];
            spans.parents_first(|row, up| {
                assert!(up.is_none_or(|up| seen[up as usize]), "a circle is left at {row}");
                seen[row as usize] = true;
            });
            prop_assert!(seen.iter().all(|seen| *seen));
        }

        #[test]
        fn a_failure_is_told_of_its_scope_alone(len in 1_u64..200, failed in prop::collection::vec(0_u64..250, 0..9)) {
            let mut builder = SpansBuilder::default();
            let (parent, name, cpu, index, overhead) = (SpanId::NONE, 0, 0, 0, 0);
            for at in 0..len {
                let (id, flags) = (SpanId::new(1, at), 1 << 8);
                builder.push(&Span { flags, name, id, parent, start: at, end: at, cpu, index, overhead });
            }
            let mut spans = builder.finish(&[]);
            failed.iter().for_each(|&at| spans.fail(SpanId::new(1, at)));
            for row in spans.rows() {
                let has_failed = failed.contains(&u64::from(row));
                prop_assert_eq!(spans.is_failed(row), has_failed);
                prop_assert_eq!(spans.flags(row) & flag::FAILED != 0, has_failed);
            }
        }
    }
}
