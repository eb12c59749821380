//! The files of a process, each read from where the last look ended.

use crate::read::{numbered, plain};
use hodo_format::spool::{FrameSink, Tail};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Of a file that is there before the first look, only the end is read.
const FIRST_BYTES: u64 = 512 << 10;
/// A look takes at least so many bytes where there are as many: a few frames.
const LEAST_BYTES: u64 = 256 << 10;
/// And at most so many of one file, whatever is in them.
const MOST_BYTES: u64 = 16 << 20;

/// So many are read at once.
const PIECE_BYTES: u64 = 1 << 20;

/// What a look at files gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// Bytes read.
    pub(super) bytes: u64,
    /// Bytes left out, since there were too many new ones.
    pub(super) skipped: u64,
    /// Frames that were damaged.
    pub(super) damaged: u64,
}

impl Taken {
    /// How many records each that was read stands for, where some were left out.
    pub(super) fn weight(&self) -> u64 {
        match self.bytes {
            0 => 1,
            bytes => (self.skipped + bytes / 2) / bytes + 1,
        }
    }

    pub(super) fn join(&mut self, other: Taken) {
        self.bytes += other.bytes;
        self.skipped += other.skipped;
        self.damaged += other.damaged;
    }
}

/// One file, read as it grows.
pub(super) struct Growing {
    path: PathBuf,
    file: Option<File>,
    /// Where the bytes behind `rest` begin.
    at: u64,
    /// The beginning of a frame that was not whole.
    rest: Vec<u8>,
    tail: Tail,
}

impl Growing {
    /// A file that is read from its first byte.
    pub(super) fn new(path: PathBuf) -> Growing {
        Growing { path, file: None, at: 0, rest: Vec::new(), tail: Tail::new() }
    }

    /// Reads what is new, at most `most` bytes of it.
    pub(super) fn read(&mut self, most: u64, sink: &mut impl FrameSink) -> Taken {
        let mut taken = Taken::default();
        let Some(length) = self.open() else { return taken };
        let new = length.saturating_sub(self.at);
        if new > most {
            taken.skipped = new - most;
            (self.at, self.tail) = (length - most, Tail::inside());
            self.rest.clear();
        }
        let damaged = self.tail.damaged;
        while let Some(bytes) = self.piece(length).filter(|&bytes| bytes > 0) {
            taken.bytes += bytes;
            let used = self.tail.push(&self.rest, sink);
            self.rest.drain(..used);
        }
        taken.damaged = self.tail.damaged - damaged;
        taken
    }

    /// Reads some more of what is before `length`; how many bytes that was.
    fn piece(&mut self, length: u64) -> Option<u64> {
        let file = self.file.as_mut()?;
        file.seek(SeekFrom::Start(self.at)).ok()?;
        let piece = length.saturating_sub(self.at).min(PIECE_BYTES);
        let bytes = file.take(piece).read_to_end(&mut self.rest).ok()? as u64;
        self.at += bytes;
        Some(bytes)
    }

    /// Its length; none while it is not there.
    fn open(&mut self) -> Option<u64> {
        if self.file.is_none() {
            self.file = plain::open(&self.path).ok();
        }
        Some(self.file.as_ref()?.metadata().ok()?.len())
    }
}

/// The numbered files of one kind, of which the newest grows.
pub(super) struct Numbered {
    folder: PathBuf,
    prefix: &'static str,
    files: BTreeMap<u64, Growing>,
    /// Files up to this number are done with.
    done: u64,
    looked: bool,
    /// Records that a byte holds, as far as is known: from a hundredth to more than one.
    density: f64,
}

impl Numbered {
    pub(super) fn new(folder: &Path, prefix: &'static str) -> Numbered {
        let folder = folder.to_owned();
        Numbered { folder, prefix, files: BTreeMap::new(), done: 0, looked: false, density: 1.0 }
    }

    /// Says how many records came of what was taken.
    pub(super) fn learn(&mut self, taken: Taken, records: u64) {
        if taken.bytes > 0 {
            let density = records as f64 / taken.bytes as f64;
            // A denser part is believed at once, a thinner one slowly: a look never takes long.
            self.density = density.max(0.5 * (self.density + density)).max(1e-3);
        }
    }

    /// Reads what is new in any of them, about `most_records` of the newest at most.
    pub(super) fn read(&mut self, most_records: u64, sink: &mut impl FrameSink) -> Taken {
        let fitting = (most_records as f64 / self.density) as u64;
        let most_bytes = fitting.clamp(LEAST_BYTES, MOST_BYTES);
        let first = !std::mem::replace(&mut self.looked, true);
        let mut there = numbered(&self.folder, self.prefix);
        if first {
            // Of what was there, the end of the newest two is enough: it is about now.
            self.done = there.len().checked_sub(3).map_or(0, |at| there[at].0);
        }
        there.retain(|(number, _)| *number > self.done);
        let newest = there.last().map(|(number, _)| *number);
        for (number, path) in there {
            self.files.entry(number).or_insert_with(|| Growing::new(path));
        }
        let mut taken = Taken::default();
        for file in self.files.values_mut() {
            let mut of_file = file.read(if first { FIRST_BYTES } else { most_bytes }, sink);
            of_file.skipped = if first { 0 } else { of_file.skipped };
            taken.join(of_file);
        }
        // A file that has a follower was read to its end: the follower was there before.
        if let Some(newest) = newest {
            self.done = self.done.max(newest.saturating_sub(1));
            self.files.retain(|number, _| *number >= newest);
        }
        taken
    }
}
