//! What is sent of a run after it was packed.

use super::{Entry, Target, part_key};
use crate::collect::durable::{self, has_bytes};
use crate::collect::note::{Note, PackedFile};
use crate::collect::refusal::Refusal;
use hodo_format::ship::{self, Part};
use std::path::Path;

/// The length of a file that was packed, if the `bytes` that are sent for `offset` lie within it.
/// `path` is where it would be.
pub(super) fn packed_length(
    entry: &Entry,
    target: &Target<'_>,
    path: &Path,
    (offset, bytes): (u64, &[u8]),
) -> Result<Option<u64>, Refusal> {
    let Some(note) = entry.note().filter(|note| note.is_packed) else {
        return Ok(None);
    };
    if target.part.is_packed() {
        return same_table(target, path, (offset, bytes)).map(Some);
    }
    let end = offset.saturating_add(bytes.len() as u64);
    match note.packed_file(&part_key(target.part), target.name) {
        Some(file) if end <= file.length => Ok(Some(file.length)),
        Some(file) => Err(packed_already(target, file.length)),
        None if was_packed(&note, target.part) => Err(packed_already(target, 0)),
        None => Ok(None),
    }
}

/// The same for a file that is sent whole.
pub(super) fn packed_whole(
    entry: &Entry,
    target: &Target<'_>,
    path: &Path,
    bytes: &[u8],
) -> Result<Option<u64>, Refusal> {
    // Of two that say what the tables are, the second would hide what the first has.
    if target.part.is_packed() && path.try_exists()? {
        return match path.metadata()?.len() == bytes.len() as u64 {
            true => same_table(target, path, (0, bytes)).map(Some),
            false => Err(other_tables(target, path.metadata()?.len())),
        };
    }
    let Some(note) = entry.note().filter(|note| note.is_packed) else {
        return Ok(None);
    };
    if target.part.is_packed() {
        return Err(other_tables(target, 0));
    }
    let length = bytes.len() as u64;
    let same = |file: &PackedFile| file.crc32c.as_deref() == Some(ship::checksum(bytes).as_str());
    match note.packed_file(&part_key(target.part), target.name) {
        Some(file) if same(file) => Ok(Some(length)),
        // Every host of a run has a `run.json`; the packed one stays.
        _ if *target.part == Part::RUN => Ok(Some(length)),
        // The readings that are not in a file of their own yet: those of the next sampler.
        Some(_) if target.part.is_machine() => Ok(None),
        Some(file) => Err(packed_already(target, file.length)),
        None if was_packed(&note, target.part) => Err(packed_already(target, 0)),
        None => Ok(None),
    }
}

/// Whether a part is complete. A machine never is: a process that begins when all others have ended
/// is sampled into files of its own in the same folder.
fn was_packed(note: &Note, part: &Part) -> bool {
    let key = part_key(part);
    !part.is_machine() && note.packed.iter().any(|file| file.part == key)
}

/// The length of a table that is there with these bytes at that offset.
fn same_table(
    target: &Target<'_>,
    path: &Path,
    (offset, bytes): (u64, &[u8]),
) -> Result<u64, Refusal> {
    let length = if path.try_exists()? { path.metadata()?.len() } else { 0 };
    let is_within = offset.checked_add(bytes.len() as u64).is_some_and(|end| end <= length);
    match is_within && has_bytes(&durable::open(path, false)?, offset, bytes)? {
        true => Ok(length),
        false => Err(other_tables(target, length)),
    }
}

fn other_tables(target: &Target<'_>, length: u64) -> Refusal {
    let words = format!(
        "{} is here already as other tables, which may have more in them; {}",
        target.run,
        remedy(target)
    );
    Refusal::conflict(words, length)
}

/// What makes the collector take a run that it refuses to add to.
fn remedy(target: &Target<'_>) -> String {
    let run = target.run;
    format!(
        "to have this instead, remove it with an admin token (DELETE /api/runs/{run}), then \
         `hodo push` it"
    )
}

fn packed_already(target: &Target<'_>, length: u64) -> Refusal {
    let (part, run) = (target.part, target.run);
    let words = format!(
        "{part} of {run} was packed when its shipper had said that all of it was shipped; what is \
         new in it cannot be added any more; {}",
        remedy(target)
    );
    Refusal::conflict(words, length)
}
