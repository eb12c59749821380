//! One run of the store, and who may do what to it at a time.

use super::known::Known;
use super::lock;
use crate::collect::note::Note;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
};
use std::time::{Duration, Instant};

/// One run.
pub struct Entry {
    /// Its id.
    pub id: String,
    /// Held for reading while something is added, for writing while its folder is changed.
    gate: RwLock<()>,
    pub(super) note: Mutex<Option<Note>>,
    files: Mutex<Files>,
    /// Counts what was added, so that packing sees whether something was.
    changes: AtomicU64,
    /// When something was added last, or a process was told to run.
    heard_at: Mutex<Option<Instant>>,
    /// Counts what shippers told.
    beats: AtomicU64,
    /// When each host told something last.
    told_at: Mutex<HashMap<String, Instant>>,
    /// Milliseconds since 1970 when someone asked for it last; zero where nobody did since the start.
    read_ms: AtomicU64,
    /// Held by the one who writes down what a shipper told.
    pub(super) telling: Mutex<()>,
    /// Held by the one who fetches it from the store elsewhere: that may take for ever, and nobody who
    /// adds to the run waits for it.
    pub fetching: Arc<tokio::sync::Mutex<()>>,
    /// Held while the store elsewhere is told that the run is there whole.
    storing: Mutex<()>,
}

/// By part and name.
type Files = HashMap<(String, String), Arc<Mutex<Known>>>;

impl Entry {
    /// A run with the note that it has on disk.
    pub(super) fn new(run: &str, note: Option<Note>) -> Entry {
        Entry {
            id: run.to_owned(),
            gate: RwLock::default(),
            note: Mutex::new(note),
            files: Mutex::default(),
            changes: AtomicU64::new(0),
            heard_at: Mutex::default(),
            beats: AtomicU64::new(0),
            told_at: Mutex::default(),
            read_ms: AtomicU64::new(0),
            telling: Mutex::default(),
            fetching: Arc::default(),
            storing: Mutex::default(),
        }
    }

    /// Something may be added meanwhile.
    pub fn shared(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing is added meanwhile.
    pub fn alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store elsewhere is told that the run is there; nobody removes it there meanwhile.
    pub fn storing(&self) -> MutexGuard<'_, ()> {
        lock(&self.storing)
    }

    /// The same where nobody does that now.
    pub fn try_storing(&self) -> Option<MutexGuard<'_, ()>> {
        match self.storing.try_lock() {
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(left)) => Some(left.into_inner()),
            Ok(held) => Some(held),
        }
    }

    pub(super) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        *lock(&self.heard_at) = Some(Instant::now());
    }

    /// A host told something. That its processes have ended keeps no run from falling silent: a shipper
    /// that waits for room says so for as long as it waits.
    pub(super) fn told(&self, host: String, is_alive: bool) {
        self.beats.fetch_add(1, Ordering::AcqRel);
        let mut heard_at = lock(&self.heard_at);
        if is_alive || heard_at.is_none() {
            *heard_at = Some(Instant::now());
        }
        lock(&self.told_at).insert(host, Instant::now());
    }

    /// How long nothing was added and no process was told to run; none where nothing was told since the start.
    pub fn quiet(&self) -> Option<Duration> {
        lock(&self.heard_at).map(|at| at.elapsed())
    }

    /// How long ago a host told something; none where it did not since the start.
    pub fn told_ago(&self, host: &str) -> Option<Duration> {
        lock(&self.told_at).get(host).map(Instant::elapsed)
    }

    /// Forgets that it was heard of.
    pub(super) fn forget_heard(&self) {
        *lock(&self.heard_at) = None;
        lock(&self.told_at).clear();
    }

    /// Goes up with each thing that is added.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Goes up with each thing that a shipper tells.
    pub fn beats(&self) -> u64 {
        self.beats.load(Ordering::Acquire)
    }

    /// Someone asks for it, so long after 1970.
    pub fn was_read(&self, at: Duration) {
        self.read_ms.fetch_max(at.as_millis() as u64, Ordering::AcqRel);
    }

    /// Time since 1970 when someone asked for it last.
    pub fn read(&self) -> Duration {
        Duration::from_millis(self.read_ms.load(Ordering::Acquire))
    }

    /// As if nobody had asked for it.
    #[cfg(test)]
    pub fn forget_reading(&self) {
        self.read_ms.store(0, Ordering::Release);
    }

    /// The run's note; none of one that nobody shipped.
    pub fn note(&self) -> Option<Note> {
        lock(&self.note).clone()
    }

    pub(super) fn owner(&self) -> String {
        lock(&self.note).as_ref().map(|note| note.owner.clone()).unwrap_or_default()
    }

    /// Forgets what is known of its files, since they are others now.
    pub fn forget_files(&self) {
        lock(&self.files).clear();
    }

    pub(super) fn forget_file(&self, part: &str, name: &str) {
        lock(&self.files).remove(&(part.to_owned(), name.to_owned()));
    }

    pub(super) fn file(&self, part: &str, name: &str) -> Arc<Mutex<Known>> {
        lock(&self.files).entry((part.to_owned(), name.to_owned())).or_default().clone()
    }
}
