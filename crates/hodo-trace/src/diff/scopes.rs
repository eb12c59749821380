//! Scopes of two sides, path by path.

use super::change::{Change, Compared, compare};
use super::profile::ScopeProfile;
use super::{DiffOptions, RunProfile, mean_of};
use crate::NamePattern;
use serde::Serialize;
use std::collections::HashSet;

/// One path on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct ScopeDiff {
    /// Names from the outermost scope to this.
    pub path: Vec<String>,
    /// What can be said of it.
    pub judgement: Judgement,
    /// The larger of its shares of the time in outermost scopes on the two sides.
    pub share: f64,
    /// What it was, the mean over the runs; none when no run has it.
    pub base: Option<ScopeNumbers>,
    /// What it is.
    pub head: Option<ScopeNumbers>,
    /// What it is less what it was; none when one side lacks it.
    pub difference: Option<ScopeNumbers>,
    /// How much longer a typical instance takes, one of the middle half.
    /// None where there is not enough data, or the scope is not judged.
    pub change: Option<Change>,
    /// How much longer the mean of all instances is.
    pub mean_change: Option<Change>,
    /// Steps that all runs have, where it is compared step by step.
    pub steps: Option<u64>,
}

/// What can be said of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// It takes longer.
    Slower,
    /// It takes less time.
    Faster,
    /// A typical instance takes as long as before, and the longest ones take longer.
    SlowerAtTimes,
    /// The same the other way round.
    FasterAtTimes,
    /// No change can be told from noise.
    Same,
    /// Too few instances and runs.
    NotEnoughData,
    /// Too small a share of the time, or not asked for.
    NotJudged,
    /// Only the head has it.
    Appeared,
    /// Only the base has it.
    Vanished,
}

impl Judgement {
    /// Whether a change was looked for and there was enough data to see one.
    pub fn is_judged(self) -> bool {
        use Judgement::{Faster, FasterAtTimes, Same, Slower, SlowerAtTimes};
        matches!(self, Slower | Faster | SlowerAtTimes | FasterAtTimes | Same)
    }

    /// Whether it takes longer, at times or always.
    pub fn is_slower(self) -> bool {
        matches!(self, Judgement::Slower | Judgement::SlowerAtTimes)
    }

    /// Whether it takes less time, at times or always.
    pub fn is_faster(self) -> bool {
        matches!(self, Judgement::Faster | Judgement::FasterAtTimes)
    }
}

/// Numbers of a path, of one run in the mean; or how they differ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScopeNumbers {
    /// Scopes.
    pub count: f64,
    /// Time inside, nanoseconds.
    pub total_ns: i64,
    /// Time inside and in no child.
    pub self_ns: i64,
    /// Time of one scope; of a difference, by how much that differs.
    pub mean_ns: i64,
    /// CPU time; none when not all scopes have it.
    pub cpu_ns: Option<i64>,
    /// Time in which GPU work ran that it or scopes inside it launched; none when not captured.
    pub gpu_busy_ns: Option<i64>,
}

impl ScopeNumbers {
    fn of(side: &[&RunProfile], path: &[String]) -> Option<ScopeNumbers> {
        let scopes: Vec<&ScopeProfile> = side.iter().filter_map(|run| run.scope(path)).collect();
        let mean = |of: &dyn Fn(&ScopeProfile) -> f64| {
            mean_of(scopes.iter().map(|scope| of(scope))) * scopes.len() as f64 / side.len() as f64
        };
        let all = |of: &dyn Fn(&ScopeProfile) -> Option<f64>| {
            let known = scopes.iter().all(|scope| of(scope).is_some());
            known.then(|| mean(&|scope| of(scope).unwrap_or(0.0)).round() as i64)
        };
        let (count, total) = (mean(&|s| s.count as f64), mean(&|s| s.total_ns));
        (!scopes.is_empty() && count > 0.0).then(|| ScopeNumbers {
            count,
            total_ns: total.round() as i64,
            self_ns: mean(&|s| s.self_ns).round() as i64,
            mean_ns: (total / count).round() as i64,
            cpu_ns: all(&|s| s.cpu_ns),
            gpu_busy_ns: all(&|s| s.gpu_ns),
        })
    }

    fn less(&self, base: &ScopeNumbers) -> ScopeNumbers {
        ScopeNumbers {
            count: self.count - base.count,
            total_ns: self.total_ns - base.total_ns,
            self_ns: self.self_ns - base.self_ns,
            mean_ns: self.mean_ns - base.mean_ns,
            cpu_ns: self.cpu_ns.zip(base.cpu_ns).map(|(b, a)| b - a),
            gpu_busy_ns: self.gpu_busy_ns.zip(base.gpu_busy_ns).map(|(b, a)| b - a),
        }
    }
}

