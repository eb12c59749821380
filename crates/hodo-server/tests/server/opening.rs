//! How far a run has been read, while others wait for it.

use crate::client::{Folder, Served, TRAINING};
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

fn opening(served: &Served) -> Value {
    served.json(&format!("/api/runs/{TRAINING}/opening"))
}

#[test]
fn asking_opens_nothing() {
    let folder = Folder::with_training(&[TRAINING]);
    let served = Served::new(folder.path());
    assert_eq!(opening(&served)["state"], "closed");
    served.json(&format!("/api/runs/{TRAINING}/tracks"));
    assert_eq!(opening(&served)["state"], "open");
    assert_eq!(served.get("/api/runs/nothing/opening").status, 404);
}

#[test]
fn a_run_that_is_being_read_says_how_far() {
    let folder = Folder::with_training(&[TRAINING]);
    let process = folder.path().join(TRAINING).join("p1-0");
    std::fs::create_dir(&process).unwrap();
    // A file that gives nothing until someone writes it holds the reader up for as long as we like.
    let slow = process.join("spool-000001.hodo");
    assert!(Command::new("mkfifo").arg(&slow).status().unwrap().success());
    let served = Served::new(folder.path());
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| served.json(&format!("/api/runs/{TRAINING}/tracks")));
        let until = Instant::now() + PATIENCE;
        let reading = loop {
            let now = opening(&served);
            if now["state"] == "reading" {
                break now;
            }
            assert!(Instant::now() < until, "{now}");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert!(reading["total_bytes"].is_u64() && reading["passed_ms"].is_u64(), "{reading}");
        assert!(!waits.is_finished(), "the answer waits for the whole run");
        drop(std::fs::OpenOptions::new().write(true).open(&slow).unwrap());
        assert!(waits.join().unwrap()["tracks"].is_array());
    });
    assert_eq!(opening(&served)["state"], "open");
}
