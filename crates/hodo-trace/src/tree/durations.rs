//! Durations sorted by node, and what statistics are made of them.

use super::measure::Sum;
use super::paths::{NodeId, Paths};
use super::{Bench, Durations};
use crate::Run;
use crate::select::Selection;

/// The durations of closed scopes in nanoseconds, those of one node side by side.
pub(super) struct ByNode {
    /// Of nodes whose scopes were all short enough.
    short: Vec<u32>,
    /// Of all others.
    long: Vec<u64>,
    nodes: Vec<OfNode>,
}

/// Where the durations of a node are.
struct OfNode {
    is_short: bool,
    from: usize,
    to: usize,
}

impl ByNode {
    /// A counting sort: the sums say how many each node has.
    pub(super) fn new(run: &Run, paths: &Paths, kept: &[Selection], sums: &[Sum]) -> ByNode {
        let mut lens = [0; 2];
        let of_node = |sum: &Sum| {
            let is_short = sum.longest <= u32::MAX.into();
            let len = &mut lens[usize::from(is_short)];
            let from = *len;
            *len += sum.closed as usize;
            OfNode { is_short, from, to: from }
        };
        let nodes = sums.iter().map(of_node).collect();
        let mut by_node = ByNode { short: vec![0; lens[1]], long: vec![0; lens[0]], nodes };
        for (at, process) in run.processes.iter().enumerate() {
            if matches!(kept[at], Selection::None) || !process.is_timed() {
                continue;
            }
            let mut scan = process.spans.scan();
            for row in process.spans.closed_rows().filter(|&row| kept[at].keeps(row)) {
                if let Some(node) = paths.node(at, row) {
                    by_node.put(node, process.clock.duration_ns(scan.duration(row)));
                }
            }
        }
        by_node
    }

    #[inline]
    fn put(&mut self, node: NodeId, ns: u64) {
        let of = &mut self.nodes[node as usize];
        match of.is_short {
            true => self.short[of.to] = ns as u32,
            false => self.long[of.to] = ns,
        }
        of.to += 1;
    }

    fn values(&self, node: NodeId) -> Vec<u64> {
        let OfNode { is_short, from, to } = self.nodes[node as usize];
        match is_short {
            true => self.short[from..to].iter().copied().map(u64::from).collect(),
            false => self.long[from..to].to_vec(),
        }
    }

    /// Statistics of a node's closed scopes.
    pub(super) fn statistics(&mut self, node: NodeId) -> Option<Durations> {
        let OfNode { is_short, from, to } = self.nodes[node as usize];
        match is_short {
            true => statistics(&mut self.short[from..to]),
            false => statistics(&mut self.long[from..to]),
        }
    }

    /// Statistics of a benchmark loop over the iterations in `nodes`.
    pub(super) fn bench(&self, nodes: &[NodeId], warmup: u64) -> Option<Bench> {
        let mut values: Vec<u64> = nodes.iter().flat_map(|&n| self.values(n)).collect();
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

fn statistics<T: Duration>(values: &mut [T]) -> Option<Durations> {
    let mut quantiles = Quantiles::new(values)?;
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

/// Statistics of any durations, as a node's are made.
pub(crate) fn statistics_of(values: &mut [u64]) -> Option<Durations> {
    statistics(values)
}

/// A duration in one width or the other.
trait Duration: Copy + Ord + Into<u64> {}
impl Duration for u32 {}
impl Duration for u64 {}

/// Mean and two quantiles, the higher first; none when there are no values.
pub(crate) fn quantiles(values: &mut [u64], [high, low]: [f64; 2]) -> Option<[u64; 3]> {
    let mut quantiles = Quantiles::new(values)?;
    Some([quantiles.mean.round() as u64, quantiles.at(high), quantiles.at(low)])
}

/// Quantiles of a set, asked for from the highest to the lowest.
struct Quantiles<'a, T> {
    values: &'a mut [T],
    /// Every value from here on is at least as large as all before it.
    sorted_from: usize,
    len: usize,
    min: u64,
    max: u64,
    mean: f64,
}

impl<'a, T: Duration> Quantiles<'a, T> {
    fn new(values: &'a mut [T]) -> Option<Quantiles<'a, T>> {
        let (min, max) = ((*values.iter().min()?).into(), (*values.iter().max()?).into());
        let sum: u128 = values.iter().map(|&v| u128::from(v.into())).sum();
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
        self.values[at].into()
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
