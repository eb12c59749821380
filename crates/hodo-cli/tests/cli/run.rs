//! `hodo run`: what the program gets, what its caller sees of it, and what is said at the end.

use crate::made::Folder;
use crate::program::hodo;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(180);
const HODO: &str = env!("CARGO_BIN_EXE_hodo");

/// `hodo run` of these words. No program here loads the library: any file does.
fn runner(dir: &Path, words: &[&str]) -> Command {
    let mut command = hodo(dir, &["run"]);
    command.args(words).env("HODO_LIBRARY", HODO);
    heeding(command)
}

/// Signals mean to it what they mean in a terminal, also where these tests run behind `nohup` or as a script's job:
/// what is ignored there is ignored by what it starts.
fn heeding(mut command: Command) -> Command {
    let heed = || {
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
            // SAFETY: a plain call.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls alone.
    unsafe { command.pre_exec(heed) };
    command
}

fn run(dir: &Path, words: &[&str]) -> Output {
    runner(dir, words).output().unwrap()
}

/// A command for `sh` that records three scopes and prints nothing.
pub fn recorder() -> String {
    let tests = std::env::current_exe().unwrap();
    format!("{} --ignored --exact run::three_scopes >/dev/null 2>&1", tests.display())
}

#[test]
#[ignore = "a program that other tests start"]
fn three_scopes() {
    let _recording = hodo::init(hodo::Config::from_env());
    for index in 0..3 {
        let _s = hodo::scope!("work", index = index);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A program that says "ready", with what it says later.
struct Running {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Running {
    fn start(dir: &Path, script: &str) -> Running {
        let mut command = runner(dir, &["--", "sh", "-c", script]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Running { child, said }
    }

    fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    fn send(&self, signal: i32) {
        // SAFETY: the child was not waited for, so the number is its own.
        assert_eq!(unsafe { libc::kill(self.pid(), signal) }, 0);
    }

    fn end(mut self) -> (std::process::ExitStatus, String) {
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap(), rest)
    }
}

/// The state of a process in one letter, as the kernel has it.
fn state(pid: i32) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap_or('?')
}

pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let patience = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < patience, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn runs(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn exit_codes_are_the_programs() {
    let dir = Folder::new();
    for code in [0, 3, 255] {
        let output = run(dir.path(), &["--", "sh", "-c", &format!("exit {code}")]);
        assert_eq!(output.status.code(), Some(code));
    }
}

#[test]
fn a_program_that_a_signal_ends_ends_hodo_the_same_way() {
    let dir = Folder::new();
    for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGSEGV, libc::SIGINT, libc::SIGHUP] {
        let output = run(dir.path(), &["--", "sh", "-c", &format!("kill -{signal} $$")]);
        assert_eq!(output.status.signal(), Some(signal));
        assert!(!output.status.core_dumped(), "{signal}");
    }
    let shell = format!("{HODO} run -q -- sh -c 'kill -9 $$'; echo $?");
    let output =
        Command::new("sh").args(["-c", &shell]).env("HODO_LIBRARY", HODO).output().unwrap();
    assert_eq!(text(&output.stdout), "137\n");
}

#[test]
fn signals_reach_the_program() {
    let dir = Folder::new();
    let names = [
        ("TERM", libc::SIGTERM),
        ("INT", libc::SIGINT),
        ("HUP", libc::SIGHUP),
        ("QUIT", libc::SIGQUIT),
        ("USR1", libc::SIGUSR1),
        ("USR2", libc::SIGUSR2),
    ];
    for (name, number) in names {
        let script = format!(
            "trap 'echo got {name}; exit 5' {name}; echo ready; while :; do sleep 0.02; done"
        );
        let running = Running::start(dir.path(), &script);
        running.send(number);
        let (status, said) = running.end();
        assert_eq!((status.code(), said.as_str()), (Some(5), format!("got {name}\n").as_str()));
    }
    let running = Running::start(dir.path(), "echo ready; while :; do sleep 0.02; done");
    running.send(libc::SIGTERM);
    assert_eq!(running.end().0.signal(), Some(libc::SIGTERM));
}

#[test]
fn a_program_that_is_stopped_stops_hodo_and_both_go_on() {
    let dir = Folder::new();
    let script = "echo ready; echo $$; while [ ! -e go ]; do sleep 0.02; done; echo done";
    let mut running = Running::start(dir.path(), &format!("cd {}; {script}", dir.path().display()));
    let mut line = String::new();
    running.said.read_line(&mut line).unwrap();
    let program: i32 = line.trim().parse().unwrap();
    running.send(libc::SIGTSTP);
    wait_until("both stop", || state(program) == 'T' && state(running.pid()) == 'T');
    running.send(libc::SIGCONT);
    wait_until("both go on", || state(program) != 'T' && state(running.pid()) != 'T');
    std::fs::write(dir.path().join("go"), "").unwrap();
    let (status, said) = running.end();
    assert_eq!((status.code(), said.as_str()), (Some(0), "done\n"));
}

fn terminal() -> (File, OwnedFd) {
    let (mut screen, mut terminal) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: the pointers are valid for the call; a null name and null settings are allowed.
    let made = unsafe {
        libc::openpty(&mut screen, &mut terminal, none, std::ptr::null(), std::ptr::null())
    };
    assert_eq!(made, 0);
    // SAFETY: openpty just made both descriptors, and nothing else owns them.
    unsafe { (File::from_raw_fd(screen), OwnedFd::from_raw_fd(terminal)) }
}

#[test]
fn control_c_reaches_the_program_once() {
    let dir = Folder::new();
    let (mut screen, terminal) = terminal();
    // It stays for a second after the first, for one that would come twice.
    let script = "n=0; trap 'n=$((n+1))' INT; echo ready; \
                  i=0; while [ $n -eq 0 ] && [ $i -lt 4000 ]; do sleep 0.05; i=$((i+1)); done; \
                  i=0; while [ $i -lt 20 ]; do sleep 0.05; i=$((i+1)); done; echo \"INT $n times\"";
    let mut command = runner(dir.path(), &["--", "sh", "-c", script]);
    command
        .stdin(terminal.try_clone().unwrap())
        .stdout(terminal.try_clone().unwrap())
        .stderr(terminal);
    // SAFETY: two system calls, which make the terminal that of a session of its own.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            libc::ioctl(0, libc::TIOCSCTTY, 0);
            Ok(())
        })
    };
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut seen = Vec::new();
    let mut byte = [0];
    while !text(&seen).contains("ready") && screen.read(&mut byte).is_ok_and(|n| n == 1) {
        seen.push(byte[0]);
    }
    screen.write_all(b"\x03").unwrap();
    // A closed terminal reads as an error on Linux.
    let _ = screen.read_to_end(&mut seen);
    assert!(text(&seen).contains("INT 1 times"), "{}", text(&seen));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn input_and_output_are_the_programs_alone() {
    let dir = Folder::new();
    let mut command = runner(dir.path(), &["--", "cat"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let bytes: Vec<u8> = (0..1 << 20).map(|i: u32| (i * 7) as u8).collect();
    let (mut input, given) = (child.stdin.take().unwrap(), bytes.clone());
    let writer = std::thread::spawn(move || input.write_all(&given).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.stdout == bytes, "{} bytes", output.stdout.len());
    assert!(text(&output.stderr).starts_with("hodo: nothing was recorded"));
    assert_eq!(text(&output.stderr).lines().count(), 1);
    let output = run(dir.path(), &["--quiet", "--", "sh", "-c", "echo out; echo err >&2"]);
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("out\n".into(), "err\n".into()));
}

#[test]
fn the_program_has_the_signals_it_would_have_had() {
    let dir = Folder::new();
    let show = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"];
    let plain = Command::new("sh").args(["-c", "exec \"$@\"", "sh"]).args(show).output().unwrap();
    let output = run(dir.path(), &[&["--"], &show[..]].concat());
    assert_eq!(signals(&output), signals(&plain));
}

/// The sets that `/proc/self/status` showed, without 32 and 33: a C library keeps these two for its threads,
/// lets nobody set them, and leaves them ignored in what `posix_spawn` starts, or not, as it has threads.
fn signals(output: &Output) -> Vec<(String, u64)> {
    assert!(!output.stdout.is_empty(), "{}", text(&output.stderr));
    let of_the_c_library = 0b11 << 31;
    let set = |line: &str| {
        let (name, bits) = line.split_once(":\t").unwrap();
        (name.to_owned(), u64::from_str_radix(bits, 16).unwrap() & !of_the_c_library)
    };
    text(&output.stdout).lines().map(set).collect()
}

#[test]
fn a_caller_that_ignores_its_children_changes_nothing() {
    let dir = Folder::new();
    let ignore = || {
        // SAFETY: a plain call.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        Ok(())
    };
    let script = "grep ^SigIgn /proc/self/status; exit 3";
    let mut plain = heeding(Command::new("sh"));
    let mut under = runner(dir.path(), &["--", "sh", "-c", script]);
    // SAFETY: the closure makes one system call.
    unsafe { plain.args(["-c", script]).pre_exec(ignore) };
    // SAFETY: as above.
    unsafe { under.pre_exec(ignore) };
    let (plain, under) = (plain.output().unwrap(), under.output().unwrap());
    assert_eq!((under.status.code(), signals(&under)), (Some(3), signals(&plain)));
}

#[test]
fn what_cannot_be_run_is_told_as_a_shell_would() {
    let dir = Folder::new();
    let file = dir.path().join("data");
    std::fs::write(&file, "no program").unwrap();
    for (program, code, words) in [
        ("no-such-program", 127, "no such program"),
        ("/no/such/program", 127, "no such program"),
        (file.to_str().unwrap(), 126, "chmod +x"),
        ("/", 126, "/"),
    ] {
        let output = run(dir.path(), &["--", program]);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{program}: {errors}");
        assert!(errors.contains(words) && errors.contains(program), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
    assert_eq!(run(dir.path(), &[]).status.code(), Some(2));
    assert_eq!(run(dir.path(), &["--colour", "x"]).status.code(), Some(2));
}

#[test]
fn a_misspelt_hook_is_refused_before_anything_runs() {
    let dir = Folder::new();
    for (asked, word) in [("torhc", "torhc"), ("torch,layer=2", "layer=2")] {
        let output = run(dir.path(), &[&format!("--hooks={asked}"), "--", "sh", "-c", "echo ran"]);
        let errors = text(&output.stderr);
        assert_eq!(
            (output.status.code(), text(&output.stdout)),
            (Some(2), String::new()),
            "{errors}"
        );
        assert!(errors.contains(&format!("`{word}` is neither a framework")), "{errors}");
        assert!(
            errors.contains("torch, transformers, lightning") && !errors.contains("HODO_HOOKS")
        );
    }
}

#[test]
fn a_program_that_records_nothing_is_pointed_to_hooks() {
    let dir = Folder::new();
    let said = |command: &mut Command| text(&command.output().unwrap().stderr);
    let plain = said(&mut runner(dir.path(), &["--", "true"]));
    for words in ["`hodo run --hooks -- ...`", "torch", "hodo.profile()"] {
        assert!(plain.contains(words), "{plain}");
    }
    // As in hodo's Python package.
    let package = dir.path().join("package");
    for part in ["lib", "hooks/start"] {
        std::fs::create_dir_all(package.join(part)).unwrap();
    }
    let library = package.join("lib/libhodo.so");
    std::fs::write(&library, "").unwrap();
    let mut hooked = runner(dir.path(), &["--hooks=torch,layers=2", "--", "true"]);
    let hooked = said(hooked.env("HODO_LIBRARY", library));
    assert!(hooked.contains("no framework that was to be hooked ran"), "{hooked}");
    assert!(hooked.contains("python -I") && !hooked.contains("hodo run --hooks"), "{hooked}");
}

#[test]
fn a_missing_library_is_told_before_anything_runs() {
    let dir = Folder::new();
    let mut command = runner(dir.path(), &["--", "sh", "-c", "echo ran"]);
    let output = command.env("HODO_LIBRARY", "/nowhere/libhodo.so").output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(125), String::new()));
    assert!(text(&output.stderr).contains("HODO_LIBRARY=/nowhere/libhodo.so is no file"));
    let alone = dir.path().join("hodo");
    std::fs::copy(HODO, &alone).unwrap();
    let mut command = Command::new(&alone);
    let output = command.args(["run", "--", "true"]).env_remove("HODO_LIBRARY").output().unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125));
    assert!(errors.contains("make install") && errors.contains("../lib/libhodo.so"), "{errors}");
}

