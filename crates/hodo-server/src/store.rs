//! The runs of a folder: found by id, read when asked for, read again when they have grown.

use crate::error::ApiError;
use hodo_trace::timeline::{Kept, Stable, Timeline};
use hodo_trace::{Filter, ProcessState, ReadOptions, Run};
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::broadcast;

/// Runs kept in memory; the one that was not asked for longest goes first.
const MOST_LOADED: usize = 4;
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

/// A run that was asked for.
pub struct Slot {
    /// Its id: the name of its folder.
    pub id: String,
    folder: PathBuf,
    /// Held while it is read, so that it is read once.
    reading: Mutex<Reading>,
    loaded: Mutex<Option<Arc<Loaded>>>,
    asked: AtomicU64,
}

#[derive(Default)]
struct Reading {
    stable: Stable,
    generation: u64,
}

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
    read_at: Instant,
    took: Duration,
    written: Written,
    answers: Mutex<HashMap<String, bytes::Bytes>>,
    kept: Mutex<Vec<(String, Arc<Kept>)>>,
}

/// The sizes of a run's files: where they are the same nothing new has been written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Written(Vec<(PathBuf, u64)>);

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
        let now = lock(&slot.loaded).clone();
        if let Some(loaded) = now.filter(|loaded| !loaded.is_stale(&slot.folder)) {
            return Ok(loaded);
        }
        self.read(slot)
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

    /// Reads a run, unless someone else just did.
    fn read(&self, slot: &Slot) -> Result<Arc<Loaded>, ApiError> {
        let mut reading = lock(&slot.reading);
        let now = lock(&slot.loaded).clone();
        if let Some(loaded) = now.filter(|loaded| !loaded.is_stale(&slot.folder)) {
            return Ok(loaded);
        }
        self.make_room(&slot.id);
        let began = Instant::now();
        let written = Written::of(&slot.folder);
        let run = Run::open(&slot.folder, &ReadOptions::default())?;
        let timeline = run.timeline(&mut reading.stable);
        reading.generation += 1;
        let loaded = Arc::new(Loaded {
            id: slot.id.clone(),
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
        *lock(&slot.loaded) = Some(loaded.clone());
        Ok(loaded)
    }

    fn slot(&self, id: &str) -> Result<Arc<Slot>, ApiError> {
        if let Some(slot) = lock(&self.slots).get(id) {
            return Ok(slot.clone());
        }
        let folder = self.folder(id).ok_or_else(|| {
            let dir = self.dir.display();
            ApiError::missing(format!("no run with the id `{id}` in {dir}; /api/runs lists them"))
        })?;
        let slot = Arc::new(Slot {
            id: id.to_owned(),
            folder,
            reading: Mutex::default(),
            loaded: Mutex::default(),
            asked: AtomicU64::new(0),
        });
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

impl Loaded {
    /// Whether a process of it is recording.
    pub fn is_live(&self) -> bool {
        self.run.state() == Some(ProcessState::Live)
    }

    /// Whether more has been recorded, and it is worth reading it again.
    fn is_stale(&self, folder: &Path) -> bool {
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

impl Written {
    fn of(folder: &Path) -> Written {
        let mut files = Vec::new();
        let inside = |folder: &Path| -> Vec<std::fs::DirEntry> {
            std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).collect()
        };
        for entry in inside(folder) {
            let path = entry.path();
            match path.is_dir() {
                true => files.extend(inside(&path).into_iter().filter_map(|e| size(&e))),
                false => files.extend(size(&entry)),
            }
        }
        files.sort();
        Written(files)
    }
}

fn size(entry: &std::fs::DirEntry) -> Option<(PathBuf, u64)> {
    Some((entry.path(), entry.metadata().ok()?.len()))
}
