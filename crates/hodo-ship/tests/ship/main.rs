//! Shipping to a collector that keeps the contract, fails in every way it may, and forgets.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "this is a test")]

mod away;
mod collector;
mod refusals;
mod turns;

use collector::{Collector, Fault, TOKEN};
use hodo_format::spool::{Losses, end_frame, file_header, strings_frame};
use hodo_record::binding::host;
use hodo_ship::{Mode, Server, Settings, ShipError, Shipped, State, Token, Watch, ship, status_of};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A folder with a run in it, of one process that records in memory.
struct Run {
    _parent: tempfile::TempDir,
    folder: PathBuf,
    process: PathBuf,
}

const PART: &str = "p7-0a";

impl Run {
    fn new(pid: u32) -> Run {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("train-1");
        let process = folder.join(PART);
        std::fs::create_dir_all(&process).unwrap();
        std::fs::write(folder.join("run.json"), r#"{"id": "train-1"}"#).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        let json = serde_json::json!({"host": host(), "pid": pid, "start_ns": now, "arena": null});
        std::fs::write(process.join("process.json"), json.to_string()).unwrap();
        Run { _parent: parent, folder, process }
    }

    /// A run whose process has ended; its second spool file is of several chunks.
    fn ended() -> Run {
        let run = Run::new(0);
        let mut catalog = file_header(7, 0).to_vec();
        strings_frame(0, 1, &["step"], &mut catalog);
        end_frame(9, &Losses::default(), &mut catalog);
        run.write("catalog.hodo", &catalog);
        run.write("spool-000001.hodo", &frames(1, 3));
        let mut long = frames(2, 2);
        long.extend((0..9_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8));
        run.write("spool-000002.hodo", &long);
        run.write("gpu.live", &[1; 4096]);
        run
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.process.join(name), bytes).unwrap();
    }

    /// Adds to a file, as a recorder does: whoever looks meanwhile sees it as it was or longer.
    fn append(&self, name: &str, bytes: &[u8]) {
        let mut file = std::fs::OpenOptions::new();
        let file = file.create(true).append(true).open(self.process.join(name));
        file.unwrap().write_all(bytes).unwrap();
    }

    fn settings(&self, url: &str, mode: Mode) -> Settings {
        let token = Token::new(TOKEN).unwrap();
        let patience = Duration::from_secs(60);
        let (url, token_file, ca) = (url.into(), None, None);
        let server = Server { url, token, token_file, ca, patience, plain_http: false };
        let give_up_after = Duration::from_secs(300);
        let run = self.folder.clone();
        Settings { run, server, mode, give_up_after, others_ended: false }
    }

    fn ship(&self, collector: &Collector) -> Result<Shipped, ShipError> {
        go(&self.settings(&collector.url, Mode::Follow))
    }

    /// That the collector has every byte of the process, and no other.
    fn assert_there(&self, collector: &Collector) {
        let held = collector.held.lock().unwrap();
        let mut count = 0;
        for entry in std::fs::read_dir(&self.process).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let theirs = &held.files[&format!("{PART}/{name}")];
            assert!(*theirs == std::fs::read(&path).unwrap(), "{name} differs");
            count += 1;
        }
        assert_eq!(held.files.len(), count + 1, "{:?}", held.files.keys());
        assert!(held.files.contains_key("-/run.json"));
    }
}

fn frames(number: u32, count: u64) -> Vec<u8> {
    let mut bytes = file_header(7, number).to_vec();
    for sequence in 0..count {
        strings_frame(sequence, 1, &["a name", "another"], &mut bytes);
    }
    bytes
}

/// What a recorder adds to its catalog at its end.
fn end() -> Vec<u8> {
    let mut frame = Vec::new();
    end_frame(9, &Losses::default(), &mut frame);
    frame
}

fn go(settings: &Settings) -> Result<Shipped, ShipError> {
    ship(settings, &Watch { progress: &|_| {}, is_expecting: &|| false })
}

