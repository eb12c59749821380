//! What a process leaves when it dies, and runs with little in them.

use crate::support::arena::ArenaFile;
use crate::support::render::assert_tree;
use crate::support::{Records, TestRun};
use hodo_format::record::SpanId;
use hodo_trace::{Filter, ProcessState, ReadOptions, Run, TraceError, Tree};

fn tree(run: &TestRun) -> Tree {
    hodo_trace::tree(&run.read(), &Filter::default())
}

/// A root that is open, a step that closed, one that is open.
fn died_inside() -> Records {
    let mut r = Records::new(1);
    let root = r.id(1);
    r.scope(1, root, "step", 110, 150);
    let step = r.id(1);
    let open = [r.span(root, SpanId::NONE, "root", 100, 100), r.span(step, root, "step", 160, 160)];
    r.open.extend(open);
    r
}

#[test]
fn scopes_open_at_death_last_to_the_last_moment_known() {
    let (run, r) = (TestRun::new(), died_inside());
    let folder = run.json(&r);
    let mut arena = ArenaFile::new(&r);
    arena.ring(&r.all().collect::<Vec<_>>());
    arena.write(&folder);
    // The newest anchor says 1001.
    let tree = tree(&run);
    assert_tree(
        &tree,
        "
        root 1x total 901 self 20 open 1
          step 2x total 881 self 881 open 1
        ",
    );
    assert_eq!(tree.nodes[1].durations.expect("one closed").max_ns, 40);
    assert!(tree.nodes[0].durations.is_none());
    assert_eq!((tree.nodes[1].cpu.captured, tree.nodes[1].cpu.open), (1, 1));
}

#[test]
fn a_slot_whose_scope_has_a_record_is_not_open() {
    let (run, mut r) = (TestRun::new(), died_inside());
    let (root, step) = (r.open[0].id, r.open[1].id);
    r.close(step, root, "step", 160, 200);
    let folder = run.json(&r);
    let mut arena = ArenaFile::new(&r);
    arena.ring(&r.all().collect::<Vec<_>>());
    arena.write(&folder);
    assert_tree(
        &tree(&run),
        "
        root 1x total 901 self 821 open 1
          step 2x total 80 self 80
        ",
    );
}

#[test]
fn a_process_without_a_spool_is_read_from_its_arena() {
    let (run, r) = (TestRun::new(), died_inside());
    let folder = run.folder(&r);
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut arena = ArenaFile::new(&r);
    arena.ring(&r.all().collect::<Vec<_>>());
    arena.write(&folder);
    let read = run.read();
    assert_eq!(read.processes[0].process, r.process);
    assert_eq!(read.processes[0].spans.len(), 3);
    assert_eq!(read.processes[0].damage.places[0].why, "missing, or not readable as JSON");
}

#[test]
fn damaged_json_hides_nothing() {
    let (run, mut r) = (TestRun::new(), Records::new(1));
    r.scope(1, SpanId::NONE, "s", 100, 200);
    let folder = run.finished(&r);
    std::fs::write(run.path().join("run.json"), "{\"id\":").expect("write");
    std::fs::write(folder.join("process.json"), "nonsense").expect("write");
    assert_tree(&tree(&run), "s 1x total 100 self 100");
    let read = run.read();
    assert_eq!(read.processes[0].process, r.process);
    assert_eq!(read.processes[0].state, ProcessState::Finished);
    assert!(!read.info.id.is_empty());
}

#[test]
fn an_empty_run_is_a_run() {
    let run = TestRun::new();
    assert!(run.read().processes.is_empty());
    assert!(tree(&run).nodes.is_empty());
    let empty = Records::new(4);
    run.json(&empty);
    let read = run.read();
    assert_eq!(read.processes[0].state, ProcessState::Unknown);
    assert!(read.processes[0].spans.is_empty());
    run.finished(&empty);
    assert_eq!(run.read().processes[0].state, ProcessState::Finished);
}

#[test]
fn a_folder_that_is_no_run_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = |path| Run::open(path, &ReadOptions::default());
    assert!(matches!(open(folder.path()), Err(TraceError::NotARun { .. })));
    assert!(matches!(open(&folder.path().join("none")), Err(TraceError::Io { .. })));
}

#[test]
fn runs_are_found_by_path_by_the_beginning_of_their_id_or_as_the_newest() {
    let dir = tempfile::tempdir().expect("a folder");
    assert!(matches!(Run::find(dir.path(), None), Err(TraceError::NoRuns { .. })));
    for (name, start) in [("20260101-a", 30), ("20260102-b", 20), ("20260102-bc", 10)] {
        let folder = dir.path().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let json = format!(r#"{{"id":"{name}","start_ns":{start}}}"#);
        std::fs::write(folder.join("run.json"), json).expect("run.json");
    }
    let find = |name| Run::find(dir.path(), name);
    assert_eq!(find(None).expect("newest"), dir.path().join("20260101-a"));
    assert_eq!(find(Some("20260102-b")).expect("exact"), dir.path().join("20260102-b"));
    assert_eq!(find(Some("20260102-bc")).expect("prefix"), dir.path().join("20260102-bc"));
    let path = dir.path().join("20260101-a");
    assert_eq!(find(path.to_str()).expect("path"), path);
    assert!(matches!(find(Some("20260102")), Err(TraceError::Ambiguous { count: 2, .. })));
    assert!(matches!(find(Some("x")), Err(TraceError::NotFound { .. })));
    let listed: Vec<_> = Run::list(dir.path()).into_iter().map(|r| r.info.id).collect();
    assert_eq!(listed, ["20260101-a", "20260102-b", "20260102-bc"]);
}

#[test]
fn a_process_that_is_being_set_up_is_no_damage() {
    let (run, r) = (TestRun::new(), Records::new(1));
    let folder = run.folder(&r);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("arena"), vec![0; 1 << 20]).expect("arena");
    let read = run.read();
    assert_eq!(read.processes[0].state, ProcessState::Ended);
    assert!(read.processes[0].damage.is_none(), "{:?}", read.processes[0].damage);
}

/// The pump numbers the records of a round first and writes its catalog first: killed in between,
/// it leaves a gap in the numbers and the records in the arena.
#[test]
fn a_kill_between_catalog_and_records_is_no_damage() {
    let (run, r) = (TestRun::new(), died_inside());
    let folder = run.json(&r);
    let records = r.all().collect::<Vec<_>>();
    r.spool(&folder, &records, false);
    let catalog = folder.join("catalog.hodo");
    let mut bytes = std::fs::read(&catalog).expect("a catalog");
    hodo_format::spool::strings_frame(100, 1_000, &["of the round that was cut"], &mut bytes);
    std::fs::write(&catalog, bytes).expect("written");
    let mut arena = ArenaFile::new(&r);
    arena.ring(&records);
    arena.write(&folder);
    let read = run.read();
    assert_eq!(read.processes[0].state, ProcessState::Ended);
    assert!(read.processes[0].damage.is_none(), "{:?}", read.processes[0].damage);
}
