//! What routes have in common: the run, the range and the filter that were asked for.

use crate::error::ApiError;
use crate::state::Shared;
use crate::store::Loaded;
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hodo_trace::Filter;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// A part of a run: from one moment to another, what a filter keeps.
#[derive(Debug, Default, Deserialize)]
pub struct Part {
    /// Nanoseconds from the run's first instant.
    pub t0: Option<i64>,
    /// The same.
    pub t1: Option<i64>,
    /// As [`Filter`] is written.
    #[serde(default)]
    pub filter: String,
}

impl Part {
    /// The filter.
    pub fn filter(&self) -> Result<Filter, ApiError> {
        Ok(self.filter.parse()?)
    }

    /// The range; none when all of the run is meant.
    pub fn range(&self) -> Result<Option<[i64; 2]>, ApiError> {
        match (self.t0, self.t1) {
            (None, None) => Ok(None),
            (t0, t1) => ordered(t0.unwrap_or(0), t1.unwrap_or(i64::MAX)).map(Some),
        }
    }
}

/// Two moments of which the second is later.
pub fn ordered(t0: i64, t1: i64) -> Result<[i64; 2], ApiError> {
    match t0 < t1 {
        true => Ok([t0, t1]),
        false => Err(ApiError::bad(format!("t0={t0} is not before t1={t1}"))),
    }
}

/// Answers about a run, on a thread where reading and computing may take their time.
pub async fn about<T: Send + 'static>(
    shared: &Shared,
    run: String,
    answer: impl FnOnce(Arc<Loaded>) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let store = shared.store.clone();
    apart(move || answer(store.get(&run)?)).await
}

/// Computes on a thread of its own.
pub async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let held = crate::turn::held();
    let work = move || {
        let _held = held;
        work()
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        let words = format!("hodo failed on this request: {error}; please report it");
        Err(ApiError::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, words))
    })
}

/// The same for an answer that is kept for whoever asks again.
pub async fn document(
    shared: &Shared,
    run: String,
    question: String,
    answer: impl FnOnce(&Loaded) -> Result<Value, ApiError> + Send + 'static,
) -> Result<Response, ApiError> {
    let text = about(shared, run, move |loaded| loaded.answer(&question, || answer(&loaded)));
    Ok(json(text.await?))
}

/// JSON that is written already.
pub fn json(text: Bytes) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], Body::from(text)).into_response()
}
