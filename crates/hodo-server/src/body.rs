//! What a request may bring, and in what time.

use crate::error::ApiError;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::time::Duration;

/// A query in SQL is the longest that anyone has to say.
const MOST_BYTES: usize = 256 << 10;
/// Within this it has to be said.
const TIME: Duration = Duration::from_secs(10);

/// Waits for the whole request, but not for long, and not for much.
pub async fn whole(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let refused = |status, words: String| ApiError::new(status, words).into_response();
    match tokio::time::timeout(TIME, to_bytes(body, MOST_BYTES)).await {
        Ok(Ok(body)) => next.run(Request::from_parts(head, Body::from(body))).await,
        Ok(Err(_)) => {
            let words = format!("the request is longer than {MOST_BYTES} bytes, or broken off");
            refused(StatusCode::PAYLOAD_TOO_LARGE, words)
        }
        Err(_) => refused(StatusCode::REQUEST_TIMEOUT, "the request came too slowly".to_owned()),
    }
}
