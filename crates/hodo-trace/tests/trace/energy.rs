//! Energy of scopes, by hand.

use crate::support::gpu::Works;
use crate::support::machine::{Sampled, gpu};
use crate::support::{Records, SECOND, TestRun};
use hodo_format::machine::metric;
use hodo_format::record::SpanId;
use hodo_trace::{
    Anchor, EnergyFrom, EnergyMethod, Filter, NamePattern, Node, NodeEnergy, Source, Tree,
};

const NONE: SpanId = SpanId::NONE;

fn at(seconds: f64) -> u64 {
    (seconds * SECOND as f64) as u64
}

/// A process that lived from second 1 to 11.
fn process(pid: u32) -> Records {
    let mut r = Records::new(pid);
    let anchor = |ticks| Anchor { ticks, monotonic_ns: ticks, wall_ns: 1000 * SECOND + ticks };
    r.anchors = vec![anchor(at(1.0)), anchor(at(11.0))];
    r
}

fn scope(r: &mut Records, thread: u32, parent: SpanId, name: &str, from: f64, to: f64) -> SpanId {
    let id = r.id(thread);
    r.close(id, parent, name, at(from), at(to));
    id
}

/// The GPU's count of joules, read at these seconds.
fn counted(run: &TestRun, readings: &[(f64, f64)]) -> Sampled {
    let mut box_ = Sampled::new(run.path());
    let energy = box_.add(gpu(), &metric::GPU_ENERGY);
    let rows: Vec<(u64, [Option<f64>; 1])> =
        readings.iter().map(|&(second, joules)| (at(second), [Some(joules)])).collect();
    let rows: Vec<(u64, &[Option<f64>])> = rows.iter().map(|r| (r.0, r.1.as_slice())).collect();
    box_.write(1, 7, &[box_.rows(&[energy], &rows)]);
    box_
}

/// 100 W from second 1 to 11.
fn even(run: &TestRun) -> Sampled {
    let readings: Vec<(f64, f64)> =
        (1..=11).map(|second| (f64::from(second), 100.0 * f64::from(second))).collect();
    counted(run, &readings)
}

fn tree_of(run: &TestRun) -> Tree {
    hodo_trace::tree(&run.read(), &Filter::default())
}

fn node<'a>(tree: &'a Tree, name: &str) -> &'a Node {
    tree.nodes.iter().find(|node| node.name == name).expect(name)
}

fn energy(tree: &Tree, name: &str) -> NodeEnergy {
    node(tree, name).energy.expect("sampled")
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found} J, not {expected} J");
}

#[track_caller]
fn adds_up(tree: &Tree) {
    let all = tree.energy.as_ref().expect("sampled");
    near(all.scopes_j + all.outside_j + all.hidden_j, all.total_j);
    let own: f64 = tree.nodes.iter().filter_map(|n| n.energy).map(|e| e.self_j).sum();
    near(own, all.scopes_j);
}

#[test]
fn nested_scopes_of_one_thread() {
    let (run, mut r) = (TestRun::new(), process(1));
    let root = r.id(1);
    scope(&mut r, 1, root, "child", 3.0, 5.0);
    r.close(root, NONE, "root", at(2.0), at(8.0));
    run.finished(&r);
    // From second k to k + 1 there are 10 k watts.
    let readings: Vec<(f64, f64)> =
        (1..=11).map(f64::from).map(|k| (k, 5.0 * k * (k - 1.0))).collect();
    counted(&run, &readings);
    let tree = tree_of(&run);
    near(energy(&tree, "root").self_j, 20.0 + 50.0 + 60.0 + 70.0);
    near(energy(&tree, "child").self_j, 30.0 + 40.0);
    near(energy(&tree, "root").total_j, 270.0);
    let all = tree.energy.as_ref().expect("sampled");
    near(all.total_j, 550.0);
    near(all.outside_j, 10.0 + 80.0 + 90.0 + 100.0);
    let gpu = &all.gpus[0];
    assert_eq!((gpu.from, gpu.method), (EnergyFrom::Counter, EnergyMethod::WallTime));
    assert_eq!((gpu.sampled_ns, gpu.unsampled_ns, gpu.interval_ns), (10 * SECOND, 0, SECOND));
    assert!(!energy(&tree, "root").pro_rata);
    adds_up(&tree);
}

