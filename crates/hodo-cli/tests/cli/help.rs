//! The examples in the help run as they stand.

use crate::compare;
use crate::made;
use crate::program::{ID, hodo, stdout};
use crate::readings;
use crate::samples;
use crate::serve::Served;
use crate::view::Viewed;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const VERBS: [&str; 18] = [
    "run",
    "report",
    "view",
    "diff",
    "gate",
    "machine",
    "ls",
    "top",
    "monitor",
    "sql",
    "export",
    "share",
    "serve",
    "import",
    "verify",
    "doctor",
    "demo",
    "completions",
];

/// The example commands of a help text, without the words that explain them.
fn examples(help: &str) -> Vec<String> {
    let lines = help.split("Examples:\n").nth(1).unwrap_or("").lines();
    let command = |line: &str| line.trim().split("   ").next().unwrap_or("").trim().to_owned();
    lines.map(command).filter(|c| c.starts_with("hodo ")).collect()
}

/// Whether it goes on until Ctrl-C.
fn is_served(example: &str) -> bool {
    example.starts_with("hodo view") || example.contains("--open")
}

/// The same of a collector.
fn is_collector(example: &str) -> bool {
    example.starts_with("hodo serve") && !example.contains(" token ")
}

fn run_example(example: &str, folder: &Path) {
    let program = Path::new(env!("CARGO_BIN_EXE_hodo")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{}:{path}", folder.display(), program.display());
    let mut shell = std::process::Command::new("sh");
    shell
        .args([
            "-c",
            &if is_served(example) || is_collector(example) {
                format!("exec {example}")
            } else {
                example.to_owned()
            },
        ])
        .current_dir(folder)
        .env("PATH", path)
        .env("HODO_LIBRARY", folder.join(LIBRARY))
        .env_remove("HODO_DIR");
    if is_collector(example) {
        let ended = Served::start(&mut shell, 0).interrupt();
        assert!(ended.success(), "`{example}`: {ended}");
        return;
    }
    if is_served(example) {
        ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .for_each(|name| _ = shell.env_remove(name));
        let start = if example.contains("--open") { Viewed::start_and_end } else { Viewed::start };
        let ended = start(&mut shell).interrupt();
        assert!(ended.success(), "`{example}`: {ended}");
        return;
    }
    let output = shell.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{example}`: {errors}");
}

/// Where the stand-in for the library lies, as in the Python package.
const LIBRARY: &str = "package/lib/libhodo.so";

/// Puts programs of these names where the examples find them, and the files of the Python package.
fn stand_ins(folder: &Path) {
    for part in ["package/lib", "package/hooks/start"] {
        std::fs::create_dir_all(folder.join(part)).unwrap();
    }
    std::fs::write(folder.join(LIBRARY), "").unwrap();
    for name in ["python", "torchrun", "train", "hodo-sql"] {
        let file = folder.join(name);
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Puts traces of other tools where the examples find them.
fn traces(folder: &Path) {
    let trace = r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]"#;
    for name in ["trace.json.gz", "rank0.json", "rank1.json"] {
        std::fs::write(folder.join(name), trace).unwrap();
    }
    let span = r#"{"id":"1","name":"a","start_ns":1,"end_ns":2,"pid":1,"thread_id":1}"#;
    let spool = format!(r#"{{"schema_version":1,"batch_id":"b","spans":[{span}]}}"#);
    std::fs::create_dir_all(folder.join(".cirron/spool")).unwrap();
    std::fs::write(folder.join(".cirron/spool/1-b.json"), spool).unwrap();
}

/// Ends the monitor that an example leaves in the background, also when the test fails before.
struct Monitors<'a>(&'a Path);

impl Drop for Monitors<'_> {
    fn drop(&mut self) {
        let _ = hodo(&self.0.join(".hodo"), &["monitor", "--stop"]).output();
    }
}

#[test]
fn every_example_runs() {
    let dir = made::Folder::new();
    let _monitors = Monitors(dir.path());
    stand_ins(dir.path());
    traces(dir.path());
    let run = made::write(&dir.path().join(".hodo"), ID, &[&samples::training(100)]);
    // The newest run, which those that name none show.
    let newest = made::write(
        &dir.path().join(".hodo"),
        "20261115-202000-train-bbbbbb",
        &[&samples::training(100)],
    );
    for run in [&run, &newest] {
        readings::write_into(run, 1, 5);
        crate::made_machine::sample(run, 200);
    }
    for side in ["base", "head"] {
        let steps = compare::steps(compare::Planted::default());
        made::write(&dir.path().join(side), ID, &[&steps]);
    }
    made::write(&dir.path().join("archive"), "run", &[&samples::training(100)]);
    let mut all = examples(&stdout(dir.path(), &["--help"]));
    assert_eq!(all.len(), 9);
    for verb in VERBS {
        let found = examples(&stdout(dir.path(), &[verb, "--help"]));
        assert!(!found.is_empty(), "{verb}");
        all.extend(found);
    }
    // Other examples record runs, which are newer and were not sampled.
    all.sort_by_key(|example| (!example.starts_with("hodo machine"), example.clone()));
    all.dedup();
    // The whole demo takes its time; its shorter example runs.
    all.retain(|e| e != "hodo demo" && e != "hodo demo --open");
    all.iter().for_each(|example| run_example(example, dir.path()));
}

#[test]
fn version_and_completions() {
    let dir = made::Folder::new();
    assert_eq!(stdout(dir.path(), &["--version"]), format!("hodo {}\n", env!("CARGO_PKG_VERSION")));
    for shell in ["bash", "zsh", "fish"] {
        assert!(stdout(dir.path(), &["completions", shell]).contains("report"), "{shell}");
    }
    let output = hodo(dir.path(), &["completions", "tcsh"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
