//! The ledger of the GPU's idle time: every tick has one cause and one scope, and the right one.

use crate::support::gpu::Works;
use crate::support::{Records, TestRun};
use hodo_format::gpu::{Detail, flag};
use hodo_format::record::SpanId;
use hodo_trace::{Bound, Cause, Filter, GpuLedger, Run, Verdict, tree, verdict};
use proptest::prelude::*;

/// Ticks are nanoseconds in these runs.
const US: u64 = 1_000;
const MS: u64 = 1_000 * US;

fn on(run: &Run) -> Verdict {
    verdict(run, &tree(run, &Filter::default())).expect("a verdict")
}

fn read(r: &Records, works: &Works) -> Run {
    let run = TestRun::new();
    works.write(&run.finished(r));
    run.read()
}

fn ledger(r: &Records, works: &Works) -> GpuLedger {
    on(&read(r, works)).gpu.expect("a GPU")
}

fn ns(ledger: &GpuLedger, cause: Cause) -> u64 {
    ledger.causes.iter().find(|sum| sum.cause == cause).map_or(0, |sum| sum.ns)
}

/// Time of a cause in a scope, which is named by the last part of its path.
fn at(ledger: &GpuLedger, cause: Cause, name: &str) -> u64 {
    let there = |path: &[String]| path.last().map_or("", String::as_str) == name;
    ledger.scopes.iter().filter(|s| s.cause == cause && there(&s.path)).map(|s| s.ns).sum()
}

/// A kernel that is launched at a moment of its own.
fn kernel(w: &mut Works, r: &mut Records, span: SpanId, launched: u64, start: u64, end: u64) {
    w.kernel(r, span, "k", start, end).launched = launched;
}

#[test]
fn a_gap_is_split_at_the_launch_and_by_the_scopes_of_the_launching_thread() {
    let mut r = Records::new(1);
    let step = r.id(1);
    let prepare = r.scope(1, step, "prepare", 2 * MS, 5 * MS);
    let wait = r.scope(1, step, "data_wait", 5 * MS, 8 * MS);
    r.close(step, SpanId::NONE, "step", MS, 10 * MS);
    assert!(!prepare.is_none() && !wait.is_none());
    let mut w = Works::new();
    kernel(&mut w, &mut r, step, MS, MS, 2 * MS);
    kernel(&mut w, &mut r, step, 9 * MS, 9 * MS + 10 * US, 10 * MS);
    let found = ledger(&r, &w);
    assert_eq!((found.window_ns, found.computing_ns), (9 * MS, MS + MS - 10 * US));
    assert_eq!(at(&found, Cause::Host, "prepare"), 3 * MS);
    assert_eq!(at(&found, Cause::Input, "data_wait"), 3 * MS);
    assert_eq!(at(&found, Cause::Host, "step"), MS);
    assert_eq!(at(&found, Cause::Launch, "step"), 10 * US);
    assert_eq!(ns(&found, Cause::Unknown), 0);
}

#[test]
fn a_wait_costs_no_more_than_it_took() {
    let mut r = Records::new(1);
    let step = r.id(1);
    let item = r.scope(1, step, "item", 2 * MS, 5 * MS);
    r.close(step, SpanId::NONE, "step", MS, 20 * MS);
    let mut w = Works::new();
    kernel(&mut w, &mut r, step, MS, MS, 4 * MS);
    let copy = Detail::Copy { bytes: 4, direction: 2, from: 3, to: 2 };
    w.add(item, copy, 4 * MS, 5 * MS).launched = 3 * MS;
    // The host waited two milliseconds, and was ten late: eight were its own.
    kernel(&mut w, &mut r, step, 15 * MS, 15 * MS, 20 * MS);
    let found = ledger(&r, &w);
    assert_eq!(at(&found, Cause::Sync, "item"), 2 * MS);
    assert_eq!(at(&found, Cause::Copy, "item"), MS);
    assert_eq!(at(&found, Cause::Host, "step"), 8 * MS);
    // A copy after which the host went on launching is no wait.
    kernel(&mut w, &mut r, step, 4 * MS, 15 * MS - 1, 15 * MS);
    assert_eq!(ns(&ledger(&r, &w), Cause::Sync), 0);
}

#[test]
fn waits_that_were_recorded_count_wherever_they_are() {
    let mut r = Records::new(1);
    let step = r.id(1);
    let sync = r.scope(1, step, "synchronize", 2 * MS, 5 * MS);
    r.close(step, SpanId::NONE, "step", MS, 10 * MS);
    let mut w = Works::new();
    kernel(&mut w, &mut r, step, MS, MS, 4 * MS);
    w.add(sync, Detail::Sync { what: 4 }, 2 * MS, 5 * MS);
    kernel(&mut w, &mut r, step, 6 * MS, 6 * MS, 10 * MS);
    let found = ledger(&r, &w);
    assert!(found.waits_recorded);
    assert_eq!(at(&found, Cause::Sync, "synchronize"), 2 * MS);
    // A stream that waits for an event holds up no thread.
    for work in &mut w.all {
        if let Detail::Sync { what } = &mut work.detail {
            *what = 2;
        }
    }
    let found = ledger(&r, &w);
    assert_eq!((found.waits_recorded, ns(&found, Cause::Sync)), (false, 0));
}

