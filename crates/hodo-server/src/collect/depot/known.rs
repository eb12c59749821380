//! A file of a run, and what of it is on disk.

use crate::collect::durable;
use hodo_format::ship;
use std::fs;
use std::io;
use std::path::Path;

/// What is known to be on disk of a file; nothing before it was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// Bytes from the beginning that are there for good. What a file has behind them may be zeros that
    /// a power failure left.
    pub(super) length: Option<u64>,
    pub(super) crc32c: Option<String>,
}

impl Known {
    /// The bytes of a file that survive whatever happens to this machine. Each piece is on disk before
    /// the next is written, so of what another server left all but the last piece is believed.
    pub(super) fn durable_length(&mut self, path: &Path) -> io::Result<u64> {
        if let Some(length) = self.length {
            return Ok(length);
        }
        let length = match durable::open(path, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
            Ok(file) => {
                file.sync_all()?;
                durable::sync_parent(path)?;
                file.metadata()?.len().saturating_sub(ship::CHUNK_BYTES as u64)
            }
        };
        self.length = Some(length);
        Ok(length)
    }

    /// Whether a file has `bytes` at `offset`, as far as it goes, or behind what is known to be there
    /// zeros where they are to be.
    pub(super) fn fits(&self, path: &Path, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        let file = match durable::open(path, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            file => file?,
        };
        let there = file.metadata()?.len().saturating_sub(offset).min(bytes.len() as u64);
        let bytes = &bytes[..there as usize];
        match self.length.is_some_and(|length| offset < length) {
            true => durable::has_bytes(&file, offset, bytes),
            false => durable::has_bytes_or_zeros(&file, offset, bytes),
        }
    }

    pub(super) fn checksum(&mut self, path: &Path) -> io::Result<String> {
        if let Some(known) = &self.crc32c {
            return Ok(known.clone());
        }
        let sum = ship::checksum(&fs::read(path)?);
        self.crc32c = Some(sum.clone());
        Ok(sum)
    }

    /// Writes `bytes` at `length`, behind what is there for good.
    pub(super) fn append(&mut self, path: &Path, length: u64, bytes: &[u8]) -> io::Result<()> {
        let is_new = !path.exists();
        let file = durable::open(path, true)?;
        let before = file.metadata()?.len();
        if let Err(error) = durable::write_with_holes(&file, bytes, length) {
            // The same bytes come again; what of them is there is right either way.
            let _ = file.set_len(before);
            return Err(error);
        }
        if is_new {
            durable::sync_parent(path)?;
        }
        self.length = Some(length + bytes.len() as u64);
        Ok(())
    }
}
