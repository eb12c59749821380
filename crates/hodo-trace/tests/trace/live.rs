//! Runs that are being recorded while they are read.

use crate::support::arena::ArenaFile;
use crate::support::gpu::Works;
use crate::support::render::assert_tree;
use crate::support::{Records, TestRun};
use hodo_format::record::SpanId;
use hodo_trace::{Filter, ProcessState, Run};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};

const LOCK_THIS: &str = "HODO_TEST_LOCK";

/// The lock on the first byte that a recorder holds; 0 when it was had.
fn lock(file: &std::fs::File) -> i32 {
    // SAFETY: a zeroed flock is valid; the call only reads it.
    unsafe {
        let mut lock: libc::flock = std::mem::zeroed();
        lock.l_type = libc::F_WRLCK as libc::c_short;
        lock.l_len = 1;
        libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &lock)
    }
}

/// Not a test of its own: the process that [`locked`] starts, which holds the lock a recorder holds.
#[test]
fn holds_a_lock_when_asked() {
    let Ok(path) = std::env::var(LOCK_THIS) else { return };
    let file = std::fs::File::options().write(true).open(path).expect("the arena");
    let result = lock(&file);
    println!("\nlocked {result}");
    let _ = std::io::stdin().read(&mut [0]);
}

/// Runs `work` while another process holds the lock of the arena at `path`.
pub fn locked(path: &std::path::Path, work: impl FnOnce()) {
    let (mut child, answer) = start_locking(path);
    assert_eq!(answer.as_deref(), Some("locked 0"));
    work();
    drop(child.stdin.take());
    child.wait().expect("its end");
}

/// Starts a process that tries for the lock, and what it says of it.
fn start_locking(path: &std::path::Path) -> (Child, Option<String>) {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "live::holds_a_lock_when_asked", "--nocapture"])
        .env(LOCK_THIS, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    // One byte at a time: what the child says later is not taken out of the pipe, and the pipe
    // stays open with the child.
    let stdout = child.stdout.as_mut().expect("its output");
    let lines = BufReader::with_capacity(1, stdout).lines().map_while(Result::ok);
    let answer = lines.into_iter().find(|line| line.starts_with("locked"));
    (child, answer)
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
        assert!(
            Run::list(run.path().parent().expect("a folder"))
                .iter()
                .any(|r| r.state == Some(ProcessState::Live))
        );
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
    assert_eq!(run.read().processes[0].state, ProcessState::Ended);
}

#[test]
fn gpu_work_launched_after_the_moment_shown_is_left_out_and_a_write_under_way_is_no_damage() {
    let run = TestRun::new();
    let mut r = Records::new(1);
    let step = r.id(1);
    let open = r.span(step, SpanId::NONE, "step", 1001, 1001);
    r.scope(1, step, "before", 100, 900);
    r.open.push(open);
    let mut w = Works::new();
    w.kernel(&mut r, step, "a", 1005, 1020).launched = 1001;
    w.kernel(&mut r, step, "a", 1050, 1060).launched = 1030;
    let folder = run.json(&r);
    let all: Vec<_> = r.all().collect();
    r.spool(&folder, &all, false);
    let mut arena = ArenaFile::new(&r);
    arena.ring(&all);
    arena.write(&folder);
    let mut bytes = w.bytes();
    w.all.clear();
    bytes.extend_from_slice(&w.bytes()[64..100]);
    std::fs::write(folder.join("gpu-000001.hodo"), bytes).expect("a GPU file");
    locked(&folder.join("arena"), || {
        let read = run.read();
        let process = &read.processes[0];
        assert_eq!(process.state, ProcessState::Live);
        assert_eq!((process.gpu.work.len(), process.gpu.newer), (1, 1));
        assert!(process.damage.is_none(), "{:?}", process.damage);
        let step = &hodo_trace::tree(&read, &Filter::default()).nodes[0];
        assert_eq!(step.gpu.as_ref().map(|gpu| gpu.own.kernels), Some(1));
    });
    let ended = run.read();
    assert_eq!((ended.processes[0].gpu.work.len(), ended.processes[0].damage.frames), (2, 0));
    assert_eq!(ended.processes[0].damage.places.len(), 1, "the torn end stays torn");
}

/// A mapping of a whole file, as a recorder has of its arena.
struct Mapped(*mut libc::c_void, usize);

impl Mapped {
    fn new(file: &std::fs::File) -> Mapped {
        let bytes = file.metadata().expect("its length").len() as usize;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of an open file, at an address of the kernel's choice.
        let at = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        assert_ne!(at, libc::MAP_FAILED);
        Mapped(at, bytes)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own.
        unsafe { libc::munmap(self.0, self.1) };
    }
}

#[test]
fn a_process_reads_its_own_run_as_live_and_keeps_its_lock() {
    let run = TestRun::new();
    let mut r = Records::new(1);
    r.scope(1, SpanId::NONE, "s", 100, 200);
    let folder = run.json(&r);
    let mut arena = ArenaFile::new(&r);
    arena.ring(&r.all().collect::<Vec<_>>());
    arena.write(&folder);
    let path = folder.join("arena");
    let file = std::fs::File::options().read(true).write(true).open(&path).expect("the arena");
    assert_eq!(lock(&file), 0);
    let _mapped = Mapped::new(&file);
    for _ in 0..2 {
        assert_eq!(run.read().processes[0].state, ProcessState::Live);
    }
    // Closing any handle of the file would have given the lock up.
    let (mut other, answer) = start_locking(&path);
    assert_eq!(answer.as_deref(), Some("locked -1"));
    drop(other.stdin.take());
    other.wait().expect("its end");
}
