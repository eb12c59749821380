//! Runs go to the store, make room here, and come back.

use super::waits::Waits;
use super::{COMPLETE, Complete, Remote, StoredFile};
use crate::collect::Inside;
use crate::collect::depot::{Entry, usage_bytes};
use crate::collect::durable;
use crate::collect::note::Note;
use crate::collect::remove::now;
use hodo_format::ship::{self, SHIPPED_FILE};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind::{InvalidData, UnexpectedEof};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What stays here of a run that is elsewhere: what a list shows.
const KEPT: [&str; 3] = ["run.json", SHIPPED_FILE, "pack/side.json"];

/// Lets go of what the store has of a run that nobody asked for within `unread`, but for what a list
/// shows; returns what that freed.
pub fn free(inside: &Inside, run: &str, unread: Duration) -> io::Result<u64> {
    let entry = inside.depot.entry(run)?;
    let _alone = entry.alone();
    let Some(note) = entry.note().filter(|note| note.is_stored && !note.is_away && !note.is_going)
    else {
        return Ok(0);
    };
    if now().saturating_sub(entry.read()) < unread {
        return Ok(0);
    }
    // What came after it was packed is here alone.
    if !inside.depot.there(run, true)?.is_empty() {
        return Ok(0);
    }
    let folder = inside.depot.folder(run);
    let before = usage_bytes(&folder);
    inside.depot.write_note(&entry, Note { is_away: true, ..note })?;
    for path in files(&folder)? {
        let is_kept =
            path.strip_prefix(&folder).is_ok_and(|name| KEPT.iter().any(|k| name == Path::new(k)));
        if !is_kept {
            fs::remove_file(path)?;
        }
    }
    remove_empty(&folder)?;
    inside.depot.count(&entry);
    Ok(before.saturating_sub(usage_bytes(&folder)))
}

/// Removes the folders in a folder that hold nothing any more.
fn remove_empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_empty(&entry.path())?;
            if fs::read_dir(entry.path())?.next().is_none() {
                fs::remove_dir(entry.path())?;
            }
        }
    }
    Ok(())
}

fn is_away(note: &Note) -> bool {
    note.is_away && !note.is_going
}

/// Someone asks for a run, which is told where it has to be fetched.
pub fn asked(inside: &Inside, run: &str) -> io::Result<Option<Arc<Entry>>> {
    let Some(entry) = inside.depot.known(run)? else { return Ok(None) };
    // One that is being removed may be held for as long as its store takes.
    if entry.note().is_none_or(|note| note.is_going) {
        return Ok(None);
    }
    let is_away = {
        // Whoever makes room has it away before this, or sees that it is asked for.
        let _open = entry.shared();
        entry.was_read(now());
        entry.note().as_ref().is_some_and(is_away)
    };
    Ok(is_away.then_some(entry))
}

/// Brings a run back. Whoever asks holds [`Entry::fetching`]; what is added meanwhile does not wait.
pub fn download_if_away(inside: &Inside, remote: &dyn Remote, entry: &Entry) -> io::Result<()> {
    let Some(before) = entry.note().filter(is_away) else { return Ok(()) };
    let (run, new) = (&entry.id, scratch(inside, &entry.id)?);
    let fetched = fetch_all(remote, run, &new);
    let _alone = entry.alone();
    let note = entry.note().filter(is_away).filter(|note| note.packed == before.packed);
    // It was removed meanwhile, or does not come.
    let (Ok(()), Some(note)) = (&fetched, note) else {
        fs::remove_dir_all(&new)?;
        return fetched;
    };
    // Beats that came since are newer than what was stored.
    fs::copy(inside.depot.folder(run).join(SHIPPED_FILE), new.join(SHIPPED_FILE))?;
    // So did what came after it was packed. It is copied: a kill now leaves it where it is.
    for (part, name, _) in inside.depot.there(run, true)? {
        let to = new.join(part.folder());
        fs::create_dir_all(&to)?;
        fs::copy(inside.depot.folder(run).join(part.folder()).join(&name), to.join(&name))?;
    }
    // The note says that it is here only once that is so for good.
    inside.depot.put_made(run, &new)?;
    inside.depot.write_note(entry, Note { is_away: false, ..note })?;
    inside.depot.count(entry);
    Ok(())
}

/// Fetches all of a run, durably: nobody waits while that takes long.
fn fetch_all(remote: &dyn Remote, run: &str, new: &Path) -> io::Result<()> {
    let complete = complete(remote, run, new)?.ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("{run} is gone from the store"))
    })?;
    complete.files.iter().try_for_each(|file| fetch(remote, run, file, new))?;
    durable::sync_all(new)
}

