//! How durations are spread.

use crate::tree::quantiles;
use serde_json::{Value, json};

/// Bars of a histogram.
const BARS: usize = 40;

/// Count, quantiles and a histogram whose bars are equally wide on a logarithmic axis where the
/// longest is more than ten times the shortest, else on a plain one.
pub(super) fn document(mut durations_ns: Vec<u64>) -> Value {
    let count = durations_ns.len();
    let Some([mean_ns, p95_ns, p50_ns]) = quantiles(&mut durations_ns, [0.95, 0.5]) else {
        return json!({"count": 0, "histogram": null, "p50_ns": null, "p95_ns": null, "max_ns": null});
    };
    let min_ns = durations_ns.iter().copied().min().unwrap_or(0);
    let max_ns = durations_ns.iter().copied().max().unwrap_or(0);
    let edges_ns = edges(min_ns, max_ns);
    let mut counts = vec![0_u64; edges_ns.len() - 1];
    for &ns in &durations_ns {
        let bar = edges_ns[1..].partition_point(|&edge| edge <= ns as f64);
        counts[bar.min(edges_ns.len() - 2)] += 1;
    }
    json!({
        "count": count, "mean_ns": mean_ns, "min_ns": min_ns,
        "p50_ns": p50_ns, "p95_ns": p95_ns, "max_ns": max_ns,
        "histogram": {"edges_ns": edges_ns, "counts": counts},
    })
}

fn edges(min_ns: u64, max_ns: u64) -> Vec<f64> {
    let (low, high) = (min_ns as f64, max_ns as f64);
    let share = |bar: usize| bar as f64 / BARS as f64;
    match () {
        () if max_ns == min_ns => vec![low, low + 1.0],
        () if low > 0.0 && high > 10.0 * low => {
            (0..=BARS).map(|bar| low * (high / low).powf(share(bar))).collect()
        }
        () => (0..=BARS).map(|bar| low + (high - low) * share(bar)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_is_in_one_bar() {
        for durations in [vec![5], vec![1, 2, 3, 4], vec![10, 1000, 100_000, 12, 0], vec![7, 7]] {
            let count = durations.len() as u64;
            let document = document(durations);
            let counts = document["histogram"]["counts"].as_array().cloned().unwrap_or_default();
            assert_eq!(counts.iter().filter_map(Value::as_u64).sum::<u64>(), count, "{document}");
            assert_eq!(document["count"], count);
        }
        assert_eq!(document(Vec::new())["histogram"], Value::Null);
    }
}