#[test]
fn launches_that_follow_each_other_are_the_cost_of_launching() {
    let launching = |every: u64| {
        let mut r = Records::new(1);
        let step = r.scope(1, SpanId::NONE, "step", MS, 21 * MS);
        let mut w = Works::new();
        for launch in (MS..20 * MS).step_by(every as usize) {
            kernel(&mut w, &mut r, step, launch, launch + 6 * US, launch + 8 * US);
        }
        on(&read(&r, &w)).bound
    };
    assert_eq!(launching(20 * US), Bound::Launch);
    assert_eq!(launching(MS), Bound::Cpu);
}

#[test]
fn threads_that_launch_nothing_and_stretches_without_capture_do_not_count() {
    let mut r = Records::new(1);
    let step = r.scope(1, SpanId::NONE, "step", MS, 10 * MS);
    r.scope(2, SpanId::NONE, "load", 0, 100 * MS);
    let mut w = Works::new();
    w.state = format!(
        r#"{{"level":"trace","gaps":[{{"start":{},"end":{},"why":"torch.profiler"}}]}}"#,
        8 * MS,
        50 * MS
    );
    kernel(&mut w, &mut r, step, MS, MS, 6 * MS);
    let found = ledger(&r, &w);
    assert_eq!((found.window_ns, found.not_captured_ns), (7 * MS, 2 * MS));
    assert_eq!(at(&found, Cause::Host, "step"), 2 * MS);
}

#[test]
fn autograds_thread_works_for_the_thread_whose_scope_is_open() {
    let mut r = Records::new(1);
    let step = r.id(1);
    let backward = r.scope(1, step, "backward", 2 * MS, 9 * MS);
    r.close(step, SpanId::NONE, "step", MS, 10 * MS);
    let mut w = Works::new();
    kernel(&mut w, &mut r, step, MS, MS, 2 * MS);
    let work = w.kernel(&mut r, backward, "k", 8 * MS, 10 * MS);
    (work.flags, work.thread, work.launched) = (flag::INHERITED, 77, 7 * MS);
    let found = ledger(&r, &w);
    assert_eq!(at(&found, Cause::Host, "backward"), 5 * MS);
    assert_eq!(at(&found, Cause::Launch, "backward"), MS);
}

#[test]
fn without_a_gpu_scopes_tell_by_their_cpu_time() {
    let mut r = Records::new(1);
    let step = r.id(1);
    r.scope(1, step, "data_wait", 0, 6 * MS);
    r.scope(1, step, "forward", 6 * MS, 10 * MS);
    r.close(step, SpanId::NONE, "step", 0, 10 * MS);
    let run = TestRun::new();
    run.finished(&r);
    let found = on(&run.read());
    assert_eq!((found.bound, found.share), (Bound::Input, 0.6));
    assert!(found.gpu.is_none() && found.gpu_missing.is_some());
    let host = found.host.expect("scopes");
    // Half of each scope of these runs is CPU time.
    let of = |cause| host.causes.iter().find(|sum| sum.cause == cause).map(|sum| sum.ns);
    assert_eq!((of(Cause::Cpu), of(Cause::Waiting)), (Some(2 * MS), Some(2 * MS)));
    assert_eq!(host.scopes_ns, 10 * MS);
}

type Piece = (u64, u64, u64, u8);

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    prop::collection::vec((1u64..400, 1u64..60, 0u64..80, 0u8..4), 1..30)
}

proptest! {
    #[test]
    fn every_idle_tick_is_given_once(work in pieces(), scopes in prop::collection::vec((1u64..300, 1u64..120), 1..5)) {
        let mut r = Records::new(1);
        let ids: Vec<SpanId> = scopes.iter().map(|&(start, length)| {
            r.scope(1, SpanId::NONE, "step", 1000 + start, 1000 + start + length)
        }).collect();
        let mut w = Works::new();
        for (at, &(start, length, before, kind)) in work.iter().enumerate() {
            let (start, end) = (1000 + start, 1000 + start + length);
            let scope = ids[at % ids.len()];
            let made = match kind {
                0 | 1 => w.kernel(&mut r, scope, "k", start, end),
                2 => w.add(scope, Detail::Copy { bytes: 1, direction: 2, from: 3, to: 2 }, start, end),
                _ => w.add(scope, Detail::Sync { what: 3 }, start, end),
            };
            made.launched = start - before;
        }
        let busy = |t: u64, kinds: &[u8]| work.iter().any(|&(s, l, _, k)| kinds.contains(&k) && 1000 + s <= t && t < 1000 + s + l);
        let open = |t: u64| scopes.iter().any(|&(s, l)| 1000 + s <= t && t < 1000 + s + l);
        let idle = (0..2000).filter(|&t| open(t) && !busy(t, &[0, 1])).count() as u64;
        let copying = (0..2000).filter(|&t| open(t) && !busy(t, &[0, 1]) && busy(t, &[2])).count() as u64;
        let launches_any = work.iter().any(|piece| piece.3 < 3);
        let run = read(&r, &w);
        let found = on(&run).gpu;
        prop_assert_eq!(found.is_some(), launches_any);
        if let Some(found) = found {
            prop_assert_eq!(found.idle_ns, idle);
            prop_assert_eq!(found.causes.iter().map(|sum| sum.ns).sum::<u64>(), idle);
            prop_assert_eq!(found.scopes.iter().map(|row| row.ns).sum::<u64>(), idle);
            prop_assert_eq!(ns(&found, Cause::Copy), copying);
            prop_assert_eq!(found.window_ns, (0..2000).filter(|&t| open(t)).count() as u64);
        }
    }
}
