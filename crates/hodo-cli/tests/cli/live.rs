//! A program that is recorded while it is read, and then killed.

use crate::made::Folder;
use crate::program::{hodo, run, stdout};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Kills the demo whatever the test does, long before it ends by itself.
pub struct Demo(Child);

impl Demo {
    pub fn start(dir: &Path) -> Demo {
        let mut command = hodo(dir, &["demo", "--seconds", "1200"]);
        Demo(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn report(dir: &Path) -> Option<Value> {
    let output = run(dir, &["report", "--json"]);
    output.status.success().then(|| serde_json::from_slice(&output.stdout).unwrap())
}

/// Reads until the tree has a batch that closed.
pub fn wait_for_batches(dir: &Path) -> Value {
    let patience = Instant::now() + Duration::from_secs(300);
    loop {
        let read = report(dir);
        let batches = read.as_ref().and_then(|r| node(r, &["train", "epoch", "batch"]));
        if batches.is_some_and(|n| n["count"].as_u64() > n["open"].as_u64()) {
            return read.unwrap();
        }
        assert!(Instant::now() < patience, "the demo recorded no batch");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn node(report: &Value, path: &[&str]) -> Option<Value> {
    let nodes = report["nodes"].as_array().unwrap();
    nodes.iter().find(|n| n["path"] == serde_json::json!(path)).cloned()
}

#[test]
fn a_scope_others_attached_to_shows_once_and_whole_while_it_runs() {
    let dir = Folder::new();
    let demo = Demo::start(dir.path());
    let live = wait_for_batches(dir.path());
    assert_eq!(live["processes"][0]["state"], "live");
    assert_eq!(node(&live, &["train"]).unwrap()["open"], 1);
    for node in live["nodes"].as_array().unwrap() {
        assert_ne!(node["name"], "");
    }
    assert!(live["wall_ns"].as_u64().unwrap() < 3_600_000_000_000, "{}", live["wall_ns"]);
    assert!(stdout(dir.path(), &["report"]).starts_with("demo  live  "));
    assert!(stdout(dir.path(), &["ls"]).contains("live"));
    drop(demo);
}

#[test]
fn a_killed_program_is_read_to_its_last_scope() {
    let dir = Folder::new();
    let demo = Demo::start(dir.path());
    wait_for_batches(dir.path());
    drop(demo);
    let text = stdout(dir.path(), &["report"]);
    assert!(text.starts_with("demo  ended, ") && text.contains(" open  "), "{text}");
    assert!(text.contains("Open when it ended") && text.contains("✓ nothing lost"), "{text}");
    assert!(stdout(dir.path(), &["verify"]).contains("whole"));
    let (listed, first) = (stdout(dir.path(), &["ls"]), text.lines().next().unwrap());
    let words = first.split("  ").nth(1).unwrap();
    assert!(listed.contains(words), "the same words in both: {listed}{first}");
    let length = first.rsplit("  ").next().unwrap();
    assert!(listed.contains(length), "the same length in both: {listed}{first}");
    assert_eq!(report(dir.path()).unwrap()["state"], "ended");
    let checks: Value = serde_json::from_str(&stdout(dir.path(), &["doctor", "--json"])).unwrap();
    let runs = checks["checks"].as_array().unwrap().iter().find(|c| c["name"] == "runs").unwrap();
    assert_eq!(runs["found"], "1 in this folder, 0 live, 0 finished, 1 ended");
    crate::exports::same_tree(&dir);
}
