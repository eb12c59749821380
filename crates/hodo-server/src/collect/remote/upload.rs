//! Packed runs go to the store, one after another.

use super::sync::{files, sum};
use super::{COMPLETE, Complete, Remote, StoredFile};
use crate::collect::Inside;
use crate::collect::depot::Entry;
use crate::collect::durable;
use crate::collect::janitor::guarded;
use crate::collect::note::Note;
use hodo_format::ship::{Part, SHIPPED_FILE};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Stores the next run that is packed for good and is not there yet; tells which. One with which that
/// fails is in nobody's way, and is tried again later.
pub fn upload_next(inside: &Inside, remote: &dyn Remote) -> io::Result<Option<String>> {
    for run in inside.depot.noted()? {
        if !inside.waits.is_due(&run) {
            continue;
        }
        match guarded(|| Ok(upload_if_due(inside, remote, &run)?)) {
            Ok(false) => inside.waits.worked(&run),
            Ok(true) => {
                inside.waits.worked(&run);
                return Ok(Some(run));
            }
            Err(error) => {
                inside.waits.failed(&run, &format!("{run} cannot be stored: {error}"));
            }
        }
    }
    Ok(None)
}

fn upload_if_due(inside: &Inside, remote: &dyn Remote, run: &str) -> io::Result<bool> {
    let entry = inside.depot.entry(run)?;
    let Some(note) = begin(inside, &entry)? else { return Ok(false) };
    let complete = match put_files(remote, run, &inside.depot.folder(run), &note) {
        // It was removed, or packed anew.
        Err(_) if entry.note().as_ref() != Some(&note) => return Ok(false),
        complete => complete?,
    };
    // Nobody who adds to the run waits for the store, and who removes it leaves the store for later: what
    // says that the run is there is written of a run that is here, or removed with the rest.
    let _storing = entry.storing();
    let is_same = || entry.note().as_ref() == Some(&note);
    if is_same() {
        let told = serde_json::to_vec(&complete)?;
        put_bytes(remote, &format!("{run}/{COMPLETE}"), &inside.depot.runs(), &told)?;
    }
    {
        let _open = entry.shared();
        if is_same() {
            inside.depot.write_note(&entry, Note { is_stored: true, ..note })?;
            return Ok(true);
        }
    }
    // One whose removal is not over removes the rest of it too.
    if entry.note().is_none() {
        let mut left = complete.files.iter();
        left.try_for_each(|file| remote.remove(&format!("{run}/{}", file.path)))?;
    }
    Ok(false)
}

/// The note of a run that is to be stored now; it says that something of the run may be there before
/// anything is, so that a removal looks there whatever fails or is killed.
fn begin(inside: &Inside, entry: &Entry) -> io::Result<Option<Note>> {
    let is_due = |note: &Note| {
        note.is_packed && !note.is_stored && !note.is_away && !note.is_going && !note.is_between()
    };
    let more_may_come = || -> io::Result<bool> {
        let late = inside.depot.there(&entry.id, true)?;
        Ok(inside.depot.aside(&entry.id).exists() || !late.is_empty())
    };
    if !entry.note().as_ref().is_some_and(is_due) || more_may_come()? {
        return Ok(None);
    }
    let _alone = entry.alone();
    let Some(note) = entry.note().filter(is_due) else { return Ok(None) };
    if more_may_come()? {
        return Ok(None);
    }
    let noted = Note { may_be_stored: true, ..note.clone() };
    if noted != note {
        inside.depot.write_note(entry, noted.clone())?;
    }
    Ok(Some(noted))
}

/// Stores the files of a run, and returns what makes it complete.
fn put_files(remote: &dyn Remote, run: &str, folder: &Path, note: &Note) -> io::Result<Complete> {
    let mut complete = Complete {
        format: 1,
        owner: note.owner.clone(),
        packed_s: note.packed_s,
        packed: note.packed.clone(),
        files: Vec::new(),
    };
    // What was stored before is no run until all of it is this one.
    remote.remove(&format!("{run}/{COMPLETE}"))?;
    for (path, name) in packed_files(folder)? {
        let key = format!("{run}/{name}");
        let (bytes, crc32c) = match name == SHIPPED_FILE {
            // Beats replace it at any time.
            true => {
                let told = fs::read(&path)?;
                put_bytes(remote, &key, folder.parent().unwrap_or(folder), &told)?;
                (told.len() as u64, crc32c::crc32c(&told))
            }
            false => {
                let sum = sum(&path)?;
                remote.put(&key, &path)?;
                sum
            }
        };
        complete.files.push(StoredFile { path: name, bytes, crc32c });
    }
    Ok(complete)
}

/// The files of a packed run with their names in it, without what was shipped since.
fn packed_files(folder: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let is_late = |name: &Path| {
        let first = name.components().next().and_then(|step| step.as_os_str().to_str());
        let part = first.filter(|first| folder.join(first).is_dir()).and_then(Part::parse);
        part.is_some_and(|part| part != Part::RUN && !part.is_packed())
    };
    let mut found = Vec::new();
    for path in files(folder)? {
        if let Ok(name) = path.strip_prefix(folder)
            && !is_late(name)
        {
            let name = name.to_string_lossy().into_owned();
            found.push((path, name));
        }
    }
    Ok(found)
}

