//! What the runs take on disk, by whose they are.

use crate::collect::refusal::Refusal;
use hodo_format::ship::ARENA_FILE;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a file takes besides its bytes: its name, its entry, and the rest of its last block. Without
/// it, files with nothing in them would cost nothing; a folder takes as much.
const FILE_BYTES: u64 = 4096;

/// A run that was refused for want of room waits for it so long: its shipper comes again before.
const WAITS: Duration = Duration::from_secs(60);
/// So many runs that wait are known by name.
const MOST_WAITING: usize = 1000;

/// The bytes that a file takes: of the memory that a program left behind, which is long and mostly holes,
/// as `du` counts them. Of others their length, since some file systems count blocks a moment later.
fn taken(name: &OsStr, file: &Metadata) -> u64 {
    let all = file.len();
    if name == ARENA_FILE { all.min(file.blocks() * 512) } else { all }
}

/// What a file of so many bytes takes; nothing where there is none.
pub fn of_file(bytes: Option<u64>) -> u64 {
    bytes.map_or(0, |bytes| bytes + FILE_BYTES)
}

/// Bytes by run, with the most that is allowed.
#[derive(Default)]
pub struct Usage {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    runs: HashMap<String, (String, u64)>,
    owners: HashMap<String, u64>,
    total: u64,
    most: Option<u64>,
    wanted: u64,
    /// When each run was refused last for want of room.
    refused: HashMap<String, Instant>,
}

impl Usage {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// With the most that all runs may take.
    pub fn new(most: Option<u64>) -> Usage {
        Usage { state: Mutex::new(State { most, ..State::default() }) }
    }

    /// A run takes so much.
    pub fn set(&self, run: &str, owner: &str, bytes: u64) {
        let mut state = self.state();
        if let Some((owner, before)) = state.runs.remove(run) {
            state.take(&owner, before);
        }
        if bytes > 0 {
            state.runs.insert(run.to_owned(), (owner.to_owned(), bytes));
            *state.owners.entry(owner.to_owned()).or_default() += bytes;
            state.total += bytes;
        }
    }

    /// A file of a run had `before` bytes and has `after` now.
    pub fn exchange(&self, run: &str, owner: &str, before: u64, after: u64) {
        let mut state = self.state();
        let known = state.runs.get(run).map_or(0, |run| run.1);
        state.take(owner, before);
        *state.owners.entry(owner.to_owned()).or_default() += after;
        state.total += after;
        let bytes = known.saturating_sub(before) + after;
        state.runs.insert(run.to_owned(), (owner.to_owned(), bytes));
    }

    /// What one run takes.
    pub fn of(&self, run: &str) -> u64 {
        self.state().runs.get(run).map_or(0, |run| run.1)
    }

    /// What all runs take.
    pub fn total(&self) -> u64 {
        self.state().total
    }

    /// Bytes above what is allowed, with `more` to come.
    pub fn surplus(&self, more: u64) -> u64 {
        let state = self.state();
        state.most.map_or(0, |most| (state.total + more).saturating_sub(most))
    }

    /// The most that was refused since this was asked last.
    pub fn wanted(&self) -> u64 {
        let mut state = self.state();
        state.refused.retain(|_, at| at.elapsed() < WAITS);
        std::mem::take(&mut state.wanted)
    }

    /// Whether a run waits for room and no other does.
    pub fn waits_alone(&self, run: &str) -> bool {
        let state = self.state();
        let lately = state.refused.iter().filter(|(_, at)| at.elapsed() < WAITS);
        let mut waiting = lately.map(|(run, _)| run);
        waiting.next().is_some_and(|first| first == run) && waiting.next().is_none()
    }

    /// Refuses what there is no room for, in all or for an owner who may have `most` bytes; what takes
    /// nothing has room.
    pub fn make_sure(
        &self,
        run: &str,
        owner: &str,
        most: Option<u64>,
        more: u64,
    ) -> Result<(), Refusal> {
        if more == 0 {
            return Ok(());
        }
        let mut state = self.state();
        if state.most.is_some_and(|most| state.total + more > most) {
            state.wanted = state.wanted.max(more);
            // Above that many it makes no difference who they are.
            if state.refused.len() < MOST_WAITING || state.refused.contains_key(run) {
                state.refused.insert(run.to_owned(), Instant::now());
            }
            let words = "the collector is full, as --max-bytes says; ended runs make room for it";
            return Err(Refusal::full(words));
        }
        let used = state.owners.get(owner).copied().unwrap_or(0);
        match most {
            Some(most) if used + more > most => Err(Refusal::full(format!(
                "the runs of this ingest token take {used} of the {most} bytes it may have"
            ))),
            _ => Ok(()),
        }
    }
}

impl State {
    fn take(&mut self, owner: &str, bytes: u64) {
        if let Some(used) = self.owners.get_mut(owner) {
            *used = used.saturating_sub(bytes);
        }
        self.total = self.total.saturating_sub(bytes);
    }
}

/// What the files in a folder and those inside it take.
pub fn bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => of_file(Some(0)) + bytes(&entry.path()),
        _ => of_file(entry.metadata().ok().map(|file| taken(&entry.file_name(), &file))),
    };
    entries.map(of).sum()
}
