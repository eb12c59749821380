//! How much longer one thing takes on one side than on the other, and how sure that is.

use super::series::Series;
use super::spread::{Batches, OverRuns, TRIM_INSTANCES, batches, mean, over_runs, trimmed_mean};
use super::student;
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// Two runs of one program differ by so much even where nothing changed: a share of their times, one
/// standard deviation. It is what a single run on each side is judged by.
const ASSUMED_SPREAD: f64 = 0.02;
/// The assumption counts like so many runs beside those that were made, so that two or three which
/// happen to agree prove nothing.
const ASSUMED_DF: f64 = 3.0;
/// With fewer runs their spread says too little by itself.
const MIN_DF: f64 = 2.0;

/// By how much something takes longer, as a share: 0.1 is 10 % slower. The interval holds together
/// with those of all other scopes at the comparison's confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The best guess.
    pub ratio: f64,
    /// The least it may be.
    pub low: f64,
    /// The most it may be.
    pub high: f64,
}

impl Change {
    /// Whether it is there at all: the interval leaves out zero.
    pub fn is_real(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// The logarithm of a ratio, and what is known of its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    log: f64,
    variance: f64,
    df: f64,
}

impl Estimate {
    /// The change, in an interval that is missed on either side with probability `tail`.
    pub(super) fn change(&self, tail: f64) -> Change {
        let reach = student::quantile(tail, self.df) * self.variance.sqrt();
        let ratio = |log: f64| log.exp_m1();
        Change {
            ratio: ratio(self.log),
            low: ratio(self.log - reach),
            high: ratio(self.log + reach),
        }
    }
}

/// What two sides tell of one thing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Compared {
    /// Of a typical instance, one of the middle half.
    pub(super) typical: Option<Estimate>,
    /// Of the mean over all instances.
    pub(super) mean: Option<Estimate>,
    /// Steps that all runs have, where they are compared step by step.
    pub(super) steps: Option<u64>,
}

/// One run's logarithm, and how that varies inside the run.
#[derive(Clone, Copy)]
struct OfRun {
    log: f64,
    within: Option<Batches>,
}

/// Compares the series of one thing, a series a run. `paired` says that the runs of the two sides
/// stand in the order in which they took turns.
pub(super) fn compare(base: &[&Series], head: &[&Series], paired: bool) -> Compared {
    let all: Vec<&Series> = base.iter().chain(head).copied().collect();
    if base.is_empty() || head.is_empty() || all.iter().any(|series| series.ns.is_empty()) {
        return Compared::default();
    }
    let common = common_steps(&all);
    let values: Vec<Vec<(u64, f64)>> =
        all.iter().map(|series| values(series, common.as_ref())).collect();
    let steps = common.as_ref().map(|steps| steps.len() as u64);
    let both = |of_run: Vec<OfRun>| {
        let (base, head) = of_run.split_at(base.len());
        if paired && base.len() > 1 { by_pairs(base, head) } else { by_sides(base, head) }
    };
    Compared {
        typical: both(typical(&values, common.is_some())),
        mean: both(values.iter().map(|of_run| mean_of(of_run)).collect()),
        steps,
    }
}

/// Steps that every run has; none when some are without steps, or they have few in common.
fn common_steps(all: &[&Series]) -> Option<HashSet<u64>> {
    let mut common: HashSet<u64> = all.first()?.steps.iter().copied().collect();
    for series in all {
        let steps: HashSet<u64> = series.steps.iter().copied().collect();
        common.retain(|step| steps.contains(step));
    }
    let fewest = all.iter().map(|series| series.steps.len()).min()?;
    (fewest > 0 && common.len() * 2 >= fewest).then_some(common)
}

fn values(series: &Series, common: Option<&HashSet<u64>>) -> Vec<(u64, f64)> {
    let steps = series.steps.iter().copied().chain(std::iter::repeat(0));
    let kept = |step: &u64| common.is_none_or(|common| common.contains(step));
    steps.zip(series.ns.iter().copied()).filter(|(step, _)| kept(step)).collect()
}

/// The middle of the logarithms, of each step against what it took in all runs together.
fn typical(runs: &[Vec<(u64, f64)>], aligned: bool) -> Vec<OfRun> {
    let log = |ns: f64| ns.max(1.0).ln();
    let count = runs.len() as f64;
    let mut usual: HashMap<u64, f64> = HashMap::new();
    if aligned {
        for &(step, ns) in runs.iter().flatten() {
            *usual.entry(step).or_default() += log(ns) / count;
        }
    }
    // A run is part of what it is compared with, which hides that part of its spread.
    let hidden = if aligned { count / (count - 1.0) } else { 1.0 };
    let middle = |values: &[f64]| trimmed_mean(values, TRIM_INSTANCES);
    let of_run = |values: &Vec<(u64, f64)>| {
        let against = |step| usual.get(&step).copied().unwrap_or(0.0);
        let logs: Vec<f64> = values.iter().map(|&(step, ns)| log(ns) - against(step)).collect();
        let within = batches(&logs, middle).map(|found| found.times(hidden));
        OfRun { log: middle(&logs), within }
    };
    runs.iter().map(of_run).collect()
}

fn mean_of(values: &[(u64, f64)]) -> OfRun {
    let ns: Vec<f64> = values.iter().map(|value| value.1).collect();
    let whole = mean(&ns).max(1.0);
    let within = batches(&ns, mean).map(|found| found.times(whole.powi(-2)));
    OfRun { log: whole.ln(), within }
}

/// Runs that took turns: what the machine did to both of a pair cancels.
fn by_pairs(base: &[OfRun], head: &[OfRun]) -> Option<Estimate> {
    let differences: Vec<f64> = base.iter().zip(head).map(|(a, b)| b.log - a.log).collect();
    blended(over_runs(&differences), base, head)
}

