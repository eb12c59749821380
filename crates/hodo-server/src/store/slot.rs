//! The place of a run that was asked for: read once, whoever asks, and how far that has come.

use super::loaded::Loaded;
use super::lock;
use super::written::Written;
use crate::error::ApiError;
use hodo_trace::timeline::Stable;
use hodo_trace::{Progress, ReadOptions, Run};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

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

    /// Reads the run, unless someone else just did; makes room for it before.
    pub(super) fn read(&self, make_room: impl FnOnce()) -> Result<Arc<Loaded>, ApiError> {
        let mut reading = lock(&self.reading);
        if let Some(loaded) = self.fresh() {
            return Ok(loaded);
        }
        make_room();
        let read = self.read_now(&mut reading);
        *lock(&self.progress) = None;
        read
    }

    fn read_now(&self, reading: &mut Reading) -> Result<Arc<Loaded>, ApiError> {
        let began = Instant::now();
        let written = Written::of(&self.folder);
        let tell = |stage: Stage| *lock(&self.progress) = Some((began, stage));
        let progress = |progress: Progress| tell(Stage::Reading(progress));
        progress(Progress { bytes: 0, total_bytes: 0 });
        let run = Run::open(&self.folder, &ReadOptions { progress: Some(&progress) })?;
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
