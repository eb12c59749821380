//! What a start finishes that a kill cut.

use super::swap::remove;
use super::{ASIDE, Depot, PACKING};
use crate::collect::janitor::tell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;

impl Depot {
    /// Finishes what a kill cut. A run with which that does not work is told of and left as it is, for
    /// the next try: the others are there all the same.
    pub(super) fn recover(&self) -> io::Result<()> {
        let mut unsettled = BTreeSet::new();
        for run in self.noted()? {
            if let Err(error) = self.recover_run(&run) {
                tell(&format!("{run} cannot be settled, which is tried again: {error}"));
                unsettled.insert(run);
            }
        }
        let is_unsettled = |name: &OsStr| name.to_str().is_some_and(|run| unsettled.contains(run));
        // Whatever else is there was being packed, or being removed.
        for left in fs::read_dir(self.dir.join(PACKING))? {
            let left = left?;
            if !is_unsettled(&left.file_name()) {
                remove(&left.path())?;
            }
        }
        for left in fs::read_dir(self.dir.join(ASIDE))? {
            let left = left?;
            let is_kept = || {
                let entry = self.entry(&left.file_name().to_string_lossy())?;
                Ok::<bool, io::Error>(entry.note().is_some_and(|note| note.is_packed))
            };
            if !is_unsettled(&left.file_name()) && !is_kept()? {
                remove(&left.path())?;
            }
        }
        Ok(())
    }

    fn recover_run(&self, run: &str) -> io::Result<()> {
        let entry = self.entry(run)?;
        let Some(note) = entry.note() else { return Ok(()) };
        if note.is_going {
            // The rest of it, which may lie elsewhere, goes as soon as the collector is at work.
            return self.clear(run);
        }
        if !self.folder(run).try_exists()? {
            // Nothing of it had come.
            self.forget(&entry)?;
            return self.clear_aside(run);
        }
        self.settle_alone(&entry)?;
        self.mark_shipped(run)
    }
}
