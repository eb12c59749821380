//! What is sent of a run after it was packed.

use super::{Entry, Target, part_key};
use crate::collect::note::{Note, PackedFile};
use crate::collect::refusal::Refusal;
use hodo_format::ship::{self, Part};

/// The length of a file that was packed, if what is sent lies within it.
pub(super) fn packed_length(
    entry: &Entry,
    target: &Target<'_>,
    end: u64,
) -> Result<Option<u64>, Refusal> {
    let Some(note) = entry.note().filter(|note| note.is_packed) else {
        return Ok(None);
    };
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
    bytes: &[u8],
) -> Result<Option<u64>, Refusal> {
    let Some(note) = entry.note().filter(|note| note.is_packed) else {
        return Ok(None);
    };
    let length = bytes.len() as u64;
    let same = |file: &PackedFile| file.crc32c.as_deref() == Some(ship::checksum(bytes).as_str());
    match note.packed_file(&part_key(target.part), target.name) {
        Some(file) if same(file) => Ok(Some(length)),
        // Every host of a run has a `run.json`; the packed one stays.
        _ if *target.part == Part::RUN => Ok(Some(length)),
        Some(file) => Err(packed_already(target, file.length)),
        None if was_packed(&note, target.part) => Err(packed_already(target, 0)),
        None => Ok(None),
    }
}

fn was_packed(note: &Note, part: &Part) -> bool {
    let part = part_key(part);
    note.packed.iter().any(|file| file.part == part)
}

fn packed_already(target: &Target<'_>, length: u64) -> Refusal {
    let (part, run) = (target.part, target.run);
    let words = format!(
        "{part} of {run} was packed when its shipper had said that all of it was shipped; what is \
         new in it cannot be added any more"
    );
    Refusal::conflict(words, length)
}
