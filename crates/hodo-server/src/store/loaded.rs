//! A run in memory, and what was answered about it.

use super::lock;
use super::written::Written;
use crate::error::ApiError;
use hodo_trace::timeline::{Kept, Timeline};
use hodo_trace::{Filter, ProcessState, Run};
use serde_json::json;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A growing run is not read again sooner than this.
const LEAST_AGE: Duration = Duration::from_millis(900);
/// Nor sooner than so many times what reading it took.
const PATIENCE: u32 = 4;
/// Answers kept of each run.
const MOST_ANSWERS: usize = 64;
/// Longer ones are not kept.
const MOST_ANSWER_BYTES: usize = 8 << 20;
/// Filters whose slices are kept of each run.
const MOST_FILTERS: usize = 4;

/// A run as it was read last.
pub struct Loaded {
    /// Its id.
    pub id: String,
    /// The run.
    pub run: Run,
    /// Its timeline.
    pub timeline: Timeline,
    /// The names its boxes refer to.
    pub names: Vec<String>,
    /// How often it has been read.
    pub generation: u64,
    pub(super) read_at: Instant,
    pub(super) took: Duration,
    pub(super) written: Written,
    pub(super) answers: Mutex<HashMap<String, bytes::Bytes>>,
    pub(super) kept: Mutex<Vec<(String, Arc<Kept>)>>,
}

impl Loaded {
    /// Whether a process of it is recording.
    pub fn is_live(&self) -> bool {
        self.run.state() == Some(ProcessState::Live)
    }

    /// Slices on its tracks.
    pub(super) fn slices(&self) -> u64 {
        self.timeline.tracks.iter().map(|track| track.slices).sum()
    }

    /// Whether more has been recorded, and it is worth reading it again.
    pub(super) fn is_stale(&self, folder: &Path) -> bool {
        let patience = LEAST_AGE.max(self.took * PATIENCE);
        self.read_at.elapsed() >= patience
            && (self.is_live() || self.written != Written::of(folder))
    }

    /// What was answered to the same question, or what `make` answers now.
    pub fn answer(
        &self,
        question: &str,
        make: impl FnOnce() -> Result<serde_json::Value, ApiError>,
    ) -> Result<bytes::Bytes, ApiError> {
        if let Some(known) = lock(&self.answers).get(question) {
            return Ok(known.clone());
        }
        let text = serde_json::to_vec(&make()?).unwrap_or_else(|error| {
            json!({"error": format!("cannot write the answer: {error}")}).to_string().into()
        });
        let answer = bytes::Bytes::from(text);
        if answer.len() <= MOST_ANSWER_BYTES {
            let mut answers = lock(&self.answers);
            if answers.len() >= MOST_ANSWERS {
                answers.clear();
            }
            answers.insert(question.to_owned(), answer.clone());
        }
        Ok(answer)
    }

    /// The slices that a filter keeps; none for the empty filter, which keeps all.
    pub fn kept(&self, text: &str) -> Result<Option<Arc<Kept>>, ApiError> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let filter: Filter = text.parse()?;
        let known = |all: &[(String, Arc<Kept>)]| {
            all.iter().find(|kept| kept.0 == text).map(|kept| kept.1.clone())
        };
        if let Some(known) = known(&lock(&self.kept)) {
            return Ok(Some(known));
        }
        let made = Arc::new(Kept::new(&self.run, &self.timeline, &filter));
        let mut all = lock(&self.kept);
        if all.len() >= MOST_FILTERS {
            all.remove(0);
        }
        all.push((text.to_owned(), made.clone()));
        Ok(Some(made))
    }
}
