//! One file that grows, and how much of it the collector has.

use crate::frames::Walk;
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes before the end of what a collector says it has that are sent once more, so that it compares:
/// the end of another file would tell.
const OVERLAP: u64 = 4096;

/// A file that grows.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    /// Bytes that the collector holds for good.
    pub(crate) held: u64,
    /// Bytes among these that are to be compared, since it was not this shipper that sent them.
    overlap: u64,
    /// Bytes at this look and at the one before.
    length: u64,
    before: u64,
    /// How far it may be shipped now.
    until: u64,
    walk: Walk,
    /// Tries of the chunk at `held` that came out garbled.
    pub(crate) garbled: u32,
    /// Why it is not shipped any more.
    pub(crate) refused: Option<String>,
}

/// How far a file may be shipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It may still change: whole frames that were there at the look before. A write that failed
    /// half way is taken back by the recorder, which takes no longer than a look.
    Settled,
    /// Whole frames that are there.
    Frames,
    /// All: nobody writes it any more.
    All,
}

impl Growing {
    /// A file of which the collector says that it has `held` bytes.
    pub(crate) fn new(held: u64) -> Growing {
        Growing { held, overlap: held.min(OVERLAP), ..Growing::default() }
    }

    /// The collector says that it has `held` bytes.
    pub(crate) fn found(&mut self, held: u64) {
        (self.held, self.overlap) = (held, held.min(OVERLAP));
    }

    /// The collector took what was sent, and has `held` bytes now.
    pub(crate) fn took(&mut self, held: u64) {
        (self.held, self.overlap, self.garbled) = (held, 0, 0);
    }

    /// Where the next bytes go.
    pub(crate) fn offset(&self) -> u64 {
        self.held - self.overlap
    }

    /// Looks at the file, which has `length` bytes now.
    pub(crate) fn look(&mut self, path: &Path, length: u64, reach: Reach) -> Result<(), Error> {
        self.before = std::mem::replace(&mut self.length, length);
        let known = match reach {
            Reach::Settled => self.before.min(length),
            Reach::Frames | Reach::All => length,
        };
        // The frames are walked in any case: the last one tells whether the recorder has shut down.
        let whole = match known > self.until || reach != Reach::Settled {
            true => self.walk.whole_until(&File::open(path)?, known)?,
            false => self.until,
        };
        match reach {
            Reach::All => self.look_at_all(length),
            Reach::Settled | Reach::Frames => self.until = whole,
        }
        Ok(())
    }

    /// The file has `length` bytes, and cannot be shipped now.
    pub(crate) fn waits(&mut self, length: u64) {
        self.length = length;
    }

    /// Looks at a file that nobody writes any more.
    pub(crate) fn look_at_all(&mut self, length: u64) {
        (self.length, self.until) = (length, length);
        if self.held > length && self.refused.is_none() {
            self.refused = Some("the collector has more of it than there is here".into());
        }
    }

    /// Whether it has the frame that a recorder writes last.
    pub(crate) fn has_ended(&self) -> bool {
        self.walk.ended
    }

    /// Bytes that may be shipped now.
    pub(crate) fn ready(&self) -> u64 {
        if self.refused.is_some() { 0 } else { self.until.saturating_sub(self.held) }
    }

    /// Bytes that the collector does not hold, whether they may be shipped now or not.
    pub(crate) fn backlog(&self) -> u64 {
        if self.refused.is_some() { 0 } else { self.length.saturating_sub(self.held) }
    }

    /// The next bytes to ship into `chunk`, at most as many as its room.
    pub(crate) fn read(&self, path: &Path, chunk: &mut Vec<u8>, most: usize) -> Result<(), Error> {
        let bytes = self.ready() + self.overlap;
        chunk.resize(usize::try_from(bytes).unwrap_or(usize::MAX).min(most), 0);
        match File::open(path)?.read_exact_at(chunk, self.offset()) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(Error::other("became shorter than it was"))
            }
            result => result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hodo_format::spool::{file_header, strings_frame};

    #[test]
    fn what_may_be_taken_back_is_not_shipped_yet() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spool-000001.hodo");
        let mut bytes = file_header(1, 1).to_vec();
        strings_frame(0, 1, &["a"], &mut bytes);
        let whole = bytes.len() as u64;
        std::fs::write(&path, &bytes).unwrap();
        let mut file = Growing::new(0);
        file.look(&path, whole, Reach::Settled).unwrap();
        assert_eq!(file.ready(), 0, "it was not there at the look before");
        bytes.extend_from_slice(&bytes.clone()[64..100]);
        std::fs::write(&path, &bytes).unwrap();
        file.look(&path, bytes.len() as u64, Reach::Settled).unwrap();
        assert_eq!(file.ready(), whole);
        assert_eq!(file.backlog(), bytes.len() as u64);
        file.look(&path, bytes.len() as u64, Reach::Settled).unwrap();
        assert_eq!(file.ready(), whole, "half a frame");
        file.look(&path, bytes.len() as u64, Reach::All).unwrap();
        assert_eq!(file.ready(), bytes.len() as u64, "nobody will write the rest");
        let mut chunk = Vec::new();
        file.took(60);
        file.read(&path, &mut chunk, 10).unwrap();
        assert_eq!(chunk, bytes[60..70]);
        file.read(&path, &mut chunk, 1 << 20).unwrap();
        assert_eq!(chunk, bytes[60..]);
        std::fs::write(&path, "short").unwrap();
        assert!(file.read(&path, &mut chunk, 10).is_err());
    }
}
