//! A comparison in sentences, the same in text and Markdown.

use crate::term::number::{duration, percent, signed_percent};
use crate::term::text::{self, plural};
use hodo_trace::{Change, Diff, Explanation, Gate, Judgement, Part, Regression, ScopeDiff};

/// A path as people write it.
pub fn path(names: &[String]) -> String {
    text::safe(&names.join("/"))
}

/// `+9.8% (+7.1% to +12.6%)`.
pub fn change(change: &Change) -> String {
    format!("{} ({})", signed_percent(change.ratio), interval(change))
}

/// `+7.1% to +12.6%`.
pub fn interval(change: &Change) -> String {
    format!("{} to {}", signed_percent(change.low), signed_percent(change.high))
}

/// The word of a judgement.
pub fn judgement(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Slower => "slower",
        Judgement::Faster => "faster",
        Judgement::SlowerAtTimes => "slower at times",
        Judgement::FasterAtTimes => "faster at times",
        Judgement::Same => "no change",
        Judgement::NotEnoughData => "not enough data",
        Judgement::NotJudged => "",
        Judgement::Appeared => "appeared",
        Judgement::Vanished => "vanished",
    }
}

/// What the comparison comes to: a sentence for every outermost scope that changed, for other scopes
/// that did where theirs cannot be told, or one that says that nothing did. What a gate says is not
/// said again.
pub fn headlines(diff: &Diff, gate: Option<&Gate>) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for explanation in &diff.explanations {
        let scope = diff.scopes.iter().find(|scope| scope.path == explanation.path);
        let Some(scope) = scope else { continue };
        if changed(scope) {
            said.push(outermost(scope, explanation));
        } else {
            said.extend(inside(diff, gate, explanation));
        }
    }
    if said.is_empty() && gate.is_none() {
        said.push(nothing(diff));
    }
    said
}

fn changed(scope: &ScopeDiff) -> bool {
    scope.judgement.is_slower() || scope.judgement.is_faster()
}

/// The change that the judgement is about.
pub fn told(scope: &ScopeDiff) -> Option<Change> {
    match scope.judgement {
        Judgement::SlowerAtTimes | Judgement::FasterAtTimes => scope.mean_change,
        _ => scope.change,
    }
}

/// `step is 9.8% slower (+7.1% to +12.6%), 8.02 ms → 8.80 ms: 96% of that is in step/load`.
fn outermost(scope: &ScopeDiff, explanation: &Explanation) -> String {
    format!("{}{}", one(scope), because(explanation, scope.judgement.is_slower()))
}

fn one(scope: &ScopeDiff) -> String {
    let Some(change) = told(scope) else { return path(&scope.path) };
    let by = percent(change.ratio.abs());
    let means = scope.base.zip(scope.head).map_or_else(String::new, |(was, is)| {
        format!(", {} → {}", duration(was.mean_ns as f64), duration(is.mean_ns as f64))
    });
    let word = judgement(scope.judgement);
    format!("{} is {by} {word} ({}){means}", path(&scope.path), interval(&change))
}

/// Scopes that changed inside one whose own change cannot be told.
fn inside(diff: &Diff, gate: Option<&Gate>, explanation: &Explanation) -> Vec<String> {
    let root = &explanation.path[0];
    let is_said = |path: &[String]| {
        gate.is_some_and(|gate| gate.regressions.iter().any(|found| found.path == path))
    };
    let within =
        |scope: &&ScopeDiff| scope.path[0] == *root && changed(scope) && !is_said(&scope.path);
    let mut all: Vec<&ScopeDiff> = diff.scopes.iter().filter(within).collect();
    let size = |scope: &ScopeDiff| told(scope).map_or(0.0, |change| change.ratio.abs());
    all.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let sentence = |scope: &ScopeDiff| {
        format!("{}; no change of {} as a whole can be told", one(scope), text::safe(root))
    };
    all.into_iter().take(MOST_PARTS).map(sentence).collect()
}

const MOST_PARTS: usize = 3;
/// A part with less of the difference is not worth naming.
const LEAST_NAMED: f64 = 0.1;

