//! What a change is made of: the parts of an outermost scope's time that no child covers.

use super::change::{Change, compare};
use super::profile::ScopeProfile;
use super::scopes::{Judgement, ScopeDiff};
use super::series::Series;
use super::spread::{TRIM_INSTANCES, TRIM_RUNS, trimmed_mean};
use super::{DiffOptions, RunProfile};
use serde::Serialize;

/// What an outermost scope's change is made of.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The scope.
    pub path: Vec<String>,
    /// What can be said of it.
    pub judgement: Judgement,
    /// What the difference and its parts are of.
    pub of: DifferenceOf,
    /// How much longer one of them takes, nanoseconds.
    pub difference_ns: i64,
    /// That as a share of what it took.
    pub ratio: f64,
    /// The sum of all parts. Where scopes inside ran at the same time, on other threads, it is
    /// another than the difference.
    pub parts_ns: i64,
    /// Whether they did: own times of scopes inside then add up to more than it took.
    pub parallel: bool,
    /// Where the difference is, in both directions: first what cannot be noise, most first.
    pub parts: Vec<Part>,
}

/// What of many instances a number is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceOf {
    /// Of a typical one, of the middle half.
    Typical,
    /// Of all of them: where only the longest changed, or too few are there to tell.
    Mean,
}

/// A scope's own part of the difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The scope.
    pub path: Vec<String>,
    /// How much more of its own time there is in one outermost scope, nanoseconds.
    pub difference_ns: i64,
    /// That as a share of the sum of all parts; none when that is nothing.
    pub share: Option<f64>,
    /// Of the difference, what comes from its being opened more often.
    pub by_count_ns: i64,
    /// How much more of its own CPU time there is; less than the difference where it waits longer.
    /// None when not captured.
    pub cpu_ns: Option<i64>,
    /// How much more its own time is, in an interval that holds together with those of the other
    /// parts; none where there is not enough data or one side lacks the scope.
    pub change: Option<Change>,
    /// Whether the difference cannot be noise: the interval leaves out zero, or one side lacks the
    /// scope.
    pub real: bool,
}

/// Smaller parts explain nothing.
const MIN_SHARE: f64 = 0.01;

/// An explanation for every outermost scope of both sides, most time first.
pub(super) fn explain(
    base: &[&RunProfile],
    head: &[&RunProfile],
    paired: bool,
    options: &DiffOptions,
    scopes: &[ScopeDiff],
) -> Vec<Explanation> {
    let both =
        |scope: &&ScopeDiff| scope.path.len() == 1 && scope.base.is_some() && scope.head.is_some();
    let mut outermost: Vec<&ScopeDiff> = scopes.iter().filter(both).collect();
    outermost.sort_by(|a, b| b.share.total_cmp(&a.share));
    outermost
        .iter()
        .map(|scope| {
            let mut found = one(base, head, scope, scopes);
            judge(&mut found.parts, base, head, paired, options);
            found
        })
        .collect()
}

fn one(
    base: &[&RunProfile],
    head: &[&RunProfile],
    outermost: &ScopeDiff,
    scopes: &[ScopeDiff],
) -> Explanation {
    let of = of(outermost);
    let side = |runs| Side { runs, outermost: &outermost.path, of };
    let (base, head) = (side(base), side(head));
    let inside = || scopes.iter().filter(|scope| scope.path[0] == outermost.path[0]);
    let each: Vec<(&[String], Each, Each)> = inside()
        .map(|scope| (scope.path.as_slice(), base.each(&scope.path), head.each(&scope.path)))
        .collect();
    let sum: f64 = each.iter().map(|(_, was, is)| is.own - was.own).sum();
    let mut parts: Vec<Part> =
        each.iter().map(|(path, was, is)| part(path, was, is, sum)).collect();
    parts.retain(|part| part.difference_ns.unsigned_abs() as f64 >= MIN_SHARE * sum.abs());
    parts.retain(|part| part.difference_ns != 0);
    parts.sort_by_key(|part| std::cmp::Reverse(part.difference_ns.abs()));
    let (difference, ratio) = difference(outermost, &base);
    Explanation {
        path: outermost.path.clone(),
        judgement: outermost.judgement,
        of,
        difference_ns: difference.round() as i64,
        ratio,
        parts_ns: sum.round() as i64,
        parallel: [base.runs, head.runs].concat().iter().any(|run| {
            let own = inside().filter_map(|scope| run.scope(&scope.path)).map(|s| s.self_ns).sum();
            is_parallel(own, run.scope(&outermost.path).map_or(0.0, |scope| scope.total_ns))
        }),
        parts,
    }
}

/// What a judgement is of: the change that was told.
fn of(outermost: &ScopeDiff) -> DifferenceOf {
    let at_times = [Judgement::SlowerAtTimes, Judgement::FasterAtTimes];
    let is_typical = outermost.change.is_some() && !at_times.contains(&outermost.judgement);
    if is_typical { DifferenceOf::Typical } else { DifferenceOf::Mean }
}

