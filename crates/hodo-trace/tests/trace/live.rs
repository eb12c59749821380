//! Runs that are being recorded while they are read.

use crate::support::arena::ArenaFile;
use crate::support::render::assert_tree;
use crate::support::{Records, TestRun};
use hodo_format::record::SpanId;
use hodo_trace::{Filter, ProcessState, Run};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};

const LOCK_THIS: &str = "HODO_TEST_LOCK";

/// Not a test of its own: the process that [`locked`] starts, which holds the lock a recorder holds.
#[test]
fn holds_a_lock_when_asked() {
    let Ok(path) = std::env::var(LOCK_THIS) else { return };
    let file = std::fs::File::options().write(true).open(path).expect("the arena");
    // SAFETY: a zeroed flock is valid; the call only reads it.
    let result = unsafe {
        let mut lock: libc::flock = std::mem::zeroed();
        lock.l_type = libc::F_WRLCK as libc::c_short;
        lock.l_len = 1;
        libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &lock)
    };
    println!("\nlocked {result}");
    let _ = std::io::stdin().read(&mut [0]);
}

/// Runs `work` while another process holds the lock of the arena at `path`.
fn locked(path: &std::path::Path, work: impl FnOnce()) {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "live::holds_a_lock_when_asked", "--nocapture"])
        .env(LOCK_THIS, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let stdout = BufReader::new(child.stdout.take().expect("its output"));
    let mut lines = stdout.lines().map_while(Result::ok);
    let line = lines.find(|l| l.starts_with("locked"));
    assert_eq!(line.as_deref(), Some("locked 0"));
    work();
    drop(child.stdin.take());
    lines.for_each(drop);
    child.wait().expect("its end");
}

#[test]
fn a_process_that_holds_the_lock_is_live_and_is_shown_at_one_moment() {
    let run = TestRun::new();
    let mut r = Records::new(1);
    let root = r.id(1);
    r.scope(1, root, "step", 110, 150);
    let straddling = r.id(1);
    r.close(straddling, root, "step", 1000, 1100);
    let later = r.id(1);
    let late_child = r.id(1);
    r.close(late_child, later, "late child", 1300, 1400);
    let open =
        [r.span(root, SpanId::NONE, "root", 100, 100), r.span(later, root, "later", 1001, 1001)];
    r.open.extend(open);
    let folder = run.json(&r);
    let all: Vec<_> = r.all().collect();
    // The ring holds what had closed; the pump stored what closed after it was copied.
    r.spool(&folder, &all, false);
    let mut arena = ArenaFile::new(&r);
    arena.ring(&all[..1]);
    arena.write(&folder);
    let arena = folder.join("arena");
    locked(&arena, || {
        let read = run.read();
        let process = &read.processes[0];
        assert_eq!(process.state, ProcessState::Live);
        assert!(Run::list(run.path().parent().expect("a folder")).iter().any(|r| r.live));
        // The moment shown is 1001, the newest in the arena.
        assert_tree(
            &hodo_trace::tree(&read, &Filter::default()),
            "
            root 1x total 901 self 860 open 1
              step 2x total 41 self 41 open 1
              later 1x total 0 self 0 open 1
            ",
        );
        assert_eq!((process.account.newer, process.account.unexplained), (2, 0));
    });
    assert_eq!(run.read().processes[0].state, ProcessState::Crashed);
}