/// Where the difference is, and of what sort.
fn because(explanation: &Explanation, slower: bool) -> String {
    let same_way = |part: &&Part| {
        let large = part.share.is_some_and(|share| share >= LEAST_NAMED);
        part.real && large && (part.difference_ns > 0) == slower
    };
    let parts: Vec<&Part> = explanation.parts.iter().filter(same_way).take(MOST_PARTS).collect();
    let same_way = |ns: i64| (ns > 0) == slower;
    if parts.is_empty() || !same_way(explanation.difference_ns) || !same_way(explanation.parts_ns) {
        return String::new();
    }
    let named = |part: &&Part| {
        let share = percent(part.share.unwrap_or(0.0).min(1.0));
        let itself = part.path.len() == 1 && part.path == explanation.path;
        let place = if itself { "its own code".to_owned() } else { path(&part.path) };
        format!("{share} in {place}{}", sort(part))
    };
    let named: Vec<String> = parts.iter().map(named).collect();
    let whole =
        if explanation.parallel { "of the work inside, over all threads," } else { "of that" };
    format!("; {whole} {}", named.join(", "))
}

/// Whether it is opened more often, computes more or waits longer.
fn sort(part: &Part) -> String {
    let of = |ns: i64| ns as f64 / part.difference_ns as f64;
    let mut words = Vec::new();
    if of(part.by_count_ns) >= 0.5 {
        words.push(if part.by_count_ns > 0 { "opened more often" } else { "opened less often" });
    } else if let Some(cpu) = part.cpu_ns {
        words.push(match of(cpu) {
            share if share >= 0.7 => "CPU time",
            share if share <= 0.3 => "waiting",
            _ => "CPU time and waiting",
        });
    }
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

fn nothing(diff: &Diff) -> String {
    if diff.judged == 0 {
        return "not enough data: too few instances and runs to tell a change from noise"
            .to_owned();
    }
    let scopes = plural(diff.judged as u64, "scope");
    let seen = diff.scopes.iter().filter(|scope| scope.path.len() == 1).filter_map(told);
    let least = seen.map(|change| (change.high - change.low) / 2.0).fold(0.0, f64::max);
    let least = if least > 0.0 {
        format!("; a change of {} of an outermost scope would have been", percent(least))
    } else {
        String::new()
    };
    format!("no change in {scopes} can be told from noise{least}")
}

/// What a line of a gate means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// All is well.
    Good,
    /// A regression, or nothing to judge by.
    Bad,
    /// It cannot be told.
    Unclear,
}

/// What a gate says, a line each.
pub fn gate(gate: &Gate) -> Vec<(Sign, String)> {
    let max = format!("{}%", (gate.max * 1e4).round() / 1e2);
    let slower = |found: &Regression| {
        let at_times = if found.at_times { " at times, in the mean" } else { "" };
        let by = percent(found.change.ratio);
        let words = format!(
            "{} is {by} slower{at_times} ({}), more than {max}",
            path(&found.path),
            interval(&found.change)
        );
        (Sign::Bad, words)
    };
    let mut lines: Vec<(Sign, String)> = gate.regressions.iter().map(slower).collect();
    if gate.judged == 0 {
        let words = "not enough data: record more steps, or several runs of each";
        lines.push((Sign::Bad, words.to_owned()));
    } else if lines.is_empty() {
        let scopes = plural(gate.judged as u64, "scope");
        lines.push((Sign::Good, format!("none of {scopes} is slower by more than {max}")));
    }
    let unclear: Vec<String> = gate.unclear.iter().map(|names| path(names)).collect();
    if !unclear.is_empty() {
        let words = format!(
            "too noisy to tell whether {} is slower by more than {max}: record more runs, taking turns",
            unclear.join(", ")
        );
        lines.push((Sign::Unclear, words));
    }
    lines
}

/// `3 runs → 3 runs, taking turns`.
pub fn runs(diff: &Diff) -> String {
    let side = |ids: &[String]| match ids {
        [only] => text::safe(only),
        many => plural(many.len() as u64, "run"),
    };
    let turns = if diff.paired { ", taking turns" } else { "" };
    format!("{} → {}{turns}", side(&diff.base), side(&diff.head))
}
