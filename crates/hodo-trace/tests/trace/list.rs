//! The list of runs says what reading them says.

use crate::support::arena::ArenaFile;
use crate::support::{Records, TestRun};
use hodo_format::arena::Counts;
use hodo_format::record::SpanId;
use hodo_trace::{ProcessState, Run, RunSummary};

fn listed(run: &TestRun) -> RunSummary {
    let all = Run::list(run.path().parent().expect("a folder"));
    all.into_iter().find(|r| r.folder == run.path()).expect("this run")
}

#[track_caller]
fn assert_as_read(run: &TestRun) {
    let (listed, read) = (listed(run), run.read());
    assert_eq!(listed.state, read.state());
    assert_eq!((listed.start_ns, listed.wall_ns), (read.start_ns(), read.wall_ns()));
    assert_eq!(listed.spans, Some(read.span_count() as u64));
    let lost = read.processes.iter().map(|p| p.account.lost_records() + p.account.unexplained);
    assert_eq!(listed.lost, Some(lost.sum()));
    assert_eq!(listed.uncalibrated, read.uncalibrated().count());
}

fn steps(pid: u32) -> Records {
    let mut r = Records::new(pid);
    let root = r.id(1);
    for i in 0..9 {
        r.scope(1, root, "step", 110 + i, 150 + i);
    }
    let open = r.span(root, SpanId::NONE, "root", 100, 100);
    r.open.push(open);
    r
}

#[test]
fn ranks_of_all_processes_are_listed() {
    let run = TestRun::new();
    for rank in [Some(2), Some(0), None] {
        let mut r = steps(rank.map_or(1, |rank| rank + 2));
        r.rank = rank;
        run.finished(&r);
    }
    assert_eq!(listed(&run).ranks, [0, 2].into());
    assert_as_read(&run);
}

#[test]
fn a_finished_run() {
    let run = TestRun::new();
    let mut r = steps(1);
    r.lost = Counts { spans: 3, marks: 1, attrs: 0 };
    run.finished(&r);
    assert_as_read(&run);
    assert_eq!(listed(&run).state, Some(ProcessState::Finished));
}

#[test]
fn a_run_that_ended_without_shutting_down() {
    let (run, r) = (TestRun::new(), steps(1));
    let folder = run.json(&r);
    let all: Vec<_> = r.all().collect();
    r.spool(&folder, &all[..5], false);
    let mut arena = ArenaFile::new(&r);
    arena.ring(&all[5..]);
    arena.stored(Counts { spans: 5, marks: 0, attrs: 0 });
    arena.write(&folder);
    assert_as_read(&run);
    let listed = listed(&run);
    assert_eq!((listed.state, listed.open), (Some(ProcessState::Ended), 1));
}

#[test]
fn a_run_whose_catalog_is_gone() {
    let (run, mut r) = (TestRun::new(), steps(1));
    let catalog = run.finished(&r).join("catalog.hodo");
    std::fs::remove_file(&catalog).expect("removed");
    assert_as_read(&run);
    r.anchors.clear();
    std::fs::remove_file(run.finished(&r).join("catalog.hodo")).expect("removed");
    assert_as_read(&run);
    assert_eq!(listed(&run).uncalibrated, 1);
}

#[test]
fn a_run_without_run_json_began_when_its_first_process_did() {
    let run = TestRun::new();
    run.finished(&steps(1));
    std::fs::remove_file(run.path().join("run.json")).expect("removed");
    assert_as_read(&run);
    assert!(listed(&run).start_ns > Some(0));
    let empty = TestRun::new();
    std::fs::remove_file(empty.path().join("run.json")).expect("removed");
    empty.json(&steps(7));
    assert_eq!(listed(&empty).start_ns, Some(7), "as process.json says");
}

/// A list must not take longer for longer runs: it leaves the records alone.
#[test]
fn records_are_not_read() {
    let (run, r) = (TestRun::new(), steps(1));
    let spool = run.finished(&r).join("spool-000001.hodo");
    std::fs::write(&spool, vec![0xff; 1 << 16]).expect("spoilt");
    assert_eq!(listed(&run).spans, Some(9), "as the catalog says");
}
