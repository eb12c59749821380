//! Recorded programs, shippers and a collector as real processes, all of them killed at bad moments.
//!
//! The light form takes some seconds; `make collector` and `make collector-long` say how long, how
//! often and how many.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "this is a test")]

mod figures;
mod port;
mod recorder;
mod server;

use hodo_ship::{State, Status, status_of};
use hodo_trace::{Counts, Loss, ReadOptions, Run};
use recorder::{Made, Orders, Recorder};
use server::{Collector, PROGRAM, Treatment};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long shippers and collectors may take for what takes them a moment.
const PATIENCE: Duration = Duration::from_secs(300);
const PROCESSES: usize = 4;
const PER_SECOND: u64 = 100_000;

fn told(name: &str, else_: f64) -> f64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(else_)
}

/// A folder for everything of one test.
struct Place {
    folder: tempfile::TempDir,
    run: PathBuf,
}

impl Place {
    fn new(id: &str) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("runs").join(id);
        Place { folder, run }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn orders(&self, number: usize, per_second: u64, seconds: f64) -> Orders {
        let answer = self.path().join(format!("made-{number}.json"));
        let (count, until) = (0, None);
        Orders { per_second, seconds, count, until, answer, dies: false, measures_bursts: false }
    }
}

/// What lets a recorder ship by itself.
fn shipping(url: &str, token: &str) -> Vec<(&'static str, String)> {
    vec![
        ("HODO_SERVER", url.to_owned()),
        ("HODO_TOKEN", token.to_owned()),
        ("HODO_BIN", PROGRAM.to_owned()),
    ]
}

fn ship(verb: &str, run: &Path, url: &str, token: &str) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg(verb).arg(run).env("HODO_SERVER", url).env("HODO_TOKEN", token);
    command.stderr(Stdio::piped()).stdout(Stdio::null());
    command
}

