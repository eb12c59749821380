//! What was shipped of a packed run takes its place again, with what came after it was packed.

use super::swap::exchange;
use super::{Depot, Entry, durable, lock};
use crate::collect::note::Note;
use hodo_format::ship::{Kind, SHIPPED_FILE};
use std::fs;
use std::io;
use std::path::Path;

impl Depot {
    /// Takes back what was shipped of a packed run, with what came after. `entry` is held alone.
    pub fn give_back(&self, entry: &Entry) -> io::Result<()> {
        let Some(note) = entry.note() else { return Ok(()) };
        self.write_note(entry, Note { is_returning: true, ..note })?;
        self.finish_return(entry)
    }

    pub(super) fn finish_return(&self, entry: &Entry) -> io::Result<()> {
        let Some(note) = entry.note() else { return Ok(()) };
        let (run, aside) = (self.folder(&entry.id), self.aside(&entry.id));
        let is_packed = |folder: &Path| hodo_trace::packed::is_packed(folder);
        if is_packed(&run) && aside.exists() && !is_packed(&aside) {
            for (part, name, kind) in self.there(&entry.id, true)? {
                let [from, to] = [&run, &aside].map(|folder| folder.join(part.folder()));
                durable::make_folder(&to)?;
                add_file(&from.join(&name), &to.join(&name), kind)?;
                durable::sync_folder(&to)?;
            }
            // Whatever is cut, the place of the run holds one that says when it was heard of last.
            durable::replace(&aside.join(SHIPPED_FILE), &fs::read(run.join(SHIPPED_FILE))?)?;
            exchange(&aside, &run)?;
            durable::sync_parent(&run)?;
        }
        let may_be_stored = note.may_be_elsewhere();
        self.write_note(entry, Note { may_be_stored, ..Note::new(&note.owner) })?;
        entry.forget_files();
        for file in note.packed.iter().filter(|file| file.crc32c.is_none()) {
            // Only what was on disk for good was packed by that length.
            lock(&entry.file(&file.part, &file.name)).length = Some(file.length);
        }
        let cleared = self.clear_aside(&entry.id);
        self.count(entry);
        cleared
    }
}

