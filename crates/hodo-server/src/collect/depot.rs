//! The files of shipped runs: what is told to be there is on disk.
//!
//! ```text
//! DIR/runs/RUN      the run's folder, as every reader of hodo reads it
//! DIR/notes/RUN     whose it is, and what was packed
//! DIR/packing/RUN   a packed run that is complete and not in place yet
//! DIR/aside/RUN     what was shipped of a packed run, as long as more of it may come
//! ```

mod known;
mod late;
mod swap;
mod usage;

use super::durable;
use super::note::{Note, PackedFile};
use super::refusal::Refusal;
use axum::http::StatusCode;
use hodo_format::ship::{self, Kind, Part};
use hodo_trace::Shipped;
use known::Known;
use late::{packed_length, packed_whole};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};
pub use usage::{Usage, bytes as usage_bytes};

/// The folders of the store.
const RUNS: &str = "runs";
const NOTES: &str = "notes";
const PACKING: &str = "packing";
const LOCK: &str = "lock";
/// How long a collector may take to end.
const ENDING: Duration = Duration::from_secs(2);
const ASIDE: &str = "aside";

/// Where shipped runs are.
pub struct Depot {
    dir: PathBuf,
    entries: Mutex<HashMap<String, Arc<Entry>>>,
    /// What they take.
    pub usage: Usage,
    /// Locked: a folder has one collector, and the kernel takes it back at any death.
    _held: fs::File,
}

/// One run.
pub struct Entry {
    /// Its id.
    pub id: String,
    /// Held for reading while something is added, for writing while its folder is changed.
    gate: RwLock<()>,
    note: Mutex<Option<Note>>,
    files: Mutex<Files>,
    /// Counts what was added, so that packing sees whether something was.
    changes: AtomicU64,
    changed_at: Mutex<Option<Instant>>,
}

/// By part and name.
type Files = HashMap<(String, String), Arc<Mutex<Known>>>;

/// A file that is sent.
pub struct Target<'a> {
    /// The run.
    pub run: &'a str,
    /// The folder in it.
    pub part: &'a Part,
    /// The file's name.
    pub name: &'a str,
    /// Id of the token that sends it; none for one that may write to any run.
    pub owner: Option<&'a str>,
    /// Bytes that the runs of that token may take.
    pub most_bytes: Option<u64>,
}

/// The files of a run, as they are told to a shipper.
#[derive(Debug, Default)]
pub struct Listing {
    /// What is durable.
    pub files: Vec<PackedFile>,
    /// Whether some of it was packed.
    pub packed: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panic left is looked at again before it is believed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Entry {
    /// Something may be added meanwhile.
    fn shared(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing is added meanwhile.
    pub fn alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        *lock(&self.changed_at) = Some(Instant::now());
    }

    /// How long nothing was added; none where nothing was since the start.
    pub fn quiet(&self) -> Option<Duration> {
        lock(&self.changed_at).map(|at| at.elapsed())
    }

    /// Goes up with each thing that is added.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The run's note; none of one that nobody shipped.
    pub fn note(&self) -> Option<Note> {
        lock(&self.note).clone()
    }

    fn owner(&self) -> String {
        lock(&self.note).as_ref().map(|note| note.owner.clone()).unwrap_or_default()
    }

    /// Forgets what is known of its files, since they are others now.
    pub fn forget_files(&self) {
        lock(&self.files).clear();
    }

    fn file(&self, part: &str, name: &str) -> Arc<Mutex<Known>> {
        lock(&self.files).entry((part.to_owned(), name.to_owned())).or_default().clone()
    }
}

/// Takes the lock of a store's folder; one that is just ending is waited for.
fn hold(dir: &Path) -> io::Result<fs::File> {
    let file =
        fs::OpenOptions::new().create(true).truncate(false).write(true).open(dir.join(LOCK))?;
    let until = Instant::now() + ENDING;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(ENDING / 50);
            }
            Err(fs::TryLockError::WouldBlock) => {
                let words = "another `hodo serve` uses it; a folder has one collector";
                return Err(io::Error::new(io::ErrorKind::WouldBlock, words));
            }
            Err(fs::TryLockError::Error(error)) => return Err(error),
        }
    }
}

impl Depot {
    /// Opens the store in `dir`, or makes one.
    pub fn open(dir: &Path, max_bytes: Option<u64>) -> io::Result<Depot> {
        fs::create_dir_all(dir)?;
        // Before anything is mended: what looks left behind is at work under another collector.
        let held = hold(dir)?;
        for name in [RUNS, NOTES, PACKING, ASIDE] {
            durable::make_folder(&dir.join(name))?;
        }
        let (dir, usage) = (dir.to_owned(), Usage::new(max_bytes));
        let depot = Depot { dir, entries: Mutex::default(), usage, _held: held };
        depot.recover()?;
        for entry in fs::read_dir(depot.runs())? {
            let id = entry?.file_name().to_string_lossy().into_owned();
            if ship::is_run_id(&id) {
                depot.count(&*depot.entry(&id)?);
            }
        }
        Ok(depot)
    }

