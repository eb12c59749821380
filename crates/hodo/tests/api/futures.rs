use crate::support::{record, tree_of};
use hodo::FutureExt;
use hodo_trace::{Process, Row};
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

fn several_threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap()
}

#[test]
fn interleaved_futures_keep_their_scopes_apart() {
    let task = |name: &'static str| {
        async move {
            for step in 0..2 {
                let s = hodo::scope!("before", index = step);
                yield_now().await;
                s.close();
                hodo::mark!("step", step);
                hodo::scope!("after", index = step).close();
            }
        }
        .scoped(name)
    };
    let tree = tree_of(|| {
        let _s = hodo::scope!("main");
        one_thread().block_on(async { tokio::join!(task("a"), task("b")) });
    });
    let expected = |name: &str| {
        let scopes = "    before[0]\n    after[0]\n    before[1]\n    after[1]\n";
        format!("  {name}\n    * step = 0\n    * step = 1\n{scopes}")
    };
    assert_eq!(tree, format!("\nmain\n{}{}", expected("a"), expected("b")));
}

#[test]
fn a_spawned_task_belongs_to_the_scope_that_made_it() {
    let tree = tree_of(|| {
        several_threads().block_on(
            async {
                let task = async { hodo::scope!("part").close() }.scoped("task");
                tokio::spawn(task).await.unwrap();
                async {}.in_scope(hodo::begin!("shard", index = 3, kind = "x")).await;
            }
            .scoped("main"),
        );
    });
    assert_eq!(
        tree,
        "
main
  task
    part
  shard[3] {kind=x}
"
    );
}

#[test]
fn a_future_that_panics_is_failed() {
    let tree = tree_of(|| {
        let runtime = several_threads();
        let task = async {
            yield_now().await;
            std::panic::panic_any(());
        };
        assert!(runtime.block_on(runtime.spawn(task.scoped("task"))).is_err());
        runtime.block_on(async {}.scoped("after"));
    });
    assert_eq!(tree, "\ntask failed\nafter\n");
}

#[test]
fn a_future_that_is_dropped_is_cancelled() {
    let tree = tree_of(|| {
        one_thread().block_on(async {
            let wait = tokio::time::sleep(Duration::from_secs(3600)).scoped("wait");
            assert!(tokio::time::timeout(Duration::from_millis(1), wait).await.is_err());
            // Never polled, never a scope.
            drop(yield_now().scoped("unpolled"));
        });
    });
    assert_eq!(tree, "\nwait {cancelled=true}\n");
}

#[test]
fn polling_restores_what_was_current() {
    let tree = tree_of(|| {
        let _outer = hodo::scope!("outer");
        let mut polls = 0;
        let future = poll_fn(move |cx| {
            hodo::scope!("poll", index = polls).close();
            polls += 1;
            cx.waker().wake_by_ref();
            if polls < 3 { Poll::Pending } else { Poll::Ready(()) }
        });
        let mut future = Box::pin(future.scoped("future"));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        while future.as_mut().poll(&mut cx).is_pending() {
            hodo::scope!("between").close();
            assert_eq!(hodo::current_scope_id(), 2);
        }
    });
    assert_eq!(
        tree,
        "
outer
  future
    poll[0]
    poll[1]
    poll[2]
  between
  between
"
    );
}

/// Task `number` opens scopes that carry its number around every kind of suspension.
async fn oracle_task(number: i64) {
    for step in 0..4 {
        async {
            hodo::scope!("sync", index = number).close();
            if (number + step) % 3 == 0 {
                tokio::time::sleep(Duration::from_micros(200)).await;
            } else {
                yield_now().await;
            }
            oracle_leaf(number).await;
        }
        .in_scope(hodo::begin!("step", index = number))
        .await;
    }
}

#[hodo::scoped(index = number)]
async fn oracle_leaf(number: i64) {
    yield_now().await;
    let _s = hodo::scope!("leaf work", index = number);
    hodo::mark!("number", number);
}

async fn all_tasks() {
    let tasks: Vec<_> = (0..500)
        .map(|n| tokio::spawn(oracle_task(n).in_scope(hodo::begin!("task", index = n))))
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

/// Whether a scope's parent is of the kind it should be and of the same task.
fn is_well_placed(process: &Process, row: Row) -> bool {
    let span = process.span(row);
    let parent = process.spans.parent_row(row).map(|row| process.span(row));
    let (expected, same_task) = match &*span.name() {
        "task" => ("all", false),
        "step" => ("task", true),
        "sync" | "oracle_leaf" => ("step", true),
        "leaf work" => ("oracle_leaf", true),
        _ => return parent.is_none(),
    };
    parent.is_some_and(|parent| {
        parent.name() == expected && (!same_task || parent.index() == span.index())
    })
}

fn check_oracle(runtime: &Runtime) {
    let run = record(|| runtime.block_on(all_tasks().scoped("all")));
    let process = &run.processes[0];
    assert_eq!(process.spans.len(), 1 + 500 + 500 * 4 * 4);
    let misplaced = process.spans.rows().filter(|&row| !is_well_placed(process, row)).count();
    assert_eq!(misplaced, 0);
    for mark in &process.marks {
        let row = process.spans.row_of(mark.span).unwrap();
        assert_eq!(process.spans.index(row).map(|i| i as f64), mark.value.as_f64());
    }
}

#[test]
fn five_hundred_tasks_on_one_thread() {
    check_oracle(&one_thread());
}

#[test]
fn five_hundred_tasks_on_several_threads() {
    check_oracle(&several_threads());
}

#[test]
fn recording_work_inside_a_future_is_its_overhead() {
    let run = record(|| {
        let work = async {
            for _ in 0..100 {
                hodo::scope!("part").close();
                yield_now().await;
            }
        };
        one_thread().block_on(work.scoped("future"));
        let handle = hodo::begin("handle");
        let _current = handle.attach();
        hodo::scope!("part").close();
    });
    let process = &run.processes[0];
    for span in process.span_views().filter(|span| span.name() != "part") {
        assert!(span.overhead_ns() > 0, "{} has none", span.name());
    }
}
