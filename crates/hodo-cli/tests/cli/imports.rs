//! Runs of other tools, imported and read by the other verbs.

use crate::exports::{python, same_tree};
use crate::made::Folder;
use crate::program::{folder, run, stdout};
use crate::samples;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const SAMPLES: [&str; 3] =
    ["torch_profiler_h200_mlp.json.gz", "cirron_spool_h200_mlp.tgz", "gpuflight_log_h200_gpt.tgz"];

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../hodo-convert/tests/data").join(name)
}

/// A folder with the import of a sample.
pub fn imported(name: &str) -> Folder {
    let dir = Folder::new();
    stdout(dir.path(), &["import", sample(name).to_str().unwrap()]);
    dir
}

/// A Python for scripts that need nothing but its own library.
fn plain_python() -> Option<String> {
    let has = |python: &str| Command::new(python).arg("--version").output().is_ok();
    let python = python().or_else(|| Some("python3".to_owned()).filter(|python| has(python)));
    if python.is_none() {
        eprintln!("not checked: no python3");
    }
    python
}

#[test]
fn imports_hold_what_an_independent_reader_finds_in_the_originals() {
    let Some(python) = plain_python() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import_truth.py");
    for name in SAMPLES {
        let dir = imported(name);
        let report = dir.path().join("report.json");
        let args = ["report", "--json", "--kernels-in-full", "--top", "100000"];
        std::fs::write(&report, stdout(dir.path(), &args)).unwrap();
        let output =
            Command::new(&python).args([&script, &sample(name), &report]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("the same: "));
    }
}

#[test]
fn every_verb_reads_an_import_like_a_recorded_run() {
    for name in SAMPLES {
        let dir = imported(name);
        let report = stdout(dir.path(), &["report"]);
        assert!(report.contains(&format!("{name} (")), "{report}");
        assert!(report.contains("recorded without a CPU clock") && report.contains("nothing lost"));
        assert!(stdout(dir.path(), &["ls"]).contains("finished"));
        assert!(stdout(dir.path(), &["verify"]).contains("whole: no record is missing"));
        same_tree(&dir);
        let chrome = stdout(dir.path(), &["export", "--to", "chrome"]);
        assert!(serde_json::from_str::<Value>(&chrome).is_ok());
    }
}

#[test]
fn a_run_exported_and_imported_is_the_same_tree() {
    for made in [samples::training(100), samples::crossing(200), crate::gpu::step(300)] {
        let dir = folder(&made);
        let trace = dir.path().join("run.pftrace");
        stdout(dir.path(), &["export", "--to", "perfetto", "-o", trace.to_str().unwrap()]);
        let other = Folder::new();
        stdout(other.path(), &["import", trace.to_str().unwrap()]);
        let nodes = |dir: &Folder| {
            let text = stdout(dir.path(), &["report", "--json"]);
            let document: Value = serde_json::from_str(&text).unwrap();
            let node = |n: &Value| {
                let of = ["path", "count", "total_ns", "self_ns", "failed", "open", "cpu"];
                let kernels = n["gpu"]["all"]["kernels"].to_string();
                of.map(|key| n[key].to_string()).join(" ") + " " + &kernels
            };
            document["nodes"].as_array().unwrap().iter().map(node).collect::<Vec<_>>()
        };
        assert_eq!(nodes(&other), nodes(&dir));
    }
}

#[test]
fn the_id_is_on_standard_output_and_the_rest_beside_it() {
    let dir = Folder::new();
    let file = sample(SAMPLES[0]);
    let output = run(dir.path(), &["import", file.to_str().unwrap(), "--app", "my loop"]);
    let id = String::from_utf8(output.stdout).unwrap();
    assert!(id.contains("-my_loop-"), "{id}");
    assert!(dir.path().join(id.trim()).join("run.json").is_file());
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(notes.contains("1 process, 22 832 scopes, 3 300 kernels, 50 sets"), "{notes}");
    let json = stdout(dir.path(), &["import", file.to_str().unwrap(), "--json"]);
    let document: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&document["schema"], &document["kernels"]),
        (&"hodo.import/1".into(), &3300.into())
    );
    assert_eq!(document["sources"][0]["formats"][0], "Chrome trace");
}

#[test]
fn what_cannot_be_imported_is_told_and_leaves_nothing() {
    let dir = Folder::new();
    let file = dir.path().join("notes.txt");
    std::fs::write(&file, "hello").unwrap();
    let runs = dir.path().join("runs");
    for (path, words) in [
        (file.to_str().unwrap(), "none of the formats that are known"),
        ("/nowhere/at/all", "cannot read /nowhere/at/all"),
    ] {
        let output = run(&runs, &["import", path]);
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(std::fs::read_dir(&runs).unwrap().count(), 0);
}
