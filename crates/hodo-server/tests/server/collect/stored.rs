//! Packed runs in a store elsewhere.

use super::packing::{is_packed, report, training, wait_for};
use super::{Collected, json};
use crate::client::Folder;
use hodo_server::CollectorOptions;
use std::path::Path;

fn with_store(dir: &Path, store: &Path, max_bytes: Option<u64>) -> Collected {
    let mut options = CollectorOptions::local(dir);
    options.store = Some(format!("file://{}", store.display()));
    options.max_bytes = max_bytes;
    Collected::with(&options)
}

fn scopes(collected: &Collected) -> serde_json::Value {
    json(&collected.get("/api/runs"))["runs"][0]["scopes"].clone()
}

#[test]
fn a_packed_run_is_stored_makes_room_and_comes_back() {
    let (folder, store) = (Folder::new(), Folder::new());
    let collected = with_store(folder.path(), store.path(), Some(450_000));
    collected.ship(&training(), "run");
    let (before, there) = (report(&collected, "run"), scopes(&collected));
    collected.beat("run", r#"{"host":"a","done":true}"#);
    let complete = store.path().join("run/complete.json");
    wait_for("storing", || complete.exists());
    assert!(is_packed(&collected, "run"));
    // Another run wants its room.
    let file = "other/files/p1-a/spool-000001.hodo";
    wait_for("room", || collected.append(file, 0, &vec![7; 390_000]).status == 200);
    assert!(!collected.folder("run").join("tables/spans").exists_with_files(), "it is away");
    assert_eq!(json(&collected.get("/api/runs"))["runs"].as_array().unwrap().len(), 2);
    let run = json(&collected.get("/api/runs?q=run"))["runs"][0].clone();
    assert_eq!(run["scopes"], there, "a list shows it as before");
    assert_eq!(report(&collected, "run"), before, "and it comes back");
    // What is told to shippers is what it was.
    assert!(is_packed(&collected, "run"));
    collected.ship(&training(), "run");
    let answer = collected.ask(("DELETE", "/api/runs/run"), &collected.admin, &[], b"");
    assert_eq!(answer.status, 200);
    assert!(!store.path().join("run").exists(), "there too");
}

#[test]
fn a_question_in_sql_brings_its_runs_back() {
    let (folder, store) = (Folder::new(), Folder::new());
    let collected = with_store(folder.path(), store.path(), Some(450_000));
    collected.ship(&training(), "run");
    collected.beat("run", r#"{"host":"a","done":true}"#);
    wait_for("storing", || store.path().join("run/complete.json").exists());
    let file = "other/files/p1-a/spool-000001.hodo";
    wait_for("room", || collected.append(file, 0, &vec![7; 390_000]).status == 200);
    let spans = collected.folder("run").join("tables/spans");
    assert!(!spans.exists_with_files(), "it is away");
    let question = br#"{"query":"select 1","runs":["run"]}"#;
    let headers = [("Content-Type", "application/json")];
    // Whether it is answered depends on the program for it.
    collected.ask(("POST", "/api/sql"), &collected.read, &headers, question);
    assert!(spans.exists_with_files(), "it is here");
    let nonsense = collected.ask(("POST", "/api/sql"), &collected.read, &headers, b"{");
    assert_eq!(nonsense.status, 400, "{}", nonsense.text());
}

#[test]
fn a_store_that_hangs_keeps_nobody_from_reading_other_runs() {
    let (folder, store) = (Folder::new(), Folder::new());
    let collected = with_store(folder.path(), store.path(), Some(450_000));
    collected.ship(&training(), "run");
    collected.beat("run", r#"{"host":"a","done":true}"#);
    let complete = store.path().join("run/complete.json");
    wait_for("storing", || complete.exists());
    let file = "other/files/p1-a/spool-000001.hodo";
    wait_for("room", || collected.append(file, 0, &vec![7; 390_000]).status == 200);
    assert!(!collected.folder("run").join("tables/spans").exists_with_files(), "it is away");
    // Who opens a pipe for reading waits for one who writes.
    std::fs::remove_file(&complete).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&complete).status().unwrap().success());
    std::thread::scope(|scope| {
        let ask = || collected.get("/api/runs/run/report").status;
        let asked: Vec<_> = (0..12).map(|_| scope.spawn(ask)).collect();
        let fetched = folder.path().join("packing/.run.fetched");
        wait_for("fetching", || fetched.exists());
        assert_eq!(collected.get("/api/runs").status, 200);
        assert_ne!(collected.get("/api/runs/other/report").status, 429);
        assert!(asked.iter().all(|asked| !asked.is_finished()), "they wait");
        // What comes is nothing that says what the run is.
        for asked in asked {
            while !asked.is_finished() {
                drop(std::fs::OpenOptions::new().read(true).write(true).open(&complete).unwrap());
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            assert_eq!(asked.join().unwrap(), 502);
        }
    });
}

#[test]
fn a_new_collector_finds_what_the_store_has() {
    let store = Folder::new();
    let before = {
        let folder = Folder::new();
        let collected = with_store(folder.path(), store.path(), None);
        collected.ship(&training(), "run");
        let before = report(&collected, "run");
        collected.beat("run", r#"{"host":"a","done":true}"#);
        wait_for("storing", || store.path().join("run/complete.json").exists());
        before
    };
    // A run that was not stored whole is none.
    std::fs::create_dir_all(store.path().join("half/tables")).unwrap();
    std::fs::write(store.path().join("half/run.json"), "{}").unwrap();
    let folder = Folder::new();
    let collected = with_store(folder.path(), store.path(), None);
    assert_eq!(json(&collected.get("/api/runs"))["runs"].as_array().unwrap().len(), 1);
    assert_eq!(report(&collected, "run"), before);
}

#[test]
fn damage_in_the_store_is_told() {
    let store = Folder::new();
    {
        let folder = Folder::new();
        let collected = with_store(folder.path(), store.path(), None);
        collected.ship(&training(), "run");
        collected.beat("run", r#"{"host":"a","done":true}"#);
        wait_for("storing", || store.path().join("run/complete.json").exists());
    }
    let spans = std::fs::read_dir(store.path().join("run/tables/spans")).unwrap();
    let spoilt = spans.map(|file| file.unwrap().path()).next().unwrap();
    let mut bytes = std::fs::read(&spoilt).unwrap();
    bytes[10] ^= 1;
    std::fs::write(&spoilt, bytes).unwrap();
    let folder = Folder::new();
    let collected = with_store(folder.path(), store.path(), None);
    let answer = collected.get("/api/runs/run/report");
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(answer.text().contains("damaged in the store"), "{}", answer.text());
}

#[cfg(not(feature = "object-store"))]
#[test]
fn stores_that_are_not_built_in_are_named() {
    let folder = Folder::new();
    let mut options = CollectorOptions::local(folder.path());
    options.store = Some("s3://bucket/runs".into());
    let refused = hodo_server::Collector::bind(&options).err().unwrap().to_string();
    assert!(refused.contains("make install"), "{refused}");
}

trait HasFiles {
    fn exists_with_files(&self) -> bool;
}

impl HasFiles for std::path::PathBuf {
    fn exists_with_files(&self) -> bool {
        std::fs::read_dir(self).is_ok_and(|mut files| files.next().is_some())
    }
}
