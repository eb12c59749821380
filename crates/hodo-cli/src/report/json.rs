//! The report as one JSON document.

use super::View;
use crate::verify;
use hodo_trace::{Ending, FlatSort, Process};
use serde_json::{Value, json};

/// Scopes listed that failed, and that were open; all of them are counted.
const MAX_ENDINGS: usize = 1000;

/// The document; numbers are nanoseconds and counts, keys are sorted, nothing is rounded. Every key
/// is explained in `docs/report-json.md`.
pub fn document(view: &View<'_>) -> Value {
    let tree = view.tree;
    json!({
        "schema": "hodo.report/1",
        "run": view.run.info,
        "folder": view.run.folder.display().to_string(),
        "state": view.run.state(),
        "start_ns": view.run.start_ns(),
        "wall_ns": tree.wall_ns,
        "uncalibrated_processes": view.run.uncalibrated().count(),
        "spans": view.run.span_count(),
        "spans_shown": tree.spans,
        "spans_untimed": tree.untimed,
        "processes": view.run.processes.iter().map(process).collect::<Vec<_>>(),
        "nodes": nodes(view),
        "marks_outside_scopes": tree.marks_outside_scopes,
        "failed": endings(&view.run.failed()),
        "open": endings(&view.run.open_scopes()),
        "by_self": top(view, FlatSort::SelfTime),
        "by_total": top(view, FlatSort::Total),
        "records": verify::Sum::of(&view.run.processes).document(),
    })
}

fn endings(all: &[Ending]) -> Value {
    json!({"count": all.len(), "scopes": all.iter().take(MAX_ENDINGS).collect::<Vec<_>>()})
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
        "calibrated": process.is_timed(),
        "spans": process.spans.len(),
        "marks": process.marks.len(),
        "threads": process.threads,
        "records": verify::Sum::of(std::slice::from_ref(process)).document(),
        "damage": verify::damage(process),
    })
}
