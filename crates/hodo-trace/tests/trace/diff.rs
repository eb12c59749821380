//! Runs compared from their files.

use crate::support::{Records, TestRun};
use hodo_format::record::{SpanId, flag};
use hodo_trace::{DiffOptions, DifferenceOf, Judgement, RunProfile, ScopeDiff, diff};

const US: u64 = 1_000;

/// Sixty steps of some `layers`; `load` takes `by` times as long.
fn steps(by: f64, layers: u64) -> RunProfile {
    some_steps(0..60, 0, by, layers)
}

/// Steps whose `load` is longer by `growth` microseconds than that of the one before.
fn some_steps(indices: std::ops::Range<u64>, growth: u64, by: f64, layers: u64) -> RunProfile {
    let mut r = Records::new(1);
    let mut now = 1000;
    for index in indices {
        let begin = now;
        let step = r.id(1);
        let load = ((100 + growth * index) as f64 * by) as u64 * US;
        r.scope(1, step, "load", now, now + load);
        now += load;
        for _ in 0..layers {
            r.scope(1, step, "layer", now, now + 50 * US);
            now += 50 * US;
        }
        let span = r.span(step, SpanId::NONE, "step", begin, now);
        let flags = flag::HAS_INDEX;
        let index = index as i64;
        r.push(1, vec![hodo_format::record::Span { flags, index, ..span }.to_unit()]);
    }
    let run = TestRun::new();
    run.finished(&r);
    RunProfile::of(&run.read())
}

fn scope<'a>(all: &'a [ScopeDiff], name: &str) -> &'a ScopeDiff {
    all.iter().find(|scope| scope.path.last().is_some_and(|last| last == name)).expect("a scope")
}

#[test]
fn steps_are_aligned_by_their_index_whatever_else_a_run_did() {
    // The head began later and ended later; its steps are longer for that alone.
    let found = diff(
        &[some_steps(0..60, 20, 1.0, 2)],
        &[some_steps(20..80, 20, 1.0, 2)],
        &DiffOptions::default(),
    )
    .expect("comparable");
    let load = scope(&found.scopes, "load");
    assert_eq!((load.judgement, load.steps), (Judgement::Same, Some(40)));
    assert!(load.change.expect("a change").ratio.abs() < 1e-9);
    let means = (load.base.expect("a base").mean_ns, load.head.expect("a head").mean_ns);
    assert!(means.1 > means.0, "the means alone would mislead: {means:?}");
}

#[test]
fn a_scope_that_is_opened_more_often_explains_a_longer_step() {
    let found =
        diff(&[steps(1.0, 2)], &[steps(1.0, 12)], &DiffOptions::default()).expect("comparable");
    assert_eq!(scope(&found.scopes, "layer").judgement, Judgement::Same);
    let step = &found.explanations[0];
    assert_eq!(step.judgement, Judgement::Slower);
    let part = &step.parts[0];
    assert_eq!(part.path, ["step", "layer"]);
    assert_eq!(part.difference_ns, 500_000);
    assert_eq!((part.by_count_ns, step.difference_ns), (500_000, 500_000));
}

#[test]
fn parts_add_up_to_the_whole() {
    let found =
        diff(&[steps(1.0, 2)], &[steps(1.5, 4)], &DiffOptions::default()).expect("comparable");
    let step = &found.explanations[0];
    let sum: i64 = step.parts.iter().map(|part| part.difference_ns).sum();
    assert!((sum - step.difference_ns).abs() <= 2, "{sum} {}", step.difference_ns);
    assert_eq!(step.parts[0].path, ["step", "load"]);
}

/// A step with a loader beside it, on another thread, that takes `loader` microseconds.
fn with_loader(steps: u64, each: u64, loader: u64) -> RunProfile {
    let mut r = Records::new(1);
    let mut now = 1000;
    for _ in 0..steps {
        let step = r.id(1);
        r.scope(2, step, "loader", now, now + loader * US);
        r.scope(1, step, "compute", now, now + each * US);
        r.close(step, SpanId::NONE, "step", now, now + each * US);
        now += 2000 * US;
    }
    let run = TestRun::new();
    run.finished(&r);
    RunProfile::of(&run.read())
}

#[test]
fn what_changed_is_of_the_scope_that_is_named_whatever_ran_beside_it() {
    // The step is shorter, and the loader on another thread takes much longer.
    for (count, of) in [(60, DifferenceOf::Typical), (3, DifferenceOf::Mean)] {
        let (base, head) = (with_loader(count, 200, 300), with_loader(count, 100, 1000));
        let found = diff(&[base], &[head], &DiffOptions::default()).expect("comparable");
        let (step, row) = (&found.explanations[0], scope(&found.scopes, "step"));
        assert_eq!((step.path.as_slice(), step.of), (row.path.as_slice(), of));
        assert_eq!(step.difference_ns, -100_000);
        assert_eq!(Some(step.difference_ns), row.difference.map(|by| by.mean_ns));
        assert!((step.ratio + 0.5).abs() < 1e-9, "{}", step.ratio);
        assert!(step.parallel);
        assert_eq!(step.parts_ns, 600_000);
    }
    let found = diff(&[steps(1.0, 2)], &[steps(1.5, 2)], &DiffOptions::default());
    let step = &found.expect("comparable").explanations[0];
    assert!(!step.parallel && step.parts_ns == step.difference_ns);
}