fn by_sides(base: &[OfRun], head: &[OfRun]) -> Option<Estimate> {
    let side = |runs: &[OfRun]| over_runs(&runs.iter().map(|run| run.log).collect::<Vec<_>>());
    let (a, b) = (side(base), side(head));
    let (count_a, count_b) = (base.len() as f64, head.len() as f64);
    let df = a.df + b.df;
    let pooled = (a.df * a.variance * count_a + b.df * b.variance * count_b) / df.max(1.0);
    let variance = pooled * (1.0 / count_a + 1.0 / count_b);
    blended(OverRuns { mean: b.mean - a.mean, variance, df }, base, head)
}

/// What the runs show; where they agree better than is assumed of them, blended with that. None
/// when neither says enough.
fn blended(shown: OverRuns, base: &[OfRun], head: &[OfRun]) -> Option<Estimate> {
    let is_shown = shown.df >= MIN_DF;
    if !is_shown && base.iter().chain(head).any(|run| run.within.is_none()) {
        return None;
    }
    // A few runs tell what differs from one to the next; a single one may differ by what it drifts.
    let of_run = |within: Batches| if is_shown { within.error } else { within.spread };
    let assumed = |runs: &[OfRun]| {
        let known: Vec<f64> = runs.iter().filter_map(|run| run.within).map(of_run).collect();
        (ASSUMED_SPREAD.powi(2) + mean(&known)) / runs.len() as f64
    };
    let assumed = assumed(base) + assumed(head);
    if is_shown && shown.variance >= assumed {
        return Some(Estimate { log: shown.mean, variance: shown.variance, df: shown.df });
    }
    let df = shown.df + ASSUMED_DF;
    let variance = (ASSUMED_DF * assumed + shown.df * shown.variance) / df;
    Some(Estimate { log: shown.mean, variance, df })
}

#[cfg(test)]
mod tests {
    use super::super::spread::MIN_INSTANCES;
    use super::*;

    /// Values around `ns` that go up and down by `wobble`, with steps.
    fn series(ns: f64, wobble: f64, count: usize) -> Series {
        let value = |i: usize| ns * (1.0 + wobble * ((i * 7919 % 101) as f64 / 50.0 - 1.0));
        Series { steps: (1..=count as u64).collect(), ns: (0..count).map(value).collect() }
    }

    fn change(base: &[Series], head: &[Series], paired: bool) -> Option<Change> {
        let (base, head): (Vec<&Series>, Vec<&Series>) =
            (base.iter().collect(), head.iter().collect());
        compare(&base, &head, paired).typical.map(|estimate| estimate.change(0.025))
    }

    #[test]
    fn one_run_each_needs_more_than_the_assumed_spread() {
        let base = [series(1e6, 0.05, 200)];
        let small = change(&base, &[series(1.04e6, 0.05, 200)], false).unwrap();
        assert!((small.ratio - 0.04).abs() < 0.002 && !small.is_real(), "{small:?}");
        let large = change(&base, &[series(1.2e6, 0.05, 200)], false).unwrap();
        assert!(large.is_real() && large.low > 0.05, "{large:?}");
    }

    #[test]
    fn too_few_instances_of_one_run_say_nothing() {
        let few = |ns| [series(ns, 0.0, MIN_INSTANCES - 1)];
        assert_eq!(change(&few(1e6), &few(2e6), false), None);
        assert_eq!(change(&few(1e6), &[Series::default()], false), None);
        let single = |ns: f64| Series { steps: Vec::new(), ns: vec![ns] };
        let runs = |factor: f64| [1.0, 1.01, 0.99].map(|by| single(1e6 * by * factor));
        assert!(change(&runs(1.0), &runs(1.2), false).unwrap().is_real());
    }

    #[test]
    fn runs_that_took_turns_cancel_what_the_machine_did_to_both() {
        let drift = [1.0, 1.3, 1.1, 1.6, 0.9];
        let runs = |factor: f64| drift.map(|by| series(1e6 * by * factor, 0.02, 100));
        let paired = change(&runs(1.0), &runs(1.1), true).unwrap();
        assert!(paired.is_real() && (paired.ratio - 0.1).abs() < 0.005, "{paired:?}");
        let apart = change(&runs(1.0), &runs(1.1), false).unwrap();
        assert!(!apart.is_real(), "{apart:?}");
    }

    #[test]
    fn steps_are_compared_with_the_same_steps() {
        // Every step is twice as long as the one before; the head stopped half way.
        let long = |count: u64, factor: f64| Series {
            steps: (1..=count).collect(),
            ns: (0..count).map(|i| 1e3 * 1.2f64.powi(i as i32) * factor).collect(),
        };
        let found = change(&[long(60, 1.0)], &[long(30, 1.2)], false).unwrap();
        assert!((found.ratio - 0.2).abs() < 1e-6 && found.is_real(), "{found:?}");
    }

    #[test]
    fn a_longer_tail_moves_the_mean_and_not_the_typical_instance() {
        let tail = |extra: f64| {
            let mut series = series(1e6, 0.01, 400);
            series.ns.iter_mut().step_by(20).for_each(|ns| *ns += extra);
            series
        };
        let runs = |extra: f64| [tail(extra), tail(extra * 1.1), tail(extra * 0.9)];
        let (base, head) = (runs(0.0), runs(1e7));
        let found =
            compare(&base.iter().collect::<Vec<_>>(), &head.iter().collect::<Vec<_>>(), true);
        let (typical, mean) = (found.typical.unwrap(), found.mean.unwrap());
        assert!(!typical.change(0.025).is_real());
        assert!(mean.change(0.025).is_real() && mean.change(0.025).ratio > 0.3);
    }
}
