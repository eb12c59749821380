//! `hodo report --json`, of a run or a part of it.

use super::ask::{self, Part};
use super::extract::{Path, Query};
use crate::error::ApiError;
use crate::state::Shared;
use crate::store::Loaded;
use axum::extract::State;
use axum::response::Response;
use hodo_trace::{Filter, Tree, by_total, document, kernels, tree};
use serde_json::{Value, json};
use std::cmp::Reverse;

/// Rows of each list by name, as many as `hodo report` has.
const TOP: usize = 5;

/// What a browser can show; `hodo report` and `hodo sql` have all.
const FOR_THE_PAGE: Most = Most { nodes: 10_000, threads: 1000 };
const FOR_A_FILE: Most = Most { threads: 100, ..FOR_THE_PAGE };

/// `GET /api/runs/{run}/report`.
pub async fn report(
    State(shared): State<Shared>,
    Path(run): Path<String>,
    Query(part): Query<Part>,
) -> Result<Response, ApiError> {
    let mut filter = part.filter()?;
    let range = part.range()?;
    let question = format!("report {range:?} {}", part.filter);
    ask::document(&shared, run, question, move |loaded| {
        let start_ns = loaded.timeline.start_ns;
        filter.open_in = range.map(|range| range.map(|ns| ns.saturating_add(start_ns)));
        Ok(Report::new(loaded, &filter).with(FOR_THE_PAGE))
    })
    .await
}

/// The report of a whole run for a file: half of the paths, those with less time, are left out until
/// it fits, and counted.
pub fn report_within(loaded: &Loaded, fits: impl Fn(&Value) -> bool) -> Value {
    let report = Report::new(loaded, &Filter::default());
    let mut most = Most { nodes: FOR_A_FILE.nodes.min(report.order.len()), ..FOR_A_FILE };
    loop {
        let mut made = report.with(most);
        without_place(&mut made, &loaded.run.folder.display().to_string(), &loaded.id);
        if most.nodes <= 1 || fits(&made) {
            made["run"]["cwd"] = json!("");
            return made;
        }
        most.nodes /= 2;
    }
}

/// How much of a report there is at the most; what is left out is counted.
#[derive(Clone, Copy)]
struct Most {
    nodes: usize,
    threads: usize,
}

struct Report<'a> {
    loaded: &'a Loaded,
    filter: Filter,
    tree: Tree,
    order: Vec<u32>,
    kernels: Value,
}

impl Report<'_> {
    fn new<'a>(loaded: &'a Loaded, filter: &Filter) -> Report<'a> {
        let tree = tree(&loaded.run, filter);
        let order = by_total(&tree);
        let kernels = json!(kernels(&loaded.run, filter));
        Report { loaded, filter: filter.clone(), tree, order, kernels }
    }

    fn with(&self, most: Most) -> Value {
        let nodes = largest(&self.tree, &self.order, most.nodes);
        let mut report = document(&self.loaded.run, &self.filter, &self.tree, &nodes, TOP);
        report["kernels"] = self.kernels.clone();
        let left_out = [
            ("nodes_left_out", self.order.len() - nodes.len()),
            ("threads_left_out", cut_threads(&mut report, most.threads)),
        ];
        // A whole one is what the command line prints.
        for (what, count) in left_out.into_iter().filter(|(_, count)| *count > 0) {
            report[what] = json!(count);
        }
        report
    }
}

/// The paths with the most time, in their order, with those that lead to them.
fn largest(tree: &Tree, order: &[u32], most: usize) -> Vec<u32> {
    let mut by_time = order.to_vec();
    by_time.sort_by_key(|&at| Reverse(tree.nodes[at as usize].total_ns.unwrap_or(0)));
    let mut kept = vec![false; tree.nodes.len()];
    for at in by_time.into_iter().take(most) {
        let mut next = Some(at);
        while let Some(at) = next.filter(|&at| !kept[at as usize]) {
            kept[at as usize] = true;
            next = tree.nodes[at as usize].parent;
        }
    }
    order.iter().copied().filter(|&at| kept[at as usize]).collect()
}

/// Leaves the first threads, of all processes together; returns how many it took away.
fn cut_threads(report: &mut Value, most: usize) -> usize {
    let (mut room, mut left_out) = (most, 0);
    let processes = report["processes"].as_array_mut().into_iter().flatten();
    for threads in processes.filter_map(|process| process["threads"].as_array_mut()) {
        let kept = threads.len().min(room);
        left_out += threads.len() - kept;
        room -= kept;
        threads.truncate(kept);
    }
    left_out
}

/// Files are named from the run on: where it was is nobody else's business.
fn without_place(value: &mut Value, folder: &str, id: &str) {
    match value {
        Value::String(text) => {
            if let Some(inside) = text.strip_prefix(folder) {
                *text = format!("{id}{inside}");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| without_place(item, folder, id)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| without_place(field, folder, id));
        }
        _ => {}
    }
}
