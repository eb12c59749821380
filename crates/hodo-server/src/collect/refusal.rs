//! What a collector answers to what it does not take.

use crate::error::ApiError;
use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::io;

/// Seconds after which there may be room, or a disk that works: soon enough that a program which records
/// all the while does not count as silent.
const RETRY_S: u64 = 10;
const _: () = assert!(RETRY_S < hodo_trace::SILENT_AFTER.as_secs());

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
    /// Whether the same may be taken later.
    may_be_taken: bool,
}

impl Refusal {
    /// With this status.
    pub fn new(status: StatusCode, words: impl Into<String>) -> Refusal {
        // What came too slowly, or came out garbled, is sent again.
        let may_be_taken =
            matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::UNPROCESSABLE_ENTITY);
        let (length, retry_after_s) = (None, None);
        Refusal { status, words: words.into(), length, retry_after_s, may_be_taken }
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

    /// Not yet; after a while it works.
    pub fn soon(words: impl Into<String>, seconds: u64) -> Refusal {
        let retry_after_s = Some(seconds.max(1));
        Refusal { retry_after_s, ..Refusal::new(StatusCode::SERVICE_UNAVAILABLE, words) }
    }

    /// There is no room for it.
    pub fn full(words: impl Into<String>) -> Refusal {
        let (retry_after_s, may_be_taken) = (Some(RETRY_S), true);
        let refusal = Refusal::new(StatusCode::INSUFFICIENT_STORAGE, words);
        Refusal { retry_after_s, may_be_taken, ..refusal }
    }
}

impl Refusal {
    /// The same of what will never be taken.
    pub fn for_good(self) -> Refusal {
        Refusal { may_be_taken: false, ..self }
    }

    /// The same for senders of OTLP, which give up what is answered by any other status than 429, 502,
    /// 503 and 504: what may be taken later is 503.
    pub fn for_otlp(self) -> Refusal {
        if !self.may_be_taken {
            return self;
        }
        let retry_after_s = self.retry_after_s.or(Some(RETRY_S));
        Refusal { status: StatusCode::SERVICE_UNAVAILABLE, retry_after_s, ..self }
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
                let refusal = Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, words);
                Refusal { may_be_taken: true, ..refusal }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_taken_later_is_sent_again_by_otlp_senders() {
        let told = |refusal: Refusal| {
            let refusal = refusal.for_otlp();
            (refusal.status.as_u16(), refusal.retry_after_s.is_some())
        };
        assert_eq!(told(Refusal::full("full")), (503, true));
        assert_eq!(told(io::Error::from(io::ErrorKind::StorageFull).into()), (503, true));
        assert_eq!(told(io::Error::other("a disk that fails").into()), (503, true));
        assert_eq!(told(Refusal::new(StatusCode::REQUEST_TIMEOUT, "slow")), (503, true));
        assert_eq!(told(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "garbled")), (503, true));
        assert_eq!(told(Refusal::later("too much", 1)), (429, true));
        assert_eq!(told(Refusal::bad("no request")), (400, false));
        // A request that hodo fails on fails again.
        assert_eq!(told(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "a panic")), (500, false));
    }
}
