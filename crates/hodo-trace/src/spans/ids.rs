//! The ids of scopes as a column.

use super::Row;
use super::narrow::{BLOCK, Narrow, NarrowBuilder, Scan};
use hodo_format::record::SpanId;

/// A column of ids. Scopes that closed one after another were mostly opened by few threads and not
/// long before each other: of every block the newest id of each thread is kept, and of each row
/// which of them it belongs to and how far behind it is.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// The newest id of every thread, block after block.
    newest: Vec<SpanId>,
    /// By block, where its ids begin in `newest`.
    first: Vec<u32>,
    which: Narrow,
    behind: Narrow,
}

impl Ids {
    /// Rows.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.which.len()
    }

    /// The id of a row.
    #[inline]
    pub(super) fn get(&self, row: Row) -> SpanId {
        SpanId(self.newest(row).0 - self.behind.get(row))
    }

    /// The thread in the id of a row.
    #[inline]
    pub(super) fn thread(&self, row: Row) -> u32 {
        self.newest(row).thread()
    }

    /// The ids in order of row.
    pub(super) fn iter(&self) -> impl Iterator<Item = SpanId> {
        iter(&self.newest, &self.first, &self.which, &self.behind)
    }

    /// For [`Ids::scanned_thread`].
    pub(super) fn scan_threads(&self) -> Scan<'_> {
        self.which.scan()
    }

    /// For [`Ids::scanned`].
    pub(super) fn scan_behind(&self) -> Scan<'_> {
        self.behind.scan()
    }

    /// The id of a row, of which [`Ids::scan_threads`] and [`Ids::scan_behind`] say `which` and
    /// `behind`.
    #[inline]
    pub(super) fn scanned(&self, row: Row, which: u64, behind: u64) -> SpanId {
        SpanId(self.of_block(row, which).0 - behind)
    }

    /// The thread in the id of a row, of which [`Ids::scan_threads`] says `which`.
    #[inline]
    pub(super) fn scanned_thread(&self, row: Row, which: u64) -> u32 {
        self.of_block(row, which).thread()
    }

    /// The newest id of its thread and block.
    #[inline]
    fn newest(&self, row: Row) -> SpanId {
        self.of_block(row, self.which.get(row))
    }

    #[inline]
    fn of_block(&self, row: Row, which: u64) -> SpanId {
        of_block(&self.newest, &self.first, row, which)
    }
}

#[inline]
fn of_block(newest: &[SpanId], first: &[u32], row: Row, which: u64) -> SpanId {
    newest[first[row as usize / BLOCK] as usize + which as usize]
}

fn iter(
    newest: &[SpanId],
    first: &[u32],
    which: &Narrow,
    behind: &Narrow,
) -> impl Iterator<Item = SpanId> {
    let (mut which_of, mut behind_of) = (which.scan(), behind.scan());
    (0..which.len() as Row).map(move |row| {
        let newest = of_block(newest, first, row, which_of.get(row));
        SpanId(newest.0 - behind_of.get(row))
    })
}

/// A column of ids in the making.
#[derive(Debug, Default)]
pub(super) struct IdsBuilder {
    newest: Vec<SpanId>,
    first: Vec<u32>,
    which: NarrowBuilder,
    behind: NarrowBuilder,
}

impl IdsBuilder {
    /// Adds a whole block, or the last rows.
    pub(super) fn push_block(&mut self, ids: impl Iterator<Item = SpanId> + Clone) {
        let first = self.newest.len();
        self.first.push(first as u32);
        let mut last = first;
        for id in ids.clone() {
            last = place(&mut self.newest, first, last, id);
            let newest = &mut self.newest[last];
            *newest = (*newest).max(id);
        }
        let mut which = [0; BLOCK];
        for (id, which) in ids.clone().zip(&mut which) {
            last = place(&mut self.newest, first, last, id);
            *which = (last - first) as u64;
        }
        let newest = &self.newest[first..];
        let behind = ids.clone().zip(which).map(|(id, which)| newest[which as usize].0 - id.0);
        self.behind.push_block(behind);
        self.which.push_block(ids.zip(which).map(|(_, which)| which));
    }

    /// The ids so far, in order of row.
    pub(super) fn iter(&self) -> impl Iterator<Item = SpanId> {
        iter(&self.newest, &self.first, self.which.done(), self.behind.done())
    }

    /// The column.
    pub(super) fn finish(mut self) -> Ids {
        self.newest.shrink_to_fit();
        self.first.shrink_to_fit();
        let IdsBuilder { newest, first, which, behind } = self;
        Ids { newest, first, which: which.finish(), behind: behind.finish() }
    }
}

/// Where the newest id of a thread stands, from `first` on in order of thread; it comes in if it is
/// not there. Most often it is the `last` one again.
#[inline]
fn place(newest: &mut Vec<SpanId>, first: usize, last: usize, id: SpanId) -> usize {
    let thread = id.thread();
    if newest.get(last).is_some_and(|newest| newest.thread() == thread) {
        return last;
    }
    match newest[first..].binary_search_by_key(&thread, |newest| newest.thread()) {
        Ok(at) => first + at,
        Err(at) => {
            newest.insert(first + at, id);
            first + at
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids() -> impl Strategy<Value = Vec<SpanId>> {
        let len = 0..2 * BLOCK + 9;
        let wild = prop::collection::vec(any::<u64>().prop_map(SpanId), len.clone());
        let one = (0_u32..8, 0_u64..50).prop_map(|(thread, sequence)| (thread, 1000 + sequence));
        let few = prop::collection::vec(one, len.clone());
        let few = few.prop_map(|ids| ids.iter().map(|id| SpanId::new(id.0, id.1)).collect());
        let one_each = len.prop_map(|len| (0..len as u32).map(|at| SpanId::new(at, 1)).collect());
        prop_oneof![wild, few, one_each]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn a_column_of_ids_is_the_ids_that_were_pushed(ids in ids()) {
            let mut column = IdsBuilder::default();
            ids.chunks(BLOCK).for_each(|block| column.push_block(block.iter().copied()));
            prop_assert_eq!(column.iter().collect::<Vec<SpanId>>(), ids.clone());
            let column = column.finish();
            prop_assert_eq!(column.len(), ids.len());
            prop_assert_eq!(column.iter().collect::<Vec<SpanId>>(), ids.clone());
            let (mut threads, mut behind) = (column.scan_threads(), column.scan_behind());
            for (row, id) in (0..).zip(&ids) {
                prop_assert_eq!(column.get(row), *id);
                prop_assert_eq!(column.thread(row), id.thread());
                prop_assert_eq!(column.scanned_thread(row, threads.get(row)), id.thread());
                prop_assert_eq!(column.scanned(row, threads.get(row), behind.get(row)), *id);
            }
        }
    }
}
