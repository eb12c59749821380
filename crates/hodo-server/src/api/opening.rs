//! How far a run has been read, while others wait for it.

use super::ask;
use super::extract::Path;
use crate::error::ApiError;
use crate::state::Shared;
use crate::store::Opening;
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use std::time::Duration;

/// `GET /api/runs/{run}/opening`: answers at once, and opens nothing.
pub async fn opening(
    State(shared): State<Shared>,
    Path(run): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let store = shared.store.clone();
    ask::apart(move || Ok(Json(document(store.opening(&run)?)))).await
}

fn document(opening: Opening) -> Value {
    let ms = |passed: Duration| passed.as_millis() as u64;
    match opening {
        Opening::Closed => json!({"state": "closed"}),
        Opening::Reading(progress, passed) => json!({
            "state": "reading", "passed_ms": ms(passed),
            "read_bytes": progress.bytes, "total_bytes": progress.total_bytes,
        }),
        Opening::Ordering(passed) => json!({"state": "ordering", "passed_ms": ms(passed)}),
        Opening::Open => json!({"state": "open"}),
    }
}
