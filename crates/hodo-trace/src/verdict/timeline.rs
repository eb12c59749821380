//! Which scope was innermost in a thread, from moment to moment.

use crate::{Row, Spans};

/// The innermost scope of a thread over time.
#[derive(Default)]
pub(super) struct Timeline {
    /// From this tick on this scope is innermost, up to the next entry.
    changes: Vec<(u64, Option<Row>)>,
}

impl Timeline {
    /// The timeline of one thread's scopes.
    pub(super) fn new(spans: &Spans, mut scopes: Vec<Row>) -> Timeline {
        scopes.sort_unstable_by_key(|&row| (spans.start(row), std::cmp::Reverse(spans.end(row))));
        let mut timeline = Timeline::default();
        let mut open: Vec<Row> = Vec::new();
        for row in scopes {
            timeline.close_until(spans, &mut open, spans.start(row));
            open.push(row);
            timeline.change(spans.start(row), Some(row));
        }
        timeline.close_until(spans, &mut open, u64::MAX);
        timeline
    }

    /// Takes scopes that ended by `moment` off the stack; one that ended before the one above it
    /// did is no longer innermost when it comes up.
    fn close_until(&mut self, spans: &Spans, open: &mut Vec<Row>, moment: u64) {
        while let Some(&top) = open.last().filter(|&&row| spans.end(row) <= moment) {
            open.pop();
            let end = spans.end(top);
            while open.pop_if(|row| spans.end(*row) <= end).is_some() {}
            self.change(end, open.last().copied());
        }
    }

    fn change(&mut self, at: u64, to: Option<Row>) {
        let at = self.changes.last().map_or(at, |last| last.0.max(at));
        match self.changes.last_mut().filter(|last| last.0 == at) {
            Some(last) => last.1 = to,
            None => self.changes.push((at, to)),
        }
    }

    /// Calls `visit` with every stretch of `from..to` and the scope that was innermost in it.
    pub(super) fn visit(&self, from: u64, to: u64, mut visit: impl FnMut(u64, Option<Row>)) {
        let mut at = self.changes.partition_point(|change| change.0 <= from);
        let mut begin = from;
        while begin < to {
            let scope = at.checked_sub(1).and_then(|at| self.changes[at].1);
            let end = self.changes.get(at).map_or(to, |change| change.0.min(to));
            visit(end - begin, scope);
            begin = end;
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spans::SpansBuilder;
    use hodo_format::record::{Span, SpanId};
    use proptest::prelude::*;

    fn spans(scopes: &[(u64, u64)]) -> Spans {
        let mut builder = SpansBuilder::default();
        for (sequence, &(start, length)) in (1..).zip(scopes) {
            let (flags, name, cpu, index, overhead) = (0, 0, 0, 0, 0);
            let (id, parent, end) = (SpanId::new(1, sequence), SpanId::NONE, start + length);
            builder.push(&Span { flags, name, id, parent, start, end, cpu, index, overhead });
        }
        builder.finish(&[])
    }

    proptest! {
        #[test]
        fn every_tick_has_the_open_scope_that_began_last(
            scopes in prop::collection::vec((0u64..60, 1u64..30), 0..8),
            from in 0u64..80, len in 0u64..40,
        ) {
            // Scopes of one thread are nested, or follow each other.
            let nested: Vec<(u64, u64)> = scopes.iter().fold(Vec::new(), |mut kept, &(start, length)| {
                let end = start + length;
                let crosses = |&(s, l): &(u64, u64)| {
                    let e = s + l;
                    (s < start && start < e && e < end) || (start < s && s < end && end < e) || s == start
                };
                if !kept.iter().any(crosses) {
                    kept.push((start, length));
                }
                kept
            });
            let spans = spans(&nested);
            let timeline = Timeline::new(&spans, spans.rows().collect());
            let innermost = |t: u64| {
                let open = |row: &Row| spans.start(*row) <= t && t < spans.end(*row);
                spans.rows().filter(open).max_by_key(|&row| spans.start(row))
            };
            let expected: Vec<Option<Row>> = (from..from + len).map(innermost).collect();
            let mut found = Vec::new();
            timeline.visit(from, from + len, |ticks, scope| {
                found.extend(std::iter::repeat_n(scope, ticks as usize));
            });
            prop_assert_eq!(found, expected);
        }
    }
}
