//! `hodo report --json`, of a run or a part of it.

use super::ask::{self, Part};
use super::extract::{Path, Query};
use crate::error::ApiError;
use crate::state::Shared;
use crate::store::Loaded;
use axum::extract::State;
use axum::response::Response;
use hodo_trace::{Filter, by_total, document, kernels, tree};
use serde_json::{Value, json};

/// Rows of each list by name, as many as `hodo report` has.
const TOP: usize = 5;

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
        let tree = tree(&loaded.run, &filter);
        let mut report = document(&loaded.run, &tree, &by_total(&tree), TOP);
        report["kernels"] = json!(kernels(&loaded.run, &filter));
        Ok(report)
    })
    .await
}

/// The report of a whole run in about so many bytes: paths with little time are left out until it
/// fits, and counted.
pub fn report_within(loaded: &Loaded, bytes: usize) -> Value {
    let filter = Filter::default();
    let tree = tree(&loaded.run, &filter);
    let order = by_total(&tree);
    let kernels = json!(kernels(&loaded.run, &filter));
    let mut least_ns = 0;
    loop {
        let is_large = |at: &u32| tree.nodes[*at as usize].total_ns.unwrap_or(0) >= least_ns;
        let nodes: Vec<u32> = order.iter().copied().filter(is_large).collect();
        let mut report = document(&loaded.run, &tree, &nodes, TOP);
        report["kernels"] = kernels.clone();
        report["nodes_left_out"] = json!(order.len() - nodes.len());
        if nodes.len() <= 1 || report.to_string().len() <= bytes {
            without_place(&mut report, &loaded.run.folder.display().to_string(), &loaded.id);
            return report;
        }
        least_ns = (2 * least_ns).max(tree.scopes_ns() / 100_000).max(1);
    }
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
