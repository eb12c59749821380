//! How far a run has been read, while others wait for it.

use crate::client::{Folder, Served, TRAINING, copy};
use serde_json::Value;
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

/// Copies of a process, so that reading the run takes long enough to be seen.
const PROCESSES: u32 = 40;

#[test]
fn a_run_that_is_being_read_says_how_far() {
    let folder = Folder::with_training(&[TRAINING]);
    let run = folder.path().join(TRAINING);
    for number in 0..PROCESSES {
        copy(&run.join("p492-6483323d"), &run.join(format!("p{number}-0")));
    }
    let until = Instant::now() + PATIENCE;
    // On a busy machine nobody may have looked before all was read: then a server begins anew.
    let reading = loop {
        assert!(Instant::now() < until, "reading was never seen");
        if let Some(reading) = seen_reading(&Served::new(folder.path())) {
            break reading;
        }
    };
    let number = |name: &str| reading[name].as_u64().unwrap_or_else(|| panic!("{name}: {reading}"));
    assert!(number("read_bytes") <= number("total_bytes"), "{reading}");
    number("passed_ms");
}

/// What is told while the run is read for somebody who waits for it.
fn seen_reading(served: &Served) -> Option<Value> {
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| served.json(&format!("/api/runs/{TRAINING}/tracks")));
        let mut seen = None;
        while seen.is_none() && !waits.is_finished() {
            seen = Some(opening(served)).filter(|now| now["state"] == "reading");
        }
        let tracks = waits.join().unwrap();
        let tracks = tracks["tracks"].as_array().unwrap();
        assert!(tracks.len() > PROCESSES as usize, "the answer waits for the whole run");
        assert_eq!(opening(served)["state"], "open");
        seen
    })
}
