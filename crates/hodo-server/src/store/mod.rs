//! The runs of a folder: found by id, read when asked for, read again when they have grown.

mod loaded;
mod slot;
mod written;

pub use loaded::Loaded;
pub use slot::Opening;

use crate::error::ApiError;
use hodo_trace::{ProcessState, Run};
use slot::Slot;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;

/// Runs kept in memory; the one that was not asked for longest goes first.
const MOST_LOADED: usize = 4;
/// Events that a slow listener may be behind.
const MOST_EVENTS: usize = 64;

/// The runs of a folder.
pub struct Store {
    dir: PathBuf,
    slots: Mutex<HashMap<String, Arc<Slot>>>,
    clock: AtomicU64,
    /// By id, with the bytes that the run had then.
    glimpses: Mutex<HashMap<String, (u64, Glimpse)>>,
    /// What happens to runs, for the page to follow.
    pub events: broadcast::Sender<Event>,
}

/// What a list shows of a run that only reading it tells.
#[derive(Clone, Debug, Default)]
pub struct Glimpse {
    /// Names of its GPUs.
    pub gpus: Option<BTreeSet<String>>,
    /// Its main mark over time.
    pub main_mark: Option<serde_json::Value>,
}

/// What happened to a run.
#[derive(Clone, Debug)]
pub enum Event {
    /// A run has grown.
    Grew {
        /// Its id.
        run: String,
        /// How often it has been read.
        generation: u64,
        /// Its last moment.
        end_ns: u64,
    },
    /// The list of runs is another.
    Runs,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panic left is whole: values are replaced, not changed in place.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// The runs in `dir`.
    pub fn new(dir: &Path) -> Store {
        Store {
            dir: dir.to_owned(),
            slots: Mutex::default(),
            clock: AtomicU64::new(0),
            glimpses: Mutex::default(),
            events: broadcast::Sender::new(MOST_EVENTS),
        }
    }

    /// The folder they are in.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The run with this id as it is now, or nearly so. Reads it if need be, which may take long.
    pub fn get(&self, id: &str) -> Result<Arc<Loaded>, ApiError> {
        let slot = self.slot(id)?;
        slot.asked.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        // Where growth is watched, what is there is shown until the newer is read.
        let known = lock(&slot.loaded).clone().filter(|_| self.events.receiver_count() > 0);
        known.map_or_else(|| self.current(&slot), Ok)
    }

    /// The same where nobody asked.
    pub fn refreshed(&self, id: &str) -> Result<Arc<Loaded>, ApiError> {
        self.current(&*self.slot(id)?)
    }

    fn current(&self, slot: &Slot) -> Result<Arc<Loaded>, ApiError> {
        slot.fresh().map_or_else(|| slot.read(|| self.make_room(&slot.id)), Ok)
    }

    /// Whether a run that was live is no longer.
    pub fn has_ended(&self, id: &str) -> bool {
        let folder = self.folder(id);
        folder.is_none_or(|folder| Run::summary(&folder).state != Some(ProcessState::Live))
    }

    /// The folder of a run.
    pub fn folder_of(&self, id: &str) -> Result<PathBuf, ApiError> {
        Ok(self.slot(id)?.folder.clone())
    }

    /// The folders of all runs.
    pub fn folders(&self) -> Vec<PathBuf> {
        let inside = std::fs::read_dir(&self.dir).into_iter().flatten();
        let mut folders: Vec<PathBuf> =
            inside.filter_map(|entry| Some(entry.ok()?.path())).collect();
        folders.retain(|folder| Run::is_at(folder));
        folders.sort();
        folders
    }

    /// Tells whoever listens.
    pub fn tell(&self, event: Event) {
        // Nobody listening is no failure.
        let _ = self.events.send(event);
    }

    /// How far a run has been read.
    pub fn opening(&self, id: &str) -> Result<Opening, ApiError> {
        Ok(self.slot(id)?.opening())
    }

    fn slot(&self, id: &str) -> Result<Arc<Slot>, ApiError> {
        if let Some(slot) = lock(&self.slots).get(id) {
            return Ok(slot.clone());
        }
        let folder = self.folder(id).ok_or_else(|| {
            let dir = self.dir.display();
            ApiError::missing(format!("no run with the id `{id}` in {dir}; /api/runs lists them"))
        })?;
        let slot = Arc::new(Slot::new(id, folder));
        Ok(lock(&self.slots).entry(id.to_owned()).or_insert(slot).clone())
    }

    /// The folder of a run; an id is the name of one in the store's folder and nothing else.
    fn folder(&self, id: &str) -> Option<PathBuf> {
        let is_name = !id.is_empty() && !id.starts_with('.') && !id.contains(['/', '\\', '\0']);
        let folder = is_name.then(|| self.dir.join(id))?;
        Run::is_at(&folder).then_some(folder)
    }

    /// Forgets runs until one more fits.
    fn make_room(&self, for_id: &str) {
        let slots = lock(&self.slots);
        let mut others: Vec<&Arc<Slot>> = slots.values().filter(|slot| slot.id != for_id).collect();
        others.retain(|slot| lock(&slot.loaded).is_some());
        others.sort_by_key(|slot| slot.asked.load(Ordering::Relaxed));
        let surplus = (others.len() + 1).saturating_sub(MOST_LOADED);
        others.into_iter().take(surplus).for_each(|slot| *lock(&slot.loaded) = None);
    }

    /// What is known of a run of that size, or what `look` sees of it.
    pub fn glimpse(
        &self,
        id: &str,
        bytes: u64,
        look: impl FnOnce() -> Option<Glimpse>,
    ) -> Option<Glimpse> {
        let known = lock(&self.glimpses).get(id).filter(|known| known.0 == bytes).cloned();
        if let Some((_, glimpse)) = known {
            return Some(glimpse);
        }
        let glimpse = look()?;
        lock(&self.glimpses).insert(id.to_owned(), (bytes, glimpse.clone()));
        Some(glimpse)
    }

    /// A run if it is in memory.
    pub fn peek(&self, id: &str) -> Option<Arc<Loaded>> {
        let slot = lock(&self.slots).get(id).cloned()?;
        lock(&slot.loaded).clone()
    }

    /// The runs in memory.
    pub fn loaded(&self) -> Vec<Arc<Loaded>> {
        let slots: Vec<Arc<Slot>> = lock(&self.slots).values().cloned().collect();
        slots.iter().filter_map(|slot| lock(&slot.loaded).clone()).collect()
    }
}