#[test]
fn every_byte_of_a_run_arrives_once() {
    let (run, collector) = (Run::ended(), Collector::start());
    run.write("arena", &[0; 300_000]);
    let shipped = run.ship(&collector).unwrap();
    assert!(!shipped.is_live && shipped.by_another.is_none());
    run.assert_there(&collector);
    let held = collector.held.lock().unwrap();
    assert_eq!(held.repeated, 0);
    let last = held.beats.last().unwrap();
    assert_eq!(last["done"], true);
    assert_eq!(last["host"], host());
    assert_eq!(last["processes"], serde_json::json!([{"part": PART, "live": false}]));
    assert_eq!(held.lengths.last().unwrap().0, format!("{PART}/arena"), "what a kill left is last");
    assert!(held.requests.last().unwrap().ends_with("/beat"));
    let status = status_of(&run.folder).unwrap();
    assert_eq!((status.state, status.backlog_bytes, status.error), (State::Done, 0, None));
    assert!(status.acknowledged_bytes > 9_000_000);
    let told = std::fs::read_to_string(run.folder.join(format!("ship-{}.json", status.host)));
    assert!(!told.unwrap().contains(TOKEN));
}

#[test]
fn what_is_there_is_not_sent_again() {
    let (run, collector) = (Run::ended(), Collector::start());
    run.ship(&collector).unwrap();
    collector.held.lock().unwrap().requests.clear();
    let again = run.ship(&collector).unwrap();
    assert_eq!(again.sent_bytes, 0);
    let held = collector.held.lock().unwrap();
    assert!(held.requests.iter().all(|request| !request.starts_with("PUT")), "{:?}", held.requests);
}

#[test]
fn every_fault_is_survived_and_nothing_is_there_twice() {
    let (run, collector) = (Run::ended(), Collector::start());
    let faults = [
        Fault::Reset,
        Fault::Answer(503, ""),
        Fault::Answer(429, "retry-after: 1\r\n"),
        Fault::Silent,
        Fault::Answer(507, ""),
        Fault::Reset,
        Fault::Answer(422, ""),
        Fault::Silent,
        Fault::Keep(1000),
        Fault::Answer(500, ""),
        Fault::Amnesia,
        Fault::Reset,
        Fault::Keep(1),
        Fault::Silent,
    ];
    // Each after some that went well, so that every sort of request meets some.
    for fault in faults {
        collector.fail(&[fault]);
        run.ship(&collector).unwrap();
        run.assert_there(&collector);
        collector.held.lock().unwrap().files.pop_last();
    }
    assert_eq!(status_of(&run.folder).unwrap().error, None);
}

#[test]
fn an_answer_that_got_lost_does_no_harm() {
    let (run, collector) = (Run::ended(), Collector::start());
    // The question what is there, the beat, two descriptions; then a chunk is kept in silence.
    let fine = Fault::Keep(u64::MAX);
    collector.fail(&[fine.clone(), fine.clone(), fine.clone(), fine, Fault::Silent]);
    run.ship(&collector).unwrap();
    run.assert_there(&collector);
    let repeated = collector.held.lock().unwrap().repeated;
    assert!(repeated <= 4096, "{repeated}: it asks what is there, and lets the end be compared");
}

#[test]
fn a_collector_that_forgot_gets_everything_again() {
    let (run, collector) = (Run::ended(), Collector::start());
    let fine = Fault::Keep(u64::MAX);
    let mut faults = vec![fine; 7];
    faults.push(Fault::Amnesia);
    collector.fail(&faults);
    run.ship(&collector).unwrap();
    run.assert_there(&collector);
}

#[test]
fn chunks_are_cut_to_what_the_collector_takes() {
    let (run, collector) = (Run::ended(), Collector::start());
    collector.held.lock().unwrap().most = Some(300_000);
    run.ship(&collector).unwrap();
    run.assert_there(&collector);
    collector.held.lock().unwrap().files.clear();
    collector.held.lock().unwrap().most = Some(1000);
    let error = run.ship(&collector).unwrap_err().to_string();
    assert!(error.contains("refused") && error.contains("too long"), "{error}");
}

#[test]
fn what_waiting_does_not_mend_ends_with_words() {
    let run = Run::ended();
    let says = |fault: Fault, words: &str| {
        let collector = Collector::start();
        collector.fail(&[fault]);
        let error = run.ship(&collector).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert_eq!(status_of(&run.folder).unwrap().error, Some(error));
        assert_eq!(status_of(&run.folder).unwrap().state, State::Stopped);
    };
    says(Fault::Answer(401, ""), "does not know this token");
    says(Fault::Answer(403, ""), "refuses this run: 403: as told");
    says(Fault::Answer(404, ""), "not as a collector");
    says(Fault::Page(400), "not as a collector");
    says(Fault::Answer(301, "location: http://127.0.0.1:1/\r\n"), "not as a collector");
    let collector = Collector::start();
    let wrong = Token::new("another").unwrap();
    let mut settings = run.settings(&collector.url, Mode::Follow);
    settings.server.token = wrong;
    assert!(matches!(go(&settings), Err(ShipError::Unauthorized { .. })));
}