/// How much longer the scope itself takes, and that as a share: what its row says.
fn difference(outermost: &ScopeDiff, base: &Side<'_>) -> (f64, f64) {
    if let Some(change) = outermost.change.filter(|_| base.of == DifferenceOf::Typical) {
        return (change.ratio * base.typical_ns(), change.ratio);
    }
    let was = outermost.base.map_or(0, |base| base.mean_ns) as f64;
    let difference = outermost.difference.map_or(0, |difference| difference.mean_ns) as f64;
    (difference, if was > 0.0 { difference / was } else { 0.0 })
}

/// Own times are rounded; by so much they may be more than the whole and are not parallel.
const ROUNDING: f64 = 0.001;

fn is_parallel(own_ns: f64, whole_ns: f64) -> bool {
    own_ns > whole_ns * (1.0 + ROUNDING)
}

/// Says which parts cannot be noise, and puts them first.
fn judge(
    parts: &mut [Part],
    base: &[&RunProfile],
    head: &[&RunProfile],
    paired: bool,
    options: &DiffOptions,
) {
    let own = |side: &[&RunProfile], path: &[String]| -> Option<Vec<Series>> {
        side.iter().map(|run| run.scope(path).map(|scope| scope.own.clone())).collect()
    };
    let tail = (1.0 - options.confidence) / 2.0 / parts.len().max(1) as f64;
    for part in parts.iter_mut() {
        let Some((a, b)) = own(base, &part.path).zip(own(head, &part.path)) else { continue };
        let (a, b): (Vec<&Series>, Vec<&Series>) = (a.iter().collect(), b.iter().collect());
        part.change = compare(&a, &b, paired).typical.map(|estimate| estimate.change(tail));
        part.real = part.change.is_some_and(|change| change.is_real());
    }
    parts.sort_by_key(|part| (!part.real, std::cmp::Reverse(part.difference_ns.abs())));
}

fn part(path: &[String], was: &Each, is: &Each, whole: f64) -> Part {
    let difference = is.own - was.own;
    // Opened more often at the cost it had; a scope that is new is all of that.
    let cost = if was.count > 0.0 { was.own / was.count } else { is.own / is.count.max(1e-9) };
    let by_count = (is.count - was.count) * cost;
    let cpu = is.own_cpu.zip(was.own_cpu).map(|(is, was)| (is - was).round() as i64);
    Part {
        path: path.to_vec(),
        difference_ns: difference.round() as i64,
        share: (whole != 0.0).then(|| difference / whole),
        by_count_ns: by_count.round() as i64,
        cpu_ns: cpu,
        change: None,
        real: true,
    }
}

/// A side, of whose runs the middle counts: one that had to share its machine explains nothing.
struct Side<'a> {
    runs: &'a [&'a RunProfile],
    outermost: &'a [String],
    of: DifferenceOf,
}

/// A path's numbers in one outermost scope.
struct Each {
    own: f64,
    count: f64,
    own_cpu: Option<f64>,
}

impl Side<'_> {
    fn each(&self, path: &[String]) -> Each {
        let own = |scope: &ScopeProfile| match self.of {
            DifferenceOf::Typical => {
                trimmed_mean(&scope.own.ns, TRIM_INSTANCES) * scope.count as f64
            }
            DifferenceOf::Mean => scope.self_ns,
        };
        let cpu: Option<Vec<f64>> = self.runs.iter().map(|run| own_cpu(run, path)).collect();
        let mut cpu = cpu.unwrap_or_default().into_iter();
        Each {
            own: self.middle(|run| run.scope(path).map_or(0.0, own)),
            count: self.middle(|run| run.scope(path).map_or(0.0, |scope| scope.count as f64)),
            own_cpu: (cpu.len() > 0).then(|| self.middle(|_| cpu.next().unwrap_or(0.0))),
        }
    }

    /// How long a typical outermost scope takes.
    fn typical_ns(&self) -> f64 {
        let of = |run: &&RunProfile| {
            let series = run.scope(self.outermost).map(|scope| scope.series.ns.as_slice());
            trimmed_mean(series.unwrap_or_default(), TRIM_INSTANCES)
        };
        trimmed_mean(&self.runs.iter().map(of).collect::<Vec<_>>(), TRIM_RUNS)
    }

    /// The middle over the runs of a number divided by that of outermost scopes.
    fn middle(&self, mut of: impl FnMut(&RunProfile) -> f64) -> f64 {
        let count = |run: &RunProfile| run.scope(self.outermost).map_or(1, |scope| scope.count);
        let values: Vec<f64> =
            self.runs.iter().map(|run| of(run) / count(run).max(1) as f64).collect();
        trimmed_mean(&values, TRIM_RUNS)
    }
}

/// CPU time of a path in none of its children; zero where the run lacks the path.
fn own_cpu(run: &RunProfile, path: &[String]) -> Option<f64> {
    let Some(scope) = run.scope(path) else { return Some(0.0) };
    let is_child =
        |other: &&ScopeProfile| other.path.len() == path.len() + 1 && other.path.starts_with(path);
    let inside: Option<f64> = run.scopes.iter().filter(is_child).map(|child| child.cpu_ns).sum();
    Some((scope.cpu_ns? - inside?).max(0.0))
}
