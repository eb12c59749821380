//! Runs that have ended are packed, with nothing lost and nothing there twice.

use super::{Collected, json};
use crate::client::{Folder, TRAINING};
use hodo_server::CollectorOptions;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub fn training() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../hodo-cli/tests/data").join(TRAINING)
}

/// Waits for what a collector does by itself.
pub fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(180);
    while !is_so() {
        assert!(Instant::now() < until, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub fn is_packed(collected: &Collected, run: &str) -> bool {
    let path = format!("/api/ingest/runs/{run}");
    json(&collected.ask(("GET", &path), &collected.ingest, &[], b""))["packed"] == true
}

/// What a report says of the run, but for where it is.
pub fn report(collected: &Collected, run: &str) -> Value {
    let mut report = json(&collected.get(&format!("/api/runs/{run}/report")));
    for key in ["folder", "run"] {
        report[key] = Value::Null;
    }
    report
}

#[test]
fn a_run_that_is_done_is_packed_and_reads_the_same() {
    let folder = Folder::new();
    let collected = Collected::new(folder.path());
    collected.ship(&training(), "run");
    let (before, files) = (report(&collected, "run"), collected.files("run"));
    assert!(!is_packed(&collected, "run"));
    assert_eq!(collected.beat("run", r#"{"host":"a","done":true}"#).status, 200);
    wait_for("packing", || is_packed(&collected, "run"));
    assert!(collected.folder("run").join("tables").is_dir());
    assert!(!collected.folder("run").join("p492-6483323d").exists());
    assert_eq!(std::fs::read_dir(folder.path().join("aside")).unwrap().count(), 0);
    assert_private(folder.path());
    wait_for("reading it again", || report(&collected, "run") == before);
    // A late repeat is harmless, and what is told to be there is the same.
    assert_eq!(collected.files("run"), files);
    collected.ship(&training(), "run");
    assert_eq!(collected.files("run"), files);
    assert!(!collected.folder("run").join("p492-6483323d").exists());
    // More of what was told to be complete is refused, with words.
    let more = collected.append("run/files/p492-6483323d/spool-000001.hodo", 84187, b"more");
    assert_eq!(more.status, 409);
    assert!(more.text().contains("packed"), "{}", more.text());
}

#[test]
fn tables_that_somebody_else_packed_do_not_replace_those_of_the_collector() {
    let folder = Folder::new();
    let collected = Collected::new(folder.path());
    collected.ship(&training(), "run");
    collected.beat("run", r#"{"host":"a","done":true}"#);
    wait_for("packing", || is_packed(&collected, "run"));
    let before = report(&collected, "run");
    let refused = |answer: crate::client::Answer| {
        assert_eq!(answer.status, 409, "{}", answer.text());
        assert!(answer.text().contains("DELETE /api/runs/run"), "{}", answer.text());
    };
    refused(collected.replace("run/files/pack/side.json", b"{}"));
    refused(collected.append("run/files/tables.spans/p9-0c-000.parquet", 0, b"PAR1"));
    let side = std::fs::read(collected.folder("run").join("pack/side.json")).unwrap();
    assert_eq!(collected.replace("run/files/pack/side.json", &side).status, 200, "the same");
    assert_eq!(report(&collected, "run"), before);
    // The same where two pushed theirs.
    assert_eq!(collected.replace("pushed/files/pack/side.json", b"{}").status, 200);
    assert_eq!(collected.replace("pushed/files/pack/side.json", b"{ }").status, 409);
}

#[test]
fn what_is_shipped_of_a_process_that_may_run_is_kept_when_it_is_packed() {
    let folder = Folder::new();
    let collected = Collected::new(folder.path());
    let open = Folder::new();
    for (part, name, path) in super::files_of(&training()) {
        let to = if part == "-" { open.path().into() } else { open.path().join(&part) };
        std::fs::create_dir_all(&to).unwrap();
        let mut bytes = std::fs::read(path).unwrap();
        if name == "catalog.hodo" {
            bytes.truncate(without_end(&bytes));
        }
        std::fs::write(to.join(name), bytes).unwrap();
    }
    collected.ship(open.path(), "run");
    // Who says so was another host, or somebody's mistake.
    collected.beat("run", r#"{"host":"a","done":true}"#);
    wait_for("packing", || is_packed(&collected, "run"));
    assert!(folder.path().join("aside/run/p492-6483323d").is_dir(), "what was shipped is kept");
    let whole = std::fs::read(training().join("p492-6483323d/catalog.hodo")).unwrap();
    let answer = collected.append("run/files/p492-6483323d/catalog.hodo", 0, &whole);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// The length of a catalog up to the frame that a recorder writes last.
fn without_end(catalog: &[u8]) -> usize {
    use hodo_format::spool::{FILE_HEADER_BYTES, FRAME_HEADER_BYTES, FrameHeader, frame_kind};
    let mut at = FILE_HEADER_BYTES;
    while let Some(bytes) = catalog.get(at..at + FRAME_HEADER_BYTES) {
        let header = FrameHeader::parse(bytes).unwrap();
        if header.kind == frame_kind::END {
            return at;
        }
        at += FRAME_HEADER_BYTES + header.payload_bytes as usize;
    }
    panic!("the catalog has no end");
}

#[test]
fn a_host_that_comes_late_is_packed_too() {
    let folder = Folder::new();
    let collected = Collected::new(folder.path());
    collected.ship(&training(), "run");
    collected.beat("run", r#"{"host":"a","done":true}"#);
    wait_for("packing", || is_packed(&collected, "run"));
    let scopes =
        |collected: &Collected| json(&collected.get("/api/runs"))["runs"][0]["scopes"].clone();
    let of_one = scopes(&collected).as_u64().unwrap();
    // The same process again, as another host's.
    let late = Folder::new();
    let (from, to) = (training().join("p492-6483323d"), late.path().join("p493-6483323e"));
    std::fs::create_dir(&to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
    collected.ship(late.path(), "run");
    assert_eq!(collected.files("run").len(), 11, "{:?}", collected.files("run"));
    assert_eq!(scopes(&collected).as_u64(), Some(2 * of_one), "shown before it is packed");
    collected.beat("run", r#"{"host":"b","done":true}"#);
    wait_for("packing again", || !collected.folder("run").join("p493-6483323e").exists());
    assert_eq!(scopes(&collected).as_u64(), Some(2 * of_one));
    assert_eq!(collected.files("run").len(), 11);
}

#[test]
fn a_silent_run_is_packed_and_what_comes_after_all_is_added() {
    let folder = Folder::new();
    let mut options = CollectorOptions::local(folder.path());
    options.quiet_after = Duration::from_secs(1);
    let collected = Collected::with(&options);
    let spool = std::fs::read(training().join("p492-6483323d/spool-000001.hodo")).unwrap();
    // Its end has not come, and nobody says that it will not.
    let short = Folder::new();
    for (part, name, path) in super::files_of(&training()) {
        let to = if part == "-" { short.path().into() } else { short.path().join(&part) };
        std::fs::create_dir_all(&to).unwrap();
        match name.as_str() {
            "spool-000001.hodo" => {
                std::fs::write(to.join(name), &spool[..spool.len() / 2]).unwrap()
            }
            _ => drop(std::fs::copy(path, to.join(name)).unwrap()),
        }
    }
    collected.ship(short.path(), "run");
    wait_for("the run to fall silent and be packed", || is_packed(&collected, "run"));
    // One that waits for longer: more may come at any pace.
    let ingest = collected.ingest.clone();
    drop(collected);
    let mut collected = Collected::new(folder.path());
    collected.ingest = ingest;
    assert!(folder.path().join("aside/run/p492-6483323d").is_dir(), "what was shipped is kept");
    let file = "run/files/p492-6483323d/spool-000001.hodo";
    let half = (spool.len() / 2) as u64;
    let answer = collected.append(file, half, &spool[half as usize..]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(!is_packed(&collected, "run"));
    collected.beat("run", r#"{"host":"a","done":true}"#);
    wait_for("packing anew", || is_packed(&collected, "run"));
    let other = Folder::new();
    let whole = Collected::new(other.path());
    whole.ship(&training(), "run");
    whole.beat("run", r#"{"host":"a","done":true}"#);
    let (there, own) = (report(&collected, "run"), report(&whole, "run"));
    assert_eq!((&there["nodes"], &there["records"]), (&own["nodes"], &own["records"]));
}

#[test]
fn a_live_run_is_neither_packed_nor_removed() {
    let folder = Folder::new();
    let mut options = CollectorOptions::local(folder.path());
    (options.quiet_after, options.keep) =
        (Duration::from_millis(1), Some(Duration::from_millis(1)));
    let collected = Collected::with(&options);
    let live = r#"{"host":"a","processes":[{"part":"p492-6483323d","live":true}]}"#;
    collected.beat("run", live);
    collected.ship(&training(), "run");
    assert_eq!(collected.beat("run", live).status, 200);
    std::thread::sleep(Duration::from_secs(3));
    assert!(
        collected.folder("run").join("p492-6483323d").exists() && !is_packed(&collected, "run")
    );
    let answer = collected.ask(("DELETE", "/api/runs/run"), &collected.admin, &[], b"");
    assert_eq!(answer.status, 409, "{}", answer.text());
    // It has ended: it is old at once.
    collected.beat("run", &live.replace("true", "false"));
    wait_for("removal", || !collected.folder("run").exists());
    let told = "\nhodo_removed_runs_total 1\n";
    wait_for("a count of it", || collected.get("/metrics").text().contains(told));
    assert_eq!(collected.files("run"), []);
}

#[test]
fn a_restart_after_an_outage_packs_nothing_that_still_runs() {
    let folder = Folder::new();
    let live = r#"{"host":"a","processes":[{"part":"p492-6483323d","live":true}]}"#;
    {
        let collected = Collected::new(folder.path());
        collected.ship(&training(), "run");
        assert_eq!(collected.beat("run", live).status, 200);
    }
    // Nobody could be heard for an hour, since there was no collector.
    let told = folder.path().join("runs/run/shipped.json");
    let mut shipped: Value = serde_json::from_slice(&std::fs::read(&told).unwrap()).unwrap();
    let heard = &mut shipped["hosts"]["a"]["heard_ns"];
    *heard = (heard.as_u64().unwrap() - 3_600_000_000_000).into();
    std::fs::write(&told, shipped.to_string()).unwrap();
    let mut options = CollectorOptions::local(folder.path());
    options.quiet_after = Duration::from_secs(600);
    let collected = Collected::with(&options);
    std::thread::sleep(Duration::from_secs(3));
    assert!(collected.folder("run").join("p492-6483323d").exists(), "it may still run");
    drop(collected);
    options.quiet_after = Duration::from_millis(1);
    let collected = Collected::with(&options);
    wait_for("it to fall silent", || !collected.folder("run").join("p492-6483323d").exists());
}

/// That nobody else may look at what is in a store.
pub fn assert_private(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // What is being replaced is gone a moment later.
        let Ok(about) = path.metadata() else { continue };
        let wanted = if about.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(about.permissions().mode() & 0o777, wanted, "{}", path.display());
        if about.is_dir() {
            assert_private(&path);
        }
    }
}

#[test]
fn a_run_that_is_removed_is_not_shown_from_memory() {
    let folder = Folder::new();
    let collected = Collected::new(folder.path());
    collected.ship(&training(), "run");
    collected.beat("run", r#"{"host":"a","done":true}"#);
    // A page is open, which hears of what is new.
    let mut page = collected.connect();
    let (port, token) = (collected.port, &collected.read);
    let head = format!("Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n");
    std::io::Write::write_all(&mut page, format!("GET /api/events HTTP/1.1\r\n{head}").as_bytes())
        .unwrap();
    let mut answered = [0; 12];
    std::io::Read::read_exact(&mut page, &mut answered).unwrap();
    assert_eq!(&answered, b"HTTP/1.1 200");
    assert_eq!(collected.get("/api/runs/run/report").status, 200);
    let removed = collected.ask(("DELETE", "/api/runs/run"), &collected.admin, &[], b"");
    assert_eq!(removed.status, 200, "{}", removed.text());
    assert_eq!(collected.get("/api/runs/run/report").status, 404);
}

#[test]
fn the_oldest_run_makes_room() {
    let folder = Folder::new();
    let mut options = CollectorOptions::local(folder.path());
    options.max_bytes = Some(30_000);
    let collected = Collected::with(&options);
    for run in ["first", "second", "third"] {
        let file = format!("{run}/files/p1-a/spool-000001.hodo");
        wait_for("room", || collected.append(&file, 0, &[7; 4000]).status == 200);
        assert_eq!(collected.beat(run, r#"{"host":"a","done":true}"#).status, 200);
    }
    assert!(!collected.folder("first").exists(), "the oldest went");
    assert!(collected.folder("third").exists());
    let answer = collected.ask(("DELETE", "/api/runs/third"), &collected.admin, &[], b"");
    assert!(json(&answer)["removed_bytes"].as_u64() >= Some(4000));
    assert!(!collected.folder("third").exists());
    let answer = collected.ask(("DELETE", "/api/runs/third"), &collected.admin, &[], b"");
    assert_eq!(answer.status, 404);
}