#[test]
fn what_a_collector_says_that_was_well_before_may_pass() {
    for (status, header) in
        [(401, ""), (403, ""), (404, ""), (302, "location: http://127.0.0.1:1/\r\n")]
    {
        let (run, collector) = (Run::ended(), Collector::start());
        // A proxy that is set up anew, after the first answer and in the middle of a file.
        for well in [1, 3] {
            collector.fail(&vec![Fault::Keep(u64::MAX); well]);
            collector.fail(&[Fault::Answer(status, header)]);
        }
        run.ship(&collector).unwrap();
        run.assert_there(&collector);
    }
    let (run, collector) = (Run::ended(), Collector::start());
    collector.fail(&[Fault::Keep(u64::MAX)]);
    collector.fail(&vec![Fault::Answer(403, ""); 50]);
    let mut settings = run.settings(&collector.url, Mode::Follow);
    settings.give_up_after = Duration::from_millis(300);
    let error = go(&settings).unwrap_err();
    assert!(matches!(&error, ShipError::GaveUp { why, .. } if why.contains("403")), "{error}");
}

#[test]
fn a_file_that_a_proxy_refuses_is_sent_again() {
    for status in [400, 402, 409, 422, 431, 451] {
        // The question what is there and the beat; then whole files and those that grow.
        for well in 2..6 {
            let (run, collector) = (Run::ended(), Collector::start());
            collector.fail(&vec![Fault::Keep(u64::MAX); well]);
            collector.fail(&[Fault::Page(status)]);
            run.ship(&collector).unwrap();
            run.assert_there(&collector);
        }
    }
}

#[test]
fn a_token_that_was_rotated_is_read_again() {
    let (run, collector) = (Run::ended(), Collector::start());
    let file = run.folder.with_file_name("token");
    std::fs::write(&file, "the-old-one").unwrap();
    let mut settings = run.settings(&collector.url, Mode::Follow);
    settings.server.token = Token::of_file(&file).unwrap();
    assert!(matches!(go(&settings), Err(ShipError::Unauthorized { .. })), "without its file");
    settings.server.token_file = Some(file.clone());
    assert!(matches!(go(&settings), Err(ShipError::Unauthorized { .. })), "it is the same");
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    go(&settings).unwrap();
    run.assert_there(&collector);
}

#[test]
fn the_end_of_what_a_collector_says_is_shown() {
    let (run, collector) = (Run::ended(), Collector::start());
    collector.held.lock().unwrap().words = Some(format!("{} then do this", "a".repeat(600)));
    collector.fail(&[Fault::Answer(403, "")]);
    let error = run.ship(&collector).unwrap_err().to_string();
    assert!(error.ends_with("then do this"), "{error}");
}

#[test]
fn a_file_that_differs_stops_that_file_alone() {
    let (run, collector) = (Run::ended(), Collector::start());
    let name = format!("{PART}/spool-000001.hodo");
    collector.held.lock().unwrap().files.insert(name.clone(), b"other".to_vec());
    // What is longer than all there is here is another file too.
    let longer = format!("{PART}/catalog.hodo");
    collector.held.lock().unwrap().files.insert(longer, vec![b'x'; 1000]);
    let error = run.ship(&collector).unwrap_err().to_string();
    assert!(error.contains("2 of the run's files") && error.contains("has more of it"), "{error}");
    assert_eq!(collector.file(&name).unwrap(), b"other");
    let theirs = collector.file(&format!("{PART}/spool-000002.hodo")).unwrap();
    assert!(theirs == std::fs::read(run.process.join("spool-000002.hodo")).unwrap());
}

#[test]
fn a_run_of_which_a_file_was_refused_is_not_said_to_be_all_there() {
    // Whole files and those that grow, by all who ship.
    for (before, status) in [(2, 400), (3, 415), (4, 400), (5, 409)] {
        for mode in [Mode::Follow, Mode::Once, Mode::Everything] {
            let (run, collector) = (Run::ended(), Collector::start());
            collector.fail(&vec![Fault::Keep(u64::MAX); before]);
            collector.fail(&[Fault::Answer(status, "")]);
            let settings = run.settings(&collector.url, mode);
            let error = go(&settings).unwrap_err().to_string();
            assert!(
                error.contains("1 of the run's files") && error.contains("not told"),
                "{error}"
            );
            {
                let held = collector.held.lock().unwrap();
                assert!(held.beats.iter().all(|beat| beat["done"] == false), "{mode:?} {status}");
                let last = &held.beats.last().unwrap()["processes"];
                assert_eq!(*last, json!([{"part": PART, "live": false}]), "that it ended is told");
            }
            go(&settings).unwrap();
            run.assert_there(&collector);
            assert_eq!(collector.held.lock().unwrap().beats.last().unwrap()["done"], true);
        }
    }
}

