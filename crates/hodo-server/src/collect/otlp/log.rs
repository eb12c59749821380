//! A log of requests: each is there whole, or not at all.

use super::weigh;
use crate::collect::durable;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The file of a log in its folder.
const FILE: &str = "requests.log";
/// Length and checksum, before each request.
const HEAD_BYTES: usize = 8;
/// No request is longer.
const MOST_BYTES: u32 = 64 << 20;

/// A log that is added to.
pub struct Log {
    file: File,
    whole: Whole,
}

/// What of a log is whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Whole {
    /// Bytes.
    pub length: u64,
    /// Spans in them, those that came twice twice.
    pub spans: u64,
}

impl Log {
    /// Opens the log in `folder`, or begins one. What a kill left of a request that was not answered
    /// is cut off. A log of which `known` is known to be whole and all is not read again.
    pub fn open(folder: &Path, known: Option<Whole>) -> io::Result<Log> {
        if let Some(parent) = folder.parent() {
            durable::make_folder(parent)?;
        }
        durable::make_folder(folder)?;
        let path = folder.join(FILE);
        let file = durable::open(&path, true)?;
        let there = file.metadata()?.len();
        if let Some(whole) = known.filter(|whole| whole.length == there) {
            return Ok(Log { file, whole });
        }
        let whole = Requests::new(file.try_clone()?).whole()?;
        file.set_len(whole.length)?;
        file.sync_all()?;
        durable::sync_folder(folder)?;
        Ok(Log { file, whole })
    }

    /// Its bytes.
    pub fn length(&self) -> u64 {
        self.whole.length
    }

    /// Its spans, those that came twice twice.
    pub fn spans(&self) -> u64 {
        self.whole.spans
    }

    /// What of it is whole, which is all.
    pub fn whole(&self) -> Whole {
        self.whole
    }

    /// Adds a request with so many spans; it is durable then.
    pub fn append(&mut self, request: &[u8], spans: u64) -> io::Result<()> {
        let length = u32::try_from(request.len()).ok().filter(|length| *length <= MOST_BYTES);
        let length = length.ok_or_else(|| io::Error::other("a request is too long for its log"))?;
        let head = [length.to_le_bytes(), crc32c::crc32c(request).to_le_bytes()].concat();
        let whole = [&head, request].concat();
        let written = self.file.write_all_at(&whole, self.length());
        if let Err(error) = written.and_then(|()| self.file.sync_data()) {
            // It is not answered, so it comes again.
            let _ = self.file.set_len(self.length());
            return Err(error);
        }
        self.whole.length += whole.len() as u64;
        self.whole.spans += spans;
        Ok(())
    }
}

/// The file of the log in `folder`.
pub fn path(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// The requests of a log, from the first on, as far as they are whole.
pub struct Requests {
    from: BufReader<File>,
    length: u64,
}

impl Requests {
    /// Of an open file.
    fn new(file: File) -> Requests {
        Requests { from: BufReader::with_capacity(1 << 20, file), length: 0 }
    }

    /// Of the log in `folder`.
    pub fn open(folder: &Path) -> io::Result<Requests> {
        File::open(path(folder)).map(Requests::new)
    }

    /// What of them is whole.
    pub fn whole(mut self) -> io::Result<Whole> {
        let mut spans = 0;
        for request in &mut self {
            spans += weigh::spans(&request?);
        }
        Ok(Whole { length: self.length, spans })
    }

    fn one(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut head = [0; HEAD_BYTES];
        if !filled(&mut self.from, &mut head)? {
            return Ok(None);
        }
        let [length, sum] = [0, 4]
            .map(|at| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
        if length > MOST_BYTES {
            return Ok(None);
        }
        let mut request = vec![0; length as usize];
        if !filled(&mut self.from, &mut request)? || crc32c::crc32c(&request) != sum {
            return Ok(None);
        }
        self.length += (HEAD_BYTES + request.len()) as u64;
        Ok(Some(request))
    }
}

impl Iterator for Requests {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        self.one().transpose()
    }
}

/// Fills `buffer`; false where the file ends before.
fn filled(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::testing::Folder;

    fn requests(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
        Requests::open(folder)?.collect()
    }

    #[test]
    fn a_log_cut_anywhere_holds_the_requests_that_are_whole() -> io::Result<()> {
        let folder = Folder::new();
        let at = folder.path().join("logs/one");
        durable::make_folder(&folder.path().join("logs"))?;
        let mut log = Log::open(&at, None)?;
        let sent: Vec<Vec<u8>> = (0..3_u8).map(|n| vec![n; 10 + usize::from(n)]).collect();
        let mut ends = vec![0];
        for request in &sent {
            log.append(request, 1)?;
            ends.push(log.length());
        }
        drop(log);
        let whole = std::fs::read(path(&at))?;
        for length in 0..=whole.len() {
            std::fs::write(path(&at), &whole[..length])?;
            let kept = ends.iter().filter(|end| **end > 0 && **end <= length as u64).count();
            assert_eq!(requests(&at)?, sent[..kept], "{length}");
            let mut log = Log::open(&at, None)?;
            assert_eq!(log.length(), ends[kept], "{length}");
            log.append(b"more", 1)?;
            assert_eq!(requests(&at)?.len(), kept + 1);
        }
        Ok(())
    }
}
