//! Kernels that appeared, vanished or changed.

use super::change::{Change, Compared, compare};
use super::scopes::Judgement;
use super::series::Series;
use super::{DiffOptions, RunProfile, mean_of};
use serde::Serialize;
use std::collections::BTreeSet;

/// Kernels of one short name on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct KernelDiff {
    /// The name.
    pub name: String,
    /// What can be said of one of them.
    pub judgement: Judgement,
    /// What they were, the mean over the runs; none when there were none.
    pub base: Option<KernelNumbers>,
    /// What they are.
    pub head: Option<KernelNumbers>,
    /// How much longer a typical one takes; none where there is not enough data.
    pub change: Option<Change>,
}

/// Numbers of a kernel, of one run in the mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KernelNumbers {
    /// How many.
    pub count: f64,
    /// How many in one of the outermost scopes that take most of the time; none when those are not
    /// on both sides.
    pub count_each: Option<f64>,
    /// Their time, nanoseconds.
    pub total_ns: i64,
    /// The mean of one.
    pub mean_ns: i64,
}

/// Every kernel of either side, the largest difference of total time first; none when the GPU was
/// not captured in every run.
pub(super) fn kernels(
    base: &[&RunProfile],
    head: &[&RunProfile],
    paired: bool,
    options: &DiffOptions,
) -> Option<Vec<KernelDiff>> {
    if !base.iter().chain(head).all(|run| run.gpu_captured) {
        return None;
    }
    let names: BTreeSet<&String> =
        base.iter().chain(head).flat_map(|run| run.kernels.keys()).collect();
    let rows: Vec<(KernelDiff, Compared)> =
        names.into_iter().map(|name| row(base, head, name, paired, options)).collect();
    let judged = rows.iter().filter(|row| row.1.typical.is_some()).count();
    let tail = (1.0 - options.confidence) / 2.0 / judged.max(1) as f64;
    let finish = |(mut row, compared): (KernelDiff, Compared)| {
        row.change = compared.typical.map(|estimate| estimate.change(tail));
        if let Some(change) = row.change {
            row.judgement = match change.is_real() && change.ratio.abs() >= options.min_effect {
                false => Judgement::Same,
                true if change.ratio > 0.0 => Judgement::Slower,
                true => Judgement::Faster,
            };
        }
        row
    };
    let mut finished: Vec<KernelDiff> = rows.into_iter().map(finish).collect();
    finished.sort_by_key(|row| std::cmp::Reverse(row.difference_ns().abs()));
    Some(finished)
}

impl KernelDiff {
    /// By how much their time differs, nanoseconds a run.
    pub fn difference_ns(&self) -> i64 {
        let total = |side: &Option<KernelNumbers>| side.map_or(0, |numbers| numbers.total_ns);
        total(&self.head) - total(&self.base)
    }
}

fn row(
    base: &[&RunProfile],
    head: &[&RunProfile],
    name: &str,
    paired: bool,
    options: &DiffOptions,
) -> (KernelDiff, Compared) {
    let unit = most_time(base, head);
    let (was, is) = (numbers(base, name, unit), numbers(head, name, unit));
    let share = |side: &[&RunProfile], numbers: Option<KernelNumbers>| {
        let all = mean_of(side.iter().map(|run| all_ns(run))).max(1.0);
        numbers.map_or(0.0, |numbers| numbers.total_ns as f64 / all)
    };
    let share = share(base, was).max(share(head, is));
    let mut compared = Compared::default();
    let judgement = match (was, is) {
        (Some(_), None) => Judgement::Vanished,
        (None, _) => Judgement::Appeared,
        _ if share < options.min_share => Judgement::NotJudged,
        _ => {
            let series = |side: &[&RunProfile]| -> Vec<Series> {
                side.iter().map(|r| r.kernels.get(name).cloned().unwrap_or_default()).collect()
            };
            let (a, b) = (series(base), series(head));
            compared =
                compare(&a.iter().collect::<Vec<_>>(), &b.iter().collect::<Vec<_>>(), paired);
            Judgement::NotEnoughData
        }
    };
    let name = name.to_owned();
    (KernelDiff { name, judgement, base: was, head: is, change: None }, compared)
}

fn all_ns(run: &RunProfile) -> f64 {
    run.kernels.values().flat_map(|series| &series.ns).sum()
}

/// The outermost scope of both sides that takes most of the time: kernels are counted in it.
fn most_time<'a>(base: &[&'a RunProfile], head: &[&RunProfile]) -> Option<&'a [String]> {
    let first = base.first()?;
    let shared = |path: &[String]| head.iter().chain(base).all(|run| run.scope(path).is_some());
    let outermost = first.scopes.iter().filter(|s| s.path.len() == 1 && shared(&s.path));
    let most = outermost.max_by(|a, b| a.total_ns.total_cmp(&b.total_ns))?;
    Some(&most.path)
}

fn numbers(side: &[&RunProfile], name: &str, unit: Option<&[String]>) -> Option<KernelNumbers> {
    let of = |run: &RunProfile| run.kernels.get(name).map(|series| series.ns.clone());
    let mean = |value: &dyn Fn(&RunProfile) -> f64| mean_of(side.iter().map(|run| value(run)));
    let count_of = |run: &RunProfile| of(run).map_or(0.0, |ns| ns.len() as f64);
    let count = mean(&count_of);
    let total = mean(&|run| of(run).map_or(0.0, |ns| ns.iter().sum()));
    let units = |run: &RunProfile| unit.and_then(|u| run.scope(u)).map_or(1.0, |s| s.count as f64);
    (count > 0.0).then(|| KernelNumbers {
        count,
        count_each: unit.map(|_| mean(&|run| count_of(run) / units(run).max(1.0))),
        total_ns: total.round() as i64,
        mean_ns: (total / count).round() as i64,
    })
}
