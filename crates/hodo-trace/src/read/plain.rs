//! Files of a run, which came from anywhere: plain ones are opened, and of those that are read whole
//! only what may be one.

use hodo_format::spool::Source;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// A JSON file of a run, or a page of counts, is not longer.
pub(crate) const MOST_JSON_BYTES: u64 = 16 << 20;

/// Opens a plain file. A pipe would keep its reader waiting, and a device may do anything.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let plain = |is_plain: bool| match is_plain {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file")),
    };
    plain(std::fs::metadata(path)?.is_file())?;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    // It may be another one by now.
    plain(file.metadata()?.is_file())?;
    Ok(file)
}

/// A whole file of at most `most` bytes; a longer one is refused.
pub(crate) fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let long =
        || io::Error::new(io::ErrorKind::InvalidData, format!("it is over {most} bytes long"));
    if file.metadata()?.len() > most {
        return Err(long());
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(long()) } else { Ok(bytes) }
}

/// A spool file that is read piece by piece.
pub(super) struct Pieces {
    file: File,
    /// How far it was read.
    pub(super) end: u64,
    /// What ended that too early.
    pub(super) error: Option<io::Error>,
}

impl Pieces {
    pub(super) fn open(path: &Path) -> io::Result<Pieces> {
        Ok(Pieces { file: open(path)?, end: 0, error: None })
    }

    /// Its length, or how far it was read while it grew.
    pub(super) fn length(&self) -> u64 {
        self.file.metadata().map_or(self.end, |found| found.len().max(self.end))
    }
}

impl Source for Pieces {
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> usize {
        let taken = loop {
            match self.file.read_at(into, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.error = Some(error);
                    break 0;
                }
                Ok(taken) => break taken,
            }
        };
        self.end = self.end.max(offset + taken as u64);
        taken
    }

    fn next_data(&mut self, offset: u64) -> u64 {
        let Ok(from) = libc::off_t::try_from(offset) else { return offset };
        // SAFETY: the descriptor is open; the position, which nobody uses, is all that changes.
        let found = unsafe { libc::lseek(self.file.as_raw_fd(), from, libc::SEEK_DATA) };
        let is_end = || io::Error::last_os_error().raw_os_error() == Some(libc::ENXIO);
        let data = match u64::try_from(found) {
            Ok(data) => data,
            Err(_) if is_end() => self.length().max(offset),
            // Not every file system tells.
            Err(_) => offset,
        };
        self.end = self.end.max(data);
        data
    }
}