/// Moves a file that came later to those that were shipped: a machine's folder may be among them
/// already. Of a file that is replaced the later one is the newer; one that only grows is the longer.
fn add_file(from: &Path, to: &Path, kind: Kind) -> io::Result<()> {
    let about = |path: &Path| fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
    let length = |path: &Path| about(path).map_or(0, |file| file.len());
    match kind {
        Kind::Appended if length(to) > length(from) => Ok(()),
        _ => fs::rename(from, to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::note::{PackedFile, Swap};
    use crate::collect::testing::{Folder, SENDER, send};
    use hodo_format::ship::Part;
    use std::path::PathBuf;

    const MACHINE: &str = "machine-gpu1-1a";

    /// A run of a machine that was packed when it had fallen silent.
    fn packed(depot: &Depot) -> io::Result<std::sync::Arc<Entry>> {
        let part = Part::parse(MACHINE).ok_or_else(|| io::Error::other("no part"))?;
        let refused = |refusal| io::Error::other(format!("{refusal:?}"));
        let file = |name| super::super::Target { run: "run", part: &part, name, sender: SENDER };
        depot.append(&file("samples-000001.hodo"), 0, b"first").map_err(refused)?;
        depot.replace(&file("samples.live"), b"old").map_err(refused)?;
        fs::create_dir_all(depot.packing("run").join("pack"))?;
        fs::write(depot.packing("run").join("pack/side.json"), "packed")?;
        let packed = |name: &str, length, crc32c| PackedFile {
            part: MACHINE.to_owned(),
            name: name.to_owned(),
            length,
            crc32c,
        };
        let files = vec![
            packed("samples-000001.hodo", 5, None),
            packed("samples.live", 3, Some("0".to_owned())),
        ];
        let entry = depot.entry("run")?;
        let swap = Swap { inode: 0, packed: files, more_may_come: true };
        depot.put_in_place(&entry, swap)?;
        // Another process of the run began on that machine.
        depot.append(&file("samples-000002.hodo"), 0, b"second").map_err(refused)?;
        depot.replace(&file("samples.live"), b"newer").map_err(refused)?;
        assert!(depot.folder("run").join(MACHINE).is_dir() && depot.aside("run").exists());
        Ok(entry)
    }

    fn assert_all_is_there(folder: &Path) -> io::Result<()> {
        let machine: PathBuf = folder.join(MACHINE);
        assert_eq!(fs::read(machine.join("samples-000001.hodo"))?, b"first");
        assert_eq!(fs::read(machine.join("samples-000002.hodo"))?, b"second");
        assert_eq!(fs::read(machine.join("samples.live"))?, b"newer");
        assert!(!folder.join("pack").exists() && folder.join(SHIPPED_FILE).exists());
        Ok(())
    }

    #[test]
    fn late_files_of_a_machine_join_those_that_were_shipped() -> io::Result<()> {
        let folder = Folder::new();
        let depot = Depot::open(folder.path(), None)?;
        let entry = packed(&depot)?;
        depot.give_back(&entry)?;
        assert_all_is_there(&depot.folder("run"))?;
        assert_eq!(entry.note(), Some(Note::new("owner")));
        assert!(!depot.aside("run").exists());
        Ok(())
    }

    #[test]
    fn they_do_so_from_every_cut() -> io::Result<()> {
        for moved in 0..=2 {
            let folder = Folder::new();
            let depot = Depot::open(folder.path(), None)?;
            let entry = packed(&depot)?;
            let note = entry.note().unwrap_or_default();
            depot.write_note(&entry, Note { is_returning: true, ..note })?;
            let [from, to] =
                [depot.folder("run"), depot.aside("run")].map(|folder| folder.join(MACHINE));
            for name in ["samples.live", "samples-000002.hodo"].iter().take(moved) {
                fs::rename(from.join(name), to.join(name))?;
            }
            drop((entry, depot));
            let again = Depot::open(folder.path(), None)?;
            assert_all_is_there(&again.folder("run"))?;
        }
        Ok(())
    }

    #[test]
    fn a_run_that_cannot_be_settled_keeps_no_other_from_starting() -> io::Result<()> {
        let folder = Folder::new();
        let here = crate::collect::testing::inside(folder.path(), None);
        send(&here, "other", "p1-a", b"spans");
        let entry = packed(&here.depot)?;
        let note = entry.note().unwrap_or_default();
        here.depot.write_note(&entry, Note { is_returning: true, ..note })?;
        // A folder where a file is to be.
        let hindrance = here.depot.aside("run").join(MACHINE).join("samples-000002.hodo");
        fs::create_dir_all(hindrance.join("inside"))?;
        drop((entry, here));
        let again = Depot::open(folder.path(), None)?;
        assert!(again.list("other", None).is_ok_and(|listing| listing.files.len() == 1));
        assert!(again.list("run", None).is_err(), "what is told of it would not be so");
        fs::remove_dir_all(hindrance)?;
        assert!(again.list("run", None).is_ok_and(|listing| listing.files.len() == 3));
        assert_all_is_there(&again.folder("run"))
    }

    #[test]
    fn a_note_that_is_damaged_keeps_no_other_from_starting() -> io::Result<()> {
        let folder = Folder::new();
        let here = crate::collect::testing::inside(folder.path(), None);
        send(&here, "other", "p1-a", b"spans");
        packed(&here.depot)?;
        drop(here);
        fs::write(folder.path().join("notes/run"), "half of")?;
        let again = Depot::open(folder.path(), None)?;
        assert!(again.list("other", None).is_ok_and(|listing| listing.files.len() == 1));
        assert!(again.list("run", None).is_err());
        assert!(again.aside("run").exists(), "nobody knows what it is");
        Ok(())
    }
}