/// What the store may have of a run that lies in `folder`.
pub fn names(folder: &Path) -> io::Result<Vec<String>> {
    match packed_files(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        found => Ok(found?.into_iter().map(|(_, name)| name).collect()),
    }
}

/// Stores some bytes, by way of a file in `folder` that nothing reads.
fn put_bytes(remote: &dyn Remote, key: &str, folder: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = durable::unfinished(&folder.join(COMPLETE));
    fs::write(&path, bytes)?;
    let stored = remote.put(key, &path);
    fs::remove_file(&path)?;
    stored
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::remote::{folder::Folder as Store, know_all};
    use crate::collect::remove::{remove_rest, remove_run};
    use crate::collect::testing::{Folder, inside, make_packed};
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    /// A store in which something happens when a file of that name was put.
    struct Eventful<'a>(Store, &'a str, Box<dyn Fn() -> io::Result<()> + Send + Sync>);

    impl Remote for Eventful<'_> {
        fn put(&self, key: &str, from: &Path) -> io::Result<()> {
            self.0.put(key, from)?;
            if key.ends_with(self.1) { self.2() } else { Ok(()) }
        }
        fn get(&self, key: &str, to: &Path) -> io::Result<bool> {
            self.0.get(key, to)
        }
        fn remove(&self, key: &str) -> io::Result<()> {
            self.0.remove(key)
        }
        fn names(&self) -> io::Result<Vec<String>> {
            self.0.names()
        }
    }

    fn make_unstored(here: &Inside, run: &str) -> io::Result<()> {
        make_packed(here, run)?;
        let entry = here.depot.entry(run)?;
        let note = entry.note().unwrap_or_default();
        here.depot.write_note(&entry, Note { is_stored: false, ..note })
    }

    #[test]
    fn a_run_that_is_removed_while_it_is_stored_is_not_there_after() -> io::Result<()> {
        let (folder, store) = (Folder::new(), Folder::new());
        let own = Store::open(store.path())?;
        let here = inside(folder.path(), Some(Box::new(own)));
        make_unstored(&here, "run")?;
        let removing: Arc<Inside> = here.clone();
        let remove = move || remove_run(&removing, "run").map(drop);
        let remote = Eventful(Store::open(store.path())?, "p1-a.parquet", Box::new(remove));
        assert_eq!(upload_next(&here, &remote)?, None);
        assert!(!here.depot.folder("run").exists());
        assert_eq!(fs::read_dir(store.path())?.count(), 0, "nothing of it is left");
        assert_eq!(know_all(&here, &remote), [""; 0]);
        Ok(())
    }

    #[test]
    fn who_removes_a_run_does_not_wait_for_a_store_that_is_told_of_it() -> io::Result<()> {
        let (folder, store) = (Folder::new(), Folder::new());
        let own = Store::open(store.path())?;
        let here = inside(folder.path(), Some(Box::new(own)));
        make_unstored(&here, "run")?;
        let removing: Arc<Inside> = here.clone();
        let remove = move || {
            let (removing, (done, is_done)) = (removing.clone(), channel());
            std::thread::spawn(move || done.send(remove_run(&removing, "run").is_ok()));
            let removed = is_done.recv_timeout(Duration::from_secs(120));
            removed.map(drop).map_err(io::Error::other)
        };
        let remote = Eventful(Store::open(store.path())?, COMPLETE, Box::new(remove));
        assert_eq!(upload_next(&here, &remote)?, None);
        assert!(!here.depot.folder("run").exists());
        assert!(here.depot.entry("run")?.note().is_some_and(|note| note.is_going));
        remove_rest(&here, "run")?;
        assert_eq!(fs::read_dir(store.path())?.count(), 0, "nothing of it is left");
        assert!(here.depot.noted()?.is_empty());
        Ok(())
    }

    #[test]
    fn a_kill_while_a_run_is_stored_leaves_a_note_that_says_so() -> io::Result<()> {
        let (folder, store) = (Folder::new(), Folder::new());
        let here = inside(folder.path(), None);
        make_unstored(&here, "run")?;
        let fail = || Err(io::Error::other("not reached"));
        let remote = Eventful(Store::open(store.path())?, "side.json", Box::new(fail));
        assert_eq!(upload_next(&here, &remote)?, None);
        drop(here);
        let own = Store::open(store.path())?;
        let here = inside(folder.path(), Some(Box::new(own)));
        let note = here.depot.entry("run")?.note().unwrap_or_default();
        assert!(note.may_be_stored && !note.is_stored);
        assert!(remove_run(&here, "run")?.is_some());
        assert_eq!(fs::read_dir(store.path())?.count(), 0, "what came there went");
        Ok(())
    }

    #[test]
    fn a_run_that_cannot_be_stored_is_in_nobodys_way() -> io::Result<()> {
        let (folder, store) = (Folder::new(), Folder::new());
        let here = inside(folder.path(), None);
        make_unstored(&here, "a")?;
        make_unstored(&here, "b")?;
        let fail = || Err(io::Error::other("not reached"));
        let remote =
            Eventful(Store::open(store.path())?, "a/tables/spans/p1-a.parquet", Box::new(fail));
        assert_eq!(upload_next(&here, &remote)?.as_deref(), Some("b"));
        let works = Store::open(store.path())?;
        assert_eq!(upload_next(&here, &works)?, None, "not at once");
        here.waits.let_all_be_due();
        assert_eq!(upload_next(&here, &works)?.as_deref(), Some("a"));
        Ok(())
    }
}
