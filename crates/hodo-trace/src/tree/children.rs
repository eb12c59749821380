//! Self time: what no child covers.

use crate::index::NO_ROW;
use crate::links::Links;
use crate::{Row, Run, Spans};
use std::collections::HashMap;

/// The children of every row, as lists in order of row.
pub(crate) struct Children {
    first: Vec<Row>,
    next: Vec<Row>,
    /// Outermost scopes of processes that a row started, as intervals of this process's clock.
    elsewhere: HashMap<Row, Vec<Interval>>,
    intervals: Vec<Interval>,
}

type Interval = (u64, u64);

impl Children {
    pub(crate) fn new(run: &Run, links: &Links, at: usize) -> Children {
        let spans = &run.processes[at].spans;
        let mut first = vec![NO_ROW; spans.len()];
        let mut next = vec![NO_ROW; spans.len()];
        for row in spans.rows().rev() {
            if let Some(parent) = spans.parent_row(row) {
                next[row as usize] = std::mem::replace(&mut first[parent as usize], row);
            }
        }
        Children { first, next, elsewhere: elsewhere(run, links, at), intervals: Vec::new() }
    }

    /// Ticks of `row` that none of its children covers, whichever thread or process they ran in.
    pub(crate) fn own_time(&mut self, spans: &Spans, row: Row) -> u64 {
        let mut child = self.first[row as usize];
        let elsewhere = match self.elsewhere.is_empty() {
            true => None,
            false => self.elsewhere.get(&row),
        };
        if child == NO_ROW && elsewhere.is_none() {
            return spans.duration(row);
        }
        self.intervals.clear();
        self.intervals.extend(elsewhere.into_iter().flatten());
        while child != NO_ROW {
            self.intervals.push((spans.start(child), spans.end(child)));
            child = self.next[child as usize];
        }
        own_time((spans.start(row), spans.end(row)), &mut self.intervals)
    }
}

/// What the processes that were started in rows of the `at`-th one covered of its time.
fn elsewhere(run: &Run, links: &Links, at: usize) -> HashMap<Row, Vec<Interval>> {
    let mut found: HashMap<Row, Vec<Interval>> = HashMap::new();
    let starter = &run.processes[at];
    for (process, place) in run.processes.iter().zip(&links.started_in) {
        let Some((_, row)) = place.filter(|place| place.0 == at) else { continue };
        let here = process.info.host == starter.info.host;
        let moment = |ticks| starter.clock.ticks_of(&process.clock, ticks, here);
        let spans = &process.spans;
        let outermost = spans.rows().filter(|&row| spans.parent_row(row).is_none());
        let covered = outermost.filter_map(|r| moment(spans.start(r)).zip(moment(spans.end(r))));
        found.entry(row).or_default().extend(covered);
    }
    found
}

/// Length of `whole` outside the union of `parts`.
fn own_time(whole: Interval, parts: &mut [Interval]) -> u64 {
    if !parts.is_sorted() {
        parts.sort_unstable();
    }
    let mut covered = 0;
    let mut reached = whole.0;
    for &(start, end) in parts.iter() {
        let (start, end) = (start.max(reached), end.min(whole.1));
        if end > start {
            covered += end - start;
            reached = end;
        }
    }
    (whole.1 - whole.0) - covered
}

#[cfg(test)]
mod tests {
    use super::own_time;
    use proptest::prelude::*;

    #[test]
    fn overlapping_children_count_once() {
        assert_eq!(own_time((0, 100), &mut [(10, 30), (20, 40)]), 70);
        assert_eq!(own_time((0, 100), &mut [(20, 40), (10, 30), (15, 18)]), 70);
    }

    #[test]
    fn a_child_that_outlives_its_parent_counts_as_far_as_the_parent() {
        assert_eq!(own_time((50, 100), &mut [(90, 400)]), 40);
        assert_eq!(own_time((50, 100), &mut [(10, 60), (200, 300)]), 40);
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
            prop_assert_eq!(own_time((start, start + len), &mut parts), free);
        }
    }
}
