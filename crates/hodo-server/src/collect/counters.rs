//! What a collector counts of its own work.

use axum::http::StatusCode;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Counts since the start.
#[derive(Default)]
pub struct Counters {
    answers: Mutex<BTreeMap<u16, u64>>,
    stored: AtomicU64,
    /// Spans that came by OTLP.
    pub otlp_spans: AtomicU64,
    /// Spans that were refused, since their run is full.
    pub otlp_refused: AtomicU64,
    /// Runs that were packed.
    pub packed: AtomicU64,
    /// Times that packing failed.
    pub pack_failures: AtomicU64,
    /// Runs that are not packed for that reason now.
    pub not_packed: AtomicU64,
    /// Runs that were removed to make room, or since they were old.
    pub removed: AtomicU64,
    /// Bytes that went with them.
    pub removed_bytes: AtomicU64,
}

impl Counters {
    /// A request was answered.
    pub fn answered(&self, status: StatusCode) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *answers.entry(status.as_u16()).or_default() += 1;
    }

    /// So many bytes of runs were taken.
    pub fn stored(&self, bytes: u64) {
        self.stored.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of runs that were taken.
    pub fn stored_bytes(&self) -> u64 {
        self.stored.load(Ordering::Relaxed)
    }

    /// Answers by their status.
    pub fn answers(&self) -> BTreeMap<u16, u64> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