    /// The folder of runs.
    pub fn runs(&self) -> PathBuf {
        self.dir.join(RUNS)
    }

    /// The store's folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder of a run.
    pub fn folder(&self, run: &str) -> PathBuf {
        self.dir.join(RUNS).join(run)
    }

    /// Where a packed run waits to be put in place.
    pub fn packing(&self, run: &str) -> PathBuf {
        self.dir.join(PACKING).join(run)
    }

    /// Where the files of a packed run are kept for a while.
    pub fn aside(&self, run: &str) -> PathBuf {
        self.dir.join(ASIDE).join(run)
    }

    /// Removes what is kept aside of a run.
    pub fn clear_aside(&self, run: &str) -> io::Result<()> {
        match fs::remove_dir_all(self.aside(run)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn note_path(&self, run: &str) -> PathBuf {
        self.dir.join(NOTES).join(run)
    }

    /// The ids of all runs that were shipped.
    pub fn noted(&self) -> io::Result<BTreeSet<String>> {
        let names = fs::read_dir(self.dir.join(NOTES))?;
        let names = names.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.filter(|name| name.as_ref().map_or(true, |name| is_note(name))).collect()
    }

    /// What is known of a run.
    pub fn entry(&self, run: &str) -> io::Result<Arc<Entry>> {
        if let Some(entry) = lock(&self.entries).get(run) {
            return Ok(entry.clone());
        }
        let entry = Arc::new(Entry {
            id: run.to_owned(),
            gate: RwLock::default(),
            note: Mutex::new(Note::read(&self.note_path(run))?),
            files: Mutex::default(),
            changes: AtomicU64::new(0),
            changed_at: Mutex::default(),
        });
        Ok(lock(&self.entries).entry(run.to_owned()).or_insert(entry).clone())
    }

    /// Writes a run's note.
    pub fn write_note(&self, entry: &Entry, note: Note) -> io::Result<()> {
        note.write(&self.note_path(&entry.id))?;
        *lock(&entry.note) = Some(note);
        Ok(())
    }

    /// Forgets a run whose folder is gone; whoever ships it again begins anew.
    pub fn forget(&self, entry: &Entry) -> io::Result<()> {
        *lock(&entry.note) = None;
        entry.forget_files();
        self.usage.set(&entry.id, "", 0);
        match fs::remove_file(self.note_path(&entry.id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => durable::sync_folder(&self.dir.join(NOTES)),
        }
    }

    /// Counts what a run takes.
    pub fn count(&self, entry: &Entry) {
        let owner = entry.owner();
        let folders = [self.folder(&entry.id), self.aside(&entry.id)];
        self.usage.set(&entry.id, &owner, folders.iter().map(|folder| usage::bytes(folder)).sum());
    }

    /// The run for something that `owner` adds; begins it where it is new.
    fn begin(&self, run: &str, owner: Option<&str>) -> Result<Arc<Entry>, Refusal> {
        let entry = self.entry(run)?;
        let mut note = lock(&entry.note);
        match (&*note, owner) {
            (Some(known), Some(owner)) if known.owner != owner => {
                return Err(Refusal::new(
                    StatusCode::FORBIDDEN,
                    format!("{run} was begun with another ingest token, which owns it"),
                ));
            }
            (Some(_), _) => {}
            (None, owner) => {
                let begun = Note::new(owner.unwrap_or_default());
                begun.write(&self.note_path(run))?;
                durable::make_folder(&self.folder(run))?;
                let shipped = serde_json::to_vec(&Shipped::begun()).map_err(io::Error::from)?;
                durable::replace(&self.folder(run).join(ship::SHIPPED_FILE), &shipped)?;
                *note = Some(begun);
            }
        }
        drop(note);
        Ok(entry)
    }

    /// What of a run is durable; nothing of one that is not known.
    pub fn list(&self, run: &str, owner: Option<&str>) -> Result<Listing, Refusal> {
        let entry = self.entry(run)?;
        let Some(note) = entry.note() else { return Ok(Listing::default()) };
        if owner.is_some_and(|owner| owner != note.owner) {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                format!("{run} was begun with another ingest token, which owns it"),
            ));
        }
        let _open = entry.shared();
        let is_packed = note.is_packed;
        let mut files = if is_packed { note.packed.clone() } else { Vec::new() };
        for (part, name, kind) in self.there(run, is_packed)? {
            let file = entry.file(&part.to_string(), &name);
            let mut known = lock(&file);
            let path = self.folder(run).join(part.folder()).join(&name);
            let length = known.durable_length(&path)?;
            let crc32c = match kind {
                Kind::Replaced => Some(known.checksum(&path)?),
                Kind::Appended => None,
            };
            let part = if part == Part::RUN { String::new() } else { part.to_string() };
            files.push(PackedFile { part, name, length, crc32c });
        }
        Ok(Listing { files, packed: is_packed })
    }

    /// The files in a run's folder that were shipped; of a packed one, those that came later.
    pub fn there(&self, run: &str, is_packed: bool) -> io::Result<Vec<(Part, String, Kind)>> {
        let folder = self.folder(run);
        let mut found = Vec::new();
        let mut parts = vec![Part::RUN];
        for name in names(&folder)? {
            parts.extend(Part::parse(&name).filter(|part| *part != Part::RUN));
            for table in names(&folder.join(&name)).unwrap_or_default() {
                parts.extend(Part::parse(&format!("{name}.{table}")));
            }
        }
        // The packed tables themselves were not shipped, nor was the `run.json` that says so.
        parts.retain(|part| !is_packed || !(part.is_packed() || *part == Part::RUN));
        for part in parts {
            for name in names(&folder.join(part.folder()))? {
                if let Some(kind) = part.kind_of(&name) {
                    found.push((part.clone(), name, kind));
                }
            }
        }
        found.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        Ok(found)
    }

    /// Appends `bytes` at `offset`; returns the length that is durable then.
    pub fn append(&self, target: &Target<'_>, offset: u64, bytes: &[u8]) -> Result<u64, Refusal> {
        let entry = self.begin(target.run, target.owner)?;
        let end = offset
            .checked_add(bytes.len() as u64)
            .ok_or_else(|| Refusal::bad("no file is as long as this offset"))?;
        self.welcome_back(&entry, || packed_length(&entry, target, end).is_err())?;
        let _open = entry.shared();
        if let Some(length) = packed_length(&entry, target, end)? {
            return Ok(length);
        }
        let file = entry.file(&target.part.to_string(), target.name);
        let mut known = lock(&file);
        let path = self.path(target)?;
        let length = known.durable_length(&path)?;
        if offset > length {
            let words = format!("{} has {length} bytes, not {offset} yet", target.name);
            return Err(Refusal::conflict(words, length));
        }
        let repeated = (length - offset).min(bytes.len() as u64) as usize;
        if repeated > 0
            && !durable::has_bytes(&durable::open(&path, false)?, offset, &bytes[..repeated])?
        {
            let words = format!("{} has other bytes at {offset} than these", target.name);
            return Err(Refusal::conflict(words, length));
        }
        let new = &bytes[repeated..];
        if new.is_empty() && path.exists() {
            return Ok(length);
        }
        let (owner, after) = (entry.owner(), length + new.len() as u64);
        self.usage.make_sure(&owner, target.most_bytes, new.len() as u64)?;
        known.append(&path, length, new)?;
        self.usage.exchange(&entry.id, &owner, length, after);
        entry.changed();
        Ok(after)
    }

    /// Replaces a file; returns its length.
    pub fn replace(&self, target: &Target<'_>, bytes: &[u8]) -> Result<u64, Refusal> {
        let entry = self.begin(target.run, target.owner)?;
        self.welcome_back(&entry, || packed_whole(&entry, target, bytes).is_err())?;
        let _open = entry.shared();
        if let Some(length) = packed_whole(&entry, target, bytes)? {
            return Ok(length);
        }
        let file = entry.file(&target.part.to_string(), target.name);
        let mut known = lock(&file);
        let path = self.path(target)?;
        let before = path.metadata().map_or(0, |file| file.len());
        let (owner, after) = (entry.owner(), bytes.len() as u64);
        self.usage.make_sure(&owner, target.most_bytes, after.saturating_sub(before))?;
        *known = Known::default();
        durable::replace(&path, bytes)?;
        *known = Known { length: Some(after), crc32c: Some(ship::checksum(bytes)) };
        self.usage.exchange(&entry.id, &owner, before, after);
        entry.changed();
        Ok(after)
    }

    /// Takes what was shipped of a packed run back where more of it came and it is still there.
    fn welcome_back(&self, entry: &Entry, is_more: impl Fn() -> bool) -> io::Result<()> {
        if !is_more() || !self.aside(&entry.id).exists() {
            return Ok(());
        }
        let _alone = entry.alone();
        // Someone else may have done it meanwhile.
        if is_more() && self.aside(&entry.id).exists() { self.give_back(entry) } else { Ok(()) }
    }

    /// Does `work` on a run that `owner` may write to; the run's folder stays where it is meanwhile.
    pub fn with<T>(
        &self,
        run: &str,
        owner: Option<&str>,
        work: impl FnOnce(&Path) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let entry = self.begin(run, owner)?;
        let _open = entry.shared();
        work(&self.folder(run))
    }

    /// Where a file lies; its folder is made.
    fn path(&self, target: &Target<'_>) -> io::Result<PathBuf> {
        let mut folder = self.folder(target.run);
        durable::make_folder(&folder)?;
        for step in target.part.folder().components() {
            folder.push(step);
            durable::make_folder(&folder)?;
        }
        Ok(folder.join(target.name))
    }
}

/// A part as listings and notes have it.
pub fn part_key(part: &Part) -> String {
    if *part == Part::RUN { String::new() } else { part.to_string() }
}

fn is_note(name: &str) -> bool {
    ship::is_run_id(name) && !name.ends_with(".part")
}

/// The names in a folder; none where there is no such folder.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(entries) => {
            entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
        }
    }
}
