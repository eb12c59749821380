//! Times when the catalog, or every reading of the clocks, is lost.

use crate::support::arena::ArenaFile;
use crate::support::render::assert_tree;
use crate::support::{Records, SECOND, TestRun};
use hodo_format::arena::Anchor;
use hodo_format::record::{SpanId, Value};
use hodo_trace::{Cpu, CpuMissing, Filter, ProcessState, Run, tree};
use std::path::Path;

/// A counter of 4 GHz; a root of 100 ns with a child of 40 ns.
fn counted() -> Records {
    let mut r = Records::new(1);
    let anchor = |ticks: u64| Anchor {
        ticks,
        monotonic_ns: 500 + ticks / 4,
        wall_ns: 1000 * SECOND + ticks / 4,
    };
    r.anchors = vec![anchor(4), anchor(4000)];
    let root = r.id(1);
    r.scope(1, root, "child", 480, 640);
    r.mark(1, root, "loss", 500, Value::F64(0.5), false);
    r.close(root, SpanId::NONE, "root", 400, 800);
    r
}

#[test]
fn a_catalog_that_is_gone_is_noticed_though_the_arena_mends_it() {
    let (run, r) = (TestRun::new(), counted());
    let folder = run.json(&r);
    r.spool(&folder, &r.all().collect::<Vec<_>>(), false);
    let mut arena = ArenaFile::new(&r);
    arena.stored(r.counts());
    arena.write(&folder);
    assert!(run.read().processes[0].damage.is_none());
    std::fs::remove_file(folder.join("catalog.hodo")).expect("removed");
    let read = run.read();
    assert_eq!(text(&read), "root 1x total 100 self 60\n  child 1x total 40 self 40\n");
    assert_eq!(read.processes[0].damage.places[0].why, "missing");
}

fn cut(path: &Path, bytes: u64) {
    let file = std::fs::OpenOptions::new().write(true).open(path).expect("a file");
    file.set_len(bytes).expect("shorter");
}

fn text(run: &Run) -> String {
    crate::support::render::tree_text(&tree(run, &Filter::default()))
}

#[test]
fn without_the_catalog_times_come_from_the_spool() {
    let (run, r) = (TestRun::new(), counted());
    let folder = run.finished(&r);
    assert_eq!(text(&run.read()), "root 1x total 100 self 60\n  child 1x total 40 self 40\n");
    std::fs::remove_file(folder.join("catalog.hodo")).expect("removed");
    let read = run.read();
    assert_eq!(
        text(&read),
        "(lost name 3) 1x total 100 self 60\n  (lost name 1) 1x total 40 self 40\n"
    );
    let process = &read.processes[0];
    assert_eq!(process.state, ProcessState::Unknown);
    assert_eq!(process.start_ns(), Some(1000 * SECOND as i64 + 1));
    assert_eq!(read.uncalibrated().count(), 0);
    let place = &process.damage.places[0];
    assert!(place.file.ends_with("catalog.hodo") && place.why.contains("missing"), "{place:?}");
}

#[test]
fn a_catalog_cut_anywhere_bends_no_time_and_is_noticed() {
    let (run, r) = (TestRun::new(), counted());
    let catalog = run.finished(&r).join("catalog.hodo");
    let bytes = catalog.metadata().expect("a catalog").len();
    for len in (0..bytes).rev() {
        cut(&catalog, len);
        let read = run.read();
        let tree = tree(&read, &Filter::default());
        let times: Vec<_> = tree.nodes.iter().map(|n| (n.count, n.total_ns, n.self_ns)).collect();
        assert_eq!(times, [(1, Some(100), Some(60)), (1, Some(40), Some(40))], "{len} bytes");
        assert!(!read.processes[0].damage.is_none(), "{len} bytes");
    }
}

#[test]
fn without_any_reading_of_the_clocks_no_time_is_told() {
    let (run, mut r) = (TestRun::new(), counted());
    r.anchors.clear();
    run.finished(&r);
    let read = run.read();
    assert_eq!(text(&read), "root 1x total ? self ?\n  child 1x total ? self ?\n");
    assert_eq!(read.uncalibrated().count(), 1);
    let tree = tree(&read, &Filter::default());
    assert_eq!((tree.spans, tree.untimed, tree.wall_ns), (2, 2, None));
    let root = &tree.nodes[0];
    assert_eq!((root.durations, root.overhead_ns, root.of_parent()), (None, None, None));
    assert_eq!((root.cpu.total_ns, root.cpu.captured, root.cpu.uncalibrated), (None, 0, 1));
    assert!(root.marks.iter().all(|m| m.name == "loss"), "{:?}", root.marks);
    let span = read.processes[0].span(0);
    assert_eq!(span.cpu_ns(), Cpu::Missing(CpuMissing::Uncalibrated));
}

#[test]
fn one_process_without_times_does_not_spoil_the_others() {
    let (run, mut lost) = (TestRun::new(), counted());
    run.finished(&lost);
    lost.anchors.clear();
    (lost.pid, lost.process) = (2, lost.process + 1);
    run.finished(&lost);
    let tree = tree(&run.read(), &Filter::default());
    assert_tree(
        &tree,
        "
        root 2x total 100 self 60
          child 2x total 40 self 40
        ",
    );
    assert_eq!((tree.untimed, tree.nodes[0].untimed), (2, 1));
    assert_eq!(tree.nodes[0].durations.expect("one has a time").min_ns, 100);
}

#[test]
fn ticks_that_are_nanoseconds_need_no_readings() {
    let (run, mut r) = (TestRun::new(), counted());
    r.anchors.clear();
    r.clock = "monotonic";
    run.finished(&r);
    assert_eq!(text(&run.read()), "root 1x total 400 self 240\n  child 1x total 160 self 160\n");
}

#[test]
fn lost_names_of_two_processes_are_not_taken_for_one() {
    let run = TestRun::new();
    let (mut first, mut second) = (Records::new(1), Records::new(2));
    first.scope(1, SpanId::NONE, "load", 100, 200);
    second.scope(1, SpanId::NONE, "train", 100, 300);
    for records in [&first, &second] {
        let folder = run.finished(records);
        std::fs::remove_file(folder.join("catalog.hodo")).expect("removed");
    }
    assert_tree(
        &tree(&run.read(), &Filter::default()),
        "
        (lost name 1 of pid 1) 1x total 100 self 100
        (lost name 1 of pid 2) 1x total 200 self 200
        ",
    );
}
