//! A run at a collector: its files come in, and shippers tell of its processes.

use crate::support::{Records, TestRun};
use hodo_format::record::SpanId;
use hodo_format::ship::SHIPPED_FILE;
use hodo_trace::{Process, ProcessState, Run, Shipped, ShippedHost};
use std::time::{SystemTime, UNIX_EPOCH};

fn records() -> Records {
    let mut r = Records::new(1);
    for n in 0..100 {
        r.scope(1, SpanId::NONE, "step", 100 + 10 * n, 105 + 10 * n);
    }
    r
}

/// Tells of the process as its host did, so many seconds ago.
fn told(run: &TestRun, live: bool, done: bool, ago_s: u64) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
    let processes = [("p1-00000001".to_owned(), live)].into();
    let host = ShippedHost { heard_ns: now - ago_s * 1_000_000_000, done, processes };
    let shipped = Shipped { hosts: [("a".to_owned(), host)].into(), ..Shipped::begun() };
    let text = serde_json::to_vec(&shipped).expect("JSON");
    std::fs::write(run.path().join(SHIPPED_FILE), text).expect("shipped.json");
}

fn process(run: &TestRun) -> Process {
    run.read().processes.remove(0)
}

#[test]
fn a_process_that_is_shipped_is_live_until_nothing_is_heard_of_it() {
    let (run, r) = (TestRun::new(), records());
    let folder = run.json(&r);
    assert!(folder.ends_with("p1-00000001"), "{}", folder.display());
    r.spool(&folder, &r.all().collect::<Vec<_>>(), false);
    let state = || (process(&run).state, Run::summary(run.path()).state);
    assert_eq!(state().0, ProcessState::Unknown, "no arena, no end, nobody who tells");
    told(&run, true, false, 1);
    assert_eq!(state(), (ProcessState::Live, Some(ProcessState::Live)));
    told(&run, true, false, 3600);
    assert_eq!(state(), (ProcessState::Silent, Some(ProcessState::Silent)));
    assert!(Run::summary(run.path()).heard_ns.is_some());
    told(&run, false, false, 3600);
    assert_eq!(state(), (ProcessState::Ended, Some(ProcessState::Ended)));
    for (live, done) in [(true, false), (false, false)] {
        told(&run, live, done, 1);
        assert!(process(&run).damage.is_none(), "{:?}", process(&run).damage);
    }
}

#[test]
fn what_is_on_its_way_is_neither_damage_nor_loss() {
    let (run, r) = (TestRun::new(), records());
    let folder = run.finished(&r);
    let spool = folder.join("spool-000001.hodo");
    let whole = std::fs::read(&spool).expect("a spool file");
    // The catalog goes first, and says that all was stored.
    for length in [0, 70, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&spool, &whole[..length]).expect("a part of it");
        told(&run, true, false, 1);
        let coming = process(&run);
        assert!(coming.damage.is_none(), "{length}: {:?}", coming.damage);
        assert_eq!(coming.account.unexplained, 0, "{length}");
        assert!(coming.account.newer > 0, "{length}");
        // All was shipped, says its host: what is missing now is missing.
        told(&run, false, true, 1);
        assert!(process(&run).account.unexplained > 0, "{length}");
    }
    std::fs::write(&spool, &whole).expect("all of it");
    let all = process(&run);
    assert_eq!((all.state, all.spans.len()), (ProcessState::Finished, 100));
    assert_eq!((all.account.unexplained, all.account.newer), (0, 0));
}

#[test]
fn an_arena_elsewhere_is_not_looked_for() {
    let (run, r) = (TestRun::new(), records());
    let folder = run.json(&r);
    r.spool(&folder, &r.all().collect::<Vec<_>>(), false);
    let elsewhere = run.path().join("elsewhere");
    std::fs::write(&elsewhere, "no arena").expect("a file");
    let info = std::fs::read_to_string(folder.join("process.json")).expect("process.json");
    let named =
        info.replace(r#""arena":"arena""#, &format!(r#""arena":"{}""#, elsewhere.display()));
    assert_ne!(info, named);
    std::fs::write(folder.join("process.json"), named).expect("process.json");
    let names_it = |process: Process| process.damage.places.iter().any(|p| p.file == elsewhere);
    assert!(names_it(process(&run)), "of a run that was recorded here it is");
    told(&run, true, true, 1);
    assert!(!names_it(process(&run)));
}