/// What the store says of a run; none where it is not complete there.
fn complete(remote: &dyn Remote, run: &str, folder: &Path) -> io::Result<Option<Complete>> {
    let path = folder.join(format!(".{run}.{COMPLETE}"));
    if !remote.get(&format!("{run}/{COMPLETE}"), &path)? {
        return Ok(None);
    }
    let complete: Complete = serde_json::from_slice(&fs::read(&path)?)?;
    fs::remove_file(path)?;
    match complete.stays_inside() {
        true => Ok(Some(complete)),
        false => Err(io::Error::other(format!("{run} in the store names files outside of it"))),
    }
}

fn fetch(remote: &dyn Remote, run: &str, file: &StoredFile, to: &Path) -> io::Result<()> {
    let path = to.join(&file.path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let is_there = remote.get(&format!("{run}/{}", file.path), &path)?;
    match is_there && sum(&path)? == (file.bytes, file.crc32c) {
        true => Ok(()),
        false => Err(io::Error::other(format!("{} of {run} is damaged in the store", file.path))),
    }
}

/// Takes note of runs in the store that are not known here, as of a store's former collector. What
/// cannot be read now is told of once and looked at again later.
pub fn know_all(inside: &Inside, remote: &dyn Remote) -> Vec<String> {
    let waits = &inside.waits;
    if !waits.is_due(Waits::LIST) {
        return Vec::new();
    }
    let names = match remote.names() {
        Ok(names) => names,
        Err(error) => {
            waits.failed(Waits::LIST, &format!("the store cannot be listed: {error}"));
            return Vec::new();
        }
    };
    let (mut found, mut is_all) = (Vec::new(), true);
    for run in names.into_iter().filter(|name| ship::is_run_id(name)) {
        match inside.depot.entry(&run).and_then(|entry| know(inside, remote, &entry)) {
            Ok(is_new) => {
                waits.worked(&run);
                found.extend(is_new.then_some(run));
            }
            Err(error) => {
                is_all = false;
                waits.failed(&run, &format!("{run} in the store cannot be read: {error}"));
            }
        }
    }
    match is_all {
        true => waits.worked(Waits::LIST),
        false => waits.failed(Waits::LIST, ""),
    }
    found
}

fn know(inside: &Inside, remote: &dyn Remote, entry: &Entry) -> io::Result<bool> {
    if entry.note().is_some() {
        return Ok(false);
    }
    let _fetching = entry.fetching.blocking_lock();
    let (run, new) = (&entry.id, scratch(inside, &entry.id)?);
    let known = know_in(remote, run, &new);
    let _alone = entry.alone();
    // Whoever ships a run of that name may have begun it meanwhile.
    let (Ok(Some(complete)), None) = (&known, entry.note()) else {
        fs::remove_dir_all(&new)?;
        return known.map(|_| false);
    };
    let note = Note {
        is_packed: true,
        packed: complete.packed.clone(),
        packed_s: complete.packed_s,
        is_stored: true,
        may_be_stored: true,
        is_away: true,
        ..Note::new(&complete.owner)
    };
    inside.depot.put_made(run, &new)?;
    inside.depot.write_note(entry, note)?;
    inside.depot.count(entry);
    Ok(true)
}

/// Fetches what a list shows of a run.
fn know_in(remote: &dyn Remote, run: &str, new: &Path) -> io::Result<Option<Complete>> {
    let Some(complete) = complete(remote, run, new)? else { return Ok(None) };
    for file in complete.files.iter().filter(|file| KEPT.contains(&file.path.as_str())) {
        fetch(remote, run, file, new)?;
    }
    Ok(Some(complete))
}

/// Removes a run from the store: what makes it complete goes first. The note keeps what is to follow,
/// so that it is found again when the store is not reached. `entry` is held alone.
pub fn remove(inside: &Inside, remote: &dyn Remote, entry: &Entry) -> io::Result<()> {
    let (run, Some(note)) = (&entry.id, entry.note().filter(Note::may_be_elsewhere)) else {
        return Ok(());
    };
    // What is written behind this would stay.
    let being_stored = || io::Error::new(io::ErrorKind::WouldBlock, "it is just being stored");
    let _storing = entry.try_storing().ok_or_else(being_stored)?;
    let mut going: BTreeSet<String> = note.going.iter().cloned().collect();
    let complete = match complete(remote, run, inside.depot.dir()) {
        // What makes it complete says nothing, and goes all the same.
        Err(error) if matches!(error.kind(), InvalidData | UnexpectedEof) => None,
        complete => complete?,
    };
    if let Some(complete) = complete {
        going.extend(complete.files.into_iter().map(|file| file.path));
        let going = going.iter().cloned().collect();
        inside.depot.write_note(entry, Note { going, ..note })?;
    }
    remote.remove(&format!("{run}/{COMPLETE}"))?;
    going.iter().try_for_each(|path| remote.remove(&format!("{run}/{path}")))
}

/// An empty folder for what is fetched of a run.
fn scratch(inside: &Inside, run: &str) -> io::Result<PathBuf> {
    let new = inside.depot.fetched(run);
    match fs::remove_dir_all(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir(&new)?;
    Ok(new)
}

/// The files in a folder and those inside it, in order.
pub(super) fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    found.sort();
    Ok(found)
}

/// Length and CRC32C of a file.
pub(super) fn sum(path: &Path) -> io::Result<(u64, u32)> {
    let (mut file, mut buffer) = (File::open(path)?, vec![0; 1 << 20]);
    let (mut bytes, mut crc32c) = (0, 0);
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((bytes, crc32c));
        }
        (bytes, crc32c) = (bytes + read as u64, crc32c::crc32c_append(crc32c, &buffer[..read]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::note::Swap;
    use crate::collect::remote::folder::Folder as Store;
    use crate::collect::remote::upload_next;
    use crate::collect::remove::{remove_rest, remove_run};
    use crate::collect::testing::{Folder, inside, make_packed, send};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::{Receiver, channel};

    const LATELY: Duration = Duration::from_secs(60);

    #[test]
    fn what_came_after_it_was_stored_is_not_let_go() -> io::Result<()> {
        let folder = Folder::new();
        let inside = inside(folder.path(), None);
        make_packed(&inside, "run")?;
        assert_eq!(send(&inside, "run", "p2-b", b"late"), Some(4));
        let late = inside.depot.folder("run").join("p2-b");
        assert_eq!(free(&inside, "run", LATELY)?, 0);
        assert_eq!(fs::read(late.join("spool-000001.hodo"))?, b"late");
        assert!(!inside.depot.entry("run")?.note().is_some_and(|note| note.is_away));
        // Without it the rest makes room, and what a list shows stays.
        fs::remove_dir_all(late)?;
        assert!(free(&inside, "run", LATELY)? > 0);
        let folder = inside.depot.folder("run");
        assert!(folder.join("pack/side.json").exists());
        assert!(!folder.join("tables/spans/p1-a.parquet").exists());
        Ok(())
    }

    /// Stores a run that its note says is stored.
    fn store_now(here: &Inside, remote: &dyn Remote, run: &str) -> io::Result<()> {
        let entry = here.depot.entry(run)?;
        let note = entry.note().unwrap_or_default();
        here.depot.write_note(&entry, Note { is_stored: false, ..note })?;
        assert_eq!(upload_next(here, remote)?.as_deref(), Some(run));
        Ok(())
    }

    /// A store that is not reached when something is to be removed, but for so many times.
    struct Unsteady(Store, Arc<AtomicU32>);

    impl Remote for Unsteady {
        fn put(&self, key: &str, from: &Path) -> io::Result<()> {
            self.0.put(key, from)
        }
        fn get(&self, key: &str, to: &Path) -> io::Result<bool> {
            self.0.get(key, to)
        }
        fn remove(&self, key: &str) -> io::Result<()> {
            let take = |left: u32| left.checked_sub(1);
            match self.1.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
                Ok(_) => self.0.remove(key),
                Err(_) => Err(io::Error::other("not reached")),
            }
        }
        fn names(&self) -> io::Result<Vec<String>> {
            self.0.names()
        }
    }

    #[test]
    fn a_removal_that_failed_elsewhere_is_finished_later() -> io::Result<()> {
        // Nothing of it worked, or some.
        for reached in 0..3 {
            let (folder, store) = (Folder::new(), Folder::new());
            let works = Arc::new(AtomicU32::new(u32::MAX));
            let remote = Unsteady(Store::open(store.path())?, works.clone());
            let here = inside(folder.path(), Some(Box::new(remote)));
            make_packed(&here, "run")?;
            let remote = Store::open(store.path())?;
            store_now(&here, &remote, "run")?;
            works.store(reached, Ordering::SeqCst);
            assert!(remove_run(&here, "run")?.is_some());
            assert!(!here.depot.folder("run").exists(), "here it is gone");
            assert!(send(&here, "run", "p1-a", b"again").is_none(), "not before it is gone there");
            // Also after a restart.
            drop(here);
            let here = inside(folder.path(), Some(Box::new(Store::open(store.path())?)));
            assert_eq!(know_all(&here, &remote), [""; 0], "it does not come back");
            remove_rest(&here, "run")?;
            assert_eq!(fs::read_dir(store.path())?.count(), 0, "{reached}");
            assert!(here.depot.noted()?.is_empty());
            assert!(send(&here, "run", "p1-a", b"again").is_some());
        }
        Ok(())
    }

    #[test]
    fn a_run_that_was_packed_again_goes_from_the_store_too() -> io::Result<()> {
        let (folder, store) = (Folder::new(), Folder::new());
        let works = Arc::new(AtomicU32::new(u32::MAX));
        let remote = Unsteady(Store::open(store.path())?, works.clone());
        let here = inside(folder.path(), Some(Box::new(remote)));
        make_packed(&here, "run")?;
        let remote = Store::open(store.path())?;
        store_now(&here, &remote, "run")?;
        let entry = here.depot.entry("run")?;
        fs::create_dir_all(here.depot.packing("run").join("pack"))?;
        fs::write(here.depot.packing("run").join("pack/side.json"), "packed again")?;
        let swap = Swap { inode: 0, packed: Vec::new(), more_may_come: false };
        here.depot.put_in_place(&entry, swap)?;
        assert!(entry.note().is_some_and(|note| !note.is_stored), "it is another than the stored");
        works.store(0, Ordering::SeqCst);
        assert!(remove_run(&here, "run")?.is_some());
        drop((entry, here));
        let here = inside(folder.path(), Some(Box::new(Store::open(store.path())?)));
        assert_eq!(know_all(&here, &remote), [""; 0], "it does not come back");
        remove_rest(&here, "run")?;
        assert_eq!(fs::read_dir(store.path())?.count(), 0);
        drop(here);
        let here = inside(folder.path(), None);
        assert_eq!(know_all(&here, &remote), [""; 0]);
        Ok(())
    }

    #[test]
    fn what_cannot_be_read_in_the_store_hides_no_other_run() -> io::Result<()> {
        let (folder, store) = (Folder::new(), Folder::new());
        let here = inside(folder.path(), None);
        let remote = Store::open(store.path())?;
        for run in ["a", "b", "c"] {
            make_packed(&here, run)?;
            store_now(&here, &remote, run)?;
        }
        drop(here);
        let whole = fs::read(store.path().join("b/complete.json"))?;
        fs::write(store.path().join("b/complete.json"), "half of")?;
        let other = Folder::new();
        let here = inside(other.path(), None);
        let mut found = know_all(&here, &remote);
        found.sort();
        assert_eq!(found, ["a", "c"]);
        assert!(!here.depot.fetched("b").exists());
        fs::write(store.path().join("b/complete.json"), whole)?;
        assert_eq!(know_all(&here, &remote), [""; 0], "not at once");
        here.waits.let_all_be_due();
        assert_eq!(know_all(&here, &remote), ["b"]);
        assert_eq!(know_all(&here, &remote), [""; 0], "that is all");
        Ok(())
    }

    #[test]
    fn a_run_that_is_shipped_while_the_store_is_listed_stays() -> io::Result<()> {
        let (folder, store) = (Folder::new(), Folder::new());
        let remote = Store::open(store.path())?;
        let here = inside(folder.path(), None);
        make_packed(&here, "run")?;
        store_now(&here, &remote, "run")?;
        let other = Folder::new();
        let here = inside(other.path(), None);
        send(&here, "run", "p1-a", b"spans");
        assert_eq!(know_all(&here, &remote), [""; 0]);
        let spool = here.depot.folder("run").join("p1-a/spool-000001.hodo");
        assert_eq!(fs::read(spool)?, b"spans");
        Ok(())
    }

    /// Someone asks for the run, and it comes.
    fn bring_back(here: &Inside, remote: &dyn Remote) -> io::Result<()> {
        let entry = asked(here, "run")?.ok_or_else(|| io::Error::other("it is here"))?;
        download_if_away(here, remote, &entry)
    }

    /// A store that gives nothing before it is told to.
    struct Hanging(Store, Mutex<Receiver<()>>);

    impl Remote for Hanging {
        fn put(&self, key: &str, from: &Path) -> io::Result<()> {
            self.0.put(key, from)
        }
        fn get(&self, key: &str, to: &Path) -> io::Result<bool> {
            // Once, and from then on it works.
            let _ = self.1.lock().map(|told| told.recv());
            self.0.get(key, to)
        }
        fn remove(&self, key: &str) -> io::Result<()> {
            self.0.remove(key)
        }
        fn names(&self) -> io::Result<Vec<String>> {
            self.0.names()
        }
    }

    #[test]
    fn a_store_that_hangs_keeps_nobody_from_adding_to_a_run() -> io::Result<()> {
        let (folder, store) = (Folder::new(), Folder::new());
        let here = inside(folder.path(), None);
        make_packed(&here, "run")?;
        let own = Store::open(store.path())?;
        store_now(&here, &own, "run")?;
        assert!(free(&here, "run", LATELY)? > 0);
        let (tell, told) = channel();
        let remote = Hanging(own, Mutex::new(told));
        std::thread::scope(|scope| {
            let fetching = scope.spawn(|| bring_back(&here, &remote));
            while !here.depot.fetched("run").exists() {
                std::thread::yield_now();
            }
            let (done, is_done) = channel();
            let adding = &here;
            scope.spawn(move || done.send(send(adding, "run", "p2-b", b"late")));
            let added = is_done.recv_timeout(Duration::from_secs(120));
            drop(tell);
            assert_eq!(added.ok().flatten(), Some(4), "it waited for the store");
            fetching.join().unwrap_or_else(|_| Err(io::Error::other("a panic")))
        })?;
        let place = here.depot.folder("run");
        assert!(place.join("tables/spans/p1-a.parquet").exists());
        assert_eq!(fs::read(place.join("p2-b/spool-000001.hodo"))?, b"late");
        Ok(())
    }

    #[test]
    fn a_run_that_is_removed_while_it_is_fetched_does_not_come_back() -> io::Result<()> {
        let (folder, store) = (Folder::new(), Folder::new());
        let here = inside(folder.path(), None);
        make_packed(&here, "run")?;
        let own = Store::open(store.path())?;
        store_now(&here, &own, "run")?;
        assert!(free(&here, "run", LATELY)? > 0);
        let (tell, told) = channel();
        let remote = Hanging(own, Mutex::new(told));
        std::thread::scope(|scope| {
            let fetching = scope.spawn(|| bring_back(&here, &remote));
            while !here.depot.fetched("run").exists() {
                std::thread::yield_now();
            }
            assert!(remove_run(&here, "run")?.is_some());
            drop(tell);
            fetching.join().unwrap_or_else(|_| Err(io::Error::other("a panic")))
        })?;
        assert!(!here.depot.folder("run").exists() && !here.depot.fetched("run").exists());
        Ok(())
    }

    #[test]
    fn a_run_that_someone_reads_is_not_let_go() -> io::Result<()> {
        let (folder, store) = (Folder::new(), Folder::new());
        let here = inside(folder.path(), None);
        make_packed(&here, "run")?;
        let remote = Store::open(store.path())?;
        store_now(&here, &remote, "run")?;
        assert!(free(&here, "run", LATELY)? > 0);
        bring_back(&here, &remote)?;
        assert_eq!(free(&here, "run", LATELY)?, 0, "the next question comes soon");
        assert!(here.depot.folder("run").join("tables/spans/p1-a.parquet").exists());
        // Nobody asked since the next start.
        drop(here);
        let here = inside(folder.path(), None);
        assert!(free(&here, "run", LATELY)? > 0);
        Ok(())
    }

    #[test]
    fn what_comes_back_is_for_its_owner_alone() -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let (folder, store) = (Folder::new(), Folder::new());
        let here = inside(folder.path(), None);
        make_packed(&here, "run")?;
        let remote = Store::open(store.path())?;
        store_now(&here, &remote, "run")?;
        free(&here, "run", LATELY)?;
        let file = store.path().join("run/tables/spans/p1-a.parquet");
        fs::set_permissions(file, fs::Permissions::from_mode(0o644))?;
        bring_back(&here, &remote)?;
        let mode = |path: &str| {
            let path = here.depot.folder("run").join(path);
            path.metadata().map(|about| about.permissions().mode() & 0o777)
        };
        assert_eq!((mode("tables/spans")?, mode("tables/spans/p1-a.parquet")?), (0o700, 0o600));
        Ok(())
    }
}
