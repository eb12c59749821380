use crate::support::{alone, tree_of};

#[test]
fn warm_up_and_iterations() {
    let mut calls = 0;
    let mut times = None;
    let tree = tree_of(|| {
        let _s = hodo::scope!("suite");
        let bench = hodo::bench("sort").tag("small").repeat(3).warmup(2);
        times = Some(bench.run(|| calls += 1));
    });
    assert_eq!(
        tree,
        "
suite
  sort warm-up {tag=small} warmup
    iteration[-2] iteration warmup
    iteration[-1] iteration warmup
  sort {repeat=3, tag=small, warmup=2} bench
    iteration[0] iteration
    iteration[1] iteration
    iteration[2] iteration
"
    );
    assert_eq!((calls, times.unwrap().samples_ns.len()), (5, 3));
}

#[test]
fn as_a_loop_with_scopes_inside() {
    let tree = tree_of(|| {
        for i in hodo::bench("copy").repeat(2).warmup(1) {
            let _s = hodo::scope!("part", i = i);
        }
        hodo::scope!("after").close();
    });
    assert_eq!(
        tree,
        "
copy warm-up warmup
  iteration[-1] iteration warmup
    part {i=-1}
copy {repeat=2, warmup=1} bench
  iteration[0] iteration
    part {i=0}
  iteration[1] iteration
    part {i=1}
after
"
    );
}

#[test]
fn left_early() {
    let tree = tree_of(|| {
        for i in hodo::bench("loop").repeat(9) {
            if i == 1 {
                break;
            }
        }
    });
    assert_eq!(
        tree,
        "
loop {repeat=9, warmup=0} bench
  iteration[0] iteration
  iteration[1] iteration
"
    );
}

#[test]
fn works_while_off() {
    let _alone = alone();
    let passes: Vec<i64> = hodo::bench("off").repeat(2).warmup(2).into_iter().collect();
    assert_eq!(passes, [-2, -1, 0, 1]);
    assert_eq!(hodo::bench("off").into_iter().len(), 10);
    assert_eq!(hodo::bench("off").repeat(4).run(|| 1).samples_ns.len(), 4);
    assert!(hodo::bench("off").repeat(0).run(|| 1).mean_ns.is_nan());
}
