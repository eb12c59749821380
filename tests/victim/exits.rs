use crate::args::Args;
use crate::{outcome, steady};
use hodo_record::{Config, Flushed, Site, Started, open_with};
use hodo_tests::acks::bump;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::Ordering;

static BEFORE: Site = Site::new("before");
static FIRST: Site = Site::new("first");
static AFTER: Site = Site::new("after");

/// Records `steps` steps on this thread and leaves the way `how` says, without a shutdown.
pub fn run(args: &Args) {
    let acks = args.acks();
    outcome::started(&acks, &hodo_record::init(Config::from_env()));
    steady::record(&acks, 0, 0, args.number("steps", 1_000));
    match args.text("how").expect("how") {
        "return" => {}
        "exit" => std::process::exit(3),
        "abort" => std::process::abort(),
        "panic" => {
            let _left_by_panic = open_with(FIRST.id(), 0, None);
            panic!("the host's own panic");
        }
        "exec" => panic!("{}", Command::new("/bin/true").exec()),
        // SAFETY: each of these ends the process; none touches memory of ours.
        how => unsafe { end_by_signal_or_syscall(how) },
    }
}

unsafe fn end_by_signal_or_syscall(how: &str) {
    // SAFETY: plain calls that end the process; the null write is the crash under test.
    unsafe {
        match how {
            "_exit" => libc::_exit(4),
            "sigterm" => libc::raise(libc::SIGTERM),
            "sigint" => libc::raise(libc::SIGINT),
            "sigsegv" => {
                std::ptr::without_provenance_mut::<u8>(8).write_volatile(1);
                0
            }
            "sigkill" => libc::raise(libc::SIGKILL),
            other => panic!("no way {other}"),
        };
    }
}

/// Compares the signal table and mask before and after each part of a recorder's life.
pub fn signals(args: &Args) {
    let acks = args.acks();
    let before = signal_table();
    outcome::started(&acks, &hodo_record::init(Config::from_env()));
    assert_eq!(before, signal_table(), "init changed the signal table");
    steady::record(&acks, 0, 0, 1_000);
    hodo_record::flush(std::time::Duration::from_secs(5));
    assert_eq!(before, signal_table(), "recording changed the signal table");
    assert_our_threads_take_no_signals();
    hodo_record::shutdown();
    assert_eq!(before, signal_table(), "shutdown changed the signal table");
}

/// Handler, flags and mask of every signal, then this thread's mask.
fn signal_table() -> Vec<(usize, i32, u64)> {
    let read = |signal| {
        // SAFETY: asks only; a zeroed sigaction is valid to be filled.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut action);
            (action.sa_sigaction, action.sa_flags, first_word(&action.sa_mask))
        }
    };
    let mut table: Vec<_> = (1..=64).map(read).collect();
    // SAFETY: asks only.
    table.push(unsafe {
        let mut mask: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut mask);
        (0, 0, first_word(&mask))
    });
    table
}

fn first_word(mask: &libc::sigset_t) -> u64 {
    // SAFETY: a signal set is at least 64 bits of plain memory.
    unsafe { std::ptr::from_ref(mask).cast::<u64>().read_unaligned() }
}

/// A signal for the host must reach a thread of the host: ours have every signal blocked.
fn assert_our_threads_take_no_signals() {
    let me = std::process::id();
    let mut ours = 0;
    for task in std::fs::read_dir("/proc/self/task").expect("tasks").flatten() {
        if task.file_name().to_string_lossy() == me.to_string() {
            continue;
        }
        let status = std::fs::read_to_string(task.path().join("status")).expect("status");
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).expect("SigBlk");
        let blocked = u64::from_str_radix(blocked.trim(), 16).expect("hex");
        // SIGKILL and SIGSTOP cannot be blocked; 32 and 33 belong to the C library.
        let open = !blocked & !(1 << 8 | 1 << 18 | 1 << 31 | 1 << 32);
        assert_eq!(open, 0, "a thread of hodo takes signals: {status}");
        ours += 1;
    }
    assert!(ours > 0, "no thread of hodo was found");
}

/// Start and stop in every order a host may come up with; asserts here, the test checks the run.
pub fn lifecycle(args: &Args) {
    let acks = args.acks();
    open_with(BEFORE.id(), 0, None).close();
    assert!(!hodo_record::is_on());
    assert!(matches!(hodo_record::shutdown(), Flushed::Off), "shutdown before init");
    assert!(matches!(hodo_record::init(Config::from_env()), Started::On), "first init");
    assert!(matches!(hodo_record::init(Config::from_env()), Started::Already), "second init");
    open_with(FIRST.id(), 0, None).close();
    bump(&acks.lane(0).spans);
    child_inits_again();
    assert!(matches!(hodo_record::shutdown(), Flushed::Done), "first shutdown");
    assert!(matches!(hodo_record::shutdown(), Flushed::Off), "second shutdown");
    open_with(AFTER.id(), 0, None).close();
    assert!(!hodo_record::is_on());
    acks.lane(0).stage.store(9, Ordering::SeqCst);
}

fn child_inits_again() {
    // SAFETY: the child records and ends by `_exit`.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let started = hodo_record::init(Config::from_env());
        open_with(FIRST.id(), 0, Some(1)).close();
        let known = matches!(started, Started::On | Started::Already);
        // SAFETY: ends this child only.
        unsafe { libc::_exit(if known { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for our own child with a valid pointer.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    assert_eq!(status, 0, "init after fork");
}
