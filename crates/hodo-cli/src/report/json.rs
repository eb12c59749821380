//! The report as one JSON document.

use super::View;
use crate::verify;
use hodo_trace::{FlatSort, Process};
use serde_json::{Value, json};

/// The document; numbers are nanoseconds and counts, keys are sorted, nothing is rounded.
pub fn document(view: &View<'_>) -> Value {
    let tree = view.tree;
    json!({
        "schema": "hodo.report/1",
        "run": view.run.info,
        "folder": view.run.folder.display().to_string(),
        "wall_ns": tree.wall_ns,
        "spans": view.run.span_count(),
        "spans_shown": tree.spans,
        "processes": view.run.processes.iter().map(process).collect::<Vec<_>>(),
        "nodes": nodes(view),
        "marks": tree.marks,
        "by_self": top(view, FlatSort::SelfTime),
        "by_total": top(view, FlatSort::Total),
        "records": verify::Sum::of(&view.run.processes).document(),
    })
}

/// The paths `--depth`, `--min` and `--sort` leave, in that order; `parent` is replaced by `path`.
fn nodes(view: &View<'_>) -> Vec<Value> {
    let lines = super::select::select(view).lines;
    lines
        .iter()
        .map(|line| {
            let mut node = json!(view.tree.nodes[line.node as usize]);
            if let Some(fields) = node.as_object_mut() {
                fields.remove("parent");
                fields.insert("path".to_owned(), json!(view.tree.path(line.node)));
            }
            node
        })
        .collect()
}

fn top(view: &View<'_>, sort: FlatSort) -> Value {
    let rows = hodo_trace::flat(view.tree, sort);
    json!(rows.iter().take(view.args.top).collect::<Vec<_>>())
}

/// A process with its threads and where its records went.
fn process(process: &Process) -> Value {
    json!({
        "info": process.info,
        "state": process.state,
        "spans": process.spans.len(),
        "marks": process.marks.len(),
        "threads": process.threads,
        "records": verify::Sum::of(std::slice::from_ref(process)).document(),
        "damage": verify::damage(process),
    })
}
