use crate::support::tree_of;

#[test]
fn begun_here_ended_there() {
    let tree = tree_of(|| {
        let _s = hodo::scope!("step");
        let copy = hodo::begin!("copy", index = 3, bytes = 4096);
        let _sibling = hodo::scope!("not inside the copy");
        std::thread::spawn(move || {
            copy.set("late", true);
            copy.end();
        })
        .join()
        .unwrap();
    });
    assert_eq!(
        tree,
        "
step
  copy[3] {bytes=4096, late=true}
  not inside the copy
"
    );
}

#[test]
fn attached_on_other_threads() {
    let tree = tree_of(|| {
        let step = hodo::begin("step");
        let link = step.link();
        for shard in 0..2 {
            let work = move || {
                let _s = hodo::scope!("outside", index = shard);
                let _current = link.attach();
                let _s = hodo::scope!("shard", index = shard);
                hodo::mark!("done", shard);
            };
            std::thread::spawn(work).join().unwrap();
        }
        step.end();
    });
    assert_eq!(
        tree,
        "
step
  shard[0]
    * done = 0
  shard[1]
    * done = 1
outside[0]
outside[1]
"
    );
}

#[test]
fn attached_and_detached_on_one_thread() {
    let tree = tree_of(|| {
        let _outer = hodo::scope!("outer");
        let task = hodo::begin("task");
        {
            let _current = task.attach();
            let _s = hodo::scope!("inside");
            hodo::scope!("deeper").close();
        }
        hodo::scope!("beside").close();
        let _none = hodo::Link::none().attach();
        hodo::scope!("apart").close();
    });
    assert_eq!(
        tree,
        "
outer
  task
    inside
      deeper
  beside
apart
"
    );
}

#[test]
fn threads_inherit_the_scope_that_starts_them() {
    let tree = tree_of(|| {
        let _s = hodo::scope!("load");
        hodo::thread::spawn(|| hodo::scope!("spawned").close()).join().unwrap();
        std::thread::scope(|threads| {
            threads.spawn(hodo::thread::inherit(|| hodo::scope!("inherited").close()));
        });
    });
    assert_eq!(tree, "\nload\n  spawned\n  inherited\n");
}

#[test]
fn a_handle_that_fails() {
    let tree = tree_of(|| {
        let fetch = hodo::begin("fetch");
        fetch.fail_with(&"connection reset");
        hodo::begin("fine").end();
    });
    assert_eq!(tree, "\nfetch {error=connection reset} failed\nfine\n");
}

#[test]
fn a_link_outlives_its_scope() {
    let tree = tree_of(|| {
        let s = hodo::scope!("closed early");
        let link = hodo::Link::current();
        s.close();
        let _current = link.attach();
        hodo::scope!("late child").close();
    });
    assert_eq!(tree, "\nclosed early\n  late child\n");
}

#[test]
fn detached_out_of_order() {
    let tree = tree_of(|| {
        let _outer = hodo::scope!("outer");
        for _ in 0..200 {
            let (a, b) = (hodo::begin("a"), hodo::begin("b"));
            let (in_a, in_b) = (a.attach(), b.attach());
            drop(in_a);
            hodo::scope!("in b").close();
            drop(in_b);
            hodo::scope!("in outer").close();
            assert_eq!(hodo::current_scope_id(), 2);
        }
    });
    assert_eq!(tree, format!("\nouter\n{}", "  a\n  b\n    in b\n  in outer\n".repeat(200)));
}

#[test]
fn detached_while_a_scope_inside_is_open() {
    let tree = tree_of(|| {
        let task = hodo::begin("task");
        let current = task.attach();
        let inside = hodo::scope!("inside");
        drop(current);
        hodo::scope!("deeper").close();
        drop(inside);
        hodo::scope!("after").close();
        assert_eq!(hodo::current_scope_id(), 1);
    });
    assert_eq!(tree, "\ntask\n  inside\n    deeper\nafter\n");
}
