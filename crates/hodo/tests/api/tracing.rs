use crate::support::{record, tree_of};
use hodo::FutureExt;
use tracing::{Instrument, debug_span, info_span};
use tracing_subscriber::layer::SubscriberExt;

fn traced(work: impl FnOnce()) -> String {
    tree_of(|| with_layer(work))
}

fn with_layer(work: impl FnOnce()) {
    let subscriber = tracing_subscriber::registry().with(hodo::tracing::Layer::new());
    tracing::subscriber::with_default(subscriber, work);
}

#[test]
fn spans_fields_and_events() {
    let tree = traced(|| {
        let span = info_span!("step", index = 3, variant = "beam", rows = tracing::field::Empty);
        let _entered = span.enter();
        span.record("rows", 32_u64);
        tracing::info!(loss = 0.5, ok = true, "step {} done", 3);
        let _inner = debug_span!("inner", shape = ?(2, 3)).entered();
        tracing::warn!("careful");
    });
    assert_eq!(
        tree,
        "
step {index=3, rows=32, variant=beam}
  * info = step 3 done
  * loss = 0.5
  * ok = true
  inner {shape=(2, 3)}
    * warn = careful
"
    );
}

#[test]
fn a_span_is_one_scope_however_often_it_is_entered() {
    let tree = traced(|| {
        let span = info_span!("often");
        for _ in 0..3 {
            span.in_scope(|| info_span!("pass").in_scope(|| {}));
        }
        info_span!("outside").in_scope(|| {});
        drop(span);
    });
    assert_eq!(tree, "\noften\n  pass\n  pass\n  pass\noutside\n");
}

#[test]
fn spans_and_scopes_nest_in_each_other() {
    let tree = traced(|| {
        let _s = hodo::scope!("scope");
        info_span!("span").in_scope(|| {
            let _s = hodo::scope!("scope inside");
            info_span!("span inside").in_scope(|| hodo::mark!("deep", 1));
        });
    });
    assert_eq!(
        tree,
        "
scope
  span
    scope inside
      span inside
        * deep = 1
"
    );
}

#[test]
fn explicit_parents() {
    let tree = traced(|| {
        let root = info_span!("root");
        let _other = info_span!("other").entered();
        info_span!(parent: &root, "child of root").in_scope(|| {});
        info_span!(parent: None, "no parent").in_scope(|| {});
        tracing::info!(parent: &root, "to the root");
        info_span!("child of other").in_scope(|| {});
    });
    assert_eq!(
        tree,
        "
root
  * info = to the root
  child of root
other
  child of other
no parent
"
    );
}

#[test]
fn exited_out_of_order() {
    let tree = traced(|| {
        let (a, b) = (info_span!("a"), info_span!("b"));
        let entered_a = a.enter();
        let entered_b = b.enter();
        drop(entered_a);
        info_span!("in b").in_scope(|| {});
        drop(entered_b);
        info_span!("in none").in_scope(|| {});
    });
    assert_eq!(tree, "\na\nb\n  in b\nin none\n");
}

#[test]
fn enter_and_exit_across_await() {
    async fn work(steps: i32) {
        for step in 0..steps {
            tokio::task::yield_now().await;
            async {
                tokio::task::yield_now().await;
                hodo::scope!("inside").close();
            }
            .instrument(info_span!("step", step))
            .await;
        }
    }
    let tree = traced(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let a = work(2).instrument(info_span!("a"));
        let b = work(2).instrument(info_span!("b")).scoped("scoped b");
        runtime.block_on(async { tokio::join!(a, b) });
    });
    let steps = |indent: &str| {
        (0..2)
            .map(|step| format!("{indent}step {{step={step}}}\n{indent}  inside\n"))
            .collect::<String>()
    };
    assert!(tree.contains(&format!("\na\n{}", steps("  "))), "{tree}");
    let b = tree.find("\nb\n").map(|at| &tree[at..]);
    assert!(b.is_some_and(|b| b.starts_with(&format!("\nb\n{}", steps("  ")))), "{tree}");
    assert_eq!(tree.matches("step {").count(), 4, "{tree}");
}

#[test]
fn five_hundred_instrumented_tasks() {
    async fn task(number: i64) {
        for _ in 0..3 {
            tokio::task::yield_now().await;
            let leaf = async move {
                tokio::task::yield_now().await;
                hodo::scope!("work", index = number).close();
            };
            leaf.instrument(info_span!("leaf", number)).await;
        }
    }
    let subscriber = tracing_subscriber::registry().with(hodo::tracing::Layer::new());
    let dispatch = tracing::Dispatch::new(subscriber);
    let run = record(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build();
        runtime.unwrap().block_on(async {
            let tasks: Vec<_> = (0..500)
                .map(|number| {
                    let span =
                        tracing::dispatcher::with_default(&dispatch, || info_span!("task", number));
                    let task = tracing::instrument::WithSubscriber::with_subscriber(
                        task(number).instrument(span),
                        dispatch.clone(),
                    );
                    tokio::spawn(task)
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
    });
    let process = &run.processes[0];
    assert_eq!(process.spans.len(), 500 * (1 + 3 * 2));
    for row in process.spans.rows() {
        let span = process.span(row);
        let number = |row| process.span(row).attrs()[0].value.as_f64();
        let parent = process.spans.parent_row(row);
        match &*span.name() {
            "task" => assert_eq!(parent, None),
            "leaf" => assert_eq!(number(parent.unwrap()), number(row)),
            _ => assert_eq!(number(parent.unwrap()), span.index().map(|i| i as f64)),
        }
    }
}
