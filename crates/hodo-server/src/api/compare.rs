//! Two runs compared: `hodo diff --json`.

use super::ask;
use super::extract::{Path, Query};
use crate::error::ApiError;
use crate::state::Shared;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use hodo_trace::{DIFF_SCHEMA, DiffOptions, Obstacle, RunProfile, diff};
use serde::Deserialize;
use serde_json::{Value, json};

/// Whether to compare what is not comparable too.
#[derive(Deserialize)]
pub struct Options {
    #[serde(default)]
    force: bool,
}

/// `GET /api/runs/{run}/compare/{other}`.
pub async fn compare(
    State(shared): State<Shared>,
    Path((base, head)): Path<(String, String)>,
    Query(Options { force }): Query<Options>,
) -> Result<Response, ApiError> {
    let store = shared.store.clone();
    let compared = ask::apart(move || {
        // One after the other, so that both need not be in memory at once.
        let base = RunProfile::of(&store.get(&base)?.run);
        let head = RunProfile::of(&store.get(&head)?.run);
        Ok(diff(&[base], &[head], &DiffOptions { force, ..DiffOptions::default() }))
    });
    Ok(match compared.await? {
        Ok(diff) => {
            let mut document = json!(diff);
            document["comparable"] = true.into();
            Json(document).into_response()
        }
        Err(obstacles) => (StatusCode::CONFLICT, Json(refusal(&obstacles))).into_response(),
    })
}

fn refusal(obstacles: &[Obstacle]) -> Value {
    let why: Vec<&str> = obstacles.iter().map(|obstacle| obstacle.why.as_str()).collect();
    json!({
        "schema": DIFF_SCHEMA, "comparable": false, "obstacles": obstacles,
        "error": format!("not comparable: {}", why.join("; ")),
    })
}
