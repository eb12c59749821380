//! Many processes at a collector that takes little at a time.

use crate::collector::Collector;
use crate::{PART, Run, frames};
use hodo_format::spool::{Losses, end_frame, file_header, strings_frame};
use hodo_ship::{Mode, Watch, ship};
use std::io::Write;
use std::time::{Duration, Instant};

/// More than a collector takes of them at a time.
const PARTS: [&str; 5] = ["p1-0a", "p3-0a", PART, "p8-0a", "p9-0a"];
/// How long each of them may wait for its turn.
const PATIENCE: Duration = Duration::from_secs(180);

#[test]
fn every_process_has_its_turn_where_the_collector_takes_little_at_a_time() {
    let (run, collector) = (Run::new(std::process::id()), Collector::start());
    let about = std::fs::read(run.process.join("process.json")).unwrap();
    for part in PARTS {
        std::fs::create_dir_all(run.folder.join(part)).unwrap();
        std::fs::write(run.folder.join(part).join("process.json"), &about).unwrap();
        std::fs::write(run.folder.join(part).join("spool-000001.hodo"), frames(1, 1)).unwrap();
    }
    // All of them record all the time, and have something to be shipped at every look.
    let grow = |sequence| {
        let mut frame = Vec::new();
        strings_frame(sequence, 1, &["a name"], &mut frame);
        for part in PARTS {
            let path = run.folder.join(part).join("spool-000001.hodo");
            let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
            file.write_all(&frame).unwrap();
        }
    };
    let end = || {
        let mut catalog = file_header(7, 0).to_vec();
        end_frame(9, &Losses::default(), &mut catalog);
        for part in PARTS {
            std::fs::write(run.folder.join(part).join("catalog.hodo"), &catalog).unwrap();
        }
    };
    let there = |part: &str| {
        let spool = collector.file(&format!("{part}/spool-000001.hodo"));
        spool.map_or(0, |spool| spool.len())
    };
    collector.held.lock().unwrap().most_files = Some(2);
    let settings = run.settings(&collector.url, Mode::Follow);
    let starved = std::thread::scope(|scope| {
        let watch = || ship(&settings, &Watch { progress: &|_| {}, is_expecting: &|| false });
        let shipper = scope.spawn(watch);
        let (began, mut sequence) = (Instant::now(), 1);
        let begun = frames(1, 1).len();
        let starved = loop {
            let waiting: Vec<_> = PARTS.iter().filter(|part| there(part) <= begun).collect();
            if waiting.is_empty() || began.elapsed() > PATIENCE {
                break waiting;
            }
            grow(sequence);
            sequence += 1;
            std::thread::sleep(Duration::from_millis(20));
        };
        collector.held.lock().unwrap().most_files = None;
        end();
        shipper.join().unwrap().unwrap();
        starved
    });
    assert!(starved.is_empty(), "nothing more came of {starved:?}");
    for part in PARTS {
        let spool = std::fs::read(run.folder.join(part).join("spool-000001.hodo")).unwrap();
        assert!(collector.file(&format!("{part}/spool-000001.hodo")).unwrap() == spool, "{part}");
    }
}
