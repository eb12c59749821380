//! Finds a scope's row by its id without hashing: per thread a table from sequence to row.

use crate::Row;
use crate::spans::Narrow;
use hodo_format::record::SpanId;
use std::collections::HashMap;

/// No row.
pub(crate) const NO_ROW: Row = Row::MAX;

/// A table may be this many times longer than the rows it finds; past that (damage, heavy loss)
/// only the pages are kept that have any, and where these are too many, a sorted list.
const SLACK: u64 = 8;
/// Tables up to this long are always whole.
const SMALL: u64 = 4096;
/// Sequences of a page.
const PAGE: u64 = 256;

/// Finds rows.
#[derive(Debug, Default)]
pub(crate) struct Index {
    threads: Vec<OfThread<Narrow>>,
}

/// Takes the rows of ids that were announced, then becomes an [`Index`].
pub(crate) struct Claims {
    threads: Vec<OfThread<Vec<Row>>>,
}

/// The rows of one thread, in order of thread number.
#[derive(Debug)]
struct OfThread<Rows> {
    thread: u32,
    table: Table,
    rows: Rows,
    /// The page found last.
    near: usize,
}

/// How sequences become places in the list of rows.
#[derive(Debug)]
enum Table {
    /// Every sequence from this one on has a place.
    Whole(u64),
    /// Only those of these pages have, in order.
    Pages(Vec<u64>),
    /// Only these have, in order.
    Sparse(Vec<u64>),
}

impl Table {
    /// The place of a sequence, and its page; `near` is where to look first.
    #[inline]
    fn place(&self, sequence: u64, near: usize) -> Option<(usize, usize)> {
        match self {
            Table::Whole(first) => Some((sequence.wrapping_sub(*first) as usize, 0)),
            Table::Pages(pages) => {
                let page = page(pages, sequence / PAGE, near)?;
                Some((page * PAGE as usize + (sequence % PAGE) as usize, page))
            }
            Table::Sparse(sequences) => Some((sequences.binary_search(&sequence).ok()?, 0)),
        }
    }
}

#[inline]
fn page(pages: &[u64], page: u64, near: usize) -> Option<usize> {
    let is = |at: &usize| pages.get(*at) == Some(&page);
    Some(near)
        .filter(is)
        .or_else(|| Some(near + 1).filter(is))
        .or_else(|| pages.binary_search(&page).ok())
}

/// Where the rows of a thread are.
#[inline]
fn position<Rows>(threads: &[OfThread<Rows>], thread: u32) -> Option<usize> {
    // Thread numbers count from 1 without gaps, so the guess is nearly always right.
    let guess = (thread as usize).wrapping_sub(1);
    if threads.get(guess).is_some_and(|t| t.thread == thread) {
        return Some(guess);
    }
    threads.binary_search_by_key(&thread, |t| t.thread).ok()
}

impl Index {
    /// The row of `id`, or [`NO_ROW`].
    #[inline]
    pub(crate) fn row(&self, id: SpanId) -> Row {
        let Some(at) = position(&self.threads, id.thread()) else { return NO_ROW };
        let OfThread { table, rows, near, .. } = &self.threads[at];
        let place = table.place(id.sequence(), *near).filter(|place| place.0 < rows.len());
        place.map_or(NO_ROW, |(place, _)| rows.get(place as Row) as Row)
    }

    /// Numbers of the threads that have rows, in order.
    pub(crate) fn threads(&self) -> impl Iterator<Item = u32> {
        self.threads.iter().map(|of| of.thread)
    }

    /// The rows of a thread in the order its scopes were opened.
    pub(crate) fn rows(&self, thread: u32) -> impl Iterator<Item = Row> {
        let of = position(&self.threads, thread).map(|at| &self.threads[at].rows);
        of.into_iter().flat_map(Narrow::iter).map(|row| row as Row).filter(|&row| row != NO_ROW)
    }
}

impl Claims {
    /// Room for exactly the `announced` ids, which `ids` gives again if need be.
    pub(crate) fn new<I: Iterator<Item = SpanId>>(
        announced: Announced,
        ids: impl Fn() -> I,
    ) -> Claims {
        let extents = announced.in_order();
        let mut claims = Claims { threads: extents.iter().map(OfThread::new).collect() };
        if claims.is_sparse() {
            claims.page(&extents, ids());
        }
        if claims.is_sparse() {
            claims.list(ids());
        }
        claims.threads.iter_mut().for_each(OfThread::make_room);
        claims
    }

    fn is_sparse(&self) -> bool {
        self.threads.iter().any(|of| matches!(of.table, Table::Sparse(_)))
    }

    /// Gives pages to threads whose table cannot be whole, unless they are too many.
    fn page(&mut self, extents: &[Extent], ids: impl Iterator<Item = SpanId>) {
        self.gather(ids, |id| id.sequence() / PAGE);
        for (of, extent) in self.threads.iter_mut().zip(extents) {
            let Table::Sparse(pages) = &mut of.table else { continue };
            let sequences = pages.len() as u64 * PAGE;
            if sequences <= extent.most() {
                of.table = Table::Pages(std::mem::take(pages));
            } else {
                pages.clear();
            }
        }
    }