#[test]
fn two_threads_share_in_equal_parts() {
    let (run, mut r) = (TestRun::new(), process(1));
    scope(&mut r, 1, NONE, "a", 2.0, 6.0);
    scope(&mut r, 2, NONE, "b", 4.0, 8.0);
    run.finished(&r);
    even(&run);
    let tree = tree_of(&run);
    near(energy(&tree, "a").self_j, 300.0);
    near(energy(&tree, "b").self_j, 300.0);
    near(tree.energy.as_ref().expect("sampled").outside_j, 400.0);
    adds_up(&tree);
}

#[test]
fn children_that_overlap() {
    let (run, mut r) = (TestRun::new(), process(1));
    let root = r.id(1);
    scope(&mut r, 1, root, "first", 3.0, 6.0);
    scope(&mut r, 1, root, "second", 5.0, 7.0);
    // It outlives its parent, and was opened by it after the others had closed.
    scope(&mut r, 1, root, "late", 7.5, 9.0);
    r.close(root, NONE, "root", at(2.0), at(8.0));
    run.finished(&r);
    even(&run);
    let tree = tree_of(&run);
    near(energy(&tree, "root").self_j, 100.0 + 50.0);
    near(energy(&tree, "first").self_j, 200.0 + 50.0);
    near(energy(&tree, "second").self_j, 50.0 + 100.0);
    near(energy(&tree, "late").self_j, 150.0);
    near(energy(&tree, "root").total_j, 700.0);
    adds_up(&tree);
}

#[test]
fn kernels_say_whose_power_it_is() {
    let (run, mut r, mut w) = (TestRun::new(), process(1), Works::new());
    let a = scope(&mut r, 1, NONE, "a", 2.0, 4.0);
    let b = scope(&mut r, 1, NONE, "b", 4.0, 8.0);
    w.kernel(&mut r, a, "k", at(3.0), at(6.0));
    // A second kernel of the same scope at the same time changes nothing.
    w.kernel(&mut r, a, "k", at(5.0), at(6.0));
    w.kernel(&mut r, b, "k", at(5.0), at(7.0));
    // A copy is no kernel.
    w.copy(a, 8, at(7.0), at(8.0));
    let folder = run.finished(&r);
    w.write(&folder);
    even(&run);
    let tree = tree_of(&run);
    // 2 to 3 by wall time, 3 to 5 alone, 5 to 6 with the other.
    near(energy(&tree, "a").self_j, 100.0 + 200.0 + 50.0);
    near(energy(&tree, "a").kernels_j, 250.0);
    near(energy(&tree, "b").self_j, 50.0 + 100.0 + 100.0);
    near(energy(&tree, "b").kernels_j, 150.0);
    let all = tree.energy.as_ref().expect("sampled");
    assert_eq!(all.gpus[0].method, EnergyMethod::Kernels);
    near(all.outside_j, 400.0);
    adds_up(&tree);
}

#[test]
fn kernels_of_no_scope_are_outside() {
    let (run, mut r, mut w) = (TestRun::new(), process(1), Works::new());
    let a = scope(&mut r, 1, NONE, "a", 2.0, 6.0);
    w.kernel(&mut r, NONE, "k", at(3.0), at(5.0));
    w.kernel(&mut r, a, "k", at(4.0), at(5.0));
    let folder = run.finished(&r);
    w.write(&folder);
    even(&run);
    let tree = tree_of(&run);
    near(energy(&tree, "a").self_j, 100.0 + 50.0 + 100.0);
    near(tree.energy.as_ref().expect("sampled").outside_j, 100.0 + 100.0 + 50.0 + 500.0);
    adds_up(&tree);
}

#[test]
fn while_no_kernel_runs_the_launching_threads_count() {
    let (run, mut r, mut w) = (TestRun::new(), process(1), Works::new());
    r.os_tids.insert(1, 501);
    r.os_tids.insert(2, 502);
    let step = r.id(1);
    // A loader's scope inside the step does not take the step's place.
    scope(&mut r, 2, step, "load", 2.0, 10.0);
    r.close(step, NONE, "step", at(2.0), at(10.0));
    w.kernel(&mut r, step, "k", at(3.0), at(4.0)).thread = 501;
    let folder = run.finished(&r);
    w.write(&folder);
    even(&run);
    let tree = tree_of(&run);
    near(energy(&tree, "step").self_j, 800.0);
    near(energy(&tree, "load").self_j, 0.0);
    adds_up(&tree);
}

