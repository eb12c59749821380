//! Every piece of work belongs to the scope that launched it.

use crate::fakes::Victim;
use crate::work::{assert_work, counted, pieces};

#[test]
fn eight_threads_have_each_kernel_under_its_own_scope() {
    let ran = Victim::new("threads").env("FAKE_CUPTI_FILL", "7").run();
    assert_eq!(ran.state()["launched"]["kernels_under_way"], 0);
    let mut expected = String::new();
    for thread in 0..8 {
        let steps = 200 + thread;
        expected += &format!("{} worker {thread}/step/fwd: gemm\n", 2 * steps);
        expected += &format!("{steps} worker {thread}/step/bwd: gemm_grad\n");
    }
    assert_work(&ran.only(), &expected);
}

#[test]
fn a_thread_without_a_scope_works_for_the_one_that_waits() {
    let ran = Victim::new("ambient").run();
    assert_work(
        &ran.only(),
        "
        2 -: gemm
        1 -: gemm_grad
        1 backward: gemm
        20 backward: gemm_grad inherited
        ",
    );
}

#[test]
fn kernels_of_a_graph_know_who_launched_and_who_captured_them() {
    let ran = Victim::new("graphs").run();
    assert_work(
        &ran.only(),
        "
        2 capture: gemm
        40 replay: node captured in capture/layer
        ",
    );
}

#[test]
fn a_launch_after_nodes_were_made_is_not_taken_for_a_captured_one() {
    let ran = Victim::new("graphs").run();
    assert_eq!(ran.state()["launched"]["captured"], 4);
    assert_eq!(ran.state()["launched"]["kernels_under_way"], 0);
}

#[test]
fn copies_sets_syncs_and_memory_are_kept_when_asked_for() {
    let kinds = "kernels,copies,sets,syncs,memory";
    let ran = Victim::new("kinds").env("HODO_GPU_KINDS", kinds).run();
    assert_work(
        &ran.only(),
        "
        1 memory: gemm
        3 memory: memory of 4096
        4 memory: copy of 64
        5 memory: set of 8
        6 memory: sync
        ",
    );
    let ran = Victim::new("kinds").run();
    assert_eq!(pieces(&ran.only()), 10);
}

#[test]
fn a_launch_that_was_refused_is_counted_and_not_waited_for() {
    let ran = Victim::new("refused").run();
    assert_eq!(ran.state()["launched"]["refused"], 1);
    assert_eq!(ran.state()["launched"]["kernels_under_way"], 0);
    assert_work(&ran.only(), "1 refused: gemm");
}

#[test]
fn an_address_that_names_another_kernel_later_is_read_anew() {
    let ran = Victim::new("names").run();
    let counts: Vec<u64> = counted(&ran.only()).into_values().collect();
    assert_eq!(counts, [1, 2, 3, 4, 5]);
}

#[test]
fn long_names_stay_apart() {
    let ran = Victim::new("long-names").run();
    let counts = counted(&ran.only());
    assert_eq!(counts.values().copied().collect::<Vec<_>>(), [1, 2]);
    assert!(counts.keys().all(|line| line.len() > 3_000));
}

#[test]
fn threads_launch_while_others_flush() {
    // All 3600 records fit into the buffers there may be, should nobody come to empty one.
    let ran = Victim::new("storm").env("FAKE_CUPTI_FILL", "50").run();
    assert_work(
        &ran.only(),
        "
        2400 step/fwd: gemm
        1200 step/bwd: gemm_grad
        ",
    );
}

#[test]
fn a_second_recorder_has_none_of_the_firsts_work() {
    let ran = Victim::new("again").run();
    let runs = ran.runs();
    assert_eq!(runs.len(), 2);
    let works: Vec<_> = runs.iter().map(counted).collect();
    let old = works.iter().find(|work| work.keys().any(|line| line.contains("old"))).unwrap();
    let new = works.iter().find(|work| work.keys().any(|line| line.contains("new"))).unwrap();
    let line = |name: &str, count: u64| (name.to_owned(), count);
    let expected = |parent: &str, steps: u64, captured: &str| {
        [
            line(&format!("{parent}/step/bwd: gemm_grad"), steps),
            line(&format!("{parent}/step/fwd: gemm"), 2 * steps),
            line(&format!("{parent}: node captured in {captured}"), 1),
        ]
        .into()
    };
    assert_eq!(*old, expected("old", 2, "old"));
    // The graph was captured while another recorder was on: its scope is not in this run.
    assert_eq!(*new, expected("new", 4, "-"));
}