#[test]
fn the_environment_says_where_to_record() {
    let dir = Folder::new();
    let output = run(dir.path(), &["--quiet", "--name", "x y", "--gpu", "trace", "--", "env"]);
    let set = text(&output.stdout);
    let value = |name: &str| {
        let line = set.lines().find(|line| line.starts_with(&format!("{name}=")));
        line.map(|line| line.split_once('=').unwrap().1.to_owned())
    };
    let run_folder = value("HODO_RUN").unwrap();
    assert!(run_folder.starts_with(dir.path().to_str().unwrap()) && run_folder.contains("-x_y-"));
    assert_eq!(value("HODO_APP").as_deref(), Some("x y"));
    assert_eq!(value("HODO_GPU").as_deref(), Some("trace"));
    assert_eq!(value("HODO_INJECT").as_deref(), Some("1"));
    let library = std::fs::canonicalize(HODO).unwrap();
    assert_eq!(value("NVTX_INJECTION64_PATH").as_deref(), library.to_str());
    assert_eq!(value("CUDA_INJECTION64_PATH").as_deref(), library.to_str());
    assert!(runs(dir.path()).is_empty(), "a program that records nothing leaves nothing");
}

#[test]
fn another_tool_is_left_where_it_is_and_named() {
    let dir = Folder::new();
    let mut command = runner(dir.path(), &["--", "sh", "-c", "echo $NVTX_INJECTION64_PATH"]);
    let output = command.env("NVTX_INJECTION64_PATH", "/their/tool.so").output().unwrap();
    assert_eq!(text(&output.stdout), "/their/tool.so\n");
    let told = "hodo: NVTX_INJECTION64_PATH is set to /their/tool.so: kept, so NVTX ranges are not recorded\n";
    assert!(text(&output.stderr).starts_with(told), "{}", text(&output.stderr));
}

