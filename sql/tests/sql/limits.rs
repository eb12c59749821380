//! Time and memory end a query with a clear error and leave nothing behind.

use crate::made::Folder;
use crate::program::{folder, hodo_sql, refusal, stdout, wait_until_at_work};
use crate::samples;
use std::path::Path;
use std::process::{Output, Stdio};

/// More rows than anyone waits for, which must be counted one by one.
const ENDLESS: &str =
    "select count(*) from generate_series(1, 100000000000) a where a.value % 7 = 3";
/// Texts that differ, in a hash table that cannot be small.
const LARGE: &str = "select value, count(*) from (select cast(value as text) || repeat('x', 200) as value \
                     from generate_series(1, 1000000)) group by value order by 2, 1 limit 1";

fn in_scratch(dir: &Path, scratch: &Folder, args: &[&str]) -> Output {
    hodo_sql(dir, args).env("TMPDIR", scratch.path()).output().unwrap()
}

#[track_caller]
fn nothing_is_left(scratch: &Folder) {
    let left: Vec<_> = std::fs::read_dir(scratch.path()).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_query_that_takes_too_long_is_stopped() {
    let (dir, scratch) = (folder(&samples::training(100)), Folder::new());
    let output = in_scratch(dir.path(), &scratch, &[ENDLESS, "--timeout", "300ms"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("0.3 s") && said.contains("--timeout"), "{said}");
    assert!(output.stdout.is_empty());
    nothing_is_left(&scratch);
}

/// All threads are in one long piece of work, and none has a moment for the clock.
#[test]
fn a_query_that_keeps_every_thread_busy_is_stopped() {
    let dir = folder(&samples::many_names(7));
    let query = "select count(*) from spans a, spans b, spans c \
                 where a.self_ns + b.self_ns + c.self_ns = 1";
    let said = refusal(dir.path(), &[query, "--timeout", "1s", "--threads", "1"], 2);
    assert!(said.contains("--timeout"), "{said}");
}

#[test]
fn a_query_whose_rows_have_no_end_is_stopped() {
    let (dir, scratch) = (folder(&samples::many_names(7)), Folder::new());
    let file = scratch.path().join("rows.csv");
    let query = "select a.id from spans a, spans b, spans c, spans d";
    let args = [query, "--timeout", "1s", "--format", "csv", "-o", file.to_str().unwrap()];
    let said = String::from_utf8(in_scratch(dir.path(), &scratch, &args).stderr).unwrap();
    assert!(said.contains("--timeout"), "{said}");
    nothing_is_left(&scratch);
}

#[test]
fn a_query_that_cannot_do_with_its_memory_is_stopped() {
    let (dir, scratch) = (folder(&samples::training(100)), Folder::new());
    let query = "select array_agg(value) from generate_series(1, 20000000)";
    let output = in_scratch(dir.path(), &scratch, &[query, "--memory", "16m", "--timeout", "0"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--memory"), "{said}");
    nothing_is_left(&scratch);
}

/// The engine does not count what a function makes of one row.
#[test]
fn memory_that_the_engine_does_not_count_ends_the_query_too() {
    let (dir, scratch) = (folder(&samples::training(100)), Folder::new());
    let file = scratch.path().join("rows.csv");
    let query = "select repeat('x', 1000000000) as text";
    let args = [query, "--memory", "16m", "--format", "csv", "-o", file.to_str().unwrap()];
    let output = in_scratch(dir.path(), &scratch, &args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--memory"), "{said}");
    nothing_is_left(&scratch);
}

#[test]
fn what_does_not_fit_the_memory_goes_to_files_and_the_files_go() {
    let (dir, scratch) = (folder(&samples::training(100)), Folder::new());
    // As long as a busy machine needs: it is not about time.
    let args = [LARGE, "--memory", "64m", "--format", "csv", "--threads", "2", "--timeout", "600s"];
    // Again and again: threads that wait for each other's files may do so one time in three.
    for _ in 0..10 {
        let output = in_scratch(dir.path(), &scratch, &args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 2);
        nothing_is_left(&scratch);
    }
}

#[test]
fn signals_end_a_query() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        ends_a_query(signal);
    }
}

fn ends_a_query(signal: i32) {
    let (dir, scratch) = (folder(&samples::training(100)), Folder::new());
    let mut command = hodo_sql(dir.path(), &[ENDLESS]);
    command.env("TMPDIR", scratch.path()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // The scratch folder is the first thing that it makes.
    while std::fs::read_dir(scratch.path()).unwrap().count() == 0 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    wait_until_at_work(child.id());
    // SAFETY: the process is a child of this one that nobody has waited for.
    unsafe { libc::kill(child.id() as i32, signal) };
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(128 + signal),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    nothing_is_left(&scratch);
}

#[test]
fn limits_that_are_none_are_refused() {
    let dir = folder(&samples::training(100));
    assert!(refusal(dir.path(), &["select 1", "--timeout", "soon"], 2).contains("60s"));
    assert!(refusal(dir.path(), &["select 1", "--memory", "lots"], 2).contains("512m"));
    assert!(!stdout(dir.path(), &["select 1", "--timeout", "0"]).is_empty());
}
