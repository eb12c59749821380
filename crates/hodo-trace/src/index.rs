//! Finds a scope's row by its id without hashing: per thread a table from sequence to row.

use crate::Row;
use hodo_format::record::SpanId;

/// No row.
pub(crate) const NO_ROW: Row = Row::MAX;

/// A table may be this many times longer than the rows it finds; past that (damage, heavy loss)
/// a sorted list takes its place.
const SLACK: u64 = 8;
/// Tables up to this long are always dense.
const SMALL: u64 = 4096;

#[derive(Debug, Default)]
pub(crate) struct Index {
    /// In order of thread number.
    threads: Vec<ThreadIndex>,
}

#[derive(Debug)]
struct ThreadIndex {
    thread: u32,
    base: u64,
    table: Table,
}

#[derive(Debug)]
enum Table {
    Dense(Vec<Row>),
    /// In order of sequence.
    Sparse(Vec<(u64, Row)>),
}

/// Sequences one thread's ids span.
struct Extent {
    thread: u32,
    low: u64,
    high: u64,
    count: u64,
}

impl Index {
    /// Room for exactly these ids; [`Index::claim`] then gives each a row.
    pub(crate) fn new<'a>(ids: impl Iterator<Item = &'a SpanId> + Clone) -> Index {
        let extents = extents(ids.clone());
        let mut index = Index { threads: extents.iter().map(ThreadIndex::new).collect() };
        if index.threads.iter().any(ThreadIndex::is_sparse) {
            index.fill_sparse(ids);
        }
        index
    }

    fn fill_sparse<'a>(&mut self, ids: impl Iterator<Item = &'a SpanId>) {
        for &id in ids {
            if let Some(Table::Sparse(list)) = self.table(id.thread()).map(|t| &mut t.table) {
                list.push((id.sequence(), NO_ROW));
            }
        }
        for thread in &mut self.threads {
            if let Table::Sparse(list) = &mut thread.table {
                list.sort_unstable();
                list.dedup();
            }
        }
    }

    /// Gives `id` its row; false when it has one already.
    pub(crate) fn claim(&mut self, id: SpanId, row: Row) -> bool {
        let Some(entry) = self.table(id.thread()).and_then(|t| t.entry(id.sequence())) else {
            return false;
        };
        let free = *entry == NO_ROW;
        if free {
            *entry = row;
        }
        free
    }

    fn table(&mut self, thread: u32) -> Option<&mut ThreadIndex> {
        let at = self.position(thread)?;
        self.threads.get_mut(at)
    }

    fn position(&self, thread: u32) -> Option<usize> {
        // Thread numbers count from 1 without gaps, so the guess is nearly always right.
        let guess = (thread as usize).wrapping_sub(1);
        if self.threads.get(guess).is_some_and(|t| t.thread == thread) {
            return Some(guess);
        }
        self.threads.binary_search_by_key(&thread, |t| t.thread).ok()
    }

    /// The row of `id`, or [`NO_ROW`].
    #[inline]
    pub(crate) fn row(&self, id: SpanId) -> Row {
        match self.position(id.thread()) {
            Some(at) => self.threads[at].row(id.sequence()),
            None => NO_ROW,
        }
    }
}

impl ThreadIndex {
    fn new(extent: &Extent) -> ThreadIndex {
        let span = (extent.high - extent.low).saturating_add(1);
        let dense = span <= SMALL.max(extent.count.saturating_mul(SLACK));
        let table = if dense {
            Table::Dense(vec![NO_ROW; span as usize])
        } else {
            Table::Sparse(Vec::new())
        };
        ThreadIndex { thread: extent.thread, base: extent.low, table }
    }

    fn is_sparse(&self) -> bool {
        matches!(self.table, Table::Sparse(_))
    }

    #[inline]
    fn row(&self, sequence: u64) -> Row {
        match &self.table {
            Table::Dense(rows) => {
                rows.get(sequence.wrapping_sub(self.base) as usize).copied().unwrap_or(NO_ROW)
            }
            Table::Sparse(list) => {
                list.binary_search_by_key(&sequence, |e| e.0).map_or(NO_ROW, |at| list[at].1)
            }
        }
    }

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

fn extents<'a>(ids: impl Iterator<Item = &'a SpanId>) -> Vec<Extent> {
    let mut found: Vec<Extent> = Vec::new();
    let mut places = std::collections::HashMap::new();
    let mut last = (u32::MAX, 0);
    for id in ids {
        let (thread, sequence) = (id.thread(), id.sequence());
        if last.0 != thread {
            let at = *places.entry(thread).or_insert_with(|| {
                found.push(Extent { thread, low: u64::MAX, high: 0, count: 0 });
                found.len() - 1
            });
            last = (thread, at);
        }
        let extent = &mut found[last.1];
        extent.low = extent.low.min(sequence);
        extent.high = extent.high.max(sequence);
        extent.count += 1;
    }
    found.sort_unstable_by_key(|e| e.thread);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ids: &[SpanId]) {
        let mut index = Index::new(ids.iter());
        for (row, &id) in ids.iter().enumerate() {
            assert!(index.claim(id, row as Row), "{id:?} is new");
        }
        for (row, &id) in ids.iter().enumerate() {
            assert_eq!(index.row(id), row as Row, "{id:?}");
            assert!(!index.claim(id, 77), "{id:?} is taken");
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
        let mut index = Index::new(ids.iter());
        assert!(!index.claim(SpanId::new(1, 9), 0));
        assert!(!index.claim(SpanId::new(1, 13), 0));
        assert_eq!(index.row(SpanId::new(1, 11)), NO_ROW);
    }
}
