//! Runs whose catalog, or every reading of whose clocks, is lost.

use crate::made::{self, Folder};
use crate::program::{ID, folder, run, stdout};
use crate::samples;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A real run.
fn recorded() -> Folder {
    let dir = Folder::new();
    stdout(dir.path(), &["demo", "--seconds", "0.5", "--json"]);
    dir
}

fn catalogs(dir: &Folder) -> Vec<PathBuf> {
    let inside = |path: &Path| -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let runs = inside(dir.path()).into_iter();
    let processes = runs.flat_map(|run| inside(&run)).map(|p| p.join("catalog.hodo"));
    processes.filter(|catalog| catalog.is_file()).collect()
}

fn report(dir: &Folder) -> Value {
    serde_json::from_str(&stdout(dir.path(), &["report", "--json"])).unwrap()
}

/// Count, total and self time of every path, in the order they first opened: names may be lost.
fn times(report: &Value) -> Vec<(u64, u64, u64)> {
    let number = |node: &Value, key: &str| node[key].as_u64().unwrap_or_else(|| panic!("{node}"));
    let nodes = report["nodes"].as_array().unwrap().iter();
    let mut times: Vec<_> =
        nodes.map(|n| (number(n, "count"), number(n, "total_ns"), number(n, "self_ns"))).collect();
    times.sort_unstable();
    times
}

#[track_caller]
fn assert_same_times(found: &Value, whole: &Value) {
    assert_eq!(found["spans"], whole["spans"]);
    assert_eq!(found["uncalibrated_processes"], 0);
    let (found, whole) = (times(found), times(whole));
    assert_eq!(found.len(), whole.len());
    // The slope is taken between other readings of the clocks.
    let close = |a: u64, b: u64| a.abs_diff(b) <= b / 1000 + 1000;
    for (found, whole) in found.iter().zip(&whole) {
        assert_eq!(found.0, whole.0);
        assert!(close(found.1, whole.1) && close(found.2, whole.2), "{found:?}, not {whole:?}");
    }
}

#[test]
fn a_recorded_run_without_its_catalog_keeps_its_times() {
    let dir = recorded();
    let whole = report(&dir);
    for catalog in catalogs(&dir) {
        std::fs::remove_file(catalog).unwrap();
    }
    let found = report(&dir);
    assert_same_times(&found, &whole);
    assert!(stdout(dir.path(), &["report"]).contains("(lost name "), "names are said to be lost");
    let output = run(dir.path(), &["verify"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("catalog.hodo") && text.contains("not whole"), "{text}");
}

#[test]
fn a_recorded_run_with_half_a_catalog_keeps_its_times() {
    let dir = recorded();
    let whole = report(&dir);
    for catalog in catalogs(&dir) {
        let bytes = std::fs::read(&catalog).unwrap();
        std::fs::write(&catalog, &bytes[..bytes.len() / 2]).unwrap();
    }
    assert_same_times(&report(&dir), &whole);
    assert_eq!(run(dir.path(), &["verify"]).status.code(), Some(1));
}

/// A run of which no reading of the clocks is left.
fn timeless() -> Folder {
    let mut made = samples::training(100);
    made.has_anchors = false;
    folder(&made)
}

#[test]
fn without_readings_of_the_clocks_every_view_says_so() {
    const WORDS: &str = "times not calibrated";
    let dir = timeless();
    let text = stdout(dir.path(), &["report"]);
    assert!(text.lines().nth(3).unwrap().starts_with("✗ times not calibrated"), "{text}");
    crate::program::same_as(&text, "timeless.txt");
    assert!(stdout(dir.path(), &["ls"]).contains(WORDS));
    let verified = run(dir.path(), &["verify"]);
    assert_eq!(verified.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&verified.stdout).contains(WORDS));
    for format in ["perfetto", "chrome"] {
        let exported = run(dir.path(), &["export", "--to", format]);
        assert!(String::from_utf8_lossy(&exported.stderr).contains(WORDS));
        let told = exported.stdout.windows(WORDS.len()).any(|w| w == WORDS.as_bytes());
        assert!(told, "{format}");
    }
}

#[test]
fn without_readings_of_the_clocks_no_number_is_a_time() {
    let dir = timeless();
    let document = report(&dir);
    assert_eq!(document["wall_ns"], Value::Null);
    assert_eq!(document["uncalibrated_processes"], 1);
    assert_eq!(document["spans_untimed"], 42);
    for node in document["nodes"].as_array().unwrap() {
        assert_eq!(node["untimed"], node["count"]);
        for key in ["total_ns", "self_ns", "overhead_ns", "durations", "bench"] {
            assert_eq!(node[key], Value::Null, "{key} of {}", node["name"]);
        }
        assert_eq!(node["cpu"]["total_ns"], Value::Null);
    }
    assert_eq!(document["failed"]["scopes"][0]["duration_ns"], Value::Null);
    let listed: Value = serde_json::from_str(&stdout(dir.path(), &["ls", "--json"])).unwrap();
    assert_eq!(listed["runs"][0]["wall_ns"], Value::Null);
    assert_eq!(listed["runs"][0]["spans"], 42);
}

#[test]
fn a_process_without_times_does_not_spoil_the_others() {
    let dir = Folder::new();
    let (first, mut second) = (samples::training(100), samples::training(200));
    second.has_anchors = false;
    made::write(dir.path(), ID, &[&first, &second]);
    let text = stdout(dir.path(), &["report"]);
    assert!(text.contains("✗ times not calibrated: no reading of the clocks is left of pid 200"));
    assert!(text.contains("≥ 210 ms"), "{text}");
}
