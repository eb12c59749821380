//! Stretches of time.

/// Stretches of time in nanoseconds since 1970: in order, none touches another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeRanges(Vec<(i64, i64)>);

impl TimeRanges {
    /// One stretch; none when it is empty.
    pub fn one(from: i64, to: i64) -> TimeRanges {
        TimeRanges::union(vec![(from, to)])
    }

    /// What any of `ranges` covers.
    pub fn union(mut ranges: Vec<(i64, i64)>) -> TimeRanges {
        ranges.retain(|range| range.1 > range.0);
        if !ranges.is_sorted() {
            ranges.sort_unstable();
        }
        // In place: those before `end` are done.
        let mut end: usize = 0;
        for at in 0..ranges.len() {
            let (from, to) = ranges[at];
            match end.checked_sub(1).map(|last| &mut ranges[last]) {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => {
                    ranges[end] = (from, to);
                    end += 1;
                }
            }
        }
        ranges.truncate(end);
        TimeRanges(ranges)
    }

    /// The part of them from `from` to `to`.
    pub fn within(&self, from: i64, to: i64) -> TimeRanges {
        let cut = |&(a, b): &(i64, i64)| (a.max(from), b.min(to));
        TimeRanges(self.0.iter().map(cut).filter(|range| range.1 > range.0).collect())
    }

    /// Whether a moment lies in one of them, or at its end.
    pub fn contains(&self, moment: i64) -> bool {
        let at = self.0.partition_point(|range| range.1 < moment);
        self.0.get(at).is_some_and(|range| range.0 <= moment)
    }

    /// They, in order.
    pub fn iter(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.0.iter().copied()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Nanoseconds in them.
    pub fn length_ns(&self) -> u64 {
        self.iter().map(|(from, to)| to.abs_diff(from)).sum()
    }

    /// Nanoseconds from one moment to another that are in none of them.
    pub(crate) fn missing_ns(&self, from: i64, to: i64) -> u64 {
        let (from, to) = (from, to.max(from));
        let at = match self.0.as_slice() {
            [only] if only.0 <= from && to <= only.1 => return 0,
            [_] => 0,
            all => all.partition_point(|range| range.1 <= from),
        };
        let inside = self.0[at..].iter().take_while(|range| range.0 < to);
        let covered = |range: &(i64, i64)| (range.1.min(to) - range.0.max(from)).max(0);
        to.abs_diff(from) - inside.map(|range| covered(range).unsigned_abs()).sum::<u64>()
    }

    /// Where the first begins and the last ends.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        Some((self.0.first()?.0, self.0.last()?.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_union_covers_what_any_covers(
            all in prop::collection::vec((0i64..60, 0i64..12), 0..12), from in 0i64..60, len in 0i64..40,
        ) {
            let all: Vec<(i64, i64)> = all.into_iter().map(|(at, len)| (at, at + len)).collect();
            let union = TimeRanges::union(all.clone());
            let part = union.within(from, from + len);
            for t in 0..80 {
                let inside = |ranges: &[(i64, i64)]| ranges.iter().any(|r| r.0 <= t && t < r.1);
                prop_assert_eq!(inside(&union.0), inside(&all));
                prop_assert_eq!(inside(&part.0), inside(&all) && (from..from + len).contains(&t));
            }
            prop_assert!(union.0.is_sorted_by(|a, b| a.1 < b.0), "{:?}", union);
            let missing = (from..from + len).filter(|t| !all.iter().any(|r| r.0 <= *t && *t < r.1)).count();
            prop_assert_eq!(union.missing_ns(from, from + len), missing as u64);
            prop_assert_eq!(union.length_ns(), (0..80).filter(|t| all.iter().any(|r| r.0 <= *t && *t < r.1)).count() as u64);
        }
    }
}
