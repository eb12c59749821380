//! How much of some ranges lies between each two readings that series have in common.

use super::TimeRanges;

/// Readings this many times further apart than usual have a gap between them in which nothing was
/// sampled,
const GAP: i64 = 5;
/// if it is also longer than this: a sampler may be held up for a moment.
const SHORTEST_GAP_NS: i64 = 1_000_000_000;

/// For the times of some series, how ranges lie over them.
pub(super) struct Weights {
    /// By reading, what lies between it and the next.
    between: Vec<Part>,
    /// By reading, whether it lies in a range.
    inside: Vec<bool>,
    /// Readings further apart than this have a gap between them.
    pub(super) longest_ns: i64,
}

/// What lies between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Part {
    /// Nanoseconds of the ranges.
    pub(super) ns: f64,
    /// The same, each weighted by its distance from the first reading.
    moment: f64,
}

impl Part {
    /// Where the middle of them is, nanoseconds after the first reading.
    pub(super) fn middle(&self) -> f64 {
        if self.ns > 0.0 { self.moment / self.ns } else { 0.0 }
    }
}

impl Weights {
    pub(super) fn new(times: &[i64], ranges: &TimeRanges) -> Weights {
        let mut between = vec![Part::default(); times.len().saturating_sub(1)];
        let mut inside = vec![false; times.len()];
        let mut at = 0;
        for (from, to) in ranges.iter() {
            // Readings up to `from`; ranges come in order, so this only moves on.
            at += times[at..].partition_point(|&time| time < from);
            inside[at..]
                .iter_mut()
                .zip(&times[at..])
                .take_while(|(_, time)| **time <= to)
                .for_each(|(inside, _)| *inside = true);
            let mut first = at.saturating_sub(1);
            while let Some(&[start, end]) = times.get(first..first + 2) {
                let (low, high) = (start.max(from), end.min(to));
                if high > low {
                    let ns = (high - low) as f64;
                    between[first].ns += ns;
                    between[first].moment += ns * ((low - start) as f64 + ns / 2.0);
                }
                if end >= to {
                    break;
                }
                first += 1;
            }
        }
        Weights { between, inside, longest_ns: longest_ns(times) }
    }

    /// What lies between two readings, one before the other.
    pub(super) fn between(&self, times: &[i64], from: usize, to: usize) -> Part {
        let mut sum = Part::default();
        for (at, part) in (from..).zip(&self.between[from..to]) {
            sum.ns += part.ns;
            sum.moment += part.moment + (times[at] - times[from]) as f64 * part.ns;
        }
        sum
    }

    pub(super) fn is_inside(&self, reading: usize) -> bool {
        self.inside[reading]
    }
}

/// Readings of a gauge further apart than this say nothing of the time between them.
pub(super) fn longest_ns(times: &[i64]) -> i64 {
    usual_ns(times).saturating_mul(GAP).max(SHORTEST_GAP_NS)
}

/// The median distance between two readings; 0 when there are not two.
pub(super) fn usual_ns(times: &[i64]) -> i64 {
    let mut apart: Vec<i64> = times.windows(2).map(|two| two[1] - two[0]).collect();
    if apart.is_empty() {
        return 0;
    }
    let middle = apart.len() / 2;
    *apart.select_nth_unstable(middle).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn weights_are_what_counting_says(
            steps in prop::collection::vec(1i64..9, 1..14),
            ranges in prop::collection::vec((0i64..70, 0i64..15), 0..6),
        ) {
            let times: Vec<i64> = steps.iter().scan(5, |at, step| { *at += step; Some(*at) }).collect();
            let ranges = TimeRanges::union(ranges.into_iter().map(|(at, len)| (at, at + len)).collect());
            let weights = Weights::new(&times, &ranges);
            let inside = |t: &i64| ranges.iter().any(|(from, to)| from <= *t && *t < to);
            for (at, two) in times.windows(2).enumerate() {
                let part = weights.between(&times, at, at + 1);
                let ticks: Vec<i64> = (two[0]..two[1]).filter(inside).collect();
                prop_assert_eq!(part.ns, ticks.len() as f64);
                let moment: f64 = ticks.iter().map(|t| (t - two[0]) as f64 + 0.5).sum();
                prop_assert!((part.moment - moment).abs() < 1e-9);
            }
            for (at, time) in times.iter().enumerate() {
                let is_in = ranges.iter().any(|(from, to)| from <= *time && *time <= to);
                prop_assert_eq!(weights.is_inside(at), is_in);
            }
        }
    }
}
