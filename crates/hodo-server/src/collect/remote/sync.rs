//! Runs go to the store, make room here, and come back.

use super::{COMPLETE, Complete, Remote, StoredFile};
use crate::collect::Inside;
use crate::collect::depot::{Entry, usage_bytes};
use crate::collect::note::Note;
use hodo_format::ship::{self, SHIPPED_FILE};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What stays here of a run that is elsewhere: what a list shows.
const KEPT: [&str; 3] = ["run.json", SHIPPED_FILE, "pack/side.json"];

/// Stores the next run that is packed for good and is not there yet; tells which.
pub fn upload_next(inside: &Inside, remote: &dyn Remote) -> io::Result<Option<String>> {
    for run in inside.depot.noted()? {
        let entry = inside.depot.entry(&run)?;
        let is_due = |note: &Note| note.is_packed && !note.is_stored && !note.is_away;
        let Some(note) = entry.note().filter(is_due) else { continue };
        if inside.depot.aside(&run).exists() || !inside.depot.there(&run, true)?.is_empty() {
            continue;
        }
        let changes = entry.changes();
        upload(remote, &run, &inside.depot.folder(&run), &note)?;
        let _alone = entry.alone();
        if entry.changes() == changes && entry.note().as_ref() == Some(&note) {
            inside.depot.write_note(&entry, Note { is_stored: true, ..note })?;
            return Ok(Some(run));
        }
    }
    Ok(None)
}

fn upload(remote: &dyn Remote, run: &str, folder: &Path, note: &Note) -> io::Result<()> {
    let mut complete = Complete {
        format: 1,
        owner: note.owner.clone(),
        packed_s: note.packed_s,
        packed: note.packed.clone(),
        files: Vec::new(),
    };
    // What was stored before is no run until all of it is this one.
    remote.remove(&format!("{run}/{COMPLETE}"))?;
    for path in files(folder)? {
        let Ok(inside) = path.strip_prefix(folder) else { continue };
        let name = inside.to_string_lossy().into_owned();
        let (bytes, crc32c) = sum(&path)?;
        remote.put(&format!("{run}/{name}"), &path)?;
        complete.files.push(StoredFile { path: name, bytes, crc32c });
    }
    let told = tempfile_in(folder.parent().unwrap_or(folder), &serde_json::to_vec(&complete)?)?;
    let stored = remote.put(&format!("{run}/{COMPLETE}"), &told);
    fs::remove_file(&told)?;
    stored
}

/// Lets go of what the store has of a run, but for what a list shows; returns what that freed.
pub fn free(inside: &Inside, run: &str) -> io::Result<u64> {
    let entry = inside.depot.entry(run)?;
    let _alone = entry.alone();
    let Some(note) = entry.note().filter(|note| note.is_stored && !note.is_away) else {
        return Ok(0);
    };
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
    inside.depot.count(&entry);
    Ok(before.saturating_sub(usage_bytes(&folder)))
}

/// Brings a run back that someone asks for.
pub fn download_if_away(inside: &Inside, remote: &dyn Remote, run: &str) -> io::Result<()> {
    let entry = inside.depot.entry(run)?;
    if !entry.note().is_some_and(|note| note.is_away) {
        return Ok(());
    }
    let _alone = entry.alone();
    let Some(note) = entry.note().filter(|note| note.is_away) else { return Ok(()) };
    let new = inside.depot.packing(run);
    let _ = fs::remove_dir_all(&new);
    fs::create_dir(&new)?;
    let complete = complete(remote, run, &new)?.ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("{run} is gone from the store"))
    })?;
    for file in &complete.files {
        fetch(remote, run, file, &new)?;
    }
    // Beats that came since are newer than what was stored.
    fs::copy(inside.depot.folder(run).join(SHIPPED_FILE), new.join(SHIPPED_FILE))?;
    // So did what came after it was packed. It is copied: a kill now leaves it where it is.
    for (part, name, _) in inside.depot.there(run, true)? {
        let to = new.join(part.folder());
        fs::create_dir_all(&to)?;
        fs::copy(inside.depot.folder(run).join(part.folder()).join(&name), to.join(&name))?;
        File::open(to.join(name))?.sync_all()?;
    }
    inside.depot.put_made(run)?;
    inside.depot.write_note(&entry, Note { is_away: false, ..note })?;
    inside.depot.count(&entry);
    Ok(())
}

/// What the store says of a run; none where it is not complete there.
fn complete(remote: &dyn Remote, run: &str, folder: &Path) -> io::Result<Option<Complete>> {
    let path = folder.join(COMPLETE);
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

/// Takes note of runs in the store that are not known here, as of a store's former collector.
pub fn know_all(inside: &Inside, remote: &dyn Remote) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for run in remote.names()?.into_iter().filter(|name| ship::is_run_id(name)) {
        let entry = inside.depot.entry(&run)?;
        if entry.note().is_none() && know(inside, remote, &entry)? {
            found.push(run);
        }
    }
    Ok(found)
}

fn know(inside: &Inside, remote: &dyn Remote, entry: &Entry) -> io::Result<bool> {
    let (run, new) = (&entry.id, inside.depot.packing(&entry.id));
    let _ = fs::remove_dir_all(&new);
    fs::create_dir(&new)?;
    let Some(complete) = complete(remote, run, &new)? else {
        fs::remove_dir_all(&new)?;
        return Ok(false);
    };
    for file in complete.files.iter().filter(|file| KEPT.contains(&file.path.as_str())) {
        fetch(remote, run, file, &new)?;
    }
    let _alone = entry.alone();
    let note = Note {
        is_packed: true,
        packed: complete.packed,
        packed_s: complete.packed_s,
        is_stored: true,
        is_away: true,
        ..Note::new(&complete.owner)
    };
    inside.depot.put_made(run)?;
    inside.depot.write_note(entry, note)?;
    inside.depot.count(entry);
    Ok(true)
}

/// Removes a run from the store: what makes it complete goes first.
pub fn remove(remote: &dyn Remote, run: &str, scratch: &Path) -> io::Result<()> {
    let told = complete(remote, run, scratch)?;
    remote.remove(&format!("{run}/{COMPLETE}"))?;
    for file in told.iter().flat_map(|complete| &complete.files) {
        remote.remove(&format!("{run}/{}", file.path))?;
    }
    Ok(())
}

/// The files in a folder and those inside it, in order.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
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
fn sum(path: &Path) -> io::Result<(u64, u32)> {
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

/// A file beside the runs that nothing reads.
fn tempfile_in(folder: &Path, content: &[u8]) -> io::Result<PathBuf> {
    let path = folder.join(".complete.part");
    fs::write(&path, content)?;
    Ok(path)
}
