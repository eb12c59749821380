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
        swap.inode = inode(&new)?;
        let note = entry.note().ok_or_else(|| io::Error::other("the run has no note"))?;
        durable::make_private(&new)?;
        // What was shipped goes as soon as this is in its place.
        durable::sync_all(&new)?;
        self.write_note(entry, Note { swap: Some(swap), ..note })?;
        exchange(&new, &run)?;
        self.finish_swap(entry)
    }

    /// Finishes or undoes what a failure left half done. Until that works nobody adds to the run:
    /// what its place holds is not what its note says.
    pub fn settle(&self, entry: &Entry) -> io::Result<()> {
        if !entry.note().is_some_and(|note| note.is_between()) {
            return Ok(());
        }
        let _alone = entry.alone();
        self.settle_alone(entry)
    }

    /// The same where `entry` is held alone.
    pub fn settle_alone(&self, entry: &Entry) -> io::Result<()> {
        if entry.note().is_some_and(|note| note.is_returning) {
            self.finish_return(entry)?;
        }
        self.finish_swap(entry)
    }

    /// Puts a run that was made in the folder `new` in place, durably; what was there goes.
    pub fn put_made(&self, run: &str, new: &Path) -> io::Result<()> {
        let place = self.folder(run);
        durable::make_private(new)?;
        durable::sync_all(new)?;
        match place.exists() {
            true => exchange(new, &place)?,
            false => fs::rename(new, &place)?,
        }
        durable::sync_parent(&place)?;
        remove(new)
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
            (note.may_be_stored, note.is_stored) = (note.may_be_elsewhere(), false);
            note.pack_failure = None;
        }
        self.write_note(entry, note)?;
        entry.forget_files();
        let removed = remove(&other);
        self.count(entry);
        removed
    }
}

impl Depot {
    /// Removes the folder of a run: out of the runs at once, then gone, so that what a kill leaves is
    /// no run. `entry` is held alone.
    pub fn clear(&self, run: &str) -> io::Result<()> {
        self.clear_aside(run)?;
        match fs::rename(self.folder(run), self.aside(run)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => durable::sync_folder(&self.runs())?,
        }
        self.clear_aside(run)
    }
}

