//! What the collector keeps of a run beside its files: whose it is, and what was packed.

use super::durable;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// Beside the runs, one file for each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Version of this file.
    pub format: u32,
    /// Id of the ingest token that began the run; no other may write to it.
    pub owner: String,
    /// Whether it was packed: its folder is another than the one that was shipped.
    #[serde(default)]
    pub is_packed: bool,
    /// The files that were packed, as they were shipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packed: Vec<PackedFile>,
    /// Seconds since 1970 when it was packed.
    #[serde(default)]
    pub packed_s: u64,
    /// A packed run that is complete and changes places with what was shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swap: Option<Swap>,
    /// Whether the packed run is in the store elsewhere, whole.
    #[serde(default)]
    pub is_stored: bool,
    /// Whether something of it may be there, of this packing or one before: a removal looks there.
    #[serde(default)]
    pub may_be_stored: bool,
    /// Whether it is there alone, but for what a list shows.
    #[serde(default)]
    pub is_away: bool,
    /// Whether what was shipped is on its way back, since more of it came.
    #[serde(default)]
    pub is_returning: bool,
    /// Whether the run is being removed, here and elsewhere.
    #[serde(default)]
    pub is_going: bool,
    /// Files of it in the store elsewhere that are still to be removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub going: Vec<String>,
    /// How often packing it began and was not heard of again.
    #[serde(default)]
    pub pack_tries: u32,
    /// Seconds since 1970 when it is tried again, after that was too often.
    #[serde(default)]
    pub pack_next_s: u64,
    /// Why it is not packed although it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack_failure: Option<String>,
}

/// What a start after a kill has to finish, or to undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swap {
    /// The inode of the new folder, by which it is known wherever it is.
    pub inode: u64,
    /// The files it was made of.
    pub packed: Vec<PackedFile>,
    /// Whether more of them may come, so that they are kept for a while.
    pub more_may_come: bool,
}

/// A file as it was shipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedFile {
    /// The folder in the run; empty for the run's own.
    pub part: String,
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub length: u64,
    /// Of a replaced file, the checksum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crc32c: Option<String>,
}

impl Note {
    /// Version of the file.
    const FORMAT: u32 = 1;

    /// Of a run that begins.
    pub fn new(owner: &str) -> Note {
        Note { format: Note::FORMAT, owner: owner.to_owned(), ..Note::default() }
    }

    /// The note in `path`; none where there is none.
    pub fn read(path: &Path) -> io::Result<Option<Note>> {
        match std::fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| {
                let words = format!("{} is damaged: {error}", path.display());
                io::Error::new(io::ErrorKind::InvalidData, words)
            }),
        }
    }

    /// Writes it durably.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        durable::replace(path, &serde_json::to_vec(self)?)
    }

    /// Whether its folders are between two places, as a failure or a kill may leave them.
    pub fn is_between(&self) -> bool {
        self.swap.is_some() || self.is_returning
    }

    /// Whether a removal has to look in the store elsewhere. Notes of older collectors say only
    /// whether the run is there whole.
    pub fn may_be_elsewhere(&self) -> bool {
        self.may_be_stored || self.is_stored
    }

    /// A file that was packed.
    pub fn packed_file(&self, part: &str, name: &str) -> Option<&PackedFile> {
        self.packed.iter().find(|file| file.part == part && file.name == name)
    }
}
