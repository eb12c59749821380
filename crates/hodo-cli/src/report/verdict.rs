//! What the run is bound by, why, and what to try.

use super::{View, heading};
use crate::term::number::{duration, percent};
use crate::term::style::{self, DIM, PLAIN};
use crate::term::text;
use hodo_trace::{Bound, Cause, CauseSum, GpuLedger, HostLedger, Verdict};

/// Causes with a smaller share are left out of the sentence.
const MIN_SHARE: f64 = 0.005;

/// Whether the report has it: no scope is left out, and some have a time. It then says why there
/// is nothing of the GPU.
pub fn is_shown(view: &View<'_>) -> bool {
    hodo_trace::all_shown(view.run, view.tree) && view.tree.scopes_ns() > 0
}

/// The section.
pub fn text(view: &View<'_>) -> String {
    let verdict = is_shown(view).then(|| hodo_trace::verdict(view.run, view.tree)).flatten();
    let Some(verdict) = verdict else { return String::new() };
    let first = text::wrap(&format!("{}: {}", verdict.bound.word(), why(&verdict)), room(view, 9));
    let mut out = String::new();
    for (at, line) in first.iter().enumerate() {
        out += &if at == 0 { heading("Verdict", line) } else { format!("         {line}\n") };
    }
    out += &lines(view, PLAIN, &numbers(&verdict));
    out + &lines(view, DIM, &format!("try: {}", verdict.advice.join("; or ")))
}

fn room(view: &View<'_>, indent: usize) -> usize {
    view.width.saturating_sub(indent)
}

fn lines(view: &View<'_>, style: anstyle::Style, words: &str) -> String {
    let lines = text::wrap(words, room(view, 2));
    lines.iter().map(|line| format!("  {}\n", style::paint(style, line))).collect()
}

/// What is said of a bound, with its share of the time.
fn why(verdict: &Verdict) -> String {
    let share = percent(verdict.share);
    let has_gpu = verdict.gpu.is_some();
    let what = match verdict.bound {
        Bound::Gpu => return format!("the GPU computes {share} of the time"),
        Bound::Input if has_gpu => format!("the GPU waits for input {share} of the time"),
        Bound::Input => format!("{share} of the time in scopes is waiting for input"),
        Bound::Launch => format!("the GPU waits for launches of small work {share} of the time"),
        Bound::Sync => {
            format!("{share} of the time the GPU has nothing to do because the host waited for it")
        }
        Bound::Cpu if has_gpu => format!("the GPU waits for work of the host {share} of the time"),
        Bound::Cpu => format!("{share} of the time in scopes is on the CPU"),
        Bound::Copy => format!("{share} of the time only copies run on the GPU"),
        Bound::Waiting => format!("{share} of the time in scopes is off the CPU"),
        Bound::Unknown => format!("for {share} of the time no scope tells why"),
    };
    let place = verdict.scope.as_ref().map(|path| text::safe(&path.join("/")));
    place.map_or(what.clone(), |place| format!("{what}, most of it in {place}"))
}

fn numbers(verdict: &Verdict) -> String {
    let mut parts = Vec::new();
    parts.extend(verdict.gpu.as_ref().map(of_gpu));
    parts.extend(verdict.host.as_ref().map(of_host));
    let absent = verdict.gpu_missing.as_ref();
    parts.extend(absent.map(|absent| format!("GPU not captured: {}", text::safe(&absent.why))));
    parts.join(" · ")
}

fn of_gpu(gpu: &GpuLedger) -> String {
    let of = |ns: u64| percent(ns as f64 / gpu.window_ns.max(1) as f64);
    let mut out = format!(
        "of {} in scopes the GPU computes {}, and is idle {}",
        duration(gpu.window_ns as f64),
        of(gpu.computing_ns),
        of(gpu.idle_ns)
    );
    let causes = listed(&gpu.causes);
    out += &(if causes.is_empty() { String::new() } else { format!(": {causes}") });
    let unseen = gpu.causes.first().is_some_and(|sum| sum.cause == Cause::Host);
    if unseen && !gpu.waits_recorded {
        out += "; waits for the GPU were not recorded and may be part of host work \
                (HODO_GPU_KINDS=kernels,copies,sets,syncs)";
    }
    out
}

fn of_host(host: &HostLedger) -> String {
    format!("of {} in scopes {}", duration(host.scopes_ns as f64), listed(&host.causes))
}

fn listed(causes: &[CauseSum]) -> String {
    let large = causes.iter().filter(|sum| sum.share >= MIN_SHARE);
    let named: Vec<String> =
        large.map(|sum| format!("{} {}", sum.cause.words(), percent(sum.share))).collect();
    named.join(", ")
}
