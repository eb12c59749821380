//! The place of a run that was asked for: read once, whoever asks, and how far that has come.

use super::loaded::Loaded;
use super::lock;
use super::written::Written;
use crate::error::ApiError;
use crate::memory;
use axum::http::StatusCode;
use hodo_trace::timeline::Stable;
use hodo_trace::{Progress, ReadOptions, Run};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a slice of a run takes: its columns, and its part of the timeline's index.
const SLICE_BYTES: u64 = 34;

/// A run that was asked for.
pub(super) struct Slot {
    /// Its id: the name of its folder.
    pub(super) id: String,
    pub(super) folder: PathBuf,
    /// Held while it is read, so that it is read once.
    reading: Mutex<Reading>,
    /// How far that has come; none while it is not read.
    progress: Mutex<Option<(Instant, Stage)>>,
    pub(super) loaded: Mutex<Option<Arc<Loaded>>>,
    pub(super) asked: AtomicU64,
}

#[derive(Default)]
struct Reading {
    stable: Stable,
    generation: u64,
}

#[derive(Clone, Copy)]
enum Stage {
    Reading(Progress),
    Ordering,
}

/// How far a run has been read.
#[derive(Clone, Copy, Debug)]
pub enum Opening {
    /// Nobody asked for it yet.
    Closed,
    /// Its files are being read, since so long.
    Reading(Progress, Duration),
    /// They are read, and its slices are put in order.
    Ordering(Duration),
    /// It is in memory.
    Open,
}

impl Slot {
    pub(super) fn new(id: &str, folder: PathBuf) -> Slot {
        Slot {
            id: id.to_owned(),
            folder,
            reading: Mutex::default(),
            progress: Mutex::default(),
            loaded: Mutex::default(),
            asked: AtomicU64::new(0),
        }
    }

    /// What is in memory, unless it is worth reading it again.
    pub(super) fn fresh(&self) -> Option<Arc<Loaded>> {
        let now = lock(&self.loaded).clone();
        now.filter(|loaded| !loaded.is_stale(&self.folder))
    }

    pub(super) fn opening(&self) -> Opening {
        if lock(&self.loaded).is_some() {
            return Opening::Open;
        }
        match *lock(&self.progress) {
            None => Opening::Closed,
            Some((since, Stage::Reading(progress))) => Opening::Reading(progress, since.elapsed()),
            Some((since, Stage::Ordering)) => Opening::Ordering(since.elapsed()),
        }
    }

    /// Reads the run, unless someone else just did or it is not whole; makes room for it before.
    pub(super) fn read(
        &self,
        make_room: impl FnOnce(),
        is_whole: &dyn Fn() -> bool,
    ) -> Result<Arc<Loaded>, ApiError> {
        let mut reading = lock(&self.reading);
        if let Some(loaded) = self.fresh() {
            return Ok(loaded);
        }
        if !is_whole() {
            return Err(elsewhere());
        }
        make_room();
        self.let_go();
        let read = self.read_now(&mut reading, is_whole);
        *lock(&self.progress) = None;
        read
    }

    /// Forgets what is in memory where it leaves no room for the newer: whoever asks waits for that.
    fn let_go(&self) {
        let mut loaded = lock(&self.loaded);
        let slices = loaded.as_ref().map_or(0, |loaded| loaded.slices());
        if !memory::fits(slices.saturating_mul(SLICE_BYTES)) {
            *loaded = None;
        }
    }

    /// Refuses what would end this server, or the program beside it: frames unpack to thousands of times
    /// their size.
    fn take_memory(&self) -> Result<memory::Reserved, ApiError> {
        let needed = hodo_trace::memory_bytes(&self.folder);
        memory::reserve(needed).map_err(|free| {
            ApiError::new(
                StatusCode::INSUFFICIENT_STORAGE,
                format!(
                    "reading this run may take {} MiB of memory, and {} MiB are free; look at it \
                     where there is more",
                    needed >> 20,
                    free >> 20
                ),
            )
        })
    }

    fn read_now(
        &self,
        reading: &mut Reading,
        is_whole: &dyn Fn() -> bool,
    ) -> Result<Arc<Loaded>, ApiError> {
        let began = Instant::now();
        let _memory = self.take_memory()?;
        let written = Written::of(&self.folder);
        let tell = |stage: Stage| *lock(&self.progress) = Some((began, stage));
        let progress = |progress: Progress| tell(Stage::Reading(progress));
        progress(Progress { bytes: 0, total_bytes: 0 });
        let run = Run::open(&self.folder, &ReadOptions { progress: Some(&progress) })?;
        // Files may have gone while they were read.
        if !is_whole() {
            return Err(elsewhere());
        }
        tell(Stage::Ordering);
        let timeline = run.timeline(&mut reading.stable);
        reading.generation += 1;
        let loaded = Arc::new(Loaded {
            id: self.id.clone(),
            names: reading.stable.names().to_vec(),
            generation: reading.generation,
            run,
            timeline,
            read_at: Instant::now(),
            took: began.elapsed(),
            written,
            answers: Mutex::default(),
            kept: Mutex::default(),
        });
        *lock(&self.loaded) = Some(loaded.clone());
        Ok(loaded)
    }
}

fn elsewhere() -> ApiError {
    let words = "the run is in the collector's store alone and comes back; ask again";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, words)
}
