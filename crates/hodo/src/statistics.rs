//! The times of a benchmark loop in a few numbers.

/// The times of the measured iterations of a [`bench()`](crate::bench), in nanoseconds.
///
/// Numbers that need more iterations than there were are NaN: all of them after none, the
/// confidence interval after one.
///
/// ```
/// let times = hodo::bench("sum").repeat(30).run(|| (0..1000_u64).sum::<u64>());
/// println!("{:.0} ± {:.0} ns", times.mean_ns, times.ci95_ns);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// The time of each iteration, in order.
    pub samples_ns: Vec<u64>,
    /// The shortest.
    pub min_ns: f64,
    /// The middle one, or the mean of the middle two.
    pub median_ns: f64,
    /// The arithmetic mean.
    pub mean_ns: f64,
    /// 95 % of the iterations took at most about this long.
    pub p95_ns: f64,
    /// The 95 % confidence interval of the mean is `mean_ns` plus or minus this (Student's t).
    pub ci95_ns: f64,
}

impl Statistics {
    pub(crate) fn new(samples_ns: Vec<u64>) -> Self {
        let mut sorted: Vec<f64> = samples_ns.iter().map(|&ns| ns as f64).collect();
        sorted.sort_by(f64::total_cmp);
        let mean_ns = sorted.iter().sum::<f64>() / sorted.len() as f64;
        Statistics {
            samples_ns,
            min_ns: sorted.first().copied().unwrap_or(f64::NAN),
            median_ns: quantile(&sorted, 0.5),
            mean_ns,
            p95_ns: quantile(&sorted, 0.95),
            ci95_ns: half_width95(&sorted, mean_ns),
        }
    }
}

/// Between two samples the quantile is interpolated, as in reports.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share * last as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

fn half_width95(sorted: &[f64], mean: f64) -> f64 {
    if sorted.len() < 2 {
        return f64::NAN;
    }
    let n = sorted.len() as f64;
    let variance = sorted.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    student_t95(sorted.len() - 1) * (variance / n).sqrt()
}

/// The two-sided 95 % quantile of Student's t distribution.
fn student_t95(degrees: usize) -> f64 {
    const SMALL: [f64; 10] =
        [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    if let Some(&t) = SMALL.get(degrees - 1) {
        return t;
    }
    // Cornish-Fisher around the normal quantile: three decimals hold from here on.
    let (z, v) = (1.959_964_f64, degrees as f64);
    let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
    z + (z3 + z) / (4.0 * v)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * v.powi(2))
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * v.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_samples() {
        let s = Statistics::new(vec![40, 10, 30, 20]);
        assert_eq!(s.samples_ns, [40, 10, 30, 20]);
        assert_eq!((s.min_ns, s.median_ns, s.mean_ns), (10.0, 25.0, 25.0));
        assert!((s.p95_ns - 38.5).abs() < 1e-9, "{}", s.p95_ns);
        // Standard deviation 12.910, three degrees of freedom.
        assert!((s.ci95_ns - 3.182 * 12.909_944 / 2.0).abs() < 1e-4);
    }

    #[test]
    fn too_few_samples_are_not_numbers() {
        let none = Statistics::new(vec![]);
        assert!(none.min_ns.is_nan() && none.mean_ns.is_nan() && none.p95_ns.is_nan());
        let one = Statistics::new(vec![7]);
        assert_eq!((one.min_ns, one.median_ns, one.p95_ns), (7.0, 7.0, 7.0));
        assert!(one.ci95_ns.is_nan());
    }

    #[test]
    fn quantiles_of_t() {
        for (degrees, expected) in [(1, 12.706), (11, 2.201), (20, 2.086), (60, 2.000)] {
            let t = student_t95(degrees);
            assert!((t - expected).abs() < 0.001, "{degrees}: {t}");
        }
    }
}