#[test]
fn a_collector_that_is_not_there_is_given_up() {
    let run = Run::ended();
    let mut settings = run.settings("http://127.0.0.1:9", Mode::Once);
    settings.give_up_after = Duration::from_millis(300);
    let error = go(&settings).unwrap_err();
    assert!(matches!(error, ShipError::GaveUp { .. }), "{error}");
    assert!(error.to_string().contains("hodo push"), "{error}");
    let status = status_of(&run.folder).unwrap();
    assert!(status.since_ns.is_some());
    assert_eq!(status.state, State::Stopped);
}

#[test]
fn a_full_collector_is_asked_less_and_less_and_given_up() {
    let (run, collector) = (Run::ended(), Collector::start());
    collector.held.lock().unwrap().is_full = true;
    let mut settings = run.settings(&collector.url, Mode::Follow);
    settings.give_up_after = Duration::from_secs(4);
    let waits = std::sync::Mutex::new(0);
    let count = |status: &hodo_ship::Status| {
        *waits.lock().unwrap() += u32::from(status.state == State::Waiting);
    };
    let ended = ship(&settings, &Watch { progress: &count, is_expecting: &|| false });
    // It says what it has every time, which is no progress.
    let error = ended.unwrap_err();
    assert!(matches!(&error, ShipError::GaveUp { why, .. } if why.contains("507")), "{error}");
    let requests = collector.held.lock().unwrap().requests.clone();
    let puts = requests.iter().filter(|request| request.starts_with("PUT")).count();
    // 0.25 s, then twice as long each time, and half of it at the least: 7 fit into 4 seconds, where
    // as many as there are quarters would, were it asked at the same pace.
    assert!((2..=7).contains(&puts), "{puts}: {requests:?}");
    // When there is room again the rest is taken.
    collector.held.lock().unwrap().is_full = false;
    run.ship(&collector).unwrap();
    run.assert_there(&collector);
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_and_the_rest_is_there() {
    let (run, collector) = (Run::ended(), Collector::start());
    let (path, aside) = (run.process.join("spool-000001.hodo"), run.folder.join("moved"));
    std::fs::rename(&path, &aside).unwrap();
    // Whoever tests may read everything: a folder in its place cannot be read by anyone.
    std::fs::create_dir(&path).unwrap();
    let error = go(&run.settings(&collector.url, Mode::Everything)).unwrap_err();
    assert!(matches!(error, ShipError::Unreadable(_)), "{error}");
    assert!(error.to_string().contains("spool-000001.hodo"), "{error}");
    let status = status_of(&run.folder).unwrap();
    assert_eq!((status.state, status.error), (State::Stopped, Some(error.to_string())));
    {
        let held = collector.held.lock().unwrap();
        assert!(held.files.contains_key(&format!("{PART}/spool-000002.hodo")));
        assert!(held.beats.iter().all(|beat| beat["done"] == false), "it is not all there");
    }
    std::fs::remove_dir(&path).unwrap();
    std::fs::rename(&aside, &path).unwrap();
    go(&run.settings(&collector.url, Mode::Everything)).unwrap();
    run.assert_there(&collector);
    let is_of_all = || status_of(&run.folder).unwrap().all_hosts;
    assert!(is_of_all());
    run.ship(&collector).unwrap();
    assert!(!is_of_all(), "what other hosts have is shipped by them");
}

#[test]
fn a_folder_that_cannot_be_listed_is_not_taken_for_an_empty_one() {
    let (run, collector) = (Run::ended(), Collector::start());
    let aside = run.folder.join("moved");
    std::fs::rename(&run.process, &aside).unwrap();
    // Whoever tests may read everything: a link to itself can be followed by nobody.
    std::os::unix::fs::symlink(PART, &run.process).unwrap();
    let mut follow = run.settings(&collector.url, Mode::Follow);
    follow.give_up_after = Duration::from_millis(300);
    for settings in [
        run.settings(&collector.url, Mode::Everything),
        run.settings(&collector.url, Mode::Once),
        follow,
    ] {
        let error = go(&settings).unwrap_err();
        assert!(matches!(error, ShipError::Unreadable(_)), "{:?}: {error}", settings.mode);
        assert!(error.to_string().contains(PART) && error.to_string().contains("mend"), "{error}");
        let held = collector.held.lock().unwrap();
        assert!(held.beats.iter().all(|beat| beat["done"] == false), "it is not all there");
    }
    std::fs::remove_file(&run.process).unwrap();
    std::fs::rename(&aside, &run.process).unwrap();
    go(&run.settings(&collector.url, Mode::Everything)).unwrap();
    run.assert_there(&collector);
}

#[test]
fn a_growing_run_is_shipped_by_whole_frames_until_it_ends() {
    let (run, collector) = (Run::new(std::process::id()), Collector::start());
    let settings = run.settings(&collector.url, Mode::Follow);
    let whole = frames(1, 6);
    let one = (whole.len() - 64) / 6;
    let first = format!("{PART}/spool-000001.hodo");
    std::thread::scope(|scope| {
        let shipper = scope.spawn(|| go(&settings));
        run.append("catalog.hodo", &file_header(7, 0));
        let mut before = 0;
        for cut in [64, 64 + one / 2, 64 + one * 2 + 39, 64 + one * 3, whole.len()] {
            run.append("spool-000001.hodo", &whole[before..cut]);
            before = cut;
            let frames = 64 + (cut - 64) / one * one;
            while collector.file(&first).is_none_or(|there| there.len() < frames) {
                assert!(!shipper.is_finished(), "it ended while its process lives");
                std::thread::sleep(Duration::from_millis(10));
            }
            // Time to look at a frame that is not whole.
            std::thread::sleep(Duration::from_millis(600));
        }
        run.append("spool-000002.hodo", &frames(2, 1)[..100]);
        // A second one finds the first at work.
        let second = go(&settings).unwrap();
        assert_eq!(second.by_another, Some(std::process::id()));
        std::thread::sleep(Duration::from_millis(600));
        assert_eq!(collector.held.lock().unwrap().beats[0]["processes"][0]["live"], true);
        run.append("catalog.hodo", &end());
        assert!(!shipper.join().unwrap().unwrap().is_live);
    });
    run.assert_there(&collector);
    let held = collector.held.lock().unwrap();
    let cuts = held.lengths.iter().filter(|(name, _)| *name == first).map(|(_, length)| *length);
    assert!(cuts.clone().count() > 2, "it came bit by bit");
    cuts.for_each(|cut| assert_eq!((cut - 64) % one as u64, 0, "half a frame at {cut}"));
    assert_eq!(held.repeated, 0);
}

#[test]
fn a_launcher_keeps_the_shipper_waiting_for_what_is_to_come() {
    let (run, collector) = (Run::ended(), Collector::start());
    let settings = run.settings(&collector.url, Mode::Follow);
    let expecting = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let watch = || {
            ship(
                &settings,
                &Watch { progress: &|_| {}, is_expecting: &|| expecting.load(Ordering::SeqCst) },
            )
        };
        let shipper = scope.spawn(watch);
        std::thread::sleep(Duration::from_millis(700));
        assert!(!shipper.is_finished());
        // At once: it has ended, and whoever sees that has seen all of it.
        let late = run.folder.with_file_name("late");
        std::fs::create_dir(&late).unwrap();
        copy(&run.process, &late);
        std::fs::rename(late, run.folder.join("p8-0b")).unwrap();
        expecting.store(false, Ordering::SeqCst);
        shipper.join().unwrap().unwrap();
    });
    assert!(collector.file("p8-0b/spool-000002.hodo").is_some());
}

