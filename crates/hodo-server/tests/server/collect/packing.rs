//! Runs that have ended are packed, with nothing lost and nothing there twice.

use super::{Collected, json, options};
use crate::client::{Folder, TRAINING};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub fn training() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../hodo-cli/tests/data").join(TRAINING)
}

/// Waits for what a collector does by itself.
pub fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
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
    let mut options = options(folder.path());
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
    let mut options = options(folder.path());
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
fn the_oldest_run_makes_room() {
    let folder = Folder::new();
    let mut options = options(folder.path());
    options.max_bytes = Some(10_000);
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
