//! A file of a run, and what of it is on disk.

use crate::collect::durable;
use hodo_format::ship;
use std::fs;
use std::io;
use std::path::Path;

/// What is known to be on disk of a file; nothing before it was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) length: Option<u64>,
    pub(super) crc32c: Option<String>,
}

impl Known {
    /// The bytes of a file that survive whatever happens to this machine. What another server left
    /// is made durable before it is believed.
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
                file.metadata()?.len()
            }
        };
        self.length = Some(length);
        Ok(length)
    }

    pub(super) fn checksum(&mut self, path: &Path) -> io::Result<String> {
        if let Some(known) = &self.crc32c {
            return Ok(known.clone());
        }
        let sum = ship::checksum(&fs::read(path)?);
        self.crc32c = Some(sum.clone());
        Ok(sum)
    }

    pub(super) fn append(&mut self, path: &Path, length: u64, bytes: &[u8]) -> io::Result<()> {
        let is_new = !path.exists();
        // Until it is durable nothing is known.
        self.length = None;
        let file = durable::open(path, true)?;
        let written = durable::write_with_holes(&file, bytes, length);
        let written = written.and_then(|()| file.sync_data());
        if let Err(error) = written {
            // The same bytes come again; what of them is there is right either way.
            let _ = file.set_len(length);
            return Err(error);
        }
        if is_new {
            durable::sync_parent(path)?;
        }
        self.length = Some(length + bytes.len() as u64);
        Ok(())
    }
}
