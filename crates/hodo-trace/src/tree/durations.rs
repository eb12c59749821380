//! Durations sorted by node, and what statistics are made of them.

use super::measure::Sum;
use super::paths::{NodeId, Paths};
use super::{Bench, Durations};
use crate::Run;
use crate::select::Selection;

/// The durations of closed scopes in nanoseconds, those of one node side by side.
pub(super) struct ByNode {
    all: Vec<u64>,
    ends: Vec<usize>,
}

impl ByNode {
    /// A counting sort: the sums say how many each node has.
    pub(super) fn new(run: &Run, paths: &Paths, kept: &[Selection], sums: &[Sum]) -> ByNode {
        let mut next = Vec::with_capacity(sums.len());
        let mut total = 0;
        for sum in sums {
            next.push(total);
            total += sum.closed as usize;
        }
        let mut all = vec![0; total];
        for (at, process) in run.processes.iter().enumerate() {
            if matches!(kept[at], Selection::None) || !process.is_timed() {
                continue;
            }
            let nodes = &paths.of[at];
            for row in process.spans.closed_rows().filter(|&row| kept[at].keeps(row)) {
                let place = &mut next[nodes[row as usize] as usize];
                all[*place] = process.clock.duration_ns(process.spans.duration(row));
                *place += 1;
            }
        }
        ByNode { all, ends: next }
    }

    pub(super) fn of(&mut self, node: NodeId) -> &mut [u64] {
        let at = node as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &mut self.all[start..self.ends[at]]
    }

    /// Statistics of a node's closed scopes.
    pub(super) fn statistics(&mut self, node: NodeId) -> Option<Durations> {
        let mut quantiles = Quantiles::new(self.of(node))?;
        Some(Durations {
            // From the top down: each search is done in what the one before left below it.
            p99_ns: quantiles.at(0.99),
            p95_ns: quantiles.at(0.95),
            p50_ns: quantiles.at(0.5),
            min_ns: quantiles.min,
            mean_ns: quantiles.mean.round() as u64,
            max_ns: quantiles.max,
        })
    }

    /// Statistics of a benchmark loop over the iterations in `nodes`.
    pub(super) fn bench(&mut self, nodes: &[NodeId], warmup: u64) -> Option<Bench> {
        let mut values: Vec<u64> = nodes.iter().flat_map(|&n| self.of(n).to_vec()).collect();
        let ci95_ns = confidence(&values);
        let mut quantiles = Quantiles::new(&mut values)?;
        Some(Bench {
            iterations: quantiles.len as u64,
            warmup,
            p95_ns: quantiles.at(0.95),
            median_ns: quantiles.at(0.5),
            min_ns: quantiles.min,
            mean_ns: quantiles.mean.round() as u64,
            ci95_ns,
        })
    }
}

/// Mean and two quantiles, the higher first; none when there are no values.
pub(crate) fn quantiles(values: &mut [u64], [high, low]: [f64; 2]) -> Option<[u64; 3]> {
    let mut quantiles = Quantiles::new(values)?;
    Some([quantiles.mean.round() as u64, quantiles.at(high), quantiles.at(low)])
}

/// Quantiles of a set, asked for from the highest to the lowest.
struct Quantiles<'a> {
    values: &'a mut [u64],
    /// Every value from here on is at least as large as all before it.
    sorted_from: usize,
    len: usize,
    min: u64,
    max: u64,
    mean: f64,
}

impl<'a> Quantiles<'a> {
    fn new(values: &'a mut [u64]) -> Option<Quantiles<'a>> {
        let (min, max) = (*values.iter().min()?, *values.iter().max()?);
        let sum: u128 = values.iter().map(|&v| u128::from(v)).sum();
        let len = values.len();
        let mean = sum as f64 / len as f64;
        Some(Quantiles { values, sorted_from: len, len, min, max, mean })
    }

    /// The value at `quantile`, between neighbours by straight line.
    fn at(&mut self, quantile: f64) -> u64 {
        let place = quantile * (self.len - 1) as f64;
        let low = place.floor() as usize;
        let above = self.next_above(low);
        let value = self.select(low) as f64;
        (value + (above as f64 - value) * (place - low as f64)).round() as u64
    }

    fn select(&mut self, at: usize) -> u64 {
        if at < self.sorted_from {
            self.values[..self.sorted_from].select_nth_unstable(at);
            self.sorted_from = at;
        }
        self.values[at]
    }

    /// The value after the one at `low`; selecting it first leaves `low` below it.
    fn next_above(&mut self, low: usize) -> u64 {
        if low + 1 < self.len { self.select(low + 1) } else { self.max }
    }
}

/// 95 % confidence interval of the mean by Student's t.
fn confidence(values: &[u64]) -> Option<[u64; 2]> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let mean = values.iter().map(|&v| v as f64).sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|&v| (v as f64 - mean).powi(2)).sum();
    let error = (squares / (n - 1) as f64 / n as f64).sqrt();
    let half = student_975(n - 1) * error;
    Some([(mean - half).max(0.0).round() as u64, (mean + half).round() as u64])
}

/// The 97.5 % point of Student's t with `freedom` degrees of freedom.
fn student_975(freedom: usize) -> f64 {
    const EXACT: [f64; 10] =
        [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    if let Some(&exact) = freedom.checked_sub(1).and_then(|at| EXACT.get(at)) {
        return exact;
    }
    // Cornish-Fisher around the normal quantile; the third decimal holds from here on.
    let (z, v) = (1.959_964_f64, freedom as f64);
    let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
    z + (z3 + z) / (4.0 * v)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * v * v)
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * v.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn oracle(values: &[u64], quantile: f64) -> u64 {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let place = quantile * (sorted.len() - 1) as f64;
        let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        (low as f64 + (high as f64 - low as f64) * place.fract()).round() as u64
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_values(
            values in prop::collection::vec(0u64..1000, 1..200),
        ) {
            let mut scratch = values.clone();
            let mut quantiles = Quantiles::new(&mut scratch).expect("not empty");
            for q in [0.99, 0.95, 0.5] {
                prop_assert_eq!(quantiles.at(q), oracle(&values, q));
            }
        }
    }

    #[test]
    fn student_matches_the_tables() {
        for (freedom, expected) in
            [(1, 12.706), (10, 2.228), (11, 2.201), (30, 2.042), (120, 1.980)]
        {
            assert!((student_975(freedom) - expected).abs() < 1e-3, "{freedom}");
        }
    }

    #[test]
    fn the_interval_of_the_mean_is_students() {
        // n = 5, mean 30, s = 15.811, t = 2.776: 30 ± 19.63.
        assert_eq!(confidence(&[10, 20, 30, 40, 50]), Some([10, 50]));
        assert_eq!(confidence(&[7]), None);
    }
}