#[test]
fn time_without_readings_has_no_energy() {
    let (run, mut r) = (TestRun::new(), process(1));
    scope(&mut r, 1, NONE, "before", 1.2, 1.8);
    scope(&mut r, 1, NONE, "partly", 2.0, 4.0);
    scope(&mut r, 1, NONE, "later", 5.0, 6.0);
    run.finished(&r);
    let readings: Vec<(f64, f64)> = (3..=9).map(|s| (f64::from(s), 100.0 * f64::from(s))).collect();
    counted(&run, &readings);
    let tree = tree_of(&run);
    assert_eq!(node(&tree, "before").energy, None, "not captured, not zero");
    near(energy(&tree, "partly").self_j, 100.0);
    assert_eq!(energy(&tree, "partly").unsampled_ns, SECOND);
    assert_eq!(energy(&tree, "later").unsampled_ns, 0);
    let all = tree.energy.as_ref().expect("sampled");
    near(all.total_j, 600.0);
    assert_eq!(all.gpus[0].unsampled_ns, 4 * SECOND);
    adds_up(&tree);
}

#[test]
fn a_counter_that_starts_anew_has_no_energy_there() {
    let (run, mut r) = (TestRun::new(), process(1));
    scope(&mut r, 1, NONE, "a", 4.0, 8.0);
    run.finished(&r);
    counted(&run, &[(1.0, 500.0), (5.0, 900.0), (6.0, 3.0), (11.0, 503.0)]);
    let tree = tree_of(&run);
    near(energy(&tree, "a").self_j, 100.0 + 200.0);
    assert_eq!(energy(&tree, "a").unsampled_ns, SECOND);
    near(tree.energy.as_ref().expect("sampled").total_j, 900.0);
    adds_up(&tree);
}

#[test]
fn without_a_counter_power_is_added_up() {
    let (run, mut r) = (TestRun::new(), process(1));
    scope(&mut r, 1, NONE, "a", 2.0, 4.0);
    run.finished(&r);
    let mut box_ = Sampled::new(run.path());
    let power = box_.add(gpu(), &metric::GPU_POWER);
    let rows: Vec<(u64, [Option<f64>; 1])> =
        (1..=11).map(|s| (at(f64::from(s)), [Some(10.0 * f64::from(s))])).collect();
    let rows: Vec<(u64, &[Option<f64>])> = rows.iter().map(|r| (r.0, r.1.as_slice())).collect();
    box_.write(1, 7, &[box_.rows(&[power], &rows)]);
    let tree = tree_of(&run);
    near(energy(&tree, "a").self_j, 25.0 + 35.0);
    assert_eq!(tree.energy.as_ref().expect("sampled").gpus[0].from, EnergyFrom::Power);
    adds_up(&tree);
}

#[test]
fn short_scopes_have_their_part_and_say_so() {
    let (run, mut r) = (TestRun::new(), process(1));
    for step in 0..40 {
        let from = 2.0 + f64::from(step) * 0.1;
        scope(&mut r, 1, NONE, "short", from, from + 0.05);
    }
    run.finished(&r);
    even(&run);
    let tree = tree_of(&run);
    near(energy(&tree, "short").self_j, 200.0);
    assert!(energy(&tree, "short").pro_rata);
    adds_up(&tree);
}

/// A second GPU beside the first, at 10 W.
fn with_second_gpu(run: &TestRun) {
    let mut box_ = Sampled::new(run.path());
    let ids = [
        box_.add(gpu(), &metric::GPU_ENERGY),
        box_.add(Source::Gpu("GPU-2".into()), &metric::GPU_ENERGY),
    ];
    let rows: Vec<(u64, [Option<f64>; 2])> = (1..=11)
        .map(|s| (at(f64::from(s)), [100.0, 10.0].map(|watts| Some(watts * f64::from(s)))))
        .collect();
    let rows: Vec<(u64, &[Option<f64>])> = rows.iter().map(|r| (r.0, r.1.as_slice())).collect();
    box_.write(1, 7, &[box_.rows(&ids, &rows)]);
}