    fn list(&mut self, ids: impl Iterator<Item = SpanId>) {
        self.gather(ids, SpanId::sequence);
    }

    /// Makes ordered lists of what `of` says of the ids of threads that have no table yet.
    fn gather(&mut self, ids: impl Iterator<Item = SpanId>, of: impl Fn(SpanId) -> u64) {
        for id in ids {
            let Some(at) = position(&self.threads, id.thread()) else { continue };
            if let Table::Sparse(list) = &mut self.threads[at].table
                && list.last() != Some(&of(id))
            {
                list.push(of(id));
            }
        }
        for thread in &mut self.threads {
            if let Table::Sparse(list) = &mut thread.table {
                list.sort_unstable();
                list.dedup();
            }
        }
    }

    #[inline]
    fn entry(&mut self, id: SpanId) -> Option<&mut Row> {
        let at = position(&self.threads, id.thread())?;
        let OfThread { table, rows, near, .. } = &mut self.threads[at];
        let (place, page) = table.place(id.sequence(), *near)?;
        *near = page;
        rows.get_mut(place)
    }

    /// Gives `id` its row; false when it has one already, or was not announced.
    #[inline]
    pub(crate) fn claim(&mut self, id: SpanId, row: Row) -> bool {
        let Some(entry) = self.entry(id) else { return false };
        let free = *entry == NO_ROW;
        if free {
            *entry = row;
        }
        free
    }

    /// The row of `id`, or [`NO_ROW`].
    #[inline]
    pub(crate) fn row(&mut self, id: SpanId) -> Row {
        self.entry(id).map_or(NO_ROW, |row| *row)
    }

    /// No more claims. The lists are made narrow one by one, so that few are there twice.
    pub(crate) fn finish(self) -> Index {
        let narrow = |of: OfThread<Vec<Row>>| OfThread {
            thread: of.thread,
            table: of.table,
            rows: of.rows.into_iter().map(u64::from).collect(),
            near: 0,
        };
        Index { threads: self.threads.into_iter().map(narrow).collect() }
    }
}

impl OfThread<Vec<Row>> {
    fn new(extent: &Extent) -> OfThread<Vec<Row>> {
        let whole = extent.len() <= extent.most();
        let table = if whole { Table::Whole(extent.low) } else { Table::Sparse(Vec::new()) };
        let rows = if whole { vec![NO_ROW; extent.len() as usize] } else { Vec::new() };
        OfThread { thread: extent.thread, table, rows, near: 0 }
    }

    fn make_room(&mut self) {
        match &self.table {
            Table::Whole(_) => {}
            Table::Pages(pages) => self.rows = vec![NO_ROW; pages.len() * PAGE as usize],
            Table::Sparse(sequences) => self.rows = vec![NO_ROW; sequences.len()],
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

impl Extent {
    /// Sequences from the first to the last.
    fn len(&self) -> u64 {
        (self.high - self.low).saturating_add(1)
    }

    /// How long a table may be.
    fn most(&self) -> u64 {
        SMALL.max(self.count.saturating_mul(SLACK)).min(NO_ROW.into())
    }
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
        let mut of_first: Vec<SpanId> = ids.iter().copied().filter(|id| id.thread() == 1).collect();
        of_first.sort_unstable();
        assert!(index.rows(1).map(|row| ids[row as usize]).eq(of_first));
        assert_eq!(index.rows(9).count(), 0);
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

    /// Ids close together, in bursts far from each other, and anywhere.
    fn some_ids() -> impl Strategy<Value = Vec<(u32, u64)>> {
        let close = prop::collection::vec((0_u32..4, 0_u64..300), 0..400);
        let wild = prop::collection::vec(
            (0_u32..4, prop_oneof![9 => 0_u64..300, 1 => any::<u64>()]),
            0..400,
        );
        let bursts = prop::collection::vec((0_u32..2, 0_u64..1 << 30, 100_u64..900), 0..8);
        let bursts = bursts.prop_map(|bursts| {
            let burst = |(thread, from, len)| (from..from + len).map(move |at| (thread, at));
            bursts.into_iter().flat_map(burst).collect::<Vec<_>>()
        });
        prop_oneof![close, wild, bursts]
    }

    #[test]
    fn bursts_far_from_each_other_are_pages() {
        let ids: Vec<SpanId> = (0..40_u64)
            .flat_map(|burst| (0..700).map(move |at| SpanId::new(1, burst << 30 | at)))
            .collect();
        assert!(matches!(claims(&ids).threads[0].table, Table::Pages(_)));
        check(&ids);
    }

    proptest! {
        #[test]
        fn an_index_is_a_map_of_the_ids_that_were_claimed(
            ids in some_ids(),
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
