//! What the API answers when it cannot answer.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use hodo_trace::TraceError;
use serde_json::json;

/// A status and a sentence: what, why, what to do.
#[derive(Debug)]
pub struct ApiError {
    status: StatusCode,
    words: String,
}

impl ApiError {
    /// An error with this status.
    pub fn new(status: StatusCode, words: impl Into<String>) -> ApiError {
        ApiError { status, words: words.into() }
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// What is wrong.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// What was asked for cannot be.
    pub fn bad(words: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::BAD_REQUEST, words)
    }

    /// What was asked for is not there.
    pub fn missing(words: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, words)
    }
}

impl From<TraceError> for ApiError {
    fn from(error: TraceError) -> ApiError {
        let status = match error {
            TraceError::Condition { .. }
            | TraceError::NotANumber { .. }
            | TraceError::Filter { .. }
            | TraceError::TwoNames { .. }
            | TraceError::Last { .. } => StatusCode::BAD_REQUEST,
            TraceError::NotFound { .. }
            | TraceError::NoRuns { .. }
            | TraceError::NotARun { .. } => StatusCode::NOT_FOUND,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        ApiError::new(status, error.to_string())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(json!({"error": self.words}))).into_response()
    }
}
