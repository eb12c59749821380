//! What is refused: writing, reaching outside the runs, mistakes.

use crate::made::Folder;
use crate::program::{folder, refusal, rows};
use crate::samples;
use std::fs;

#[test]
fn nothing_can_be_written() {
    let dir = folder(&samples::training(100));
    let out = Folder::new();
    let file = out.path().join("x");
    let file = file.display();
    for query in [
        format!("copy spans to '{file}' stored as csv"),
        format!("copy (select 1) to '{file}' stored as parquet"),
        format!("create external table t (a int) stored as csv location '{file}'"),
        "insert into spans select * from spans".to_owned(),
        "create table t as select * from spans".to_owned(),
        "create view spans as select 1".to_owned(),
        "drop table spans".to_owned(),
        "set datafusion.execution.batch_size = 1".to_owned(),
        "select * into t from spans".to_owned(),
        format!("explain analyze copy spans to '{file}' stored as csv"),
        format!("select 1; copy spans to '{file}' stored as csv"),
    ] {
        let said = refusal(dir.path(), &[&query], 2);
        assert!(said.contains("only reads"), "{query}: {said}");
    }
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
}

#[test]
fn files_outside_the_runs_cannot_be_read() {
    let dir = folder(&samples::training(100));
    let outside = Folder::new();
    let csv = outside.path().join("secret.csv");
    fs::write(&csv, "a\n1\n").unwrap();
    let csv = csv.display();
    for query in [
        format!("select * from '{csv}'"),
        format!("select * from \"{csv}\""),
        format!("select * from 'file://{csv}'"),
        format!("select * from read_csv('{csv}')"),
        format!("select * from parquet_metadata('{csv}')"),
        "select * from 'http://localhost:1/a.parquet'".to_owned(),
        "select * from 's3://bucket/a.parquet'".to_owned(),
    ] {
        refusal(dir.path(), &[&query], 2);
    }
}

/// Whatever function the engine offers, none opens a file by a name that the query gives.
#[test]
fn no_function_opens_files() {
    let dir = folder(&samples::training(100));
    let query = "select distinct routine_name as name from information_schema.routines";
    let names: Vec<String> = rows(dir.path(), &[query])
        .iter()
        .map(|row| row["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(names.len() > 100, "{names:?}");
    // These tell of the files that are read anyway, and open none.
    let telling = ["input_file_name", "file_row_index"];
    let reaching = ["read", "file", "load", "open", "glob", "scan", "import", "export", "http"];
    let others = names.iter().filter(|name| !telling.contains(&name.as_str()));
    let found: Vec<_> =
        others.filter(|name| reaching.iter().any(|word| name.contains(word))).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn mistakes_are_explained() {
    let dir = folder(&samples::training(100));
    for (query, wanted) in [
        ("select durations_ns from spans", "no column `durations_ns`; did you mean `duration_ns`?"),
        ("select * from span", "no table `span`; did you mean `spans`?"),
        ("select * from elephants", "there are: attrs, copies"),
        ("select *\nfrom spans wher name = 'x' y", "in line 2\n  from spans wher name"),
        ("select durationss(self_ns) from spans", "durations"),
    ] {
        let said = refusal(dir.path(), &[query], 2);
        assert!(said.contains(wanted), "{query}: {said}");
    }
    let said = refusal(dir.path(), &["selec 1 from spans"], 2);
    assert!(said.contains("\n  selec 1 from spans\n  ^"), "{said}");
}

#[test]
fn runs_that_are_not_there_are_told() {
    let dir = folder(&samples::training(100));
    let empty = Folder::new();
    let said = refusal(dir.path(), &["nosuchrun", "select 1 as a"], 1);
    assert!(said.contains("no run named `nosuchrun`"), "{said}");
    let said = refusal(empty.path(), &["select 1 as a"], 1);
    assert!(said.contains("no runs in"), "{said}");
    let said = refusal(dir.path(), &[empty.path().to_str().unwrap(), "select 1 as a"], 1);
    assert!(said.contains("is not a run"), "{said}");
    let said = refusal(dir.path(), &["ftp://box/run", "select 1 as a"], 1);
    assert!(said.contains("cannot read ftp://"), "{said}");
}
