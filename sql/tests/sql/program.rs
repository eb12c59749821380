//! Running the program.

use crate::made::{self, Folder, Made};
use hodo_trace::{ReadOptions, Run};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_hodo-sql");
/// The id of the run in [`folder`].
pub const ID: &str = "20261115-201500-train-aaaaaa";

/// `hodo-sql` with a clean environment, reading the runs in `dir`.
pub fn hodo_sql(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    for variable in ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "HODO_DIR"] {
        command.env_remove(variable);
    }
    command.env("TERM", "xterm").env("HODO_DIR", dir).args(args).stdin(Stdio::null());
    command
}

pub fn run(dir: &Path, args: &[&str]) -> Output {
    hodo_sql(dir, args).output().unwrap()
}

/// What it prints when all is well.
#[track_caller]
pub fn stdout(dir: &Path, args: &[&str]) -> String {
    let output = run(dir, args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {:?} {errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// What it says when it fails with `code`; it prints nothing.
#[track_caller]
pub fn refusal(dir: &Path, args: &[&str], code: i32) -> String {
    let output = run(dir, args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{args:?}");
    said
}

/// Waits until the program `pid` works on a query that takes all the time it gets.
pub fn wait_until_at_work(pid: u32) {
    // In hundredths of a second, for all its threads, in user mode.
    let worked = || -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields = stat.rsplit_once(") ").unwrap().1;
        fields.split(' ').nth(11).unwrap().parse().unwrap()
    };
    let (before, patience) = (worked(), Instant::now() + Duration::from_secs(180));
    while worked() < before + 50 {
        assert!(Instant::now() < patience, "it does nothing");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The rows of a query, each an object.
#[track_caller]
pub fn rows(dir: &Path, args: &[&str]) -> Vec<Value> {
    let text = stdout(dir, &[args, &["--format", "json"]].concat());
    match serde_json::from_str(&text).unwrap() {
        Value::Array(rows) => rows,
        other => panic!("{other}"),
    }
}

/// The only value of a query.
#[track_caller]
pub fn value(dir: &Path, args: &[&str]) -> Value {
    let rows = rows(dir, args);
    assert_eq!(rows.len(), 1, "{rows:?}");
    rows[0].as_object().unwrap().values().next().unwrap().clone()
}

/// A folder with one run.
pub fn folder(run: &Made) -> Folder {
    let dir = Folder::new();
    made::write(dir.path(), ID, &[run]);
    dir
}

/// The same run as hodo reads it.
pub fn opened(dir: &Path) -> Run {
    Run::open(&Run::find(dir, None).unwrap(), &ReadOptions::default()).unwrap()
}

/// Packs the run of `dir` into another folder.
pub fn packed(dir: &Path, to: &Path) -> PathBuf {
    let folder = to.join(ID);
    hodo_convert::parquet::write(&opened(dir), &folder, &|_, _| ()).unwrap();
    folder
}
