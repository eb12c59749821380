//! Means that few odd values cannot move, and how far they may be off.

/// Of the values of a run so much is left out on either side, and the middle half stays: warm-up,
/// pauses and what a busy machine does to some of them do not count.
pub(super) const TRIM_INSTANCES: f64 = 0.25;
/// Of the runs of one side so much: a run that had to share its machine.
pub(super) const TRIM_RUNS: f64 = 0.20;
/// With fewer runs every one is kept: too few would be left to tell their spread.
const MIN_RUNS_TRIMMED: usize = 8;
/// Fewer values in a row tell nothing of how they vary over time.
pub(super) const MIN_INSTANCES: usize = 20;
const MOST_BATCHES: usize = 16;
const BATCH: usize = 4;

/// The mean of the middle of `values`: `trim` of them left out on either side.
pub(super) fn trimmed_mean(values: &[f64], trim: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = (sorted.len() as f64 * trim) as usize;
    mean(&sorted[cut..sorted.len() - cut])
}

/// The mean; 0 of nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The variance of values around their mean; none of fewer than two.
pub(super) fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}

/// How a statistic varies from one stretch of a series to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Batches {
    /// Its variance over stretches: so much one run may differ from the next too, where nothing else
    /// is known, since machines drift.
    pub(super) spread: f64,
    /// Its variance over the whole series, if that only did what its stretches do.
    pub(super) error: f64,
}

impl Batches {
    pub(super) fn times(self, factor: f64) -> Batches {
        Batches { spread: self.spread * factor, error: self.error * factor }
    }
}

/// Cuts a series into stretches. Neighbours resemble each other, so the spread of single values
/// would promise too much. None of a short series.
pub(super) fn batches(series: &[f64], statistic: impl Fn(&[f64]) -> f64) -> Option<Batches> {
    if series.len() < MIN_INSTANCES {
        return None;
    }
    let count = (series.len() / BATCH).min(MOST_BATCHES);
    let at = |batch: usize| batch * series.len() / count;
    let of_batches: Vec<f64> =
        (0..count).map(|batch| statistic(&series[at(batch)..at(batch + 1)])).collect();
    let spread = variance(&of_batches)?;
    Some(Batches { spread, error: spread / count as f64 })
}

/// A mean over runs, the variance of that mean, and the degrees of freedom it is known with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OverRuns {
    pub(super) mean: f64,
    pub(super) variance: f64,
    pub(super) df: f64,
}

/// Over values of several runs; where there are many the middle counts, and its variance is that of
/// a trimmed mean (Tukey and McLaughlin). Of one value the variance is not known: no freedom.
pub(super) fn over_runs(values: &[f64]) -> OverRuns {
    let trim = if values.len() < MIN_RUNS_TRIMMED { 0.0 } else { TRIM_RUNS };
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = (sorted.len() as f64 * trim) as usize;
    let kept = sorted.len() - 2 * cut;
    let mean = mean(&sorted[cut..cut + kept]);
    let (low, high) = (sorted[cut], sorted[cut + kept - 1]);
    sorted.iter_mut().for_each(|value| *value = value.clamp(low, high));
    let winsorized = variance(&sorted).unwrap_or(0.0);
    let all = sorted.len() as f64;
    let variance = winsorized / (all * (kept as f64 / all).powi(2));
    OverRuns { mean, variance, df: kept as f64 - 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_values_do_not_move_a_trimmed_mean() {
        let mut values = vec![10.0; 18];
        values.extend([0.0, 1e9]);
        assert_eq!(trimmed_mean(&values, 0.25), 10.0);
        assert_eq!(trimmed_mean(&[4.0], 0.2), 4.0);
    }

    #[test]
    fn batches_see_drift_that_single_values_hide() {
        let drifting: Vec<f64> = (0..400).map(f64::from).collect();
        let mixed: Vec<f64> = (0..400).map(|i| f64::from(i * 37 % 400)).collect();
        let spread = |series: &[f64]| batches(series, mean).map(|batches| batches.spread).unwrap();
        let (drift, mix) = (spread(&drifting), spread(&mixed));
        let whole = variance(&drifting).unwrap();
        assert!(drift > 0.9 * whole, "{drift} {whole}");
        assert!(mix < 0.1 * whole, "{mix} {whole}");
        assert_eq!(batches(&drifting[..MIN_INSTANCES - 1], mean), None);
    }

    #[test]
    fn few_runs_all_count_and_of_many_the_middle() {
        let few = over_runs(&[1.0, 2.0, 3.0]);
        assert_eq!((few.mean, few.df), (2.0, 2.0));
        assert!((few.variance - 1.0 / 3.0).abs() < 1e-12);
        let mut many = vec![1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 1.0, 1.0, 50.0];
        let with = over_runs(&many);
        many[9] = 1.2;
        let without = over_runs(&many);
        assert_eq!(with, without);
        assert_eq!(with.df, 5.0);
        assert_eq!(over_runs(&[7.0]), OverRuns { mean: 7.0, variance: 0.0, df: 0.0 });
    }
}
