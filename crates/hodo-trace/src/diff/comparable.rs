//! What may not be compared, and what a reader should know of what is.

use super::{DiffOptions, RunProfile};
use crate::GpuMissing;
use serde::Serialize;
use std::collections::{BTreeSet, HashSet};

/// A reason not to compare two sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Obstacle {
    /// One word: `no_scopes`, `no_such_scope`, `other_machine`, `other_gpu`, `other_ranks`, `other_shape`,
    /// `mixed_side`.
    pub code: &'static str,
    /// The reason.
    pub why: String,
    /// There is nothing to compare, whatever one wants.
    #[serde(skip)]
    pub is_final: bool,
}

/// Paths with less of the time of a side in common make it another program.
const MIN_IN_COMMON: f64 = 0.5;

/// Every reason not to compare.
pub(super) fn obstacles(
    base: &[&RunProfile],
    head: &[&RunProfile],
    options: &DiffOptions,
) -> Vec<Obstacle> {
    let empty: Vec<Obstacle> = base.iter().chain(head).filter_map(|run| no_scopes(run)).collect();
    if !empty.is_empty() {
        return empty;
    }
    let found = [
        mixed_side(base),
        mixed_side(head),
        other_machine(base, head),
        other_gpu(base, head),
        other_ranks(base, head),
        other_shape(base, head),
        no_such_scope(base, head, options),
    ];
    found.into_iter().flatten().collect()
}

fn obstacle(code: &'static str, why: String) -> Option<Obstacle> {
    Some(Obstacle { code, why, is_final: false })
}

fn no_scopes(run: &RunProfile) -> Option<Obstacle> {
    let has_any = run.scopes.iter().any(|scope| !scope.series.ns.is_empty());
    let why = match run.untimed {
        0 => "it has no scope that closed",
        _ => "the times of its scopes are not known",
    };
    let why = format!("there is nothing to compare in {}: {why}", run.id);
    (!has_any).then_some(Obstacle { code: "no_scopes", why, is_final: true })
}

fn list(all: &BTreeSet<String>) -> String {
    all.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn union<'a>(sets: impl Iterator<Item = &'a BTreeSet<String>>) -> BTreeSet<String> {
    sets.flatten().cloned().collect()
}

fn other_machine(base: &[&RunProfile], head: &[&RunProfile]) -> Option<Obstacle> {
    let of = |side: &[&RunProfile]| union(side.iter().map(|run| &run.machines));
    let (a, b) = (of(base), of(head));
    let differ = !a.is_empty() && !b.is_empty() && a != b;
    let why = || format!("they ran on different machines: {} and {}", list(&a), list(&b));
    differ.then(why).and_then(|why| obstacle("other_machine", why))
}

fn other_gpu(base: &[&RunProfile], head: &[&RunProfile]) -> Option<Obstacle> {
    let of = |side: &[&RunProfile]| {
        let mut all = union(side.iter().map(|run| &run.gpus));
        let lacks = |run: &&RunProfile| matches!(run.gpu_missing, Some((GpuMissing::NoGpu, _)));
        all.extend(side.iter().any(lacks).then(|| "no GPU".to_owned()));
        all
    };
    let (a, b) = (of(base), of(head));
    let differ = !a.is_empty() && !b.is_empty() && a != b;
    let why = || format!("they ran on different GPUs: {} and {}", list(&a), list(&b));
    differ.then(why).and_then(|why| obstacle("other_gpu", why))
}

fn other_ranks(base: &[&RunProfile], head: &[&RunProfile]) -> Option<Obstacle> {
    // A run that names no rank is one rank.
    let of =
        |side: &[&RunProfile]| -> BTreeSet<usize> { side.iter().map(|r| r.ranks.max(1)).collect() };
    let (a, b) = (of(base), of(head));
    let text = |set: &BTreeSet<usize>| {
        let all: Vec<String> = set.iter().map(usize::to_string).collect();
        all.join(" or ")
    };
    let why = || format!("they ran on different numbers of ranks: {} and {}", text(&a), text(&b));
    (a != b).then(why).and_then(|why| obstacle("other_ranks", why))
}

