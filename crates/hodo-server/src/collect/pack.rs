//! Runs that have ended become Parquet tables, one at a time and behind all else.

use super::Inside;
use super::depot::{Entry, part_key};
use super::note::{Note, PackedFile, Swap};
use super::remove::{heard, is_live, now};
use hodo_convert::parquet;
use hodo_format::ship::Kind;
use hodo_trace::packed::{self, Fingerprint};
use hodo_trace::{ReadOptions, Run, Shipped};
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What was shipped of a run that was packed when its hosts had fallen silent is kept so long: a
/// shipper gives up after a day without its collector.
const ASIDE_TIME: Duration = Duration::from_secs(36 * 3600);

/// Why a run is not packed now.
#[derive(Debug)]
pub enum NotPacked {
    /// There is nothing to pack, or more may come.
    NotYet,
    /// More came while it was packed; it is packed later.
    Grew,
    /// It cannot be read whole, so what was shipped stays as the evidence.
    Damaged(String),
    /// Something else.
    Failed(String),
}

impl From<io::Error> for NotPacked {
    fn from(error: io::Error) -> NotPacked {
        NotPacked::Failed(error.to_string())
    }
}

/// Packs a run if it has ended.
pub fn pack_if_ended(inside: &Inside, run: &str, quiet_after: Duration) -> Result<(), NotPacked> {
    let depot = &inside.depot;
    let (entry, folder) = (depot.entry(run)?, depot.folder(run));
    let note = entry.note().filter(|note| !note.is_away).ok_or(NotPacked::NotYet)?;
    let shipped = Shipped::read(&folder).ok_or(NotPacked::NotYet)?;
    let is_quiet = now().saturating_sub(heard(&folder)) > quiet_after
        // While there was no collector nobody could be heard.
        && entry.quiet().unwrap_or_else(|| inside.began.elapsed()) > quiet_after;
    if is_live(&folder) || !(shipped.is_done() || is_quiet) || !Run::is_at(&folder) {
        return Err(NotPacked::NotYet);
    }
    let changes = entry.changes();
    let files = files(inside, &entry, &note)?;
    if files.len() <= note.packed.len() {
        return Err(NotPacked::NotYet);
    }
    if note.is_packed {
        pack_anew(inside, &entry, shipped.is_done())?;
    }
    make(inside, run)?;
    let _alone = entry.alone();
    if entry.changes() != changes
        || Shipped::read(&folder).is_some_and(|now| now.hosts != shipped.hosts && now.is_live())
    {
        std::fs::remove_dir_all(depot.packing(run))?;
        return Err(NotPacked::Grew);
    }
    let swap = Swap { inode: 0, packed: files, more_may_come: !shipped.is_done() };
    depot.put_in_place(&entry, swap)?;
    depot.count(&entry);
    inside.counters.packed.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// More came after a run was packed. As long as all that was shipped is there, it is packed from
/// that; else what is packed and what came are packed together, once nothing more can come.
fn pack_anew(inside: &Inside, entry: &Entry, is_done: bool) -> Result<(), NotPacked> {
    if inside.depot.aside(&entry.id).exists() {
        let _alone = entry.alone();
        inside.depot.give_back(entry)?;
        return Err(NotPacked::NotYet);
    }
    let silent = now().saturating_sub(heard(&inside.depot.folder(&entry.id)));
    if is_done || silent > ASIDE_TIME { Ok(()) } else { Err(NotPacked::NotYet) }
}

/// The files a run was shipped as: those that were packed before, and those in its folder.
fn files(inside: &Inside, entry: &Entry, note: &Note) -> Result<Vec<PackedFile>, NotPacked> {
    let folder = inside.depot.folder(&entry.id);
    if !note.is_packed && packed::is_packed(&folder) {
        // It was pushed as it is.
        return Err(NotPacked::NotYet);
    }
    let mut files = note.packed.clone();
    for (part, name, kind) in inside.depot.there(&entry.id, note.is_packed)? {
        let path = folder.join(part.folder()).join(&name);
        let length = path.metadata()?.len();
        let crc32c = match kind {
            Kind::Replaced => Some(hodo_format::ship::checksum(&std::fs::read(&path)?)),
            Kind::Appended => None,
        };
        files.push(PackedFile { part: part_key(&part), name, length, crc32c });
    }
    Ok(files)
}

/// Writes the packed run beside the store's runs, and reads it back.
fn make(inside: &Inside, run: &str) -> Result<(), NotPacked> {
    let failed = |error: String| NotPacked::Failed(error);
    let (folder, to) = (inside.depot.folder(run), inside.depot.packing(run));
    let options = ReadOptions::default();
    let read = Run::open(&folder, &options).map_err(|error| failed(error.to_string()))?;
    if let Some(bytes) = read.unreadable_bytes() {
        return Err(NotPacked::Damaged(format!("{bytes} bytes of it cannot be read")));
    }
    let made_of = Fingerprint::of(&read);
    match std::fs::remove_dir_all(&to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    parquet::write(&read, &to, &|_, _| {}).map_err(|error| failed(error.to_string()))?;
    drop(read);
    let again = Run::open(&to, &options).map_err(|error| failed(error.to_string()))?;
    match made_of.difference(&Fingerprint::of(&again)) {
        None => Ok(()),
        Some(what) => {
            std::fs::remove_dir_all(&to)?;
            Err(failed(format!("it does not read back as it was written: {what} differs")))
        }
    }
}

/// Lets go of what was shipped of runs that were packed long ago.
pub fn clear_old(inside: &Inside, run: &str) -> io::Result<()> {
    let entry = inside.depot.entry(run)?;
    let Some(note) = entry.note().filter(|note| note.is_packed) else { return Ok(()) };
    let age = now().saturating_sub(Duration::from_secs(note.packed_s));
    if age < ASIDE_TIME || !inside.depot.aside(run).exists() {
        return Ok(());
    }
    let _alone = entry.alone();
    inside.depot.clear_aside(run)?;
    inside.depot.count(&entry);
    Ok(())
}
