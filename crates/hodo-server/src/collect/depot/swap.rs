//! A packed run takes the place of what was shipped, in steps that a kill may cut anywhere.
//!
//! The note says what is going on before anything is moved, and the folders change places in one
//! step. So at every instant the run's place holds one whole run: what was shipped, or the same packed.

use super::{Depot, Entry, durable};
use crate::collect::note::{Note, Swap};
use hodo_format::ship::SHIPPED_FILE;
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

impl Depot {
    /// Puts the packed run that is complete in [`Depot::packing`] in place. Nothing may be added
    /// meanwhile: `entry` is held alone.
    pub fn put_in_place(&self, entry: &Entry, mut swap: Swap) -> io::Result<()> {
        let (run, new) = (self.folder(&entry.id), self.packing(&entry.id));
        fs::copy(run.join(SHIPPED_FILE), new.join(SHIPPED_FILE))?;
        fs::File::open(new.join(SHIPPED_FILE))?.sync_all()?;
        durable::sync_folder(&new)?;
        swap.inode = inode(&new)?;
        let note = entry.note().ok_or_else(|| io::Error::other("the run has no note"))?;
        self.write_note(entry, Note { swap: Some(swap), ..note })?;
        exchange(&new, &run)?;
        self.finish_swap(entry)
    }

    /// Puts a run that was made in [`Depot::packing`] in place; what was there goes.
    pub fn put_made(&self, run: &str) -> io::Result<()> {
        let (new, place) = (self.packing(run), self.folder(run));
        match place.exists() {
            true => exchange(&new, &place)?,
            false => fs::rename(&new, &place)?,
        }
        remove(&new)
    }