fn inode(path: &Path) -> io::Result<u64> {
    Ok(fs::symlink_metadata(path)?.ino())
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
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
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
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
    use crate::collect::beat::Beat;
    use crate::collect::depot::{Sender, Target};
    use crate::collect::note::PackedFile;
    use crate::collect::testing::Folder;
    use hodo_format::ship::Part;

    const RUN: &str = "run";

    fn content(folder: &Path) -> Option<String> {
        fs::read_to_string(folder.join("p1-a/process.json")).ok()
    }

    /// A store with a run as it was shipped, and the same packed beside it.
    fn made(folder: &Folder) -> io::Result<Depot> {
        let depot = Depot::open(folder.path(), None)?;
        let sender = Sender { owner: Some("owner"), most_bytes: None };
        depot.tell(RUN, sender, Beat::done("a")).map_err(|e| io::Error::other(format!("{e:?}")))?;
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
    fn folders_of_tables_are_on_disk_before_what_was_shipped_goes() -> io::Result<()> {
        let folder = Folder::new();
        let depot = made(&folder)?;
        let (new, place) = (depot.packing(RUN), depot.folder(RUN));
        fs::create_dir_all(new.join("tables/spans"))?;
        fs::write(new.join("tables/spans/p1-a.parquet"), "packed")?;
        durable::synced(
            || depot.put_in_place(&*depot.entry(RUN)?, swap(0)),
            |synced| {
                for name in ["", "pack", "tables", "tables/spans"] {
                    assert!(synced.contains(&new.join(name)), "{name} of {synced:?}");
                }
            },
        )?;
        fs::create_dir_all(new.join("tables/marks"))?;
        durable::synced(
            || depot.put_made(RUN, &new),
            |synced| {
                assert!(synced.contains(&new.join("tables/marks")), "{synced:?}");
            },
        )?;
        assert!(place.join("tables/marks").exists());
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

    /// Makes writing the note of the run fail, or work again.
    fn hinder_notes(depot: &Depot, is_hindered: bool) -> io::Result<()> {
        let part = durable::unfinished(&depot.note_path(RUN));
        if is_hindered { fs::create_dir(part) } else { fs::remove_dir(part) }
    }

    #[test]
    fn a_note_that_cannot_be_written_keeps_everyone_out_until_it_can() -> io::Result<()> {
        let folder = Folder::new();
        let depot = made(&folder)?;
        let entry = depot.entry(RUN)?;
        let swap = Swap { more_may_come: false, ..swap(inode(&depot.packing(RUN))?) };
        depot.write_note(&entry, Note { swap: Some(swap), ..note(&depot)? })?;
        exchange(&depot.packing(RUN), &depot.folder(RUN))?;
        hinder_notes(&depot, true)?;
        let part = Part::parse("p1-a").ok_or_else(|| io::Error::other("no part"))?;
        let sender = Sender { owner: Some("owner"), most_bytes: None };
        let target = Target { run: RUN, part: &part, name: "spool-000001.hodo", sender };
        // It would go into the packed run as if nothing of the process were there.
        assert!(depot.append(&target, 0, b"more").is_err());
        assert!(depot.list(RUN, Some("owner")).is_err());
        assert!(depot.tell(RUN, sender, Beat::done("a")).is_err());
        assert!(!depot.folder(RUN).join("p1-a").exists());
        hinder_notes(&depot, false)?;
        assert!(depot.list(RUN, Some("owner")).is_ok_and(|listing| listing.packed));
        let refused = depot.append(&target, 0, b"more").err().map(|refusal| refusal.status);
        assert_eq!(refused.map(|status| status.as_u16()), Some(409), "the process is complete");
        assert!(note(&depot)?.is_packed && !depot.packing(RUN).exists());
        Ok(())
    }

    #[test]
    fn a_return_that_cannot_be_noted_is_finished_at_the_next_try() -> io::Result<()> {
        let folder = Folder::new();
        let depot = made(&folder)?;
        let entry = depot.entry(RUN)?;
        depot.put_in_place(&entry, swap(0))?;
        depot.write_note(&entry, Note { is_returning: true, ..note(&depot)? })?;
        hinder_notes(&depot, true)?;
        assert!(depot.settle(&entry).is_err());
        assert_eq!(
            content(&depot.folder(RUN)).as_deref(),
            Some("shipped"),
            "the folders have moved"
        );
        hinder_notes(&depot, false)?;
        depot.settle(&entry)?;
        assert_eq!(note(&depot)?, Note::new("owner"));
        assert_eq!(content(&depot.folder(RUN)).as_deref(), Some("shipped"));
        assert!(!depot.aside(RUN).exists());
        Ok(())
    }

    #[test]
    fn a_kill_before_a_run_is_marked_as_shipped_leaves_no_way_to_other_files() -> io::Result<()> {
        let folder = Folder::new();
        let depot = made(&folder)?;
        let mark = depot.folder(RUN).join(SHIPPED_FILE);
        fs::remove_file(&mark)?;
        let part = Part::parse("p1-a").ok_or_else(|| io::Error::other("no part"))?;
        let sender = Sender { owner: Some("owner"), most_bytes: None };
        let target = Target { run: RUN, part: &part, name: "spool-000001.hodo", sender };
        assert!(depot.append(&target, 0, b"more").is_ok() && mark.exists());
        fs::remove_file(&mark)?;
        drop(depot);
        let _again = Depot::open(folder.path(), None)?;
        assert!(mark.exists(), "what is there is shown before more comes");
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
    fn a_run_whose_folder_cannot_be_looked_at_is_not_forgotten() -> io::Result<()> {
        let folder = Folder::new();
        let depot = made(&folder)?;
        let place = depot.folder(RUN);
        fs::remove_dir_all(&place)?;
        // Whoever tests may read everything: a link to itself can be followed by nobody.
        std::os::unix::fs::symlink(RUN, &place)?;
        drop(depot);
        let again = Depot::open(folder.path(), None)?;
        assert!(again.noted()?.contains(RUN));
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
