//! Going through slices: by keyboard, by name.

use super::extract::{Path, Query};
use super::{ask, spans};
use crate::error::ApiError;
use crate::state::Shared;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use hodo_trace::timeline::Step;
use serde::Deserialize;
use serde_json::json;

/// Hits of one answer unless asked otherwise, and at most.
const HITS: usize = 50;
const MOST_HITS: usize = 1000;

/// A step from a slice, or into a track.
#[derive(Deserialize)]
pub struct Walk {
    track: Option<u32>,
    #[serde(default)]
    from: String,
    to: Option<To>,
    at_ns: Option<i64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum To {
    Next,
    Previous,
    Parent,
    Child,
}

/// `GET /api/runs/{run}/walk`.
pub async fn walk(
    State(shared): State<Shared>,
    Path(run): Path<String>,
    Query(walk): Query<Walk>,
) -> Result<Response, ApiError> {
    let from = (!walk.from.is_empty()).then(|| spans::parsed(&walk.from)).transpose()?;
    let step = match walk.to.unwrap_or(To::Next) {
        To::Next => Step::Next,
        To::Previous => Step::Previous,
        To::Parent => Step::Parent,
        To::Child => Step::Child,
    };
    let found = ask::about(&shared, run, move |loaded| match (from, walk.track) {
        (Some(id), _) => Ok(loaded.timeline.walk(&loaded.run, id, step)),
        (None, Some(number)) => {
            let track = loaded.timeline.track(number).ok_or_else(|| no_track(number))?;
            Ok(loaded.timeline.enter(&loaded.run, track, walk.at_ns.unwrap_or(0)))
        }
        (None, None) => Err(ApiError::bad("say where from: from=ID, or track=T&at_ns=N")),
    });
    Ok(found
        .await?
        .map_or_else(|| StatusCode::NO_CONTENT.into_response(), |to| Json(to).into_response()))
}

fn no_track(number: u32) -> ApiError {
    ApiError::missing(format!("no track {number} with slices; /tracks lists them"))
}

/// What to look for.
#[derive(Deserialize)]
pub struct Search {
    q: String,
    #[serde(default)]
    after_ns: i64,
    limit: Option<usize>,
    #[serde(default)]
    filter: String,
}

/// `GET /api/runs/{run}/search`.
pub async fn search(
    State(shared): State<Shared>,
    Path(run): Path<String>,
    Query(Search { q, after_ns, limit, filter }): Query<Search>,
) -> Result<Response, ApiError> {
    if q.trim().is_empty() {
        return Err(ApiError::bad("q is empty; write a part of a name"));
    }
    let limit = limit.unwrap_or(HITS).min(MOST_HITS);
    let question = format!("search {after_ns} {limit} {filter:?} {q}");
    ask::document(&shared, run, question, move |loaded| {
        let kept = loaded.kept(&filter)?;
        let found = loaded.timeline.search(&loaded.run, &q, after_ns, limit, kept.as_deref());
        Ok(json!({"hits": found.hits, "total": found.total}))
    })
    .await
}
