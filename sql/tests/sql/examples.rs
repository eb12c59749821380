//! Every example of the help and of `docs/sql.md` runs.

use crate::made::{self, Folder};
use crate::program::{PROGRAM, stdout};
use crate::samples;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/sql.md");

/// A folder with runs, and a `hodo` that knows one verb.
fn place() -> Folder {
    let dir = Folder::new();
    for id in ["20261115-201500-train-aaaaaa", "20261115-202000-train-bbbbbb"] {
        made::write(&dir.path().join(".hodo"), id, &[&samples::training(100)]);
    }
    let hodo = dir.path().join("hodo");
    std::fs::write(&hodo, format!("#!/bin/sh\nshift\nexec {PROGRAM} \"$@\"\n")).unwrap();
    std::fs::set_permissions(&hodo, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(dir.path().join("questions.sql"), "select 1; select 2;").unwrap();
    dir
}

#[track_caller]
fn runs(dir: &Path, example: &str) {
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", example])
        .current_dir(dir)
        .env("PATH", format!("{}:{path}", dir.display()))
        .env_remove("HODO_DIR")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{example}`: {errors}");
}

#[test]
fn the_examples_of_the_help_run() {
    let dir = place();
    let help = stdout(dir.path(), &["--help"]);
    let lines = help.split("Examples:\n").nth(1).unwrap().lines();
    let examples: Vec<&str> =
        lines.map(|l| l.trim().split("    ").next().unwrap().trim()).collect();
    // A prompt wants a terminal; `prompt` has its tests.
    let examples: Vec<&&str> =
        examples.iter().filter(|e| !e.is_empty() && **e != "hodo sql").collect();
    assert!(examples.len() >= 4, "{help}");
    examples.iter().for_each(|example| runs(dir.path(), example));
}

/// Fenced blocks of a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    page.split(&open).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_queries_of_the_page_run() {
    let dir = place();
    let page = std::fs::read_to_string(PAGE).unwrap();
    let queries = blocks(&page, "sql");
    assert!(queries.len() >= 5);
    for query in queries {
        let file = dir.path().join("query.sql");
        std::fs::write(&file, query).unwrap();
        runs(dir.path(), "hodo sql -f query.sql");
    }
    for line in blocks(&page, "sh").iter().flat_map(|block| block.lines()) {
        let line = line.split("  #").next().unwrap().trim();
        let needs_more = line.contains("s3://") || line.contains("http") || line == "hodo sql";
        if line.starts_with("hodo sql") && !needs_more {
            runs(dir.path(), line);
        }
    }
}
