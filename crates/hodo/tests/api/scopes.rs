use crate::support::{alone, record, tree_of};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn nested_with_index_and_attributes() {
    let tree = tree_of(|| {
        for i in 0..2_usize {
            let _s = hodo::scope!("forward", index = i, variant = "beam", lr = 0.5);
            let _s = hodo::scope!("layer");
        }
        let name = format!("made at run time {}", 1);
        let _s = hodo::scope(&name);
        let _s = hodo::scope!(name, rows = 3);
    });
    assert_eq!(
        tree,
        "
forward[0] {lr=0.5, variant=beam}
  layer
forward[1] {lr=0.5, variant=beam}
  layer
made at run time 1
  made at run time 1 {rows=3}
"
    );
}

#[test]
fn set_while_open() {
    let tree = tree_of(|| {
        let s = hodo::scope!("load");
        s.set("rows", 32);
        hodo::set!(s, source = "cache", "free space" = -1, exact = true);
    });
    assert_eq!(tree, "\nload {exact=true, free space=-1, rows=32, source=cache}\n");
}

#[test]
fn more_attributes_than_one_record_holds() {
    let tree = tree_of(|| {
        let text = String::from("text");
        let _s = hodo::scope!("many", a = 1, b = 2, c = text, d = 4, e = 5, f = "six");
    });
    let (_, attributes) = tree.split_once(' ').unwrap();
    for pair in ["a=1", "b=2", "c=text", "d=4", "e=5", "f=six"] {
        assert!(attributes.contains(pair), "{pair} is missing from {tree}");
    }
}

#[test]
fn marks_belong_to_the_innermost_scope() {
    let tree = tree_of(|| {
        let _s = hodo::scope!("epoch");
        {
            let _s = hodo::scope!("batch");
            hodo::mark!("loss", 0.5);
            hodo::mark!("loss", f64::NAN);
            hodo::mark!("phase", "warm");
        }
        hodo::mark!("accuracy", 0.75, summary);
        let name = String::from("bleu");
        hodo::mark(&name, 31);
        hodo::summary(&name, String::from("high"));
    });
    assert_eq!(
        tree,
        "
epoch
  * accuracy = 0.75 (summary)
  * bleu = 31
  * bleu = high (summary)
  batch
    * loss = 0.5
    * loss = NaN
    * phase = warm
"
    );
}

#[test]
fn a_panic_fails_the_scopes_it_leaves() {
    let tree = tree_of(|| {
        let _outer = hodo::scope!("outer");
        let caught = catch_unwind(|| {
            let _s = hodo::scope!("fails");
            let _s = hodo::scope!("fails too");
            std::panic::panic_any(());
        });
        assert!(caught.is_err());
        let _after = hodo::scope!("after");
    });
    assert_eq!(
        tree,
        "
outer
  fails failed
    fails too failed
  after
"
    );
}

#[test]
fn a_scope_opened_by_a_destructor_during_a_panic_is_not_failed() {
    struct CleansUp;
    impl Drop for CleansUp {
        fn drop(&mut self) {
            let _s = hodo::scope!("clean up");
        }
    }
    let tree = tree_of(|| {
        let _ = catch_unwind(|| {
            let _s = hodo::scope!("work");
            let _clean = CleansUp;
            let _s = hodo::scope!("part");
            std::panic::panic_any(());
        });
    });
    assert_eq!(tree, "\nwork failed\n  part failed\n  clean up\n");
}

#[test]
fn failed_by_hand() {
    let tree = tree_of(|| {
        let mut s = hodo::scope!("fetch");
        s.fail();
        s.close();
        let mut s = hodo::scope!("parse");
        s.fail_with(&"no number");
    });
    assert_eq!(tree, "\nfetch failed\nparse {error=no number} failed\n");
}

#[test]
fn dropped_out_of_order_each_closes_itself() {
    let tree = tree_of(|| {
        let outer = hodo::scope!("outer");
        let inner = hodo::scope!("inner");
        drop(outer);
        let child = hodo::scope!("child of inner");
        drop(child);
        drop(inner);
        let _s = hodo::scope!("next");
    });
    assert_eq!(
        tree,
        "
outer out-of-order
  inner
    child of inner
next
"
    );
}

#[test]
fn nothing_is_evaluated_while_off() {
    let _alone = alone();
    let mut evaluated = 0;
    let mut count = || {
        evaluated += 1;
        evaluated
    };
    let s = hodo::scope!("off", index = count(), value = count());
    hodo::set!(s, value = count());
    hodo::mark!("off", count());
    let _ = hodo::begin!("off", index = count(), value = count());
    assert!(!s.is_recorded() && s.id().is_none() && hodo::current().is_none());
    assert_eq!(evaluated, 0);
}

#[test]
fn ids_are_those_of_the_trace() {
    let mut ids = Vec::new();
    let run = record(|| {
        let outer = hodo::scope!("outer");
        ids.push(outer.id().unwrap().to_string());
        let inner = hodo::scope!("inner");
        ids.push(hodo::current().unwrap().to_string());
        assert_eq!(inner.id(), hodo::current());
    });
    let mut recorded: Vec<_> = run.processes[0].span_views().map(|span| span.full_id()).collect();
    recorded.sort();
    assert_eq!(recorded, ids);
}

#[test]
fn borrowed_values_stay_with_the_caller() {
    let path = String::from("a/b");
    let mut lines = vec![String::from("x")];
    let tree = tree_of(AssertUnwindSafe(|| {
        let _s = hodo::scope!("read", path = path, first = lines[0]);
        lines.push(path.clone());
    }));
    assert_eq!(tree, "\nread {first=x, path=a/b}\n");
    assert_eq!(lines, ["x", "a/b"]);
}

#[test]
fn names_inside_the_macros_hide_none_of_the_users() {
    const NAME: u32 = 1;
    static SITE: i64 = 2;
    let (scope, index, handle) = (3, 4, 5);
    let tree = tree_of(|| {
        let s = hodo::scope!("a", index = SITE, name = NAME, scope = scope, i = index);
        hodo::set!(s, handle = handle, site = SITE);
        hodo::mark!("m", NAME);
        hodo::begin!("b", index = index, site = SITE).end();
    });
    assert_eq!(
        tree,
        "
a[2] {handle=5, i=4, name=1, scope=3, site=2}
  * m = 1
  b[4] {site=2}
"
    );
}
