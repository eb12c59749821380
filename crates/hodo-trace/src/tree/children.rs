//! Self time: what no child covers.

use crate::index::NO_ROW;
use crate::links::Links;
use crate::spans::SpanScan;
use crate::{Row, Run, Spans};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

pub(crate) type Interval = (u64, u64);

/// When a scope was open, and how long of that in no child of its.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) own: u64,
}

/// Calls `visit` once with every row of the `at`-th process. Its own time is what none of its
/// children covers, whichever thread or process they ran in.
///
/// Children close before their parent and are stored so, mostly in the order they opened: what they
/// cover is summed up on the way, and only scopes that are yet to come are remembered. The rows whose
/// children come otherwise are visited last.
pub(crate) fn own_times(
    run: &Run,
    links: &Links,
    at: usize,
    visit: impl FnMut(Row, Times, &mut SpanScan<'_>),
) {
    own_times_within(run, links, at, WHOLE, visit);
}

/// The same of the part of every scope that lies in `window`; of one outside it nothing does.
pub(crate) fn own_times_within(
    run: &Run,
    links: &Links,
    at: usize,
    window: Interval,
    mut visit: impl FnMut(Row, Times, &mut SpanScan<'_>),
) {
    let spans = &run.processes[at].spans;
    let mut scan = spans.scan();
    let mut unordered = Unordered::new(run, links, at);
    let mut around = Around::new();
    for row in spans.rows() {
        let (start, end) = cut(scan.times(row), window);
        let inside = around.reach(row).map_or(0, |covered| covered.ticks);
        if !unordered.contains(row) {
            visit(row, Times { start, end, own: end - start - inside }, &mut scan);
        }
        if let Some(parent) = scan.parent_row(row).filter(|&up| !unordered.contains(up)) {
            let whole = || cut((spans.start(parent), spans.end(parent)), window);
            if !around.of(parent, whole).add((start, end)) {
                unordered.insert(parent);
            }
        }
    }
    unordered.visit(spans, window, visit);
}

/// How many ticks of one scope none of its children covers.
pub(crate) fn own_time_of(run: &Run, links: &Links, at: usize, row: Row) -> u64 {
    let spans = &run.processes[at].spans;
    let mut scan = spans.scan();
    let mut union = elsewhere(run, links, at).remove(&row).unwrap_or_default();
    for child in spans.rows() {
        if scan.parent_row(child) == Some(row) {
            union.add(scan.times(child));
        }
    }
    own_time((spans.start(row), spans.end(row)), union.parts)
}

/// All time.
const WHOLE: Interval = (0, u64::MAX);

/// The part of an interval in `window`: empty, at its edge, where there is none.
#[inline]
fn cut((start, end): Interval, window: Interval) -> Interval {
    (start.clamp(window.0, window.1), end.clamp(window.0, window.1))
}

/// Scopes that are yet to come and have children among those that came.
struct Around {
    /// The one whose child came last, mostly the next one's parent too; [`NO_ROW`] for none.
    last: (Row, Covered),
    others: ByRow<Covered>,
    /// All of them, the next to come on top.
    next: BinaryHeap<Reverse<Row>>,
}

impl Around {
    const NONE: (Row, Covered) = (NO_ROW, Covered::new((0, 0)));

    fn new() -> Around {
        Around { last: Around::NONE, others: ByRow::default(), next: BinaryHeap::new() }
    }

    /// What is known of a scope, which was open for that long.
    #[inline]
    fn of(&mut self, row: Row, open: impl FnOnce() -> Interval) -> &mut Covered {
        if self.last.0 != row {
            self.turn(row, open);
        }
        &mut self.last.1
    }

    #[inline(never)]
    fn turn(&mut self, row: Row, open: impl FnOnce() -> Interval) {
        let known = self.others.remove(&row);
        if known.is_none() {
            self.next.push(Reverse(row));
        }
        let turned = (row, known.unwrap_or_else(|| Covered::new(open())));
        let (before, covered) = std::mem::replace(&mut self.last, turned);
        if before != NO_ROW {
            self.others.insert(before, covered);
        }
    }

    /// A scope has come; what is known of it.
    #[inline]
    fn reach(&mut self, row: Row) -> Option<Covered> {
        if self.next.peek() == Some(&Reverse(row)) { self.take(row) } else { None }
    }

    fn take(&mut self, row: Row) -> Option<Covered> {
        self.next.pop();
        if self.last.0 == row {
            return Some(std::mem::replace(&mut self.last, Around::NONE).1);
        }
        self.others.remove(&row)
    }
}

/// What the children of a scope cover of it, when they come in the order they opened.
struct Covered {
    whole: Interval,
    /// When the last one opened.
    opened: u64,
    /// Up to where they were summed up.
    reached: u64,
    ticks: u64,
}

impl Covered {
    const fn new(whole: Interval) -> Covered {
        Covered { whole, opened: 0, reached: whole.0, ticks: 0 }
    }

    /// False when it opened before the last one.
    #[inline]
    fn add(&mut self, child: Interval) -> bool {
        let (start, end) = (child.0.max(self.reached), child.1.min(self.whole.1));
        if end > start {
            self.ticks += end - start;
            self.reached = end;
        }
        let ordered = child.0 >= self.opened;
        self.opened = child.0;
        ordered
    }
}

/// Scopes whose children do not come in order, or not all before them, or from other processes.
struct Unordered {
    scopes: ByRow<Union>,
    /// A bit a row, whether it is one of them; empty while there are none.
    bits: Vec<u64>,
    rows: usize,
}

impl Unordered {
    fn new(run: &Run, links: &Links, at: usize) -> Unordered {
        let spans = &run.processes[at].spans;
        let mut unordered =
            Unordered { scopes: ByRow::default(), bits: Vec::new(), rows: spans.len() };
        for (row, union) in elsewhere(run, links, at) {
            unordered.insert(row);
            unordered.scopes.insert(row, union);
        }
        if !spans.is_upward() {
            let mut scan = spans.scan();
            let parents =
                spans.rows().filter_map(|row| scan.parent_row(row).filter(|&up| up < row));
            parents.for_each(|parent| unordered.insert(parent));
        }
        unordered
    }

    #[inline]
    fn contains(&self, row: Row) -> bool {
        self.bits.get(row as usize / 64).is_some_and(|bits| bits >> (row % 64) & 1 != 0)
    }

    fn insert(&mut self, row: Row) {
        self.bits.resize(self.rows.div_ceil(64), 0);
        self.bits[row as usize / 64] |= 1 << (row % 64);
        self.scopes.entry(row).or_default();
    }

    /// Goes through all rows again for their children.
    fn visit(
        mut self,
        spans: &Spans,
        window: Interval,
        mut visit: impl FnMut(Row, Times, &mut SpanScan<'_>),
    ) {
        if self.scopes.is_empty() {
            return;
        }
        let mut scan = spans.scan();
        for row in spans.rows() {
            let parent = scan.parent_row(row).filter(|&up| self.contains(up));
            if let Some(union) = parent.and_then(|up| self.scopes.get_mut(&up)) {
                union.add(cut(scan.times(row), window));
            }
        }
        let mut scopes: Vec<(Row, Union)> = self.scopes.into_iter().collect();
        scopes.sort_unstable_by_key(|scope| scope.0);
        for (row, union) in scopes {
            let (start, end) = cut(scan.times(row), window);
            visit(row, Times { start, end, own: own_time((start, end), union.parts) }, &mut scan);
        }
    }
}

/// Intervals, joined where they overlap before they become too many.
#[derive(Default)]
struct Union {
    parts: Vec<Interval>,
    /// Parts when they were last joined.
    joined: usize,
}

impl Union {
    const FEW: usize = 1 << 12;

    fn add(&mut self, part: Interval) {
        self.parts.push(part);
        if self.parts.len() >= Self::FEW.max(2 * self.joined) {
            self.join();
        }
    }

    fn join(&mut self) {
        self.parts.sort_unstable();
        self.parts.dedup_by(|next, last| {
            let touches = next.0 <= last.1;
            if touches {
                last.1 = last.1.max(next.1);
            }
            touches
        });
        self.joined = self.parts.len();
    }
}

/// What the processes that were started in rows of the `at`-th one covered of its time.
fn elsewhere(run: &Run, links: &Links, at: usize) -> ByRow<Union> {
    let mut found: ByRow<Union> = ByRow::default();
    let starter = &run.processes[at];
    for (process, place) in run.processes.iter().zip(&links.started_in) {
        let Some((_, row)) = place.filter(|place| place.0 == at) else { continue };
        let here = process.info.host == starter.info.host;
        let moment = |ticks| starter.clock.ticks_of(&process.clock, ticks, here);
        let spans = &process.spans;
        let outermost = spans.rows().filter(|&row| spans.parent_row(row).is_none());
        let covered = outermost.filter_map(|r| moment(spans.start(r)).zip(moment(spans.end(r))));
        let union = found.entry(row).or_default();
        covered.for_each(|part| union.add(part));
    }
    found
}

/// Length of `whole` outside the union of `parts`.
fn own_time(whole: Interval, mut parts: Vec<Interval>) -> u64 {
    parts.sort_unstable();
    let mut covered = Covered::new(whole);
    parts.into_iter().for_each(|part| _ = covered.add(part));
    (whole.1 - whole.0) - covered.ticks
}

/// A map of few rows that is asked for each.
type ByRow<T> = HashMap<Row, T, BuildHasherDefault<RowHasher>>;

/// Rows are not chosen by an enemy, but for a damaged file, which may take longer.
#[derive(Default)]
struct RowHasher(u64);

impl Hasher for RowHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }

    #[inline]
    fn write_u32(&mut self, row: u32) {
        // Fibonacci hashing: the map goes by the upper bits and by the lower ones.
        let mixed = (self.0 ^ u64::from(row)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

#[cfg(test)]
mod tests {
    use super::{Interval, Union, own_time};
    use proptest::prelude::*;

    #[test]
    fn overlapping_children_count_once() {
        assert_eq!(own_time((0, 100), vec![(10, 30), (20, 40)]), 70);
        assert_eq!(own_time((0, 100), vec![(20, 40), (10, 30), (15, 18)]), 70);
    }

    #[test]
    fn a_child_that_outlives_its_parent_counts_as_far_as_the_parent() {
        assert_eq!(own_time((50, 100), vec![(90, 400)]), 40);
        assert_eq!(own_time((50, 100), vec![(10, 60), (200, 300)]), 40);
    }

    proptest! {
        #[test]
        fn own_time_is_what_counting_ticks_says(
            start in 0u64..60, len in 0u64..60,
            mut parts in prop::collection::vec((0u64..120, 0u64..40), 0..8),
        ) {
            for part in &mut parts {
                part.1 += part.0;
            }
            let free = (start..start + len)
                .filter(|t| !parts.iter().any(|p| p.0 <= *t && *t < p.1))
                .count() as u64;
            prop_assert_eq!(own_time((start, start + len), parts.clone()), free);
        }

        #[test]
        fn a_union_joined_now_and_then_covers_the_same(
            parts in prop::collection::vec((0u64..3000, 0u64..4), 0..300),
            often in 1_usize..20,
        ) {
            let parts: Vec<Interval> = parts.iter().map(|p| (p.0, p.0 + p.1)).collect();
            let mut union = Union::default();
            for (at, &part) in parts.iter().enumerate() {
                union.add(part);
                if at % often == 0 {
                    union.join();
                }
            }
            prop_assert_eq!(own_time((10, 2500), union.parts), own_time((10, 2500), parts));
        }
    }
}
