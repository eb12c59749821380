//! What the rows look like.

use crate::made::Folder;
use crate::program::{folder, hodo_sql, refusal, run, stdout};
use crate::samples;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::process::Stdio;

const TWO: &str = "select 1 as a, 'x, \"y\"' as b union all select null, '' order by a nulls last";

#[test]
fn csv_tells_null_from_empty_text() {
    let dir = folder(&samples::training(100));
    let text = stdout(dir.path(), &[TWO, "--format", "csv"]);
    assert_eq!(text, "a,b\r\n1,\"x, \"\"y\"\"\"\r\n,\"\"\r\n");
}

#[test]
fn json_in_three_forms() {
    let dir = folder(&samples::training(100));
    let rows = json!([{"a": 1, "b": "x, \"y\""}, {"a": null, "b": ""}]);
    let text = stdout(dir.path(), &[TWO, "--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), rows);
    let lines = stdout(dir.path(), &[TWO, "--format", "ndjson"]);
    let lines: Vec<Value> = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(Value::Array(lines), rows);
    let text = stdout(dir.path(), &[&format!("{TWO}; select 2 as c where false"), "--json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["schema"], "hodo.sql/1");
    assert_eq!(document["results"][0]["rows"], rows);
    assert_eq!(document["results"][0]["columns"][0], json!({"name": "a", "type": "Int64"}));
    assert_eq!(document["results"][1]["rows"], json!([]));
}

#[test]
fn a_table_is_aligned_and_readable_and_can_be_exact() {
    let dir = folder(&samples::training(100));
    let query = "select name, count(*) as n, sum(duration_ns) as total_ns, min(start_ns) as start_ns \
                 from spans where name in ('train', 'batch') group by name order by name";
    let text = stdout(dir.path(), &[query]);
    assert_eq!(
        text,
        "name   n  total_ns                    start_ns\n\
         batch  6    168 ms  2026-11-15 20:15:00.000000\n\
         train  1    210 ms  2026-11-15 20:15:00.000000\n"
    );
    let exact = stdout(dir.path(), &[query, "--exact"]);
    assert!(exact.contains("168000000  1794773700000000000"), "{exact}");
}

#[test]
fn a_table_fits_its_width_and_says_what_it_left_out() {
    let dir = folder(&samples::training(100));
    let text = stdout(dir.path(), &["select * from spans", "--width", "60", "--rows", "3"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[..4].iter().all(|line| line.chars().count() <= 60), "{text}");
    assert_eq!(lines.len(), 6, "{text}");
    assert!(lines[4].contains("only 3 rows") && lines[5].starts_with("… no room for:"), "{text}");
    let all = stdout(dir.path(), &["select * from spans", "--rows", "0"]);
    assert_eq!(all.lines().count(), 43);
}

#[test]
fn names_cannot_drive_the_terminal() {
    let dir = folder(&samples::hostile(100));
    let text = stdout(dir.path(), &["select name, attributes from spans"]);
    assert!(!text.contains('\x1b') && !text.contains('\x07'), "{text:?}");
    assert!(text.contains("模型 🚀 größe"), "{text}");
}

#[test]
fn a_file_appears_when_it_is_complete() {
    let dir = folder(&samples::training(100));
    let out = Folder::new();
    let file = out.path().join("rows.csv");
    let name = file.to_str().unwrap();
    let query = "select count(*) as n from spans";
    assert_eq!(stdout(dir.path(), &[query, "--format", "csv", "-o", name]), "");
    assert_eq!(fs::read_to_string(&file).unwrap(), "n\r\n42\r\n");
    // A query that fails leaves the file as it was, and nothing beside it.
    refusal(dir.path(), &["select n from nowhere", "--format", "csv", "-o", name], 2);
    let failing = "select 1/(duration_ns - duration_ns) from spans";
    refusal(dir.path(), &[failing, "--format", "csv", "-o", name], 2);
    assert_eq!(fs::read_to_string(&file).unwrap(), "n\r\n42\r\n");
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 1);
    let nowhere = out.path().join("no/such/rows.csv");
    let said = refusal(dir.path(), &[query, "-o", nowhere.to_str().unwrap()], 1);
    assert!(said.contains("cannot write"), "{said}");
}

#[test]
fn parquet_is_read_back() {
    let dir = folder(&samples::training(100));
    let out = Folder::new();
    // A folder laid out as a run: what was written is asked again.
    let tables = out.path().join("run/tables/spans");
    fs::create_dir_all(&tables).unwrap();
    let file = tables.join("p1-000.parquet");
    let args = ["select * from spans", "--format", "parquet", "-o", file.to_str().unwrap()];
    assert_eq!(stdout(dir.path(), &args), "");
    let query =
        "select count(*) as n, sum(duration_ns) as ns, count(distinct path) as paths from spans";
    let again = out.path().join("run");
    assert_eq!(stdout(dir.path(), &[again.to_str().unwrap(), query]), stdout(dir.path(), &[query]));
    let said = refusal(dir.path(), &["select 1; select 2", "--format", "parquet"], 2);
    assert!(said.contains("one statement"), "{said}");
}

#[test]
fn queries_come_from_files_and_from_standard_input() {
    let dir = folder(&samples::training(100));
    let file = dir.path().join("query.sql");
    fs::write(&file, "-- two of them\nselect 1 as a;\nselect 2 as b;\n").unwrap();
    let text = stdout(dir.path(), &["-f", file.to_str().unwrap(), "--format", "csv"]);
    assert_eq!(text, "a\r\n1\r\n\r\nb\r\n2\r\n");
    let mut command = hodo_sql(dir.path(), &["-", "--format", "csv"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"select 3 as c").unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"c\r\n3\r\n");
    // Nothing to ask.
    let said = refusal(dir.path(), &["-"], 2);
    assert!(said.contains("no query"), "{said}");
    refusal(dir.path(), &["-f", "/no/such/file.sql"], 2);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let dir = folder(&samples::training(100));
    let query = "select * from generate_series(1, 10000000)";
    let mut command = hodo_sql(dir.path(), &[query, "--format", "csv"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn explain_shows_the_plan() {
    let dir = folder(&samples::training(100));
    let output = run(dir.path(), &["explain select count(*) from spans where name = 'x'"]);
    assert!(String::from_utf8(output.stdout).unwrap().contains("logical_plan"));
}
