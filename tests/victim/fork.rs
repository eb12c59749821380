use crate::args::Args;
use crate::{outcome, steady};
use hodo_record::{Config, Site, Value, child_env, mark, open_with};
use hodo_tests::acks::{Acks, bump, get, stage};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

static PARENT: Site = Site::new("parent");
static CHILD: Site = Site::new("child");
static GRANDCHILD: Site = Site::new("grandchild");
static LOSS: Site = Site::new("child loss");

/// Seconds after which a child that has not ended counts as hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// Forks `forks` times while `lanes` threads record; with
/// `how=clone` every other time by a raw `clone`. With `rest` it stays for so many milliseconds in one
/// scope halfway, before it forks in it: what pauses at a fork and goes on with a scope has time to.
///
/// Lane 0 counts the children: `spans` their scopes, `marks` their marks, `values[1]` the ones
/// that hung, `values[2]` those that ended badly. Recording threads use the lanes from 1.
pub fn run(args: &Args) {
    let acks = Arc::new(args.acks());
    outcome::started(&acks, &hodo_record::init(Config::from_env()));
    let lanes: u64 = args.number("lanes", 2);
    let load: Vec<_> = (1..=lanes)
        .map(|lane| {
            let acks = Arc::clone(&acks);
            let rate = 20_000;
            thread::spawn(move || steady::record(&acks, lane, rate, 0))
        })
        .collect();
    let clones = args.text("how") == Some("clone");
    let forks = args.number("forks", 200i64);
    let rest = Duration::from_millis(args.number("rest", 0));
    for at in 0..forks {
        let fork_one = if clones && at % 2 == 1 { raw_clone } else { plain_fork };
        let rest = if at == forks / 2 { rest } else { Duration::ZERO };
        fork_in_scope(&acks, at, rest, fork_one);
    }
    acks.lane(0).stage.store(stage::STOP, Ordering::SeqCst);
    load.into_iter().for_each(|thread| thread.join().expect("lane"));
    outcome::finish(args);
}

fn fork_in_scope(acks: &Acks, at: i64, rest: Duration, fork_one: fn() -> libc::pid_t) {
    let scope = open_with(PARENT.id(), 0, Some(at));
    thread::sleep(rest);
    match fork_one() {
        0 => child(acks, at),
        pid if pid > 0 => await_child(acks, pid),
        _ => panic!("fork: {}", std::io::Error::last_os_error()),
    }
    scope.close();
}

fn plain_fork() -> libc::pid_t {
    // SAFETY: the child records, which is what the test is about, and ends by `_exit`.
    unsafe { libc::fork() }
}

/// A fork that no `pthread_atfork` handler hears of.
fn raw_clone() -> libc::pid_t {
    // SAFETY: as for fork; no stack is given, so the child goes on with a copy of this one.
    unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as libc::pid_t }
}

/// What a forked child does: two scopes and a mark; every tenth forks once more.
fn child(acks: &Acks, at: i64) -> ! {
    let scope = open_with(CHILD.id(), 0, Some(at));
    mark(LOSS.id(), Value::I64(at), false);
    bump(&acks.lane(0).marks);
    if at % 10 == 0 {
        match plain_fork() {
            0 => {
                open_with(GRANDCHILD.id(), 0, Some(at)).close();
                bump(&acks.lane(0).attrs);
                leave();
            }
            pid => await_child(acks, pid),
        }
    }
    scope.close();
    bump(&acks.lane(0).spans);
    leave()
}

fn leave() -> ! {
    // SAFETY: ends this process only, without running what the parent registered.
    unsafe { libc::_exit(0) }
}

fn await_child(acks: &Acks, pid: libc::pid_t) {
    let began = Instant::now();
    let mut status = 0;
    // SAFETY: waits for our own child with a valid pointer.
    while unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } == 0 {
        if began.elapsed() > PATIENCE {
            bump(&acks.lane(0).values[1]);
            // SAFETY: our own child, which is not reaped yet.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        thread::sleep(Duration::from_millis(1));
    }
    if status != 0 {
        bump(&acks.lane(0).values[2]);
    }
}

/// Starts `children` copies of this program inside a scope, the run handed on by environment.
pub fn spawn(args: &Args) {
    let acks = args.acks();
    outcome::started(&acks, &hodo_record::init(Config::from_env()));
    let path = args.text("acks").expect("acks");
    let scope = open_with(PARENT.id(), 0, Some(0));
    let program = std::env::current_exe().expect("exe");
    for at in 0..args.number("children", 8u64) {
        let words = ["spawned".to_owned(), format!("acks={path}"), format!("at={at}")];
        let status = Command::new(&program).args(words).envs(child_env()).status().expect("spawn");
        assert!(status.success());
    }
    scope.close();
    outcome::finish(args);
    assert_eq!(get(&acks.lane(0).spans), args.number("children", 8));
}

/// A spawned child: one scope.
pub fn spawned(args: &Args) {
    let acks = args.acks();
    hodo_record::init(Config::from_env());
    open_with(CHILD.id(), 0, Some(args.number("at", 0))).close();
    bump(&acks.lane(0).spans);
    hodo_record::shutdown();
}
