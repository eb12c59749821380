//! Work whose launch is known by thread and time alone.

use crate::support::gpu::Works;
use crate::support::{Records, TestRun};
use hodo_format::gpu::{Work, flag};
use hodo_format::record::{self, SpanId};
use hodo_trace::Run;
use proptest::prelude::*;

const BY_TIME: u16 = flag::BY_TIME | flag::UNKNOWN;

/// What threads are called by the system: two that record, one that does not.
const MAIN: u32 = 71;
const OTHER: u32 = 72;
const SILENT: u32 = 73;

fn records() -> Records {
    let mut r = Records::new(1);
    r.os_tids.extend([(1, MAIN), (2, OTHER)]);
    r
}

fn launch(w: &mut Works, r: &mut Records, thread: u32, at: u64) {
    let work = w.kernel(r, SpanId::NONE, "k", at + 10, at + 11);
    (work.flags, work.thread, work.launched) = (BY_TIME, thread, at);
}

fn read(r: &Records, w: &Works) -> Run {
    let run = TestRun::new();
    w.write(&run.finished(r));
    run.read()
}

/// Scope and how it is known, in the order of launch.
fn found(run: &Run) -> Vec<(SpanId, u16)> {
    let mut all: Vec<Work> = run.processes[0].gpu.work.iter().collect();
    all.sort_by_key(|work| work.launched);
    all.iter().map(|work| (work.span, work.flags & flag::SCOPE)).collect()
}

#[test]
fn the_innermost_scope_of_the_thread_then_is_its_scope() {
    let (mut r, mut w) = (records(), Works::new());
    let step = r.id(1);
    let inner = r.scope(1, step, "inner", 200, 300);
    r.close(step, SpanId::NONE, "step", 100, 500);
    let other = r.scope(2, SpanId::NONE, "other", 100, 500);
    for (thread, at) in [(MAIN, 100), (MAIN, 200), (OTHER, 250), (MAIN, 300), (MAIN, 500)] {
        launch(&mut w, &mut r, thread, at);
    }
    let found = found(&read(&r, &w));
    assert_eq!(found[..4], [step, inner, other, step].map(|scope| (scope, flag::BY_LAUNCH)));
    assert_eq!(found[4], (SpanId::NONE, flag::NO_SCOPE), "both have closed");
}

#[test]
fn a_thread_without_scopes_inherits_from_the_one_that_last_launched_inside_one() {
    let (mut r, mut w) = (records(), Works::new());
    let step = r.id(1);
    let backward = r.scope(1, step, "backward", 300, 400);
    r.close(step, SpanId::NONE, "step", 100, 500);
    r.scope(2, SpanId::NONE, "loader", 100, 500);
    launch(&mut w, &mut r, SILENT, 90);
    launch(&mut w, &mut r, MAIN, 150);
    for at in [200, 350, 450, 600] {
        launch(&mut w, &mut r, SILENT, at);
    }
    let run = read(&r, &w);
    let expected = [
        (SpanId::NONE, flag::NO_SCOPE),
        (step, flag::BY_LAUNCH),
        (step, flag::INHERITED),
        (backward, flag::INHERITED),
        (step, flag::INHERITED),
        (SpanId::NONE, flag::NO_SCOPE),
    ];
    assert_eq!(found(&run), expected);
    let tree = hodo_trace::tree(&run, &hodo_trace::Filter::default());
    assert_eq!(tree.gpu.all.inherited, 3);
}

#[test]
fn launches_that_the_callbacks_saw_say_which_thread_is_ambient() {
    let (mut r, mut w) = (records(), Works::new());
    let step = r.scope(1, SpanId::NONE, "step", 100, 500);
    let seen = w.kernel(&mut r, step, "k", 160, 170);
    (seen.thread, seen.launched) = (MAIN, 150);
    launch(&mut w, &mut r, SILENT, 200);
    assert_eq!(found(&read(&r, &w))[1], (step, flag::INHERITED));
}

#[test]
fn scopes_with_a_handle_are_never_innermost_and_unknown_launches_stay_so() {
    let (mut r, mut w) = (records(), Works::new());
    let step = r.scope(1, SpanId::NONE, "step", 100, 500);
    let copy = r.id(1);
    r.flagged(copy, step, "copy", 120, 400, record::flag::CPU_OTHER_THREAD);
    launch(&mut w, &mut r, MAIN, 200);
    launch(&mut w, &mut r, MAIN, 0);
    let all = found(&read(&r, &w));
    assert_eq!(all, [(SpanId::NONE, flag::UNKNOWN), (step, flag::BY_LAUNCH)]);
}

/// Scopes as (thread, start, length) and launches as (thread, at, by callbacks).
type Made = (Vec<(usize, u64, u64)>, Vec<(usize, u64, bool)>);

fn made() -> impl Strategy<Value = Made> {
    let scope = (0..2usize, 1..60u64, 0..40u64);
    let launch = (0..3usize, 1..100u64, prop::bool::weighted(0.2));
    (prop::collection::vec(scope, 0..9), prop::collection::vec(launch, 1..16))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn scopes_are_what_looking_at_all_of_them_says((mut scopes, mut launches) in made()) {
        // Scopes get their ids as they open; launches of one moment have no order.
        scopes.sort_by_key(|scope| scope.1);
        launches.sort_by_key(|launch| launch.1);
        launches.dedup_by_key(|launch| launch.1);
        let os_tids = [MAIN, OTHER, SILENT];
        let (mut r, mut w) = (records(), Works::new());
        let scopes: Vec<(usize, SpanId, u64, u64)> = scopes
            .iter()
            .map(|&(thread, start, length)| {
                let id = r.scope(thread as u32 + 1, SpanId::NONE, "s", start, start + length);
                (thread, id, start, start + length)
            })
            .collect();
        let innermost = |thread: usize, at: u64| {
            let open = scopes.iter().filter(|s| s.0 == thread && s.2 <= at && at < s.3);
            open.max_by_key(|s| (s.2, s.1)).map(|s| s.1)
        };
        let mut expected = Vec::new();
        let mut ambient: Option<usize> = None;
        for &(thread, at, by_callbacks) in &launches {
            let own = innermost(thread, at);
            ambient = if own.is_some() { Some(thread) } else { ambient };
            let (scope, how) = match (own, ambient.and_then(|thread| innermost(thread, at))) {
                (Some(own), _) => (own, flag::BY_LAUNCH),
                (None, Some(inherited)) => (inherited, flag::INHERITED),
                (None, None) => (SpanId::NONE, flag::NO_SCOPE),
            };
            expected.push((scope, how));
            launch(&mut w, &mut r, os_tids[thread], at);
            if let Some(work) = w.all.last_mut().filter(|_| by_callbacks) {
                (work.span, work.flags) = (scope, how);
            }
        }
        prop_assert_eq!(found(&read(&r, &w)), expected);
    }
}
