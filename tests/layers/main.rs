//! Refuses a dependency that points up: each crate may use only the layers below it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "this is a test")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// Crate, and the workspace crates it may use.
const LAYERS: &[(&str, &[&str])] = &[
    ("hodo-format", &[]),
    ("hodo-macros", &[]),
    ("hodo-record", &["hodo-format"]),
    ("hodo-gpu", &["hodo-format", "hodo-record"]),
    ("hodo-machine", &["hodo-format", "hodo-record"]),
    ("hodo-runtime", &["hodo-format", "hodo-gpu", "hodo-machine", "hodo-record"]),
    ("hodo", &["hodo-format", "hodo-gpu", "hodo-machine", "hodo-macros", "hodo-record"]),
    ("hodo-trace", &["hodo-format"]),
    ("hodo-convert", &["hodo-format", "hodo-trace"]),
    ("hodo-sql", &["hodo-convert", "hodo-format", "hodo-trace"]),
    ("hodo-server", &["hodo-convert", "hodo-format", "hodo-sql", "hodo-trace"]),
    ("hodo-ship", &["hodo-format", "hodo-record", "hodo-trace"]),
    (
        "hodo-cli",
        &[
            "hodo",
            "hodo-convert",
            "hodo-format",
            "hodo-gpu",
            "hodo-machine",
            "hodo-server",
            "hodo-ship",
            "hodo-sql",
            "hodo-trace",
        ],
    ),
];

/// All that may stand below the crate that lives in the user's process.
const RECORDER_MAY_USE: &[&str] = &["hodo-format", "libc", "loom"];

/// Crate name to the names of its normal and build dependencies.
type Graph = BTreeMap<String, Vec<String>>;

fn is_ours(name: &str) -> bool {
    name == "hodo" || name.starts_with("hodo-")
}

/// One line for each dependency that the layers do not allow.
fn violations(graph: &Graph) -> Vec<String> {
    let mut found = Vec::new();
    for (name, uses) in graph {
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| layer == name) else {
            found.push(format!("{name} has no place in the layers"));
            continue;
        };
        let upward = uses.iter().filter(|used| is_ours(used) && !allowed.contains(&used.as_str()));
        found.extend(upward.map(|used| format!("{name} must not use {used}")));
        if name == "hodo-record" {
            let heavy = uses.iter().filter(|used| !RECORDER_MAY_USE.contains(&used.as_str()));
            found.extend(heavy.map(|used| format!("{name} must stay small: {used}")));
        }
    }
    found
}

/// Both workspaces as cargo sees them, without the crates that only test them.
fn workspace() -> Graph {
    let mut graph = members("");
    graph.extend(members("../sql"));
    graph
}

/// The crates of the workspace in a folder.
fn members(folder: &str) -> Graph {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    packages.iter().filter(|package| in_layers(package)).map(uses).collect()
}

fn in_layers(package: &Value) -> bool {
    let path = package["manifest_path"].as_str().unwrap();
    path.contains("/crates/") || path.ends_with("/sql/Cargo.toml")
}

fn uses(package: &Value) -> (String, Vec<String>) {
    let dependencies = package["dependencies"].as_array().unwrap();
    let shipped = dependencies.iter().filter(|d| d["kind"] != "dev");
    let names = shipped.map(|d| d["name"].as_str().unwrap().to_owned()).collect();
    (package["name"].as_str().unwrap().to_owned(), names)
}

fn graph(edges: &[(&str, &[&str])]) -> Graph {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    edges.iter().map(|&(name, uses)| (name.to_owned(), owned(uses))).collect()
}

#[test]
fn the_workspace_points_down_only() {
    let graph = workspace();
    for name in ["hodo-record", "hodo-sql"] {
        assert!(graph.contains_key(name), "cargo metadata lists no {name}: {graph:?}");
    }
    assert_eq!(violations(&graph), Vec::<String>::new());
}

#[test]
fn a_planted_upward_dependency_is_refused() {
    let planted = graph(&[("hodo-format", &[]), ("hodo-trace", &["hodo-format", "hodo-record"])]);
    assert_eq!(violations(&planted), ["hodo-trace must not use hodo-record"]);
}

#[test]
fn a_crate_outside_the_layers_is_refused() {
    assert_eq!(violations(&graph(&[("hodo-misc", &[])])), ["hodo-misc has no place in the layers"]);
}

#[test]
fn a_heavy_recorder_is_refused() {
    let planted = graph(&[("hodo-record", &["libc", "serde_json"])]);
    assert_eq!(violations(&planted), ["hodo-record must stay small: serde_json"]);
}

#[test]
fn the_layers_themselves_have_no_cycle() {
    for (at, (name, allowed)) in LAYERS.iter().enumerate() {
        let below: Vec<_> = LAYERS[..at].iter().map(|(name, _)| name).collect();
        for used in *allowed {
            assert!(below.contains(&used), "{name} uses {used}, which stands no lower");
        }
    }
}
