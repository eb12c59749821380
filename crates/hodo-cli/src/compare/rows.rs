//! Rows that a comparison shows, the same in text and Markdown.

use super::words;
use crate::term::number::{self, duration, signed_duration, signed_percent};
use hodo_trace::{Diff, Judgement, KernelDiff, ScopeDiff, ScopeNumbers};

/// The titles of [`scope`].
pub const SCOPE_TITLES: [&str; 11] = [
    "scope", "", "change", "interval", "mean was", "mean is", "total", "self", "count", "CPU",
    "GPU",
];

/// The titles of [`kernel`].
pub const KERNEL_TITLES: [&str; 7] =
    ["kernel", "", "change", "mean was", "mean is", "total", "count"];

/// Kernels shown at most.
const MOST_KERNELS: usize = 12;

/// Scopes worth a row.
pub fn scopes(diff: &Diff, all: bool) -> Vec<&ScopeDiff> {
    const MIN_SHARE: f64 = 0.01;
    let worth = |scope: &&ScopeDiff| {
        all || (scope.judgement != Judgement::NotJudged && scope.share >= MIN_SHARE)
            || scope.judgement.is_judged()
    };
    diff.scopes.iter().filter(worth).collect()
}

/// Kernels worth a row: those that changed, appeared or vanished.
pub fn kernels(diff: &Diff, all: bool) -> Vec<&KernelDiff> {
    let worth = |kernel: &&KernelDiff| {
        let kinds = [Judgement::Same, Judgement::NotJudged, Judgement::NotEnoughData];
        all || !kinds.contains(&kernel.judgement) || more_often(kernel)
    };
    let most = if all { usize::MAX } else { MOST_KERNELS };
    diff.kernels.iter().flatten().filter(worth).take(most).collect()
}

/// Whether it is launched more or less often than before in one outermost scope.
fn more_often(kernel: &KernelDiff) -> bool {
    const LEAST: f64 = 0.05;
    let each = |n: &hodo_trace::KernelNumbers| n.count_each.unwrap_or(n.count);
    let ratio = kernel.base.zip(kernel.head).map(|(was, is)| each(&is) / each(&was) - 1.0);
    ratio.is_some_and(|ratio| ratio.abs() >= LEAST)
}

/// The cells of a scope, below [`SCOPE_TITLES`]; the name comes from the caller.
pub fn scope(scope: &ScopeDiff) -> Vec<String> {
    let change = words::told(scope);
    let mean = |side: Option<ScopeNumbers>| {
        side.map_or("–".to_owned(), |numbers| duration(numbers.mean_ns as f64))
    };
    let of = |value: &dyn Fn(&ScopeNumbers) -> Option<i64>| {
        scope.difference.as_ref().and_then(value).map_or("–".to_owned(), signed_duration)
    };
    let mut cells = vec![
        words::judgement(scope.judgement).to_owned(),
        change.map(|change| signed_percent(change.ratio)).unwrap_or_default(),
        change.map(|change| words::interval(&change)).unwrap_or_default(),
        mean(scope.base),
        mean(scope.head),
    ];
    match scope.difference {
        None => cells.extend(alone(scope)),
        Some(difference) => cells.extend([
            of(&|numbers| Some(numbers.total_ns)),
            of(&|numbers| Some(numbers.self_ns)),
            signed_count(difference.count),
            of(&|numbers| numbers.cpu_ns),
            of(&|numbers| numbers.gpu_busy_ns),
        ]),
    }
    cells
}

/// Of a scope that one side lacks, what the other has.
fn alone(scope: &ScopeDiff) -> [String; 5] {
    let (numbers, sign) = match (scope.base, scope.head) {
        (Some(was), _) => (Some(was), -1),
        (_, is) => (is, 1),
    };
    let of = |value: Option<i64>| value.map_or("–".to_owned(), |ns| signed_duration(ns * sign));
    let has = |value: &dyn Fn(&ScopeNumbers) -> Option<i64>| of(numbers.as_ref().and_then(value));
    [
        has(&|n| Some(n.total_ns)),
        has(&|n| Some(n.self_ns)),
        numbers.map_or(String::new(), |n| signed_count(n.count * sign as f64)),
        has(&|n| n.cpu_ns),
        has(&|n| n.gpu_busy_ns),
    ]
}

/// The cells of a kernel, below [`KERNEL_TITLES`].
pub fn kernel(kernel: &KernelDiff) -> Vec<String> {
    let mean = |side: Option<hodo_trace::KernelNumbers>| {
        side.map_or("–".to_owned(), |numbers| duration(numbers.mean_ns as f64))
    };
    let counts = |side: Option<hodo_trace::KernelNumbers>| side.map_or(0.0, |n| n.count);
    vec![
        words::judgement(kernel.judgement).to_owned(),
        kernel.change.map(|change| words::change(&change)).unwrap_or_default(),
        mean(kernel.base),
        mean(kernel.head),
        signed_duration(kernel.difference_ns()),
        signed_count(counts(kernel.head) - counts(kernel.base)),
    ]
}

/// A difference of counts; runs of one side may differ, so it need not be whole.
fn signed_count(difference: f64) -> String {
    let size = difference.abs();
    let whole = (size - size.round()).abs() < 0.05;
    let text = if whole { number::count(size.round() as u64) } else { number::digits(size) };
    match difference {
        d if d.abs() < 0.05 => "0".to_owned(),
        d if d > 0.0 => format!("+{text}"),
        _ => format!("-{text}"),
    }
}
