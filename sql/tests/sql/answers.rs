//! Answers against what hodo computes itself, from every kind of source.

use crate::made::{self, Folder, MS, Made, Scope};
use crate::program::{ID, folder, opened, packed, rows, stdout, value};
use crate::samples;
use hodo_format::record::SpanId;
use hodo_trace::{Filter, Node, tree};
use serde_json::{Value, json};

/// The path of a node, as the table spells it.
fn path(nodes: &[Node], at: usize) -> String {
    let mut names = vec![nodes[at].name.clone()];
    let mut depth = nodes[at].depth;
    for node in nodes[..at].iter().rev() {
        if node.depth < depth {
            depth = node.depth;
            names.push(node.name.clone());
        }
    }
    names.reverse();
    names.join("/")
}

/// The tree as hodo computes it, in the view's words.
fn expected(dir: &Folder) -> Vec<Value> {
    let tree = tree(&opened(dir.path()), &Filter::default());
    let mut rows: Vec<Value> = (0..tree.nodes.len())
        .map(|at| {
            let node = &tree.nodes[at];
            let d = node.durations.as_ref();
            json!({
                "path": path(&tree.nodes, at), "name": node.name, "count": node.count,
                "total_ns": node.total_ns, "self_ns": node.self_ns,
                "mean_ns": d.map(|d| d.mean_ns), "p50_ns": d.map(|d| d.p50_ns),
                "p95_ns": d.map(|d| d.p95_ns), "max_ns": d.map(|d| d.max_ns),
            })
        })
        .collect();
    rows.sort_by_key(|row| row["path"].as_str().unwrap().to_owned());
    rows
}

const TREE: &str = "select path, name, count, total_ns, self_ns, mean_ns, p50_ns, p95_ns, max_ns \
                    from tree order by path";

#[test]
fn the_tree_is_the_report_s() {
    for run in [samples::training(100), samples::crossing(200), samples::many_names(300)] {
        let dir = folder(&run);
        let mut found = rows(dir.path(), &[TREE]);
        found.sort_by_key(|row| row["path"].as_str().unwrap().to_owned());
        assert_eq!(found, expected(&dir));
    }
}

#[test]
fn a_packed_run_answers_as_the_recorded_one() {
    let dir = folder(&samples::training(100));
    let elsewhere = Folder::new();
    let pack = packed(dir.path(), elsewhere.path());
    for table in ["spans", "marks", "attrs", "kernels", "copies", "samples", "processes", "health"]
    {
        let query = format!("select * from {table} order by 1, 2, 3, 4, 5, 6");
        let recorded = rows(dir.path(), &[&query]);
        assert_eq!(rows(dir.path(), &[pack.to_str().unwrap(), &query]), recorded, "{table}");
    }
    assert_eq!(value(dir.path(), &["select count(*) from spans"]), 42);
}

#[test]
fn a_process_that_joined_after_packing_is_asked_too() {
    let dir = folder(&samples::training(100));
    hodo_convert::parquet::write_in_place(&opened(dir.path()), &|_, _| ()).unwrap();
    assert_eq!(value(dir.path(), &["select count(*) from spans"]), 42);
    assert!(!dir.path().join(ID).join(".tables").exists());
    let other = folder(&samples::many_names(200));
    let joined = made::process_folder(&other.path().join(ID));
    let to = dir.path().join(ID).join(joined.file_name().unwrap());
    std::fs::rename(joined, to).unwrap();
    assert_eq!(value(dir.path(), &["select count(*) from spans"]), 1042);
}

#[test]
fn a_run_is_named_by_folder_by_id_or_not_at_all() {
    let dir = folder(&samples::training(100));
    let spans = value(dir.path(), &["select count(*) from spans"]);
    let query = "select count(*) from spans where run = '20261115-201500-train-aaaaaa'";
    let whole = dir.path().join(ID);
    for name in [ID, "20261115-2015", whole.to_str().unwrap()] {
        assert_eq!(value(dir.path(), &[name, query]), spans, "{name}");
    }
}

#[test]
fn the_runs_of_a_folder_are_told_apart_by_a_column() {
    let dir = folder(&samples::training(100));
    made::write(dir.path(), "20261115-202000-train-bbbbbb", &[&samples::crossing(200)]);
    let pack = Folder::new();
    packed(dir.path(), pack.path());
    let query = "select run, count(*) as spans from spans group by run order by run";
    let both = rows(dir.path(), &["--all", query]);
    assert_eq!(both.len(), 2);
    assert_eq!(rows(dir.path(), &[dir.path().to_str().unwrap(), query]), both);
    // Two runs, one recorded and one packed.
    let names = ["20261115-201500", pack.path().to_str().unwrap()];
    assert_eq!(rows(dir.path(), &[names[0], names[1], query]).len(), 2);
    assert_eq!(rows(dir.path(), &[query]).len(), 1);
}

#[test]
fn steps_are_the_outermost_loops() {
    let dir = folder(&samples::training(100));
    let query = "select path, count(*) as passes, min(index) as first from steps group by path order by path";
    let found = rows(dir.path(), &[query]);
    // Batches are inside epochs; the loader and the benchmark loop have loops of their own.
    let paths: Vec<&str> = found.iter().map(|row| row["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"train/epoch") && paths.contains(&"load"), "{found:?}");
    assert!(!paths.contains(&"train/epoch/batch"), "{found:?}");
    let epoch = found.iter().find(|row| row["path"] == "train/epoch").unwrap();
    assert_eq!((&epoch["passes"], &epoch["first"]), (&json!(2), &json!(0)));
}

#[test]
fn the_slowest_come_first() {
    let dir = folder(&samples::training(100));
    let found = rows(dir.path(), &["select name, duration_ns from slowest limit 3"]);
    let durations: Vec<i64> = found.iter().map(|r| r["duration_ns"].as_i64().unwrap()).collect();
    assert_eq!(durations, [210 * MS as i64, 95 * MS as i64, 95 * MS as i64]);
    assert_eq!(found[0]["name"], "train");
    let filtered = rows(dir.path(), &["select * from slowest where name = 'iteration' limit 2"]);
    assert_eq!(filtered.len(), 2);
}

#[test]
fn attributes_are_asked_by_name() {
    let dir = folder(&samples::training(100));
    let query = "select attr(attributes, 'variant') as variant, count(*) as n from spans \
                 where attr(attributes, 'size') is not null group by 1 order by 1";
    let found = rows(dir.path(), &[query]);
    assert_eq!(found, [json!({"variant": "beam", "n": 3}), json!({"variant": "greedy", "n": 3})]);
}

#[test]
fn times_that_are_not_known_are_null() {
    let mut run = Made::new(100);
    run.has_anchors = false;
    run.span(Scope::new("a", SpanId::NONE, 0, MS));
    let dir = folder(&run);
    let query = "select count(*) as spans, count(start_ns) as times from spans";
    assert_eq!(rows(dir.path(), &[query]), [json!({"spans": 1, "times": 0})]);
    assert_eq!(
        rows(dir.path(), &["select p50_ns, total_ns from tree"]),
        [json!({"p50_ns": null, "total_ns": null})]
    );
}

#[test]
fn a_run_with_nothing_in_it_has_every_table() {
    let dir = Folder::new();
    made::write(dir.path(), ID, &[]);
    for name in ["spans", "kernels", "tree", "steps", "slowest", "kernels_by_scope", "gpu_idle"] {
        let text = stdout(dir.path(), &[&format!("select * from {name}"), "--format", "csv"]);
        assert_eq!(text.lines().count(), 1, "{name}: {text}");
    }
}