fn finished(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}");
    words
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "not so: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the shipper of this host says that all is there.
fn wait_for_done(run: &Path) {
    let until = Instant::now() + PATIENCE;
    while status_of(run).is_none_or(|status| status.state != State::Done) {
        let logs = || {
            let log = run.join(hodo_ship::log_file());
            std::fs::read_to_string(log).unwrap_or_default()
        };
        assert!(Instant::now() < until, "{:?}\n{}", status_of(run), logs());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// That the run at the collector has every scope of every process, once.
fn assert_every_scope_once(collector: &Collector, id: &str, made: &[Made]) {
    let run = Run::open(&collector.run(id), &ReadOptions::default()).unwrap();
    assert_eq!(run.processes.len(), made.len());
    for made in made {
        let process = run.processes.iter().find(|p| p.info.pid == made.pid).unwrap();
        assert!(process.damage.is_none(), "{:?}", process.damage);
        let account = &process.account;
        assert_eq!((account.unexplained, account.lost_records()), (0, 0), "{account:?}");
        assert_eq!(made.lost, 0, "the recorder itself lost some");
        assert_eq!(process.spans.len() as u64, made.scopes);
        assert_eq!(made.produced, made.scopes);
        let ids: HashSet<_> = process.spans.rows().map(|row| process.spans.id(row)).collect();
        assert_eq!(ids.len() as u64, made.scopes, "some are there twice");
    }
}

/// Ends recorders and takes what they say.
fn all_made(recorders: Vec<(Orders, Recorder)>) -> Vec<Made> {
    let made = |(orders, mut child): (Orders, Recorder)| {
        let ended = child.wait();
        assert!(ended.success() || orders.dies, "{ended:?}");
        recorder::made(&orders).expect("it says what it made")
    };
    recorders.into_iter().map(made).collect()
}

#[test]
fn every_scope_arrives_once_while_the_collector_is_killed() {
    let seconds = told("HODO_COLLECTOR_SECONDS", 4.0);
    let kills = told("HODO_COLLECTOR_KILLS", 3.0) as u32;
    let place = Place::new("killed-server");
    let mut collector = Collector::start(place.path());
    let variables = shipping(&collector.url(), &collector.token);
    let start = |number| {
        let orders = place.orders(number, PER_SECOND, seconds);
        let child = recorder::start(&place.run, &orders, &variables);
        (orders, child)
    };
    let recorders: Vec<_> = (0..PROCESSES).map(start).collect();
    let between = Duration::from_secs_f64(seconds / f64::from(kills + 1));
    for kill in 0..kills {
        // Not at the same point of anything.
        std::thread::sleep(between.mul_f64(0.8 + 0.07 * f64::from(kill % 4)));
        collector.kill();
        std::thread::sleep(Duration::from_millis(u64::from(kill * 137 % 400)));
        collector.start_again();
    }
    let made = all_made(recorders);
    wait_for_done(&place.run);
    assert_every_scope_once(&collector, "killed-server", &made);
    let scopes: u64 = made.iter().map(|made| made.scopes).sum();
    println!("{PROCESSES} processes, {seconds} s, {kills} kills: {scopes} scopes, 0 lost, 0 twice");
    for made in &made {
        assert_eq!(made.degraded, "");
        assert_eq!(made.children, libc::ECHILD, "a shipper is no child of the program's");
    }
}

#[test]
fn an_outage_is_waited_for_and_replayed() {
    let outage = told("HODO_COLLECTOR_OUTAGE", 2.0);
    let place = Place::new("outage");
    let mut collector = Collector::start(place.path());
    let variables = shipping(&collector.url(), &collector.token);
    collector.kill();
    let orders = place.orders(0, PER_SECOND, outage);
    let dying = Orders { dies: true, ..place.orders(1, 10_000, outage / 2.0) };
    let recorders = [orders, dying].map(|orders| {
        let child = recorder::start(&place.run, &orders, &variables);
        (orders, child)
    });
    let made = all_made(recorders.into());
    let waits = |status: Status| status.state == State::Waiting && status.backlog_bytes > 0;
    wait_until("the shipper tells that it waits", || status_of(&place.run).is_some_and(waits));
    let waiting = status_of(&place.run).expect("the shipper tells of itself");
    assert!(waiting.since_ns.is_some());
    assert!(waiting.error.unwrap().contains("cannot reach"));
    let began = Instant::now();
    collector.start_again();
    wait_for_done(&place.run);
    println!("{outage} s without a collector, replayed in {:.1} s", began.elapsed().as_secs_f64());
    let run = Run::open(&collector.run("outage"), &ReadOptions::default()).unwrap();
    for made in &made {
        let process = run.processes.iter().find(|p| p.info.pid == made.pid).unwrap();
        assert_eq!(process.spans.len() as u64, made.scopes, "killed or not, all is there");
        assert_eq!((process.account.unexplained, process.account.lost_records()), (0, 0));
    }
}

#[test]
fn a_shipper_that_is_killed_is_taken_over_from() {
    let place = Place::new("killed-shipper");
    let collector = Collector::start(place.path());
    let orders = place.orders(0, PER_SECOND, told("HODO_COLLECTOR_SECONDS", 4.0).min(20.0));
    let child = recorder::start(&place.run, &orders, &[]);
    while !place.run.join("run.json").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut kills = 0;
    // It takes several, also where the first of them take longer than all that is recorded.
    while kills < 3 || !orders.answer.exists() {
        let mut shipper =
            ship("ship", &place.run, &collector.url(), &collector.token).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(150 + kills * 217 % 700));
        shipper.kill().unwrap();
        shipper.wait().unwrap();
        kills += 1;
    }
    let made = all_made(vec![(orders, child)]);
    let last = ship("ship", &place.run, &collector.url(), &collector.token).spawn().unwrap();
    finished(last);
    assert_every_scope_once(&collector, "killed-shipper", &made);
    let again = ship("push", &place.run, &collector.url(), &collector.token).spawn().unwrap();
    assert!(finished(again).contains("0 B sent"), "nothing is sent twice");
}

#[test]
fn bad_connections_cost_time_and_nothing_else() {
    const TREATMENTS: &[Treatment] = &[
        Treatment::ResetAfter(0),
        Treatment::Hole,
        Treatment::ResetAfter(100),
        Treatment::ResetAfter(5_000),
        Treatment::ResetAfter(30_000),
        Treatment::Hole,
        Treatment::ResetAfter(70_000),
        Treatment::ResetAfter(9_000),
    ];
    let place = Place::new("bad-network");
    let collector = Collector::start(place.path());
    let (url, connections) = server::proxy(collector.address, TREATMENTS);
    let orders = Orders { count: 400_000, ..place.orders(0, 0, 0.0) };
    let made = all_made(vec![(orders.clone(), recorder::start(&place.run, &orders, &[]))]);
    let shipper =
        ship("ship", &place.run, &url, &collector.token).args(["--patience", "1s"]).spawn();
    let words = finished(shipper.unwrap());
    assert!(words.contains("answers again"), "{words}");
    use std::sync::atomic::Ordering::SeqCst;
    assert!(connections.load(SeqCst) as usize > TREATMENTS.len(), "all were met");
    assert_every_scope_once(&collector, "bad-network", &made);
}

/// Names and lengths of the files of the only process of a run, those that begin with `prefix`.
fn files(run: &Path, prefix: &str) -> HashMap<OsString, u64> {
    let inside = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = inside(run).flat_map(|part| inside(&part.path()).collect::<Vec<_>>());
    let files = files.filter(|file| file.file_name().to_string_lossy().starts_with(prefix));
    files.filter_map(|file| Some((file.file_name(), file.metadata().ok()?.len()))).collect()
}

fn spools(run: &Path) -> HashMap<OsString, u64> {
    files(run, "spool-")
}

#[test]
fn what_the_size_cap_removed_here_is_there_and_counted_once() {
    let place = Place::new("rotated");
    let mut collector = Collector::start(place.path());
    let mut variables = shipping(&collector.url(), &collector.token);
    variables.push(("HODO_SPOOL_BYTES", "256k".to_owned()));
    let until = place.path().join("enough");
    let orders = Orders { until: Some(until.clone()), ..place.orders(0, PER_SECOND, 5.0) };
    let child = recorder::start(&place.run, &orders, &variables);
    let there = collector.run("rotated");
    wait_until("some of what was shipped is removed here", || {
        let (here, there) = (spools(&place.run), spools(&there));
        let is_removed =
            |(file, bytes): (&OsString, &u64)| *bytes > 4096 && !here.contains_key(file);
        !here.is_empty() && there.iter().any(is_removed)
    });
    // Some are removed while nobody takes them.
    collector.kill();
    let before = spools(&place.run);
    wait_until("all that was here is removed", || {
        let here = spools(&place.run);
        !here.is_empty() && before.keys().all(|file| !here.contains_key(file))
    });
    collector.start_again();
    std::fs::write(until, "").unwrap();
    let made = all_made(vec![(orders, child)]);
    wait_for_done(&place.run);
    let here = Run::open(&place.run, &ReadOptions::default()).unwrap();
    let there = Run::open(&collector.run("rotated"), &ReadOptions::default()).unwrap();
    let summary = Run::summary(&there.folder);
    let (here, there) = (&here.processes[0], &there.processes[0]);
    assert_eq!(summary.spans, Some(there.spans.len() as u64), "and lists say so");
    assert_eq!(summary.lost, Some(there.account.lost_records()));
    assert!(here.account.lost[Loss::SpoolCap as usize].spans > 0, "{:?}", here.account);
    assert!(there.spans.len() > here.spans.len(), "the collector has more than the disk");
    for process in [here, there] {
        let account = &process.account;
        let stored = account.stored.spans + account.in_ring.spans;
        assert_eq!(account.unexplained, 0, "{account:?}");
        assert!(process.damage.is_none(), "{:?}", process.damage);
        assert_eq!(stored + account.lost_counts().spans, made[0].produced, "{account:?}");
        assert_eq!(account.produced, Counts { spans: made[0].produced, ..account.produced });
        assert_eq!(process.spans.len() as u64, stored);
    }
}

#[test]
fn a_program_that_is_over_at_once_is_shipped_whole() {
    let place = Place::new("short");
    let collector = Collector::start(place.path());
    let variables = shipping(&collector.url(), &collector.token);
    let orders = Orders { count: 1, ..place.orders(0, 0, 0.0) };
    let made = all_made(vec![(orders.clone(), recorder::start(&place.run, &orders, &variables))]);
    assert!(made[0].scopes > 0 && made[0].degraded.is_empty(), "{made:?}");
    wait_for_done(&place.run);
    assert_every_scope_once(&collector, "short", &made);
}

/// The readings of the only machine of a run: how many of each series.
fn readings(run: &Path) -> Vec<(String, usize)> {
    let run = Run::open(run, &ReadOptions::default()).unwrap();
    let series = run.machines.iter().flat_map(|machine| &machine.series);
    series.map(|one| (format!("{} {}", one.source, one.metric), one.times().len())).collect()
}

/// How many there are of the series that has most, as long as the run is being recorded.
fn most_readings(run: &Path) -> usize {
    let Ok(run) = Run::open(run, &ReadOptions::default()) else { return 0 };
    let series = run.machines.iter().flat_map(|machine| &machine.series);
    series.map(|one| one.times().len()).max().unwrap_or(0)
}

#[test]
fn a_process_that_begins_when_all_is_shipped_has_its_readings_there_too() {
    let place = Place::new("one-after-another");
    let collector = Collector::start(place.path());
    let mut variables = shipping(&collector.url(), &collector.token);
    variables.push(("HODO_TELEMETRY", "100ms".to_owned()));
    let there = collector.run("one-after-another");
    let mut made = Vec::new();
    for number in 0..2 {
        let enough = place.path().join(format!("enough-{number}"));
        let orders = Orders { until: Some(enough.clone()), ..place.orders(number, 1000, 1.5) };
        let child = recorder::start(&place.run, &orders, &variables);
        wait_until("readings of the process", || most_readings(&place.run) > 11 * (number + 1));
        std::fs::write(enough, "").unwrap();
        made.extend(all_made(vec![(orders, child)]));
        let until = Instant::now() + PATIENCE;
        // Packed: what was shipped is not in its own folders any more.
        let is_packed = || {
            there.join("tables").exists()
                && std::fs::read_dir(&there).into_iter().flatten().flatten().all(|entry| {
                    let name = entry.file_name().into_string().unwrap();
                    !name.starts_with("machine-") && !name.starts_with('p') || name == "pack"
                })
                && Run::open(&there, &ReadOptions::default())
                    .is_ok_and(|run| run.processes.len() == made.len())
        };
        while !is_packed() {
            assert!(Instant::now() < until, "{:?}", status_of(&place.run));
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    let (here, there) = (readings(&place.run), readings(&there));
    assert!(here.iter().any(|(_, count)| *count > 20), "{here:?}");
    assert_eq!(here, there);
    assert_every_scope_once(&collector, "one-after-another", &made);
}

#[test]
fn a_program_says_in_its_health_why_nothing_is_shipped() {
    let place = Place::new("no-program");
    let variables =
        [("HODO_SERVER", "http://127.0.0.1:9".to_owned()), ("HODO_BIN", "/nowhere".to_owned())];
    let orders = place.orders(0, 1000, 0.2);
    let child = recorder::start(&place.run, &orders, &variables);
    let made = all_made(vec![(orders, child)]);
    assert!(
        made[0].degraded.contains("not shipped: HODO_BIN names /nowhere"),
        "{}",
        made[0].degraded
    );
    assert_eq!(made[0].produced, made[0].scopes);
}

#[test]
fn hodo_run_ships_what_it_records_and_says_so() {
    let place = Place::new("unused");
    let mut collector = Collector::start(place.path());
    let dir = place.path().join("runs");
    // The program ends when `is_ready` says so of the run, or with the test: at its end hodo waits for little.
    let run = |collector: &Collector, name: &str, is_ready: &dyn Fn(&Path) -> bool| {
        let stays = tempfile::NamedTempFile::new().unwrap();
        let orders = place.orders(0, 10_000, 0.5);
        let mut command = Command::new(PROGRAM);
        command.arg("--dir").arg(&dir).args(["run", "--gpu", "off", "--name", name, "--"]);
        let file = stays.path().display();
        let script = format!("\"$@\" && while [ -e {file} ]; do sleep 0.05; done");
        let program = std::env::current_exe().unwrap();
        command.args(["sh", "-c", &script, "sh"]).arg(program).args([
            "recorder::a_process_that_is_recorded",
            "--exact",
            "--ignored",
        ]);
        command.env("HODO_TEST_ORDERS", serde_json::to_string(&orders).unwrap());
        // What it preloads must be a file; the program records by itself.
        command.env("HODO_LIBRARY", PROGRAM).env("HODO_SERVER", collector.url());
        command.env("HODO_TOKEN", &collector.token).env_remove("HODO_RUN");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("it has recorded", || recorder::made(&orders).is_some());
        let made = recorder::made(&orders).unwrap();
        std::fs::remove_file(&orders.answer).unwrap();
        let runs = std::fs::read_dir(&dir).unwrap().flatten().map(|entry| entry.path());
        let is_it = |path: &PathBuf| path.to_string_lossy().contains(&format!("-{name}-"));
        let folder = runs.into_iter().find(is_it).unwrap();
        wait_until("it is ready for its end", || is_ready(&folder));
        let began = Instant::now();
        stays.close().unwrap();
        let output = child.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words}");
        (words, began.elapsed(), made)
    };
    let is_there = |folder: &Path| {
        let there = collector.run(folder.file_name().unwrap().to_str().unwrap());
        let is_same = |prefix| {
            !files(folder, prefix).is_empty() && files(folder, prefix) == files(&there, prefix)
        };
        is_same("spool-") && is_same("catalog")
    };
    let (words, _, made) = run(&collector, "first", &is_there);
    // It waits a little for the last of it, which on a slow machine comes later.
    let is_told = words.contains(&format!("shipped to {}", collector.url()));
    assert!(is_told || words.contains("still to be shipped"), "{words}");
    let first =
        std::fs::read_dir(&dir).unwrap().flatten().map(|entry| entry.path()).next().unwrap();
    wait_for_done(&first);
    let id = first.file_name().unwrap().to_str().unwrap();
    assert_every_scope_once(&collector, id, &[made]);
    collector.kill();
    let waits = |folder: &Path| {
        status_of(folder)
            .is_some_and(|status| status.state == State::Waiting && status.backlog_bytes > 0)
    };
    let (words, took, _) = run(&collector, "second", &waits);
    assert!(words.contains("still to be shipped") && words.contains("hodo push"), "{words}");
    assert!(took < Duration::from_secs(60), "a collector that is down held it up for {took:?}");
    collector.start_again();
    let newest = std::fs::read_dir(&dir).unwrap().flatten().map(|entry| entry.path());
    let second = newest.into_iter().find(|path| path.to_string_lossy().contains("second")).unwrap();
    wait_for_done(&second);
}

#[test]
fn packed_and_imported_runs_are_pushed_as_they_are() {
    let place = Place::new("recorded");
    let collector = Collector::start(place.path());
    let orders = place.orders(0, 10_000, 0.5);
    let made = all_made(vec![(orders.clone(), recorder::start(&place.run, &orders, &[]))]);
    let dir = place.run.parent().unwrap();
    let hodo = |args: &[&str]| {
        let output = Command::new(PROGRAM).arg("--dir").arg(dir).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let packed = dir.join("packed");
    hodo(&["pack", "recorded", "--out", packed.to_str().unwrap()]);
    let chrome = place.path().join("run.json");
    hodo(&["export", "recorded", "--to", "chrome", "-o", chrome.to_str().unwrap()]);
    let imported = hodo(&["import", chrome.to_str().unwrap()]);
    let imported = dir.join(imported.trim().rsplit('/').next().unwrap());
    for run in [&packed, &imported] {
        let push = ship("push", run, &collector.url(), &collector.token).spawn().unwrap();
        finished(push);
        let there = collector.run(run.file_name().unwrap().to_str().unwrap());
        let [here, there] =
            [run, &there].map(|folder| Run::open(folder, &ReadOptions::default()).unwrap());
        assert_eq!(here.processes[0].spans.len() as u64, made[0].scopes);
        let [ours, theirs] = [&here, &there].map(hodo_trace::packed::Fingerprint::of);
        assert_eq!(ours.difference(&theirs), None, "{}", run.display());
    }
}

#[test]
fn a_collector_by_tls_is_believed_by_the_certificate_that_is_named() {
    let place = Place::new("by-tls");
    let (collector, cert) = Collector::start_by_tls(place.path());
    let orders = place.orders(0, 10_000, 0.5);
    let made = all_made(vec![(orders.clone(), recorder::start(&place.run, &orders, &[]))]);
    let push = |more: &[&str]| {
        let mut command = ship("push", &place.run, &collector.url(), &collector.token);
        command.args(more).env_remove("HODO_CA");
        command.output().unwrap()
    };
    let stranger = push(&["--give-up-after", "300ms"]);
    assert_eq!(stranger.status.code(), Some(1));
    let said = String::from_utf8_lossy(&stranger.stderr);
    assert!(said.contains("--ca") && !said.contains("gave up"), "no wait mends that: {said}");
    assert!(!collector.run("by-tls").exists(), "nothing is sent to a stranger");
    let known = push(&["--ca", cert.to_str().unwrap()]);
    assert!(known.status.success(), "{}", String::from_utf8_lossy(&known.stderr));
    assert_every_scope_once(&collector, "by-tls", &made);
}