#[test]
fn the_last_line_says_what_was_recorded_and_how_to_see_it() {
    let dir = Folder::new();
    let mut command = hodo(Path::new("runs"), &["run", "--", "sh", "-c", &recorder()]);
    let output = command.current_dir(dir.path()).env("HODO_LIBRARY", HODO).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), String::new()));
    let [id] = &runs(&dir.path().join("runs"))[..] else { panic!("one run") };
    let told = format!(
        "hodo: recorded 1 process, 3 scopes in runs/{id}; `hodo report runs/{id}` shows it\n"
    );
    assert_eq!(text(&output.stderr), told);
    let off = hodo(dir.path(), &["run", "--", "true"])
        .env("HODO_LIBRARY", HODO)
        .env("HODO", "0")
        .output();
    assert!(text(&off.unwrap().stderr).contains("unset it"));
}

#[test]
fn every_process_joins_the_one_run_also_through_a_run_inside() {
    let dir = Folder::new();
    let one = recorder();
    let inner = format!("{HODO} run --name inner -- sh -c '{one}'");
    let output =
        run(dir.path(), &["--", "sh", "-c", &format!("{one}; {inner}; {one} & {one}; wait")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(runs(dir.path()).len(), 1);
    let told = text(&output.stderr);
    assert!(told.starts_with("hodo: recorded 4 processes, 12 scopes in "), "{told}");
    assert_eq!(told.lines().count(), 1, "the run inside is silent: {told}");
}

#[test]
fn twenty_at_once_are_twenty_runs() {
    let dir = Folder::new();
    let script = recorder() + "; exit 7";
    let start = |_| {
        let mut command = runner(dir.path(), &["--", "sh", "-c", &script]);
        command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<Child> = (0..20).map(start).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(7));
        assert!(text(&output.stderr).starts_with("hodo: recorded 1 process, 3 scopes"));
    }
    assert_eq!(runs(dir.path()).len(), 20);
}

#[test]
fn many_and_long_arguments_arrive() {
    let dir = Folder::new();
    let long = "x".repeat(100_000);
    let many = vec!["--flag=ä \n"; 2_000];
    let words = [&["--", "sh", "-c", "echo $# ${#1}", "sh", &long][..], &many].concat();
    let output = run(dir.path(), &words);
    assert_eq!(text(&output.stdout), "2001 100000\n");
    let without = run(dir.path(), &["echo", "--dir", "-n", "--", "--quiet"]);
    assert_eq!(text(&without.stdout), "--dir -n -- --quiet\n");
}

#[test]
fn the_machine_is_read_with_a_program_that_records_nothing() {
    let dir = Folder::new();
    // It works as long as this is there, which is gone with the test.
    let work = tempfile::NamedTempFile::new().unwrap();
    let file = work.path().display();
    let script = format!("while [ -e {file} ]; do i=$((i+1)); done; exit 7");
    let mut command = runner(dir.path(), &["--monitor=50ms", "--", "sh", "-c", &script]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The most that a series of the machine had so far.
    let most = |name: &str| -> Option<f64> {
        let folder = hodo_trace::Run::find(dir.path(), None).ok()?;
        let run = hodo_trace::Run::open(&folder, &hodo_trace::ReadOptions::default()).ok()?;
        let series = run.machines.first()?.get(&hodo_trace::Source::Processes, name)?;
        Some(series.values().iter().copied().fold(0.0, f64::max))
    };
    wait_until("its work is read", || most("process.cpu.time") > Some(0.0));
    work.close().unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(said.contains("readings of the machine are in"), "{said}");
    let folder = hodo_trace::Run::find(dir.path(), None).unwrap();
    let run = hodo_trace::Run::open(&folder, &hodo_trace::ReadOptions::default()).unwrap();
    assert_eq!((run.info.app.as_str(), run.info.argv.len()), ("sh", 3));
    assert!(most("process.count") >= Some(1.0) && most("process.memory") > Some(0.0));
    assert!(most("process.cpu.time") > Some(0.0), "it worked");
}