/// Runs of one side are averaged: they must be of one program.
fn mixed_side(side: &[&RunProfile]) -> Option<Obstacle> {
    let (&first, rest) = side.split_first()?;
    let other = rest.iter().find(|run| other_shape(&[first], &[run]).is_some())?;
    let why = format!("{} and {} are on one side and have different scopes", first.id, other.id);
    obstacle("mixed_side", why)
}

fn other_shape(base: &[&RunProfile], head: &[&RunProfile]) -> Option<Obstacle> {
    let (a, b) = (paths(base), paths(head));
    let shares = [in_common(base, &b), in_common(head, &a)];
    let least = shares[0].min(shares[1]);
    let percent = (least * 100.0).round();
    let why = || {
        format!(
            "their scopes have other paths: {} and {}; only {percent} % of the time of one side is \
             in paths of both",
            outermost(base),
            outermost(head)
        )
    };
    (least < MIN_IN_COMMON).then(why).and_then(|why| obstacle("other_shape", why))
}

fn paths<'a>(side: &[&'a RunProfile]) -> HashSet<&'a [String]> {
    side.iter().flat_map(|run| &run.scopes).map(|scope| scope.path.as_slice()).collect()
}

/// The share of the time of a side that is spent in paths of the other.
fn in_common(side: &[&RunProfile], other: &HashSet<&[String]>) -> f64 {
    let scopes = || side.iter().flat_map(|run| &run.scopes);
    let all: f64 = scopes().map(|scope| scope.self_ns).sum();
    let common = scopes().filter(|scope| other.contains(scope.path.as_slice()));
    // The sum of nothing is -0, which words would show.
    let common = common.fold(0.0, |sum, scope| sum + scope.self_ns);
    if all > 0.0 { common / all } else { 1.0 }
}

fn outermost(side: &[&RunProfile]) -> String {
    const MOST: usize = 4;
    let names: BTreeSet<&String> =
        side.iter().flat_map(|run| &run.scopes).map(|scope| &scope.path[0]).collect();
    let mut shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    shown.extend((names.len() > MOST).then(|| format!("{} more", names.len() - MOST)));
    shown.join(", ")
}

fn no_such_scope(
    base: &[&RunProfile],
    head: &[&RunProfile],
    options: &DiffOptions,
) -> Option<Obstacle> {
    let (a, b) = (paths(base), paths(head));
    let is_there = |wanted: &&String| {
        a.iter().any(|path| b.contains(path) && super::scopes::is_wanted(path, wanted))
    };
    let missing: Vec<&str> =
        options.scopes.iter().filter(|w| !is_there(w)).map(String::as_str).collect();
    let why = format!("no scope of both sides has the path {}", missing.join(", "));
    (!missing.is_empty()).then_some(Obstacle { code: "no_such_scope", why, is_final: true })
}

/// What is worth knowing of runs that are compared.
pub(super) fn notes(base: &[&RunProfile], head: &[&RunProfile]) -> Vec<String> {
    let mut notes = Vec::new();
    if base.len() == 1 || head.len() == 1 {
        notes.push(
            "one run of a side says nothing of how runs differ by themselves, so a spread of 2 % is \
             assumed; several of each, taking turns, tell it"
                .to_owned(),
        );
    }
    let apps = |side: &[&RunProfile]| -> BTreeSet<String> {
        side.iter().map(|run| run.app.clone()).collect()
    };
    if apps(base) != apps(head) {
        notes.push(format!(
            "they are called differently: {} and {}",
            list(&apps(base)),
            list(&apps(head))
        ));
    }
    for run in base.iter().chain(head) {
        notes.extend(run.is_live.then(|| format!("{} is still running", run.id)));
        let lost = || format!("{} lost {} records, which are part of no number", run.id, run.lost);
        notes.extend((run.lost > 0).then(lost));
    }
    let captured = |side: &[&RunProfile]| side.iter().filter(|run| run.gpu_captured).count();
    let some = captured(base) + captured(head);
    if some > 0 && some < base.len() + head.len() {
        let without = base.iter().chain(head).find(|run| !run.gpu_captured);
        let why = without.and_then(|run| run.gpu_missing.as_ref().map(|m| (run, &m.1)));
        notes
            .extend(why.map(|(run, why)| format!("the GPU was not captured in {}: {why}", run.id)));
    }
    notes
}
