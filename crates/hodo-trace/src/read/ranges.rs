//! Sets of record numbers as ranges.

/// What was known of the numbers that were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Added {
    /// Numbers that were not there before.
    pub(super) new: u64,
    /// Numbers that were.
    pub(super) known: u64,
}

/// Numbers seen of one thread; ranges in order, never touching.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges {
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    /// Adds the numbers from `from` up to, not including, `to`.
    pub(super) fn add(&mut self, from: u64, to: u64) -> Added {
        let to = to.max(from);
        // Nearly every range continues the last one.
        if let Some(last) = self.ranges.last_mut().filter(|last| last.1 == from) {
            last.1 = to;
            return Added { new: to - from, known: 0 };
        }
        let at = self.ranges.partition_point(|r| r.1 < from);
        let end = at + self.ranges[at..].partition_point(|r| r.0 <= to);
        let touched = &self.ranges[at..end];
        let known = touched.iter().map(|r| overlap(*r, (from, to))).sum();
        let low = touched.first().map_or(from, |r| r.0.min(from));
        let high = touched.last().map_or(to, |r| r.1.max(to));
        if from < to {
            self.ranges.splice(at..end, [(low, high)]);
        }
        Added { new: (to - from) - known, known }
    }

    /// Whether `number` was seen.
    pub(super) fn contains(&self, number: u64) -> bool {
        let at = self.ranges.partition_point(|r| r.1 <= number);
        self.ranges.get(at).is_some_and(|r| r.0 <= number)
    }

    /// How many were seen.
    pub(super) fn len(&self) -> u64 {
        self.len_until(u64::MAX)
    }

    /// How many below `end` were seen.
    pub(super) fn len_until(&self, end: u64) -> u64 {
        self.ranges.iter().map(|&r| overlap(r, (0, end))).sum()
    }

    /// One past the highest seen.
    pub(super) fn end(&self) -> u64 {
        self.ranges.last().map_or(0, |r| r.1)
    }

    /// Numbers from `from` up to `end` that were not seen.
    pub(super) fn missing(&self, from: u64, end: u64) -> u64 {
        let end = end.max(from);
        end.saturating_sub(from) - (self.len_until(end) - self.len_until(from))
    }

    /// The lowest seen.
    pub(super) fn start(&self) -> u64 {
        self.ranges.first().map_or(0, |r| r.0)
    }
}

fn overlap(a: (u64, u64), b: (u64, u64)) -> u64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_like_a_set(adds in prop::collection::vec((0u64..60, 0u64..12), 0..30)) {
            let mut ranges = Ranges::default();
            let mut set = BTreeSet::new();
            for (from, len) in adds {
                let new = (from..from + len).filter(|n| set.insert(*n)).count() as u64;
                let added = ranges.add(from, from + len);
                prop_assert_eq!(added, Added { new, known: len - new });
                prop_assert_eq!(ranges.len(), set.len() as u64);
                prop_assert_eq!(ranges.end(), set.last().map_or(0, |n| n + 1));
                for number in 0..75 {
                    prop_assert_eq!(ranges.contains(number), set.contains(&number));
                }
                prop_assert!(ranges.ranges.is_sorted_by(|a, b| a.1 < b.0), "{:?}", ranges);
            }
        }
    }
}
