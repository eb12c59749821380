//! The runs of a folder: found by id, read when asked for, read again when they have grown.

mod listed;
mod loaded;
mod slot;
mod written;

pub use listed::Listed;
pub use loaded::Loaded;
pub use slot::Opening;

use crate::error::ApiError;
use hodo_trace::{ProcessState, Run, RunSummary};
use slot::Slot;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::broadcast;

/// Runs kept in memory; the one that was not asked for longest goes first.
const MOST_LOADED: usize = 4;
/// A run that is being recorded is not read again sooner for a list, which is made every second then.
const LEAST_GLIMPSE_AGE: Duration = Duration::from_secs(10);
/// Events that a slow listener may be behind.
const MOST_EVENTS: usize = 64;

/// The runs of a folder.
pub struct Store {
    dir: PathBuf,
    slots: Mutex<HashMap<String, Arc<Slot>>>,
    clock: AtomicU64,
    /// By id.
    glimpses: Mutex<HashMap<String, Seen>>,
    is_whole: IsWhole,
    /// What happens to runs, for the page to follow.
    pub events: broadcast::Sender<Event>,
}

/// Whether all of a run is in its folder, and not elsewhere but for what a list shows.
type IsWhole = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// What a list shows of a run that only reading it tells.
#[derive(Clone, Debug, Default)]
pub struct Glimpse {
    /// Names of its GPUs.
    pub gpus: Option<BTreeSet<String>>,
    /// Its main mark over time.
    pub main_mark: Option<serde_json::Value>,
}

/// A glimpse, when it was had, and what the run had then: bytes on disk and scopes, which an arena
/// takes in without growing.
#[derive(Clone)]
struct Seen {
    glimpse: Glimpse,
    at: Instant,
    size: (u64, Option<u64>),
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
        Store::of_whole(dir, Box::new(|_| true))
    }

    /// The same where some of them may be elsewhere.
    pub fn of_whole(dir: &Path, is_whole: IsWhole) -> Store {
        Store {
            is_whole,
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
        let is_whole = || (self.is_whole)(&slot.id);
        slot.fresh().map_or_else(|| slot.read(|| self.make_room(&slot.id), &is_whole), Ok)
    }

    /// Whether a run is not in its folder, but elsewhere.
    pub fn is_away(&self, id: &str) -> bool {
        !(self.is_whole)(id)
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
        // Also of one that is in memory: it may have been removed since.
        let folder = self.folder(id).ok_or_else(|| {
            self.forget(id);
            let dir = self.dir.display();
            ApiError::missing(format!("no run with the id `{id}` in {dir}; /api/runs lists them"))
        })?;
        let mut slots = lock(&self.slots);
        let slot = slots.entry(id.to_owned()).or_insert_with(|| Arc::new(Slot::new(id, folder)));
        Ok(slot.clone())
    }

    /// Lets go of what is known of a run that is gone.
    pub fn forget(&self, id: &str) {
        lock(&self.slots).remove(id);
        lock(&self.glimpses).remove(id);
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

    /// What is known of a run as it is, or of a live one lately, or else what `look` sees of it.
    pub fn glimpse(
        &self,
        id: &str,
        run: &RunSummary,
        look: impl FnOnce() -> Option<Glimpse>,
    ) -> Option<Glimpse> {
        let is_live = run.state == Some(ProcessState::Live);
        let is_whole = (self.is_whole)(id);
        let holds = |seen: &&Seen| {
            let is_recent = is_live && seen.at.elapsed() < LEAST_GLIMPSE_AGE;
            // Of one that is elsewhere, what was seen of it is still so.
            seen.size == (run.bytes, run.spans) || is_recent || !is_whole
        };
        let known = lock(&self.glimpses).get(id).filter(holds).cloned();
        if let Some(seen) = known {
            return Some(seen.glimpse);
        }
        if !is_whole {
            return None;
        }
        let glimpse = look()?;
        let seen =
            Seen { glimpse: glimpse.clone(), at: Instant::now(), size: (run.bytes, run.spans) };
        lock(&self.glimpses).insert(id.to_owned(), seen);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// A folder with a run in it, which is there whole as long as that is said.
    fn store() -> (PathBuf, Arc<AtomicBool>, Store) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("hodo-store-{}-{number}", std::process::id()));
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../hodo-cli/tests/data/h200-training/p492-6483323d");
        let to = dir.join("run/p492-6483323d");
        std::fs::create_dir_all(&to).expect("a folder");
        for file in std::fs::read_dir(from).expect("a run").flatten() {
            std::fs::copy(file.path(), to.join(file.file_name())).expect("a file");
        }
        let is_whole = Arc::new(AtomicBool::new(true));
        let told = is_whole.clone();
        let of = Store::of_whole(&dir, Box::new(move |_| told.load(Ordering::SeqCst)));
        (dir, is_whole, of)
    }

    #[test]
    fn a_run_that_is_elsewhere_is_not_read_as_an_empty_one() {
        let (dir, is_whole, store) = store();
        let seen =
            || Some(Glimpse { gpus: Some(BTreeSet::from(["H200".into()])), main_mark: None });
        let run = |bytes| RunSummary { bytes, ..Run::summary(&dir.join("run")) };
        assert!(store.glimpse("run", &run(100), seen).is_some());
        is_whole.store(false, Ordering::SeqCst);
        let refused = store.get("run").err().map(|error| error.status().as_u16());
        assert_eq!(refused, Some(503));
        let known =
            store.glimpse("run", &run(1), Default::default).and_then(|glimpse| glimpse.gpus);
        assert_eq!(known.map(|gpus| gpus.len()), Some(1), "what was seen of it is still so");
        is_whole.store(true, Ordering::SeqCst);
        assert!(store.get("run").is_ok_and(|loaded| loaded.slices() > 0));
        let _ = std::fs::remove_dir_all(dir);
    }

    #[test]
    fn a_run_that_was_removed_is_gone_also_where_it_was_in_memory() {
        let (dir, _, store) = store();
        // Someone listens, so what is in memory is shown until the newer is read.
        let _listener = store.events.subscribe();
        assert!(store.get("run").is_ok());
        std::fs::remove_dir_all(dir.join("run")).expect("it is there");
        let missing = store.get("run").err().map(|error| error.status().as_u16());
        assert_eq!(missing, Some(404));
        assert!(store.loaded().is_empty(), "and out of memory");
        let _ = std::fs::remove_dir_all(dir);
    }
}
