//! What a collector answers to what it does not take.

use crate::error::ApiError;
use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::io;

/// A status, a sentence, and what the sender needs to go on.
#[derive(Debug)]
pub struct Refusal {
    /// The status.
    pub status: StatusCode,
    words: String,
    /// Bytes of the file that are there.
    length: Option<u64>,
    /// Seconds to wait.
    retry_after_s: Option<u64>,
}

impl Refusal {
    /// With this status.
    pub fn new(status: StatusCode, words: impl Into<String>) -> Refusal {
        Refusal { status, words: words.into(), length: None, retry_after_s: None }
    }

    /// What was sent cannot be.
    pub fn bad(words: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, words)
    }

    /// It does not fit what is there, which is `length` bytes.
    pub fn conflict(words: impl Into<String>, length: u64) -> Refusal {
        Refusal { length: Some(length), ..Refusal::new(StatusCode::CONFLICT, words) }
    }

    /// Too much at once; after a while it may be taken.
    pub fn later(words: impl Into<String>, seconds: u64) -> Refusal {
        let retry_after_s = Some(seconds.max(1));
        Refusal { retry_after_s, ..Refusal::new(StatusCode::TOO_MANY_REQUESTS, words) }
    }

    /// There is no room for it.
    pub fn full(words: impl Into<String>) -> Refusal {
        let retry_after_s = Some(30);
        Refusal { retry_after_s, ..Refusal::new(StatusCode::INSUFFICIENT_STORAGE, words) }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        match error.kind() {
            StorageFull | QuotaExceeded => {
                Refusal::full(format!("the collector's disk is full: {error}"))
            }
            _ => {
                let words = format!("the collector cannot store this: {error}");
                Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, words)
            }
        }
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Refusal {
        Refusal::new(error.status(), error.words())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut document = json!({"error": self.words});
        if let Some(length) = self.length {
            document["length"] = length.into();
        }
        let mut response = (self.status, Json(document)).into_response();
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