    /// The folders have changed places, or the new one goes.
    fn finish_swap(&self, entry: &Entry) -> io::Result<()> {
        let Some(mut note) = entry.note() else { return Ok(()) };
        let Some(swap) = note.swap.take() else { return Ok(()) };
        let (run, other) = (self.folder(&entry.id), self.packing(&entry.id));
        if inode(&run).ok() == Some(swap.inode) {
            durable::sync_parent(&run)?;
            let kept = swap.more_may_come && !note.is_packed;
            if kept && other.exists() {
                self.clear_aside(&entry.id)?;
                fs::rename(&other, self.aside(&entry.id))?;
                durable::sync_parent(&self.aside(&entry.id))?;
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
            (note.is_packed, note.packed, note.packed_s) = (true, swap.packed, now);
            // What is stored elsewhere is what was packed before.
            note.is_stored = false;
        }
        self.write_note(entry, note)?;
        entry.forget_files();
        remove(&other)
    }

    /// Takes back what was shipped of a packed run, with what came after. `entry` is held alone.
    pub fn give_back(&self, entry: &Entry) -> io::Result<()> {
        let Some(note) = entry.note() else { return Ok(()) };
        self.write_note(entry, Note { is_returning: true, ..note })?;
        self.finish_return(entry)
    }

    fn finish_return(&self, entry: &Entry) -> io::Result<()> {
        let Some(note) = entry.note() else { return Ok(()) };
        let (run, aside) = (self.folder(&entry.id), self.aside(&entry.id));
        let is_packed = |folder: &Path| hodo_trace::packed::is_packed(folder);
        if is_packed(&run) && aside.exists() && !is_packed(&aside) {
            for (part, ..) in self.there(&entry.id, true)? {
                let (from, to) = (run.join(part.folder()), aside.join(part.folder()));
                if from.exists() {
                    fs::rename(from, to)?;
                }
            }
            fs::copy(run.join(SHIPPED_FILE), aside.join(SHIPPED_FILE))?;
            durable::sync_folder(&aside)?;
            exchange(&aside, &run)?;
            durable::sync_parent(&run)?;
        }
        let owner = note.owner.clone();
        self.write_note(entry, Note::new(&owner))?;
        entry.forget_files();
        self.clear_aside(&entry.id)
    }

    /// Finishes what a kill cut.
    pub(super) fn recover(&self) -> io::Result<()> {
        for run in self.noted()? {
            let entry = self.entry(&run)?;
            let Some(note) = entry.note() else { continue };
            if !self.folder(&run).exists() {
                // It was being removed, or nothing of it had come.
                self.forget(&entry)?;
                self.clear_aside(&run)?;
                continue;
            }
            if note.is_returning {
                self.finish_return(&entry)?;
            }
            if note.swap.is_some() {
                self.finish_swap(&entry)?;
            }
        }
        // Whatever else is there was being packed, or being removed.
        for left in fs::read_dir(self.dir.join(super::PACKING))? {
            remove(&left?.path())?;
        }
        for left in fs::read_dir(self.dir.join(super::ASIDE))? {
            let left = left?;
            let entry = self.entry(&left.file_name().to_string_lossy())?;
            if !entry.note().is_some_and(|note| note.is_packed) {
                remove(&left.path())?;
            }
        }
        Ok(())
    }
}

fn inode(path: &Path) -> io::Result<u64> {
    Ok(fs::symlink_metadata(path)?.ino())
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match path.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Two folders change places in one step.
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    let [one, other] = [one, other].map(|path| CString::new(path.as_os_str().as_bytes()));
    let (one, other) = (one?, other?);
    // SAFETY: both paths end with a zero.
    let result = unsafe {
        let here = libc::AT_FDCWD;
        libc::renameat2(here, one.as_ptr(), here, other.as_ptr(), libc::RENAME_EXCHANGE)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::note::PackedFile;
    use crate::collect::testing::Folder;

    const RUN: &str = "run";

    fn content(folder: &Path) -> Option<String> {
        fs::read_to_string(folder.join("p1-a/process.json")).ok()
    }

    /// A store with a run as it was shipped, and the same packed beside it.
    fn made(folder: &Folder) -> io::Result<Depot> {
        let depot = Depot::open(folder.path(), None)?;
        depot
            .with(RUN, Some("owner"), |_| Ok(()))
            .map_err(|e| io::Error::other(format!("{e:?}")))?;
        fs::create_dir_all(depot.folder(RUN).join("p1-a"))?;
        fs::write(depot.folder(RUN).join("p1-a/process.json"), "shipped")?;
        fs::create_dir_all(depot.packing(RUN).join("pack"))?;
        fs::write(depot.packing(RUN).join("pack/side.json"), "packed")?;
        Ok(depot)
    }

    fn swap(inode: u64) -> Swap {
        let (part, name) = ("p1-a".to_owned(), "process.json".to_owned());
        let packed = vec![PackedFile { part, name, length: 7, crc32c: None }];
        Swap { inode, packed, more_may_come: true }
    }

    fn note(depot: &Depot) -> io::Result<Note> {
        depot.entry(RUN)?.note().ok_or_else(|| io::Error::other("no note"))
    }

    #[test]
    fn a_kill_before_the_places_change_leaves_what_was_shipped() -> io::Result<()> {
        let folder = Folder::new();
        let depot = made(&folder)?;
        let swap = swap(inode(&depot.packing(RUN))?);
        let entry = depot.entry(RUN)?;
        depot.write_note(&entry, Note { swap: Some(swap), ..note(&depot)? })?;
        drop(entry);
        drop(depot);
        let again = Depot::open(folder.path(), None)?;
        assert_eq!(content(&again.folder(RUN)).as_deref(), Some("shipped"));
        assert!(!again.packing(RUN).exists() && !note(&again)?.is_packed);
        assert_eq!(note(&again)?.swap, None);
        Ok(())
    }

    #[test]
    fn a_kill_after_the_places_changed_leaves_the_packed_run_and_what_was_shipped() -> io::Result<()>
    {
        let folder = Folder::new();
        let depot = made(&folder)?;
        let swap = swap(inode(&depot.packing(RUN))?);
        let entry = depot.entry(RUN)?;
        depot.write_note(&entry, Note { swap: Some(swap.clone()), ..note(&depot)? })?;
        exchange(&depot.packing(RUN), &depot.folder(RUN))?;
        drop(entry);
        drop(depot);
        let again = Depot::open(folder.path(), None)?;
        assert!(again.folder(RUN).join("pack/side.json").exists());
        assert_eq!(content(&again.aside(RUN)).as_deref(), Some("shipped"));
        let note = note(&again)?;
        assert!(note.is_packed && note.packed == swap.packed && note.swap.is_none());
        Ok(())
    }

    #[test]
    fn what_was_shipped_comes_back_from_every_cut() -> io::Result<()> {
        for is_exchanged in [false, true] {
            let folder = Folder::new();
            let depot = made(&folder)?;
            let entry = depot.entry(RUN)?;
            depot.put_in_place(&entry, swap(0))?;
            assert!(note(&depot)?.is_packed && content(&depot.aside(RUN)).is_some());
            // A part that came later.
            fs::create_dir(depot.folder(RUN).join("p2-b"))?;
            fs::write(depot.folder(RUN).join("p2-b/process.json"), "late")?;
            depot.write_note(&entry, Note { is_returning: true, ..note(&depot)? })?;
            if is_exchanged {
                let (run, aside) = (depot.folder(RUN), depot.aside(RUN));
                fs::rename(run.join("p2-b"), aside.join("p2-b"))?;
                exchange(&aside, &run)?;
            }
            drop(entry);
            drop(depot);
            let again = Depot::open(folder.path(), None)?;
            assert_eq!(content(&again.folder(RUN)).as_deref(), Some("shipped"));
            assert!(again.folder(RUN).join("p2-b/process.json").exists());
            assert!(!again.aside(RUN).exists() && !again.folder(RUN).join("pack").exists());
            assert_eq!(note(&again)?, Note::new("owner"));
        }
        Ok(())
    }

    #[test]
    fn a_folder_has_one_collector() -> io::Result<()> {
        let folder = Folder::new();
        let depot = made(&folder)?;
        let refused = Depot::open(folder.path(), None).err().map(|error| error.to_string());
        assert!(refused.is_some_and(|why| why.contains("another `hodo serve`")));
        assert!(depot.packing(RUN).exists(), "what is at work was wiped");
        Ok(())
    }

    #[test]
    fn a_run_that_was_being_removed_is_gone() -> io::Result<()> {
        let folder = Folder::new();
        let depot = made(&folder)?;
        fs::rename(depot.folder(RUN), depot.aside(RUN))?;
        drop(depot);
        let again = Depot::open(folder.path(), None)?;
        assert!(again.entry(RUN)?.note().is_none() && !again.aside(RUN).exists());
        Ok(())
    }
}