#[test]
fn a_gpu_that_the_run_does_not_use_is_not_its_own() {
    let (run, mut r, mut w) = (TestRun::new(), process(1), Works::new());
    let a = scope(&mut r, 1, NONE, "a", 2.0, 6.0);
    // CUDA numbers the second GPU as 0.
    w.state = r#"{"level":"trace","devices":[{"device":0,"name":"x","uuid":"GPU-2"}]}"#.into();
    w.kernel(&mut r, a, "k", at(3.0), at(5.0));
    let folder = run.finished(&r);
    w.write(&folder);
    with_second_gpu(&run);
    let tree = tree_of(&run);
    let all = tree.energy.as_ref().expect("sampled");
    assert_eq!(all.gpus.iter().map(|g| g.uuid.as_str()).collect::<Vec<_>>(), ["GPU-2"]);
    near(all.total_j, 100.0);
    near(energy(&tree, "a").self_j, 40.0);
    adds_up(&tree);
}

#[test]
fn two_gpus_are_divided_each_by_its_own_kernels() {
    let (run, mut r, mut w) = (TestRun::new(), process(1), Works::new());
    let a = scope(&mut r, 1, NONE, "a", 2.0, 4.0);
    let b = scope(&mut r, 1, NONE, "b", 4.0, 8.0);
    w.kernel(&mut r, a, "k", at(5.0), at(7.0)).device = 0;
    w.kernel(&mut r, b, "k", at(5.0), at(7.0)).device = 1;
    let folder = run.finished(&r);
    w.write(&folder);
    with_second_gpu(&run);
    let tree = tree_of(&run);
    near(energy(&tree, "a").self_j, 220.0 + 200.0);
    near(energy(&tree, "b").self_j, 110.0 + 110.0 + 20.0);
    near(tree.energy.as_ref().expect("sampled").total_j, 1100.0);
    adds_up(&tree);
}

#[test]
fn a_process_that_a_scope_started_is_inside_it() {
    let run = TestRun::new();
    let (mut parent, mut child) = (process(1), process(2));
    let train = scope(&mut parent, 1, NONE, "train", 2.0, 8.0);
    child.parent = Some((parent.process, train));
    scope(&mut child, 1, NONE, "work", 4.0, 6.0);
    run.finished(&parent);
    run.finished(&child);
    even(&run);
    let tree = tree_of(&run);
    near(energy(&tree, "train").self_j, 400.0);
    near(energy(&tree, "work").self_j, 200.0);
    near(energy(&tree, "train").total_j, 600.0);
    adds_up(&tree);
}

#[test]
fn what_a_filter_drops_is_told() {
    let (run, mut r) = (TestRun::new(), process(1));
    scope(&mut r, 1, NONE, "a", 2.0, 4.0);
    scope(&mut r, 1, NONE, "b", 5.0, 6.0);
    run.finished(&r);
    even(&run);
    let filter = Filter { name: Some(NamePattern::new("a")), ..Filter::default() };
    let tree = hodo_trace::tree(&run.read(), &filter);
    let all = tree.energy.as_ref().expect("sampled");
    near(energy(&tree, "a").self_j, 200.0);
    near(all.hidden_j, 100.0);
    near(all.outside_j, 700.0);
    adds_up(&tree);
}

#[test]
fn a_machine_nobody_sampled_has_no_energy() {
    let (run, mut r) = (TestRun::new(), process(1));
    scope(&mut r, 1, NONE, "a", 2.0, 4.0);
    run.finished(&r);
    let tree = tree_of(&run);
    assert_eq!((tree.energy.is_none(), node(&tree, "a").energy), (true, None));
    // Readings of the host alone are none of a GPU.
    let mut box_ = Sampled::new(run.path());
    let load = box_.add(Source::Host, &metric::LOAD);
    box_.write(1, 7, &[box_.rows(&[load], &[(at(2.0), &[Some(1.0)])])]);
    assert!(tree_of(&run).energy.is_none());
}

#[test]
fn money_is_for_kilowatt_hours() {
    assert_eq!(hodo_trace::money(7.2e6, 0.30), 0.60);
}
