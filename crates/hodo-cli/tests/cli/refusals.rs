//! Exit codes, and errors that say what happened, why, and what to do.

use crate::made::{self, Folder};
use crate::program::{folder, hodo, run};
use crate::samples;
use std::os::fd::OwnedFd;
use std::process::Stdio;

#[track_caller]
fn refused(dir: &Folder, args: &[&str], code: i32, words: &[&str]) {
    let output = run(dir.path(), args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {errors}");
    assert!(output.stdout.is_empty(), "{args:?}");
    for word in words {
        assert!(errors.contains(word), "{args:?}: `{word}` is not in {errors}");
    }
}

#[test]
fn wrong_command_lines_exit_with_2() {
    let dir = folder(&samples::training(100));
    refused(&dir, &["report", "--where", "variant"], 2, &["variant", "key=value"]);
    refused(&dir, &["report", "--min", "fast"], 2, &["fast", "--min 1%"]);
    refused(&dir, &["report", "--where", "variant"], 2, &[">=", "<="]);
    refused(&dir, &["report", "--where", "lr>abc"], 2, &["lr>abc", "abc", "no number"]);
    refused(&dir, &["report", "--where", "index=1..9"], 2, &["index=1..9", "two conditions"]);
    refused(&dir, &["report", "--where", "variant=\"a"], 2, &["quote is not closed"]);
    refused(&dir, &["report", "--min", "3"], 2, &["`3`", "unit", "--min 1.5ms"]);
    refused(&dir, &["report", "--depth", "x"], 2, &["--depth"]);
    refused(&dir, &["report", "--depth", "0"], 2, &["--depth", "1.."]);
    refused(&dir, &["export"], 2, &["--to"]);
    refused(&dir, &["nonsense"], 2, &["nonsense"]);
}

#[test]
fn failures_exit_with_1_and_say_what_to_do() {
    let dir = folder(&samples::training(100));
    made::write(dir.path(), "20261115-201501-train-bbbbbb", &[&samples::training(200)]);
    refused(&dir, &["report", "2025"], 1, &["2025", "hodo ls"]);
    refused(&dir, &["report", "2026"], 1, &["2 runs", "more of the id"]);
    refused(&dir, &["report", "--rank", "3"], 1, &["rank 3", "leave --rank out"]);
    let empty = Folder::new();
    refused(&empty, &["report"], 1, &["no runs"]);
    refused(
        &dir,
        &["export", "--to", "chrome", "20261115-201500", "-o", "/nowhere/x.json"],
        1,
        &["/nowhere/x.json"],
    );
}

#[test]
fn a_run_is_named_by_path_prefix_or_not_at_all() {
    let dir = folder(&samples::training(100));
    let newer = made::write(dir.path(), "20261115-201501-train-bbbbbb", &[&samples::training(200)]);
    let id = |args: &[&str]| {
        let text = String::from_utf8(run(dir.path(), args).stdout).unwrap();
        text.lines().nth(1).unwrap().split(' ').next().unwrap().to_owned()
    };
    assert!(id(&["report"]).ends_with("bbbbbb"));
    assert!(id(&["report", "20261115-201500"]).ends_with("aaaaaa"));
    assert!(id(&["report", newer.to_str().unwrap()]).ends_with("bbbbbb"));
}

#[test]
fn a_folder_that_may_not_be_written_comes_with_a_hint() {
    // Root may write everywhere but into /proc.
    let output = crate::program::run(std::path::Path::new("/proc/self"), &["monitor"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let is_hinted = said.contains("--dir or HODO_DIR");
    assert!(is_hinted || !said.contains("ermission denied"), "{said}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let dir = folder(&samples::training(100));
    for args in [
        &["report"][..],
        &["report", "--json"],
        &["export", "--to", "chrome"],
        &["ls"],
        &["doctor"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output =
            hodo(dir.path(), args).stdout(Stdio::from(OwnedFd::from(writer))).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(output.stderr.is_empty(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_full_disk_is_a_failure() {
    let dir = folder(&samples::training(100));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = hodo(dir.path(), &["report"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write the output"));
}
