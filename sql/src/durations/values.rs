//! The durations of one group, and quantiles of them.

/// What is told of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    pub mean_ns: i64,
    pub p50_ns: i64,
    pub p95_ns: i64,
    pub p99_ns: i64,
    pub max_ns: i64,
}

impl Statistics {
    /// The names of the numbers.
    pub const NAMES: [&str; 5] = ["mean_ns", "p50_ns", "p95_ns", "p99_ns", "max_ns"];

    /// The numbers, in the order of their names.
    pub fn numbers(self) -> [i64; 5] {
        [self.mean_ns, self.p50_ns, self.p95_ns, self.p99_ns, self.max_ns]
    }
}

/// Every value of a group. Most durations fit 32 bits (4.29 s), which halves what a run of a
/// hundred million scopes takes.
#[derive(Debug, Default)]
pub struct Values {
    pub small: Vec<u32>,
    pub large: Vec<u64>,
}

impl Values {
    /// Adds a value and says by how many bytes this grew.
    pub fn push(&mut self, value: u64) -> usize {
        let before = self.bytes();
        match u32::try_from(value) {
            Ok(small) => self.small.push(small),
            Err(_) => self.large.push(value),
        }
        self.bytes() - before
    }

    /// Adds all of another part of the group and says by how many bytes this grew.
    pub fn extend(&mut self, small: &[u32], large: &[u64]) -> usize {
        let before = self.bytes();
        self.small.extend_from_slice(small);
        self.large.extend_from_slice(large);
        self.bytes() - before
    }

    /// Memory behind the group.
    pub fn bytes(&self) -> usize {
        self.small.capacity() * size_of::<u32>() + self.large.capacity() * size_of::<u64>()
    }

    /// Mean, quantiles and largest value; the quantiles from the highest down. None without values.
    pub fn statistics(&mut self) -> Option<Statistics> {
        let [p99_ns, p95_ns, p50_ns] = self.quantiles([0.99, 0.95, 0.5])?;
        let small: u128 = self.small.iter().map(|&value| u128::from(value)).sum();
        let sum = small + self.large.iter().map(|&value| u128::from(value)).sum::<u128>();
        let mean_ns = (sum as f64 / (self.small.len() + self.large.len()) as f64).round() as i64;
        let small_max = self.small.iter().max().map(|&value| u64::from(value));
        let max = self.large.iter().max().copied().or(small_max)?;
        let max_ns = i64::try_from(max).unwrap_or(i64::MAX);
        Some(Statistics { mean_ns, p50_ns, p95_ns, p99_ns, max_ns })
    }

    /// The values at `quantiles`, each between its neighbours by straight line and rounded: the
    /// same numbers as in `hodo report`. None without values.
    fn quantiles<const N: usize>(&mut self, quantiles: [f64; N]) -> Option<[i64; N]> {
        let len = self.small.len() + self.large.len();
        let last = len.checked_sub(1)?;
        Some(quantiles.map(|quantile| {
            let place = quantile * last as f64;
            let low = place.floor() as usize;
            let value = self.select(low) as f64;
            let above = self.select((low + 1).min(last)) as f64;
            (value + (above - value) * (place - low as f64)).round() as i64
        }))
    }

    /// The value that sorting would put at `at`.
    fn select(&mut self, at: usize) -> u64 {
        match at.checked_sub(self.small.len()) {
            None => u64::from(*self.small.select_nth_unstable(at).1),
            Some(at) => *self.large.select_nth_unstable(at).1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Values {
        let mut all = Values::default();
        values.iter().for_each(|&value| _ = all.push(value));
        all
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        let mut all = of(&[40, 10, 30, 20]);
        assert_eq!(all.quantiles([0.0, 0.5, 1.0]), Some([10, 25, 40]));
        assert_eq!(of(&[7]).quantiles([0.5, 0.95]), Some([7, 7]));
        assert_eq!(Values::default().quantiles([0.5]), None);
    }

    #[test]
    fn long_durations_sort_after_short_ones() {
        let long = 10_000_000_000;
        let mut all = of(&[long + 2, 1, long, 2]);
        assert_eq!(all.quantiles([1.0, 0.0]), Some([long as i64 + 2, 1]));
        // Halfway between 2 and ten seconds.
        assert_eq!(all.quantiles([0.5]), Some([5_000_000_001]));
    }

    #[test]
    fn statistics_are_those_of_all_values() {
        let found = of(&[1, 2, 3, 6_000_000_000]).statistics();
        let numbers = found.map(Statistics::numbers);
        assert_eq!(numbers, Some([1_500_000_002, 3, 5_100_000_000, 5_820_000_000, 6_000_000_000]));
        assert_eq!(Values::default().statistics(), None);
    }

    #[test]
    fn growth_is_told_exactly() {
        let mut all = Values::default();
        let mut told = 0;
        for value in 0..1000u64 {
            told += all.push(value << 28);
        }
        told += all.extend(&[1, 2, 3], &[u64::MAX]);
        assert_eq!(told, all.bytes());
    }
}
