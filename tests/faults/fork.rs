use crate::check::{assert_accounted, findings};
use crate::harness::{Running, Scratch, Victim, heavy, read};
use hodo_tests::acks::get;
use hodo_trace::{Process, Run};
use std::collections::{HashMap, HashSet};

const FORKS: u64 = 200;

#[test]
fn forks_under_load_neither_hang_nor_duplicate() {
    let scratch = Scratch::new("fork");
    let victim = Victim::new(&scratch, "fork", 3).arg("lanes", 2).arg("forks", FORKS);
    let running = victim.env("HODO_MEMORY", "2M").run();
    let run = read(&scratch.runs());
    let found = findings(&run, &running.acks, 1);
    assert!(found.is_complete(), "{found:?}");
    assert_children(&run, &running, FORKS, false);
}

#[test]
fn forks_while_the_machine_is_read_neither_hang_nor_duplicate() {
    let forks = if heavy() { FORKS } else { 60 };
    for how in ["fork", "clone"] {
        let scratch = Scratch::new(&format!("fork-telemetry-{how}"));
        let victim = Victim::new(&scratch, "fork", 3).arg("lanes", 0).arg("forks", forks);
        let victim = victim.arg("rest", 500).env("HODO_MEMORY", "2M").env("HODO_TELEMETRY", "10ms");
        let running = if how == "clone" { victim.arg("how", how).run() } else { victim.run() };
        let run = read(&scratch.runs());
        assert_children(&run, &running, forks, how == "clone");
        assert_one_sampled(&scratch);
    }
}

/// However many processes there were, one folder has the host's readings, written by the first.
fn assert_one_sampled(scratch: &Scratch) {
    let runs = std::fs::read_dir(scratch.runs()).unwrap().flatten();
    let folders = runs.flat_map(|run| std::fs::read_dir(run.path()).unwrap().flatten());
    let is_machine =
        |f: &std::fs::DirEntry| f.file_name().to_string_lossy().starts_with("machine-");
    let machines: Vec<_> = folders.filter(is_machine).collect();
    assert_eq!(machines.len(), 1);
    let files = std::fs::read_dir(machines[0].path()).unwrap().flatten();
    let files = files.filter(|file| file.file_name().to_string_lossy().ends_with(".hodo")).count();
    assert!((1..=3).contains(&files), "{files} files: a fork begins no new one");
}

#[test]
fn a_raw_clone_without_atfork_is_noticed() {
    let forks = if heavy() { FORKS } else { 40 };
    let scratch = Scratch::new("clone");
    let victim = Victim::new(&scratch, "fork", 1).arg("lanes", 0).arg("forks", forks);
    let running = victim.arg("how", "clone").env("HODO_MEMORY", "2M").run();
    assert_children(&read(&scratch.runs()), &running, forks, true);
}

/// Every child wrote one scope into a folder of its own, linked to the scope it was forked in.
fn assert_children(run: &Run, running: &Running, forks: u64, clones: bool) {
    let [_, hung, failed] = &running.acks.lane(0).values;
    assert_eq!((get(hung), get(failed)), (0, 0), "children that hung, that failed");
    assert_eq!(get(&running.acks.lane(0).spans), forks);
    let parents = scopes_by_id(run, "parent");
    let children = scopes_by_id(run, "child");
    let grandchildren = scopes_by_id(run, "grandchild");
    assert_eq!(parents.len() as u64, forks);
    assert_eq!(children.len() as u64, forks);
    assert_eq!(grandchildren.len() as u64, forks.div_ceil(10));
    assert_linked(run, "child", &parents, clones);
    assert_linked(run, "grandchild", &children, clones);
    assert_eq!(run.processes.len() as u64, 1 + forks + forks.div_ceil(10));
    for process in run.processes.iter().filter(|process| has(process, "child")) {
        assert_eq!(process.span_views().count(), 1, "a child holds more than its own scope");
        assert_eq!(process.marks.len(), 1);
    }
    let pids: HashSet<u32> = run.processes.iter().map(|process| process.info.pid).collect();
    assert_eq!(pids.len(), run.processes.len(), "two folders of one process");
}

fn has(process: &Process, name: &str) -> bool {
    process.span_views().any(|span| span.name() == name)
}

/// Full id and index of every scope called `name`; ids must differ.
fn scopes_by_id(run: &Run, name: &str) -> HashMap<String, i64> {
    let mut found = HashMap::new();
    for span in run.processes.iter().flat_map(|process| process.span_views()) {
        if span.name() == name {
            let again = found.insert(span.full_id(), span.index().unwrap());
            assert_eq!(again, None, "{name} {} twice", span.full_id());
        }
    }
    let indices: HashSet<_> = found.values().collect();
    assert_eq!(indices.len(), found.len(), "a {name} was recorded twice");
    found
}

/// A child of a raw clone may not know the scope it was made in; it must not name a wrong one.
fn assert_linked(run: &Run, name: &str, parents: &HashMap<String, i64>, clones: bool) {
    for process in run.processes.iter().filter(|process| has(process, name)) {
        let span = process.span_views().find(|span| span.name() == name).unwrap();
        let link = process.info.parent.as_ref().unwrap_or_else(|| panic!("{name} has no link"));
        let parent = parents.get(&format!("{}{}", link.process, link.span)).copied();
        let may_be_unknown = clones && name == "child" && span.index().unwrap() % 2 == 1;
        let is_unknown = link.span.bytes().all(|digit| digit == b'0');
        if !(may_be_unknown && is_unknown) {
            assert_eq!(parent, span.index(), "{name} linked to a wrong scope");
        }
    }
}

#[test]
fn spawned_children_join_the_run() {
    let children = 8;
    let scratch = Scratch::new("spawn");
    let running = Victim::new(&scratch, "spawn", 1).arg("children", children).run();
    let run = read(&scratch.runs());
    assert_eq!(Run::list(&scratch.runs()).len(), 1, "{}", running.stderr());
    assert_eq!(run.processes.len(), 1 + children);
    let parents = scopes_by_id(&run, "parent");
    assert_eq!(scopes_by_id(&run, "child").len(), children);
    for process in run.processes.iter().filter(|process| has(process, "child")) {
        let link = process.info.parent.as_ref().expect("no link");
        assert!(parents.contains_key(&format!("{}{}", link.process, link.span)));
    }
    assert_accounted(&run, hodo_trace::Counts { spans: 9, marks: 0, attrs: 0 }, 0);
}
