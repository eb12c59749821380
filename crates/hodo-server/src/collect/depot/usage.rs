//! What the runs take on disk, by whose they are.

use crate::collect::refusal::Refusal;
use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a file takes besides its bytes: its name, its entry, and the rest of its last block. Without
/// it, files with nothing in them would cost nothing; a folder takes as much.
const FILE_BYTES: u64 = 4096;

/// The bytes that a file takes, as `du` counts them: the memory that a program left behind is long and
/// mostly holes.
fn taken(file: &Metadata) -> u64 {
    file.len().min(file.blocks() * 512)
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
        std::mem::take(&mut self.state().wanted)
    }

    /// Refuses what there is no room for, in all or for an owner who may have `most` bytes; what takes
    /// nothing has room.
    pub fn make_sure(&self, owner: &str, most: Option<u64>, more: u64) -> Result<(), Refusal> {
        if more == 0 {
            return Ok(());
        }
        let mut state = self.state();
        if state.most.is_some_and(|most| state.total + more > most) {
            state.wanted = state.wanted.max(more);
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
        _ => of_file(entry.metadata().ok().as_ref().map(taken)),
    };
    entries.map(of).sum()
}
