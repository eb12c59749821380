use crate::check::{acknowledged, assert_accounted, findings};
use crate::harness::{Running, Scratch, Victim, read};
use hodo_trace::{Counts, ProcessState, Run};
use std::os::unix::process::ExitStatusExt;

/// Runs a victim that records 1,000 steps and leaves by `how`; everything must be there.
fn leave(how: &str) -> (std::process::ExitStatus, Running, Run) {
    let scratch = Scratch::new(how);
    let mut running = Victim::new(&scratch, "exit", 1).arg("how", how).start();
    let status = running.wait();
    let run = read(&scratch.runs());
    let found = findings(&run, &running.acks, 0);
    assert!(found.is_complete(), "{how}: {found:?}\n{}", running.stderr());
    assert_eq!(run.processes.len(), 1);
    (status, running, run)
}

fn accounted(running: &Running, run: &Run) {
    assert_accounted(run, acknowledged(&running.acks, 0), 0);
}

#[test]
fn a_return_from_main_keeps_all() {
    let (status, running, run) = leave("return");
    assert_eq!(status.code(), Some(0));
    accounted(&running, &run);
}

#[test]
fn exit_keeps_all_and_its_code() {
    let (status, running, run) = leave("exit");
    assert_eq!(status.code(), Some(3));
    accounted(&running, &run);
}

#[test]
fn underscore_exit_keeps_all_and_its_code() {
    let (status, running, run) = leave("_exit");
    assert_eq!(status.code(), Some(4));
    assert_eq!(run.processes[0].state, ProcessState::Ended);
    accounted(&running, &run);
}

#[test]
fn exec_keeps_all() {
    let (status, running, run) = leave("exec");
    assert_eq!(status.code(), Some(0));
    accounted(&running, &run);
}

#[test]
fn deaths_by_signal_keep_all_and_the_signal() {
    let ways = [
        ("abort", libc::SIGABRT),
        ("sigterm", libc::SIGTERM),
        ("sigint", libc::SIGINT),
        ("sigsegv", libc::SIGSEGV),
        ("sigkill", libc::SIGKILL),
    ];
    for (how, signal) in ways {
        let (status, running, run) = leave(how);
        assert_eq!(status.signal(), Some(signal), "{how}");
        assert_eq!(run.processes[0].state, ProcessState::Ended, "{how}");
        accounted(&running, &run);
    }
}

#[test]
fn a_panic_keeps_all_and_marks_the_scope_failed() {
    let (status, _, run) = leave("panic");
    assert_eq!(status.code(), Some(101));
    let left = run.processes[0].span_views().find(|span| span.name() == "first").unwrap();
    assert!(left.is_failed());
    assert_eq!(run.processes[0].account.unexplained, 0);
}

#[test]
fn the_signal_table_stays_the_hosts() {
    let scratch = Scratch::new("signals");
    Victim::new(&scratch, "signals", 1).run();
}

#[test]
fn start_and_stop_in_any_order() {
    let scratch = Scratch::new("lifecycle");
    let running = Victim::new(&scratch, "lifecycle", 1).run();
    let run = read(&scratch.runs());
    let names: Vec<_> =
        run.processes.iter().flat_map(|p| p.span_views()).map(|s| s.name()).collect();
    assert_eq!(names, ["first", "first"], "{}", running.stderr());
    assert_accounted(&run, Counts { spans: 2, ..Counts::default() }, 0);
    assert_eq!(Run::list(&scratch.runs()).len(), 1, "the child made a run of its own");
}

#[test]
fn switched_off_it_leaves_nothing_behind() {
    let scratch = Scratch::new("off");
    let running = Victim::new(&scratch, "steady", 1).arg("lanes", 1).arg("steps", 100);
    running.env("HODO", "0").run();
    assert!(!scratch.runs().exists());
}
