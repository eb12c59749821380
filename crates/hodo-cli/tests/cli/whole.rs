//! `hodo verify`, `hodo ls` and `hodo doctor`.

use crate::made::Folder;
use crate::program::{ID, folder, hodo, run, same_as, stdout};
use crate::samples;
use serde_json::Value;

#[test]
fn a_whole_run_verifies() {
    let dir = folder(&samples::training(100));
    same_as(&stdout(dir.path(), &["verify"]), "verify.txt");
}

#[test]
fn counted_losses_verify_because_they_are_explained() {
    let mut made = samples::training(100);
    made.lost[0].spans = 7;
    let dir = folder(&made);
    assert!(stdout(dir.path(), &["verify"]).contains("72 produced = 65 stored + 7 lost"));
}

#[test]
fn damage_fails_verification_and_is_located() {
    let dir = folder(&samples::training(100));
    let process = std::fs::read_dir(dir.path().join(ID)).unwrap().flatten();
    let process = process.map(|e| e.path()).find(|p| p.is_dir()).unwrap();
    let spool = process.join("spool-000001.hodo");
    let mut bytes = std::fs::read(&spool).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&spool, bytes).unwrap();
    let output = run(dir.path(), &["verify"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("spool-000001.hodo at byte"), "{text}");
    let report = stdout(dir.path(), &["report"]);
    assert!(report.contains("✗ damaged:"), "{report}");
    let document: Value =
        serde_json::from_slice(&run(dir.path(), &["verify", "--json"]).stdout).unwrap();
    assert_eq!(document["whole"], false);
}

#[test]
fn ls_lists_the_runs_newest_first() {
    let dir = folder(&samples::training(100));
    crate::made::write(dir.path(), "20261115-201501-train-bbbbbb", &[&samples::crossing(200)]);
    let text = stdout(dir.path(), &["ls"]);
    // The size depends on the compressor's version.
    let rows: Vec<String> = text
        .lines()
        .map(|l| l.rsplit_once("  ").map_or(l, |(rest, _)| rest).trim_end().to_owned())
        .collect();
    same_as(&(rows.join("\n") + "\n"), "ls.txt");
    let empty = Folder::new();
    let output = run(empty.path(), &["ls"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("hodo demo"));
}

#[test]
fn doctor_names_every_check_and_fails_on_a_bad_one() {
    let dir = Folder::new();
    let document: Value = serde_json::from_str(&stdout(dir.path(), &["doctor", "--json"])).unwrap();
    let names: Vec<&str> = document["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    let expected = "recording, clock, cpu time, rseq, perf events, folder, filesystem, free space, file size, memory, \
                    environment, runs";
    assert_eq!(names.join(", "), expected);
    let file = dir.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let output = run(dir.path(), &["doctor", "--dir", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("✗ folder"));
}

#[test]
fn doctor_says_when_runs_would_stay_in_memory_or_nothing_is_recorded() {
    let dir = Folder::new();
    let output = run(dir.path(), &["doctor", "--dir", "/proc/no-such-folder"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("✗ folder") && text.contains("in memory"), "{text}");
    let off = hodo(dir.path(), &["doctor"]).env("HODO", "0").output().unwrap();
    let text = String::from_utf8(off.stdout).unwrap();
    assert!(text.contains("! recording     not tried: HODO=0"), "{text}");
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    assert!(left.is_empty(), "the trial left {left:?}");
}
