//! The files of shipped runs: what is told to be there is on disk.
//!
//! ```text
//! DIR/runs/RUN      the run's folder, as every reader of hodo reads it
//! DIR/notes/RUN     whose it is, and what was packed
//! DIR/packing/RUN   a packed run that is complete and not in place yet
//! DIR/aside/RUN     what was shipped of a packed run, as long as more of it may come
//! ```

mod add;
mod back;
mod entry;
mod hold;
mod known;
mod late;
mod list;
mod recover;
mod swap;
mod usage;

use super::durable;
use super::note::Note;
use super::refusal::Refusal;
pub use add::{Sender, Target};
use axum::http::StatusCode;
pub use entry::Entry;
use hodo_format::ship::{self, Part};
use known::Known;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
pub use usage::{Usage, bytes as usage_bytes, of_file as usage_of_file};

/// The folders of the store.
const RUNS: &str = "runs";
const NOTES: &str = "notes";
const PACKING: &str = "packing";
const ASIDE: &str = "aside";

/// Where shipped runs are.
pub struct Depot {
    dir: PathBuf,
    entries: Mutex<HashMap<String, Arc<Entry>>>,
    /// What they take.
    pub usage: Usage,
    /// Locked as long as it is open.
    _held: fs::File,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panic left is looked at again before it is believed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Depot {
    /// Opens the store in `dir`, or makes one.
    pub fn open(dir: &Path, max_bytes: Option<u64>) -> io::Result<Depot> {
        durable::make_folders(dir)?;
        // Before anything is mended: what looks left behind is at work under another collector.
        let held = hold::hold(dir)?;
        for name in [RUNS, NOTES, PACKING, ASIDE] {
            durable::make_folder(&dir.join(name))?;
            durable::close_to_others(&dir.join(name))?;
        }
        let (dir, usage) = (dir.to_owned(), Usage::new(max_bytes));
        let depot = Depot { dir, entries: Mutex::default(), usage, _held: held };
        depot.recover()?;
        for entry in fs::read_dir(depot.runs())? {
            let id = entry?.file_name().to_string_lossy().into_owned();
            // One whose note cannot be read was told of when it was to be settled.
            if let Some(entry) = ship::is_run_id(&id).then(|| depot.entry(&id).ok()).flatten() {
                depot.count(&entry);
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

    /// Where what is fetched of a run waits to be put in place; no run has a name that begins so.
    pub fn fetched(&self, run: &str) -> PathBuf {
        self.dir.join(PACKING).join(format!(".{run}.fetched"))
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
        names.filter(|name| name.as_ref().map_or(true, |name| ship::is_run_id(name))).collect()
    }

    /// A run, which may be new.
    pub fn entry(&self, run: &str) -> io::Result<Arc<Entry>> {
        if let Some(entry) = lock(&self.entries).get(run) {
            return Ok(entry.clone());
        }
        let entry = Arc::new(Entry::new(run, Note::read(&self.note_path(run))?));
        Ok(lock(&self.entries).entry(run.to_owned()).or_insert(entry).clone())
    }

    /// A run that was shipped; none of another, and nothing is kept of the question.
    pub fn known(&self, run: &str) -> io::Result<Option<Arc<Entry>>> {
        let is_held = lock(&self.entries).contains_key(run);
        match is_held || self.note_path(run).try_exists()? {
            true => self.entry(run).map(Some),
            false => Ok(None),
        }
    }

    /// Whether a run is in the store elsewhere alone, but for what a list shows.
    pub fn is_away(&self, run: &str) -> bool {
        let entry = self.known(run).ok().flatten();
        entry.and_then(|entry| entry.note()).is_some_and(|note| note.is_away)
    }

    /// Lets go of runs that were asked for and are none, or were removed.
    pub fn forget_unknown(&self) {
        // Whoever gets one gets it under the same lock, so nobody has those.
        lock(&self.entries)
            .retain(|_, entry| Arc::strong_count(entry) > 1 || lock(&entry.note).is_some());
    }

    /// Copies a note that is damaged aside, where nothing reads it, and puts another in its place, so that
    /// the run can be removed; tells where it is.
    pub fn set_note_aside(&self, run: &str, may_be_stored: bool) -> io::Result<PathBuf> {
        let aside = self.dir.join(NOTES).join(format!(".{run}.damaged"));
        // It stays in place until the other takes it: a kill between leaves no run that is nobody's.
        durable::replace(&aside, &fs::read(self.note_path(run))?)?;
        Note { may_be_stored, ..Note::new("") }.write(&self.note_path(run))?;
        Ok(aside)
    }

    /// Writes a run's note.
    pub fn write_note(&self, entry: &Entry, note: Note) -> io::Result<()> {
        note.write(&self.note_path(&entry.id))?;
        *lock(&entry.note) = Some(note);
        Ok(())
    }

    /// Forgets a run whose folder is gone; whoever ships it again begins anew.
    pub fn forget(&self, entry: &Entry) -> io::Result<()> {
        match fs::remove_file(self.note_path(&entry.id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => durable::sync_folder(&self.dir.join(NOTES))?,
        }
        *lock(&entry.note) = None;
        entry.changed();
        entry.forget_heard();
        entry.forget_files();
        self.usage.set(&entry.id, "", 0);
        Ok(())
    }

    /// Counts what a run takes.
    pub fn count(&self, entry: &Entry) {
        let owner = entry.owner();
        let folders = [self.folder(&entry.id), self.aside(&entry.id)];
        self.usage.set(&entry.id, &owner, folders.iter().map(|folder| usage::bytes(folder)).sum());
    }
}

/// Refuses a run that is another's.
fn forbid(note: &Note, run: &str, owner: Option<&str>) -> Result<(), Refusal> {
    match owner {
        Some(owner) if owner != note.owner => Err(Refusal::new(
            StatusCode::FORBIDDEN,
            format!(
                "{run} was begun with another ingest token, which owns it; all hosts of a run ship \
                 with the same one"
            ),
        )),
        _ => Ok(()),
    }
}

/// A part as listings and notes have it.
pub fn part_key(part: &Part) -> String {
    if *part == Part::RUN { String::new() } else { part.to_string() }
}
