//! Finds a scope's row by its id without hashing: per thread a table from sequence to row.

use crate::Row;
use crate::spans::Narrow;
use hodo_format::record::SpanId;
use std::collections::HashMap;

/// No row.
pub(crate) const NO_ROW: Row = Row::MAX;

/// A table may be this many times longer than the rows it finds; past that (damage, heavy loss)
/// a sorted list takes its place.
const SLACK: u64 = 8;
/// Tables up to this long are always dense.
const SMALL: u64 = 4096;

/// Finds rows.
#[derive(Debug, Default)]
pub(crate) struct Index(Threads<Narrow>);

/// Takes the rows of ids that were announced, then becomes an [`Index`].
pub(crate) struct Claims(Threads<Vec<Row>>);

/// In order of thread number.
#[derive(Debug)]
struct Threads<Dense>(Vec<OfThread<Dense>>);

#[derive(Debug)]
struct OfThread<Dense> {
    thread: u32,
    base: u64,
    table: Table<Dense>,
}

#[derive(Debug)]
enum Table<Dense> {
    Dense(Dense),
    /// In order of sequence.
    Sparse(Vec<(u64, Row)>),
}

impl<Dense> Default for Threads<Dense> {
    fn default() -> Self {
        Threads(Vec::new())
    }
}

impl<Dense> Threads<Dense> {
    #[inline]
    fn position(&self, thread: u32) -> Option<usize> {
        // Thread numbers count from 1 without gaps, so the guess is nearly always right.
        let guess = (thread as usize).wrapping_sub(1);
        if self.0.get(guess).is_some_and(|t| t.thread == thread) {
            return Some(guess);
        }
        self.0.binary_search_by_key(&thread, |t| t.thread).ok()
    }

    #[inline]
    fn row(&self, id: SpanId, dense: impl Fn(&Dense, usize) -> Row) -> Row {
        let Some(at) = self.position(id.thread()) else { return NO_ROW };
        let OfThread { base, table, .. } = &self.0[at];
        match table {
            Table::Dense(rows) => dense(rows, id.sequence().wrapping_sub(*base) as usize),
            Table::Sparse(list) => {
                list.binary_search_by_key(&id.sequence(), |e| e.0).map_or(NO_ROW, |at| list[at].1)
            }
        }
    }
}

impl Index {
    /// The row of `id`, or [`NO_ROW`].
    #[inline]
    pub(crate) fn row(&self, id: SpanId) -> Row {
        let dense =
            |rows: &Narrow, at| if at < rows.len() { rows.get(at as Row) as Row } else { NO_ROW };
        self.0.row(id, dense)
    }
}

impl Claims {
    /// Room for exactly the `announced` ids, which `ids` gives again if need be.
    pub(crate) fn new<I: Iterator<Item = SpanId>>(
        announced: Announced,
        ids: impl FnOnce() -> I,
    ) -> Claims {
        let threads = announced.in_order().iter().map(OfThread::new).collect();
        let mut claims = Claims(Threads(threads));
        if claims.0.0.iter().any(|of| matches!(of.table, Table::Sparse(_))) {
            claims.fill_sparse(ids());
        }
        claims
    }

    fn fill_sparse(&mut self, ids: impl Iterator<Item = SpanId>) {
        for id in ids {
            let Some(at) = self.0.position(id.thread()) else { continue };
            if let Table::Sparse(list) = &mut self.0.0[at].table {
                list.push((id.sequence(), NO_ROW));
            }
        }
        for of in &mut self.0.0 {
            if let Table::Sparse(list) = &mut of.table {
                list.sort_unstable();
                list.dedup();
            }
        }
    }

    /// Gives `id` its row; false when it has one already, or was not announced.
    #[inline]
    pub(crate) fn claim(&mut self, id: SpanId, row: Row) -> bool {
        let Some(at) = self.0.position(id.thread()) else { return false };
        let Some(entry) = self.0.0[at].entry(id.sequence()) else { return false };
        let free = *entry == NO_ROW;
        if free {
            *entry = row;
        }
        free
    }

    /// The row of `id`, or [`NO_ROW`].
    #[inline]
    pub(crate) fn row(&self, id: SpanId) -> Row {
        self.0.row(id, |rows, at| rows.get(at).copied().unwrap_or(NO_ROW))
    }

    /// No more claims. The tables are made narrow one by one, so that few are there twice.
    pub(crate) fn finish(self) -> Index {
        let narrow = |of: OfThread<Vec<Row>>| OfThread {
            thread: of.thread,
            base: of.base,
            table: match of.table {
                Table::Dense(rows) => Table::Dense(rows.into_iter().map(u64::from).collect()),
                Table::Sparse(list) => Table::Sparse(list),
            },
        };
        Index(Threads(self.0.0.into_iter().map(narrow).collect()))
    }
}