/// Of the probability to be wrong so much goes to changes of a typical instance, the rest to changes
/// of the mean that only the longest instances make.
const FOR_TYPICAL: f64 = 0.95;

/// Every path of either side.
pub(super) fn scopes(
    base: &[&RunProfile],
    head: &[&RunProfile],
    paired: bool,
    options: &DiffOptions,
) -> Vec<ScopeDiff> {
    let rows: Vec<(ScopeDiff, Compared)> =
        paths(base, head).into_iter().map(|path| row(base, head, path, paired, options)).collect();
    let judged = rows.iter().filter(|(_, compared)| compared.typical.is_some()).count();
    let tail = (1.0 - options.confidence) / 2.0 / judged.max(1) as f64;
    let finished = rows.into_iter().map(|(mut row, compared)| {
        row.change = compared.typical.map(|e| e.change(tail * FOR_TYPICAL));
        row.mean_change = compared.mean.map(|e| e.change(tail * (1.0 - FOR_TYPICAL)));
        if let Some((typical, mean)) = row.change.zip(row.mean_change) {
            row.judgement = judge(&typical, &mean, options.min_effect);
        }
        row
    });
    finished.collect()
}

/// Paths in the order of the first run that has them, each after its parent.
fn paths<'a>(base: &[&'a RunProfile], head: &[&'a RunProfile]) -> Vec<&'a [String]> {
    let mut order: Vec<&[String]> = Vec::new();
    let mut known: HashSet<&[String]> = HashSet::new();
    for scope in base.iter().chain(head).flat_map(|run| &run.scopes) {
        let path = scope.path.as_slice();
        if known.insert(path) {
            let parent = &path[..path.len() - 1];
            let is_inside = |other: &&[String]| !parent.is_empty() && other.starts_with(parent);
            let after = order.iter().rposition(is_inside);
            order.insert(after.map_or(order.len(), |at| at + 1), path);
        }
    }
    order
}

fn row(
    base: &[&RunProfile],
    head: &[&RunProfile],
    path: &[String],
    paired: bool,
    options: &DiffOptions,
) -> (ScopeDiff, Compared) {
    let (was, is) = (ScopeNumbers::of(base, path), ScopeNumbers::of(head, path));
    let whole = |side: &[&RunProfile]| mean_of(side.iter().map(|run| run.whole_ns())).max(1.0);
    let of = |numbers: Option<ScopeNumbers>, side| {
        numbers.map_or(0.0, |numbers| numbers.total_ns as f64 / whole(side))
    };
    let share = of(was, base).max(of(is, head));
    let wanted = match options.scopes.is_empty() {
        true => share >= options.min_share,
        false => options.scopes.iter().any(|wanted| is_wanted(path, wanted)),
    };
    let mut compared = Compared::default();
    let judgement = match (was, is) {
        (Some(_), None) => Judgement::Vanished,
        (None, _) => Judgement::Appeared,
        _ if !wanted => Judgement::NotJudged,
        _ => {
            compared = of_path(base, head, path, paired);
            Judgement::NotEnoughData
        }
    };
    let difference = was.zip(is).map(|(was, is)| is.less(&was));
    let (change, mean_change) = (None, None);
    let (path, steps) = (path.to_vec(), compared.steps);
    let diff = ScopeDiff {
        path,
        judgement,
        share,
        base: was,
        head: is,
        difference,
        change,
        mean_change,
        steps,
    };
    (diff, compared)
}

fn of_path(base: &[&RunProfile], head: &[&RunProfile], path: &[String], paired: bool) -> Compared {
    let series = |side: &[&'_ RunProfile]| {
        let all: Option<Vec<_>> =
            side.iter().map(|run| run.scope(path).map(|scope| scope.series.clone())).collect();
        all
    };
    let (Some(a), Some(b)) = (series(base), series(head)) else { return Compared::default() };
    compare(&a.iter().collect::<Vec<_>>(), &b.iter().collect::<Vec<_>>(), paired)
}

/// Whether a path is meant by what a user wrote.
pub(super) fn is_wanted(path: &[String], wanted: &str) -> bool {
    let joined = path.join("/");
    let has_wildcard = wanted.contains(['*', '?']);
    joined == wanted || (has_wildcard && NamePattern::new(wanted).matches(&joined))
}

fn judge(typical: &Change, mean: &Change, min_effect: f64) -> Judgement {
    let is_there = |change: &Change| change.is_real() && change.ratio.abs() >= min_effect;
    match () {
        () if is_there(typical) && typical.ratio > 0.0 => Judgement::Slower,
        () if is_there(typical) => Judgement::Faster,
        () if is_there(mean) && mean.ratio > 0.0 => Judgement::SlowerAtTimes,
        () if is_there(mean) => Judgement::FasterAtTimes,
        () => Judgement::Same,
    }
}
