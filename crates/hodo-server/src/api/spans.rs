//! All about one scope or one piece of GPU work.

use super::ask;
use super::extract::Path;
use crate::error::ApiError;
use crate::state::Shared;
use axum::Json;
use axum::extract::State;
use hodo_trace::timeline::SliceId;
use serde_json::Value;

/// `GET /api/runs/{run}/spans/{span}`.
pub async fn span(
    State(shared): State<Shared>,
    Path((run, span)): Path<(String, String)>,
) -> Result<Json<Value>, ApiError> {
    let id = parsed(&span)?;
    ask::about(&shared, run, move |loaded| {
        found(loaded.timeline.scope_detail(&loaded.run, id), "scope", &span)
    })
    .await
}

/// `GET /api/runs/{run}/kernels/{kernel}`.
pub async fn kernel(
    State(shared): State<Shared>,
    Path((run, kernel)): Path<(String, String)>,
) -> Result<Json<Value>, ApiError> {
    let id = parsed(&kernel)?;
    ask::about(&shared, run, move |loaded| {
        found(loaded.timeline.work_detail(&loaded.run, id), "GPU work", &kernel)
    })
    .await
}

/// An id as tiles and answers have it.
pub fn parsed(id: &str) -> Result<SliceId, ApiError> {
    id.parse().map_err(|_| ApiError::bad(format!("`{id}` is no id; ids are whole numbers")))
}

fn found(detail: Option<Value>, what: &str, id: &str) -> Result<Json<Value>, ApiError> {
    detail
        .map(Json)
        .ok_or_else(|| ApiError::missing(format!("this run has no {what} with the id {id}")))
}