impl OfThread<Vec<Row>> {
    fn new(extent: &Extent) -> OfThread<Vec<Row>> {
        let span = (extent.high - extent.low).saturating_add(1);
        let dense = span <= SMALL.max(extent.count.saturating_mul(SLACK)) && span < NO_ROW.into();
        let table = if dense {
            Table::Dense(vec![NO_ROW; span as usize])
        } else {
            Table::Sparse(Vec::new())
        };
        OfThread { thread: extent.thread, base: extent.low, table }
    }

    #[inline]
    fn entry(&mut self, sequence: u64) -> Option<&mut Row> {
        match &mut self.table {
            Table::Dense(rows) => rows.get_mut(sequence.wrapping_sub(self.base) as usize),
            Table::Sparse(list) => {
                let at = list.binary_search_by_key(&sequence, |e| e.0).ok()?;
                list.get_mut(at).map(|e| &mut e.1)
            }
        }
    }
}

/// The ids that will claim a row: which sequences each thread's span.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    extents: Vec<Extent>,
    places: HashMap<u32, usize>,
    /// Thread and place of the id before.
    last: (u32, usize),
}

/// Sequences one thread's ids span.
#[derive(Debug)]
struct Extent {
    thread: u32,
    low: u64,
    high: u64,
    count: u64,
}

impl Announced {
    #[inline]
    pub(crate) fn add(&mut self, id: SpanId) {
        let (thread, sequence) = (id.thread(), id.sequence());
        if self.last.0 != thread || self.extents.is_empty() {
            self.last = (thread, self.place(thread));
        }
        let extent = &mut self.extents[self.last.1];
        extent.low = extent.low.min(sequence);
        extent.high = extent.high.max(sequence);
        extent.count += 1;
    }

    #[cold]
    fn place(&mut self, thread: u32) -> usize {
        let extents = &mut self.extents;
        *self.places.entry(thread).or_insert_with(|| {
            extents.push(Extent { thread, low: u64::MAX, high: 0, count: 0 });
            extents.len() - 1
        })
    }

    fn in_order(mut self) -> Vec<Extent> {
        self.extents.sort_unstable_by_key(|extent| extent.thread);
        self.extents
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn claims(ids: &[SpanId]) -> Claims {
        let mut announced = Announced::default();
        ids.iter().for_each(|&id| announced.add(id));
        Claims::new(announced, || ids.iter().copied())
    }

    fn check(ids: &[SpanId]) {
        let mut claims = claims(ids);
        for (row, &id) in ids.iter().enumerate() {
            assert!(claims.claim(id, row as Row), "{id:?} is new");
        }
        for (row, &id) in ids.iter().enumerate() {
            assert_eq!(claims.row(id), row as Row, "{id:?}");
            assert!(!claims.claim(id, 77), "{id:?} is taken");
        }
        let index = claims.finish();
        for (row, &id) in ids.iter().enumerate() {
            assert_eq!(index.row(id), row as Row, "{id:?}");
        }
        assert_eq!(index.row(SpanId::NONE), NO_ROW);
        assert_eq!(index.row(SpanId::new(9, 1)), NO_ROW);
    }

    #[test]
    fn finds_rows_in_dense_tables() {
        check(&[SpanId::new(2, 3), SpanId::new(1, 1), SpanId::new(2, 1), SpanId::new(1, 2)]);
    }

    #[test]
    fn a_wild_sequence_makes_a_sparse_list_not_a_huge_table() {
        check(&[SpanId::new(1, 1), SpanId::new(1, (1 << 40) - 1), SpanId::new(3, 5)]);
    }

    #[test]
    fn an_id_that_was_not_announced_has_no_row() {
        let ids = [SpanId::new(1, 10), SpanId::new(1, 12)];
        let mut claims = claims(&ids);
        assert!(!claims.claim(SpanId::new(1, 9), 0));
        assert!(!claims.claim(SpanId::new(1, 13), 0));
        assert_eq!(claims.row(SpanId::new(1, 11)), NO_ROW);
        assert_eq!(claims.finish().row(SpanId::new(1, 11)), NO_ROW);
    }

    proptest! {
        #[test]
        fn an_index_is_a_map_of_the_ids_that_were_claimed(
            ids in prop::collection::vec((0_u32..4, prop_oneof![9 => 0_u64..300, 1 => any::<u64>()]), 0..400),
            asked in prop::collection::vec((0_u32..5, 0_u64..310), 0..50),
        ) {
            let id = |(thread, sequence)| SpanId::new(thread, sequence % (1 << SpanId::SEQUENCE_BITS));
            let ids: Vec<SpanId> = ids.into_iter().map(id).collect();
            let mut claims = claims(&ids);
            let mut map = HashMap::new();
            for (row, &id) in (0..).zip(&ids) {
                let is_new = !map.contains_key(&id);
                prop_assert_eq!(claims.claim(id, row), is_new);
                map.entry(id).or_insert(row);
            }
            let index = claims.finish();
            for id in ids.into_iter().chain(asked.into_iter().map(id)) {
                prop_assert_eq!(index.row(id), map.get(&id).copied().unwrap_or(NO_ROW));
            }
        }
    }
}
