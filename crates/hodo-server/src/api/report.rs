//! `hodo report --json`, of a run or a part of it.

use super::ask::{self, Part};
use crate::error::ApiError;
use crate::state::Shared;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use hodo_trace::{by_total, document, kernels, tree};
use serde_json::json;

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
