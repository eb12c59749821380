//! Building the columns: rows as they are read, then the links between them.

use super::{Row, Spans};
use crate::index::{Index, NO_ROW};
use hodo_format::record::{Span, SpanId};

/// Takes spans as they are read, then links them.
#[derive(Debug, Default)]
pub(crate) struct SpansBuilder {
    spans: Spans,
    parent: Vec<SpanId>,
}

/// Rows are 32 bits wide; more scopes than that do not fit one process's columns.
const MAX_ROWS: usize = NO_ROW as usize - 1;

impl SpansBuilder {
    pub(crate) fn reserve(&mut self, rows: usize) {
        let rows = rows.min(MAX_ROWS);
        self.parent.reserve(rows);
        let s = &mut self.spans;
        s.flags.reserve(rows);
        s.name.reserve(rows);
        s.id.reserve(rows);
        s.start.reserve(rows);
        for column in [&mut s.duration, &mut s.cpu, &mut s.index, &mut s.overhead] {
            column.reserve(rows);
        }
    }

    /// Whether it was taken; a span past the last possible row is not.
    pub(crate) fn push(&mut self, span: &Span) -> bool {
        let s = &mut self.spans;
        if s.id.len() >= MAX_ROWS {
            return false;
        }
        self.parent.push(span.parent);
        s.flags.push(span.flags);
        s.name.push(span.name);
        s.id.push(span.id);
        s.start.push(span.start);
        s.duration.push(span.end.saturating_sub(span.start));
        s.cpu.push(span.cpu);
        s.index.push(span.index as u64);
        s.overhead.push(span.overhead);
        true
    }

    /// Keeps the first of scopes that came twice; returns how many it dropped.
    pub(crate) fn drop_doubles(&mut self) -> u64 {
        let mut seen = std::collections::HashSet::new();
        let first: Vec<bool> = self.spans.id.iter().map(|id| seen.insert(*id)).collect();
        keep(&mut self.parent, &first);
        let s = &mut self.spans;
        keep(&mut s.flags, &first);
        keep(&mut s.name, &first);
        keep(&mut s.id, &first);
        keep(&mut s.start, &first);
        for column in [&mut s.duration, &mut s.cpu, &mut s.index, &mut s.overhead] {
            column.keep(&first);
        }
        first.iter().filter(|first| !**first).count() as u64
    }

    /// Adds the scopes in `open` that have not closed, and links every scope to its parent.
    pub(crate) fn finish(mut self, open: &[Span]) -> Spans {
        let opened: Vec<SpanId> = open.iter().map(|s| s.id).collect();
        let mut index = Index::new(self.spans.id.iter().chain(&opened));
        for (row, &id) in self.spans.id.iter().enumerate() {
            index.claim(id, row as Row);
        }
        self.spans.first_open = self.spans.id.len();
        for span in open {
            if index.claim(span.id, self.spans.id.len() as Row) {
                self.push(span);
            }
        }
        self.spans.index_of = index;
        self.link();
        self.spans
    }

    fn link(&mut self) {
        let parents = std::mem::take(&mut self.parent);
        let spans = &mut self.spans;
        let mut upward = true;
        spans.up = Vec::with_capacity(parents.len());
        for (row, &parent) in parents.iter().enumerate() {
            let up = if parent.is_none() { NO_ROW } else { spans.index_of.row(parent) };
            if up == NO_ROW && !parent.is_none() {
                spans.lost_parents.push((row as Row, parent));
            }
            // Records come in the order scopes close, so a link nearly always leads to a later
            // row, and links that all do cannot form a circle.
            upward &= up > row as Row; // NO_ROW is past every row
            spans.up.push(up);
        }
        spans.upward = upward;
        if !upward {
            let cut = cut_circles(&mut spans.up);
            spans.lost_parents.extend(cut.into_iter().map(|row| (row, parents[row as usize])));
            spans.lost_parents.sort_unstable();
        }
    }
}

fn keep<T>(column: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    column.retain(|_| kept.next().is_some_and(|k| *k));
}

/// Cuts links that lead a row back to itself, which only damage makes, and returns those rows.
fn cut_circles(up: &mut [Row]) -> Vec<Row> {
    const DONE: u8 = 2;
    const ON_WAY: u8 = 1;
    let mut state = vec![0u8; up.len()];
    let (mut way, mut cut) = (Vec::new(), Vec::new());
    for first in 0..up.len() as Row {
        let mut row = first;
        while row != NO_ROW && state[row as usize] == 0 {
            state[row as usize] = ON_WAY;
            way.push(row);
            row = up[row as usize];
        }
        if row != NO_ROW && state[row as usize] == ON_WAY {
            up[row as usize] = NO_ROW;
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
}
