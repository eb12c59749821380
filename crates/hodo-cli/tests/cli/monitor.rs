//! `hodo monitor` from outside: what it writes, how it ends, who takes over, what Prometheus reads.

use crate::made::Folder;
use crate::program::{hodo, run};
use hodo_format::machine::{Source, metric};
use hodo_trace::{MachineSeries, ReadOptions, Run};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A monitor that is ended whatever the test does.
struct Monitor {
    child: Child,
    run: PathBuf,
    said: BufReader<std::process::ChildStderr>,
}

impl Monitor {
    fn start(dir: &Path, args: &[&str]) -> Monitor {
        let mut command = hodo(dir, &[&["monitor"], args].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Monitor { child, run: line.trim().into(), said }
    }

    /// Reads what it says until a line has these words.
    fn says(&mut self, words: &str) -> String {
        let mut line = String::new();
        while self.said.read_line(&mut line).unwrap() > 0 {
            if line.contains(words) {
                return line;
            }
            line.clear();
        }
        panic!("it ended without saying `{words}`");
    }

    fn signal(&self, signal: i32) {
        // SAFETY: a plain call; the child was not waited for.
        unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
    }

    /// Its exit code.
    fn end(mut self, signal: i32) -> Option<i32> {
        self.signal(signal);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn machine(run: &Path) -> Run {
    Run::open(run, &ReadOptions::default()).unwrap()
}

fn series<'a>(run: &'a Run, source: &Source, name: &str) -> &'a MachineSeries {
    run.machines[0].get(source, name).unwrap_or_else(|| panic!("no {name}"))
}

fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let patience = Instant::now() + Duration::from_secs(180);
    while !is_so() {
        assert!(Instant::now() < patience, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Readings of the run so far.
fn rows(run: &Path) -> usize {
    let Ok(run) = Run::open(run, &ReadOptions::default()) else { return 0 };
    let first = run.machines.first();
    first.and_then(|m| m.get(&Source::Host, "cpu.time")).map_or(0, |s| s.values().len())
}

/// Seconds that all processors worked, as `/proc/stat` has it.
fn worked() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let first = text.lines().next().unwrap();
    let ticks: Vec<f64> = first.split_whitespace().skip(1).map(|n| n.parse().unwrap()).collect();
    // SAFETY: no failure for this name.
    let a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) / a_second
}

fn memory_total() -> f64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap();
    let line = text.lines().find(|line| line.starts_with("MemTotal")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() * 1024.0
}

#[test]
fn a_run_of_its_own_has_what_the_system_says() {
    let dir = Folder::new();
    let before = worked();
    let pid = std::process::id().to_string();
    let mut monitor = Monitor::start(dir.path(), &["--interval", "50ms", "--pid", &pid]);
    let folder = monitor.run.clone();
    wait_for("readings", || rows(&folder) >= 10);
    monitor.signal(libc::SIGTERM);
    let mut said = String::new();
    monitor.said.read_to_string(&mut said).unwrap();
    assert_eq!(monitor.child.wait().unwrap().code(), Some(0), "{said}");
    let after = worked();
    let run = machine(&folder);
    assert_eq!(run.info.app, "hodo monitor");
    let cpu = series(&run, &Source::Host, metric::CPU_TIME.name);
    let (first, last) = (cpu.values()[0], *cpu.values().last().unwrap());
    assert!(cpu.values().len() >= 10, "{} rows", cpu.values().len());
    assert!(before <= first && first <= last && last <= after, "{before} {first} {last} {after}");
    let total = series(&run, &Source::Host, metric::MEMORY_TOTAL.name);
    assert_eq!(total.last(), Some(memory_total()));
    let own = series(&run, &Source::Processes, metric::PROCESS_MEMORY.name);
    assert!(own.last().is_some_and(|bytes| bytes > 1e6), "this test's memory");
    assert!(said.contains("every 50.0 ms") && said.contains("of a processor"), "{said}");
}

#[test]
fn it_ends_by_itself_when_its_time_is_over() {
    let dir = Folder::new();
    let output = run(dir.path(), &["monitor", "--interval", "50ms", "--for", "300ms"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = String::from_utf8(output.stdout).unwrap();
    assert!(rows(Path::new(folder.trim())) >= 1);
}

#[test]
fn a_signal_ends_it_well_and_leaves_no_row_behind() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let dir = Folder::new();
        let mut monitor = Monitor::start(dir.path(), &["--interval", "50ms"]);
        monitor.says("reads this machine");
        let run = monitor.run.clone();
        wait_for("readings", || rows(&run) >= 5);
        let seen = rows(&run);
        assert_eq!(monitor.end(signal), Some(0));
        assert!(rows(&run) >= seen);
        let folder = hodo_machine::folder(&run);
        assert!(!folder.join("samples.live").exists(), "everything is in blocks");
        let left: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().collect();
        assert!(
            left.iter().all(|e| !e.file_name().to_string_lossy().ends_with(".pid")),
            "{left:?}"
        );
    }
}

#[test]
fn a_second_one_waits_and_takes_over_when_the_first_is_killed() {
    let dir = Folder::new();
    let first = Monitor::start(dir.path(), &["--interval", "50ms"]);
    let run = first.run.clone();
    wait_for("readings", || rows(&run) >= 5);
    let name = run.to_str().unwrap();
    let mut second = Monitor::start(dir.path(), &["--interval", "50ms", "--run", name]);
    let line = second.says("waits to take over");
    assert!(line.contains(&format!("pid {} (monitor)", first.child.id())), "{line}");
    let by_first = rows(&run);
    assert_eq!(first.end(libc::SIGKILL), None);
    second.says("has taken over");
    wait_for("readings of the second", || rows(&run) >= by_first + 5);
    assert_eq!(second.end(libc::SIGTERM), Some(0));
    let run = machine(&run);
    assert!(run.machines[0].damage.is_none(), "{:?}", run.machines[0].damage);
    let times = series(&run, &Source::Host, "cpu.time").times();
    assert!(times.is_sorted_by(|a, b| a < b), "each moment once");
}

#[test]
fn it_goes_on_in_the_background_until_it_is_told_to_end() {
    let dir = Folder::new();
    let output = run(dir.path(), &["monitor", "--daemon", "--interval", "50ms"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    let line = |word: &str| {
        let line = said.lines().find(|line| line.starts_with(word)).expect("a line");
        line.trim_start_matches(word).trim().to_owned()
    };
    let folder = PathBuf::from(line("run"));
    wait_for("readings", || rows(&folder) >= 3);
    let pid = said.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    assert_eq!(fields[4], "0", "no terminal: {stat}");
    let output = run(dir.path(), &["monitor", "--stop"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && told.contains(&format!("pid {pid} has ended")), "{told}");
    assert!(!Path::new(&format!("/proc/{pid}")).exists() || is_zombie(&pid));
    let log = std::fs::read_to_string(line("log")).unwrap();
    assert!(log.contains(" UTC hodo monitor: reads this machine every 50.0 ms"), "{log}");
    let info = std::fs::read_to_string(folder.join("run.json")).unwrap();
    assert!(info.contains(&format!("\"pid\": {pid},")), "the one that samples: {info}");
    let again = run(dir.path(), &["monitor", "--stop", folder.to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(1));
}

fn is_zombie(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

#[test]
fn a_run_that_is_deleted_is_made_anew_and_can_still_be_ended() {
    let dir = Folder::new();
    let mut monitor = Monitor::start(dir.path(), &["--interval", "50ms", "--quiet"]);
    let folder = monitor.run.clone();
    wait_for("readings", || rows(&folder) >= 3);
    // At once: what it makes anew must not come in the way of what is being removed.
    let aside = Folder::new();
    std::fs::rename(&folder, aside.path().join("deleted")).unwrap();
    drop(aside);
    monitor.says("was deleted");
    wait_for("readings anew", || rows(&folder) >= 3);
    assert_eq!(machine(&folder).info.app, "hodo monitor");
    let output = run(dir.path(), &["monitor", "--stop"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(monitor.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_disk_that_refuses_is_told_and_so_is_its_end() {
    let dir = Folder::new();
    let folder = dir.path().join("made-before");
    let in_the_way = hodo_machine::folder(&folder).join("samples.live.part");
    std::fs::create_dir_all(&in_the_way).unwrap();
    let args = ["--interval", "50ms", "--quiet", "--run", folder.to_str().unwrap()];
    let mut monitor = Monitor::start(dir.path(), &args);
    monitor.says("readings wait in memory");
    std::fs::remove_dir(&in_the_way).unwrap();
    monitor.says("writes again");
    assert_eq!(monitor.end(libc::SIGTERM), Some(0));
    assert!(rows(&folder) >= 3);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_made() {
    let dir = Folder::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (args, code, words) in [
        (&["--interval", "often"][..], 2, "--interval 1s"),
        (&["--interval", "1us"], 2, "too short"),
        (&["--interval", "600000h"], 2, "too long"),
        (&["--for", "0s"], 2, "no time at all"),
        (&["--for", "60"], 2, "--for 60s"),
        (&["--max-bytes", "lots"], 2, "--max-bytes 64m"),
        (&["--prometheus", "9464"], 2, "--prometheus 127.0.0.1:9464"),
        (&["--prometheus", &taken], 1, "another program has it"),
        (&["--prometheus", &taken, "--daemon"], 1, "another program has it"),
        (&["--pid", "4194399"], 1, "no process"),
        (&["--run", "nothing-like-it"], 1, "nothing-like-it"),
        (&["--stop"], 1, "no monitor"),
    ] {
        let output = run(dir.path(), &[&["monitor"], args].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing was made");
}

/// The address in what the monitor says.
fn address(monitor: &mut Monitor) -> String {
    let line = monitor.says("answers Prometheus at http://");
    line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned()
}

fn get(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn prometheus_own_parser_reads_what_the_system_says() {
    let dir = Folder::new();
    let mut monitor =
        Monitor::start(dir.path(), &["--interval", "50ms", "--prometheus", "127.0.0.1:0"]);
    let address = address(&mut monitor);
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    wait_for("readings", || get(&address, request).contains("hodo_memory_total_bytes"));
    let text = get(&address, request);
    assert!(text.contains("Content-Type: text/plain; version=0.0.4"), "{text}");
    let python = std::env::var("HODO_PYTHON").ok().filter(|p| Path::new(p).exists());
    let Some(python) = python else {
        eprintln!("not checked: HODO_PYTHON names no Python with prometheus_client");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scrape.py");
    let url = format!("http://{address}/metrics");
    let output = Command::new(python).arg(&script).arg(url).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("as the system says"), "{said}");
    assert_eq!(monitor.end(libc::SIGTERM), Some(0));
}

#[test]
fn a_slow_scrape_holds_nobody_up_and_too_many_are_turned_away() {
    let dir = Folder::new();
    let mut monitor = Monitor::start(dir.path(), &["--prometheus", "127.0.0.1:0"]);
    let address = address(&mut monitor);
    let request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    wait_for("a ninth turned away", || {
        // New ones each time: those of before may have been given up.
        let _slow: Vec<TcpStream> = (0..8).map(|_| TcpStream::connect(&address).unwrap()).collect();
        get(&address, request).starts_with("HTTP/1.1 503")
    });
    wait_for("an answer", || get(&address, request).starts_with("HTTP/1.1 200"));
    assert_eq!(monitor.end(libc::SIGTERM), Some(0), "also with connections that were slow");
}