#[test]
fn what_was_removed_before_it_was_shipped_is_counted() {
    let (run, collector) = (Run::new(std::process::id()), Collector::start());
    run.write("spool-000001.hodo", &frames(1, 2));
    let settings = run.settings(&collector.url, Mode::Follow);
    let bytes = frames(1, 2).len() as u64;
    // Seen once, and gone before the look at which it would have been shipped.
    let remove = |_: &hodo_ship::Status| {
        let _ = std::fs::remove_file(run.process.join("spool-000001.hodo"));
        let mut catalog = file_header(7, 0).to_vec();
        end_frame(9, &Losses::default(), &mut catalog);
        run.write("catalog.hodo", &catalog);
    };
    let shipped = ship(&settings, &Watch { progress: &remove, is_expecting: &|| false }).unwrap();
    assert_eq!(shipped.removed_bytes, bytes);
    assert_eq!(status_of(&run.folder).unwrap().removed_bytes, bytes);
}

#[test]
fn everything_means_other_hosts_and_tables_too() {
    let (run, collector) = (Run::ended(), Collector::start());
    let file = |name: &str, bytes: &[u8]| {
        let path = run.folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    file("p9-0c/process.json", br#"{"host": "elsewhere", "pid": 1}"#);
    file("p9-0c/catalog.hodo", b"c");
    file("tables/spans/p7-0a-000.parquet", b"PAR1");
    file("pack/work/p7-0a-000.parquet", b"PAR1");
    file("pack/side.json", b"{}");
    go(&run.settings(&collector.url, Mode::Once)).unwrap();
    assert_eq!(collector.file("p9-0c/catalog.hodo"), None);
    let mut everything = run.settings(&collector.url, Mode::Everything);
    everything.others_ended = true;
    go(&everything).unwrap();
    for (name, bytes) in [
        ("p9-0c/catalog.hodo", b"c".as_slice()),
        ("tables.spans/p7-0a-000.parquet", b"PAR1"),
        ("pack.work/p7-0a-000.parquet", b"PAR1"),
        ("pack/side.json", b"{}"),
    ] {
        assert_eq!(collector.file(name).as_deref(), Some(bytes), "{name}");
    }
    let held = collector.held.lock().unwrap();
    let puts: Vec<_> = held.requests.iter().filter(|request| request.starts_with("PUT")).collect();
    assert!(puts.last().unwrap().contains("/pack/side.json"), "what makes it packed comes last");
}

#[test]
fn a_process_of_another_host_that_may_run_is_not_told_to_have_ended() {
    let (run, collector) = (Run::new(0), Collector::start());
    let elsewhere = r#"{"host": "elsewhere", "pid": 1, "arena": "/dev/shm/hodo-no-such"}"#;
    run.write("process.json", elsewhere.as_bytes());
    let whole = frames(1, 3);
    run.write("catalog.hodo", &file_header(7, 0));
    run.write("spool-000001.hodo", &whole[..whole.len() - 7]);
    let mut settings = run.settings(&collector.url, Mode::Everything);
    let shipped = go(&settings).unwrap();
    assert_eq!(shipped.may_run_on.as_deref(), Some("elsewhere"));
    let there = collector.file(&format!("{PART}/spool-000001.hodo")).unwrap().len();
    assert_eq!(there, 64 + (whole.len() - 64) / 3 * 2, "whole frames alone");
    {
        let held = collector.held.lock().unwrap();
        assert!(
            held.beats.iter().all(|beat| beat["done"] == false && beat["processes"] == json!([]))
        );
    }
    settings.others_ended = true;
    let shipped = go(&settings).unwrap();
    assert_eq!((shipped.may_run_on, shipped.is_live), (None, false));
    assert_eq!(collector.held.lock().unwrap().beats.last().unwrap()["done"], true);
    run.assert_there(&collector);
    // Its catalog says so as well.
    let mut catalog = file_header(7, 0).to_vec();
    end_frame(9, &Losses::default(), &mut catalog);
    run.write("catalog.hodo", &catalog);
    settings.others_ended = false;
    assert_eq!(go(&settings).unwrap().may_run_on, None);
}

#[test]
fn a_pack_without_all_of_its_tables_is_not_said_to_be_one() {
    let (run, collector) = (Run::ended(), Collector::start());
    let side = "pack/side.json";
    for (name, bytes) in [("tables/spans/p7-0a-000.parquet", "PAR1"), (side, "{}")] {
        let path = run.folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let table = "tables.spans/p7-0a-000.parquet".to_owned();
    collector.held.lock().unwrap().files.insert(table.clone(), b"other".to_vec());
    let settings = run.settings(&collector.url, Mode::Everything);
    let error = go(&settings).unwrap_err().to_string();
    assert!(error.contains(&table), "{error}");
    assert_eq!(collector.file(side), None);
    collector.held.lock().unwrap().files.remove(&table);
    go(&settings).unwrap();
    assert_eq!(collector.file(side).as_deref(), Some(b"{}".as_slice()));
}

#[test]
fn a_name_that_no_collector_takes_is_refused_before_anything_is_sent() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("my run");
    std::fs::create_dir(&folder).unwrap();
    let run = Run { _parent: parent, process: folder.clone(), folder };
    let error = run.ship(&Collector::start()).unwrap_err().to_string();
    assert!(error.contains("\"my run\"") && error.contains("rename"), "{error}");
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
