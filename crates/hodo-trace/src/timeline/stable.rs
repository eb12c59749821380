//! What stays the same while a run grows: numbers of tracks and names.

use std::collections::HashMap;

/// Numbers that were given out for a run. Reading it again, when more has been recorded, gives the
/// same ones to what was there before.
#[derive(Debug, Default)]
pub struct Stable {
    names: Vec<String>,
    name_ids: HashMap<String, u32>,
    tracks: HashMap<TrackKey, u32>,
}

/// What a track is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TrackKey {
    /// A thread of a process.
    Thread(u64, u32),
    /// A stream of a process: device, context, stream.
    Stream(u64, [u32; 3]),
}

impl Stable {
    /// The names that boxes refer to by number; more are added at the end only.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn name(&mut self, text: &str) -> u32 {
        if let Some(&id) = self.name_ids.get(text) {
            return id;
        }
        let id = self.names.len() as u32;
        self.names.push(text.to_owned());
        self.name_ids.insert(text.to_owned(), id);
        id
    }

    /// The number of a track, from 1.
    pub(super) fn track(&mut self, key: TrackKey) -> u32 {
        let next = self.tracks.len() as u32 + 1;
        *self.tracks.entry(key).or_insert(next)
    }
}
