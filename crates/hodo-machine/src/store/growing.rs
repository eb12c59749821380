//! A file that grows by whole frames.

use std::fs::File;
use std::io::{Error, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file.
#[derive(Debug)]
pub struct Growing {
    file: File,
    path: PathBuf,
    bytes: u64,
}

/// Whether the limit on a file's size stands in the way.
pub fn is_too_big(error: &Error) -> bool {
    error.raw_os_error() == Some(libc::EFBIG)
}

impl Growing {
    /// A new file that begins with `head`: made whole or not at all.
    pub fn create(path: &Path, head: &[u8]) -> Result<Growing, Error> {
        let file = File::create(path)?;
        let mut growing = Growing { file, path: path.into(), bytes: 0 };
        if let Err(error) = growing.append(head) {
            // On a full disk every attempt would leave one.
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        Ok(growing)
    }

    /// Appends all of `bytes` or nothing.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if let Err(error) = self.file.write_all(bytes) {
            self.file.set_len(self.bytes)?;
            self.file.seek(SeekFrom::Start(self.bytes))?;
            return Err(error);
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Gives it another name, in place of what has that name.
    pub fn rename(&mut self, path: &Path) -> Result<(), Error> {
        std::fs::rename(&self.path, path)?;
        self.path = path.into();
        Ok(())
    }

    /// Whether somebody deleted it.
    pub fn is_gone(&self) -> bool {
        self.file.metadata().is_ok_and(|about| about.nlink() == 0)
    }

    /// Its length.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
