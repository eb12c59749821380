//! The steps that marks were made in: indices of scopes, counted on where an inner loop begins anew.

use crate::spans::Row;
use crate::{MarkRow, Process};
use std::collections::HashMap;

/// Where a mark stands: the index nearest to it, and the scope around whose index comes next.
struct Place {
    index: i64,
    /// The process, and the scope in it that the loop runs in.
    round: (u64, Option<Row>),
}

fn place(process: &Process, mark: &MarkRow) -> Option<Place> {
    let mut indexed = Indexed { process, next: process.spans.row_of(mark.span) };
    let (_, index) = indexed.next()?;
    Some(Place { index, round: (process.process, indexed.next().map(|outer| outer.0)) })
}

/// The scope at hand and those around it, of which each has an index.
struct Indexed<'a> {
    process: &'a Process,
    next: Option<Row>,
}

impl Iterator for Indexed<'_> {
    type Item = (Row, i64);

    fn next(&mut self) -> Option<(Row, i64)> {
        while let Some(row) = self.next {
            self.next = self.process.spans.parent_row(row);
            if let Some(index) = self.process.spans.index(row) {
                return Some((row, index));
            }
        }
        None
    }
}

/// The step of each mark; `all` are in order of time.
pub(super) fn steps(all: &[(i64, &Process, &MarkRow)]) -> Vec<f64> {
    let places: Vec<Option<Place>> = all.iter().map(|mark| place(mark.1, mark.2)).collect();
    let mut rounds: Vec<Round> = Vec::new();
    let mut known: HashMap<(u64, Option<Row>), usize> = HashMap::new();
    for place in places.iter().flatten() {
        let at = *known.entry(place.round).or_insert_with(|| {
            rounds.push(Round { process: place.round.0, least: place.index, most: place.index });
            rounds.len() - 1
        });
        rounds[at].least = rounds[at].least.min(place.index);
        rounds[at].most = rounds[at].most.max(place.index);
    }
    let offsets = offsets(&rounds);
    let steps = places.iter().enumerate().map(|(nth, place)| match place {
        Some(place) => place.index.saturating_add(offsets[known[&place.round]]) as f64,
        None => nth as f64,
    });
    steps.collect()
}

/// Indices that the marks of one round of an outer loop have.
struct Round {
    process: u64,
    least: i64,
    most: i64,
}

/// What to add to the indices of each round, so that steps of a process are never counted twice.
fn offsets(rounds: &[Round]) -> Vec<i64> {
    let mut ends: HashMap<u64, i64> = HashMap::new();
    let each = rounds.iter().map(|round| {
        let end = ends.get(&round.process).copied();
        let overlap = end.map_or(0, |end| end.saturating_add(1).saturating_sub(round.least));
        let offset = overlap.max(0);
        ends.insert(round.process, round.most.saturating_add(offset));
        offset
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(process: u64, least: i64, most: i64) -> Round {
        Round { process, least, most }
    }

    #[test]
    fn a_loop_that_begins_anew_counts_on() {
        let epochs = [round(1, 0, 9), round(1, 0, 9), round(1, 0, 4)];
        assert_eq!(offsets(&epochs), [0, 10, 20]);
    }

    #[test]
    fn indices_that_go_on_by_themselves_are_left_alone() {
        let epochs = [round(1, 0, 9), round(1, 10, 19), round(1, 30, 39)];
        assert_eq!(offsets(&epochs), [0, 0, 0]);
    }

    #[test]
    fn every_process_counts_for_itself() {
        let ranks = [round(1, 0, 9), round(2, 0, 9), round(2, 0, 9), round(1, 0, 9)];
        assert_eq!(offsets(&ranks), [0, 0, 10, 10]);
    }

    #[test]
    fn the_largest_index_overflows_nothing() {
        let rounds = [round(1, i64::MIN, i64::MAX), round(1, i64::MIN, i64::MAX)];
        assert_eq!(offsets(&rounds)[0], 0);
        assert!(offsets(&rounds)[1] >= 0);
    }
}
