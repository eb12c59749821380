//! The files GPU work is written to: `gpu-000001.hodo` and on, beside the spool.

use hodo_format::spool::file_header;
use hodo_record::binding::{Recording, without_sigxfsz};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Error, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// There are at least so many files at the cap, so that it removes a part, not all.
const MIN_FILES: u64 = 4;

/// The files of one process.
#[derive(Debug)]
pub struct Files {
    recording: Recording,
    file_bytes: u64,
    file: Option<Growing>,
    sealed: VecDeque<(PathBuf, u64, u64)>,
    number: u32,
    /// Records that were stored first and removed later, to stay under the cap.
    pub removed: u64,
}

#[derive(Debug)]
struct Growing {
    file: File,
    path: PathBuf,
    bytes: u64,
    records: u64,
}

impl Files {
    /// Files that are made when there is something to write.
    pub fn new(recording: Recording) -> Files {
        let file_bytes = recording.file_bytes.min(recording.max_bytes / MIN_FILES).max(1 << 16);
        let sealed = VecDeque::new();
        Files { recording, file_bytes, file: None, sealed, number: 0, removed: 0 }
    }

    /// Appends frames that hold `records` pieces of work: all of them or nothing.
    pub fn append(&mut self, frames: &[u8], records: u64) -> Result<(), Error> {
        without_sigxfsz(|| self.write(frames, records))?;
        self.keep_cap();
        Ok(())
    }

    fn write(&mut self, frames: &[u8], records: u64) -> Result<(), Error> {
        let full = |file: &Growing| file.bytes + frames.len() as u64 > self.file_bytes;
        if self.file.as_ref().is_some_and(full) {
            self.seal();
        }
        if self.file.is_none() {
            self.file = Some(self.create()?);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        file.append(frames)?;
        file.records += records;
        Ok(())
    }

    fn create(&mut self) -> Result<Growing, Error> {
        std::fs::create_dir_all(&self.recording.folder)?;
        let number = self.number + 1;
        let path = self.recording.folder.join(format!("gpu-{number:06}.hodo"));
        let file = File::create(&path)?;
        let mut growing = Growing { file, path, bytes: 0, records: 0 };
        if let Err(error) = growing.append(&file_header(self.recording.process, number)) {
            // On a full disk every attempt would leave one.
            let _ = std::fs::remove_file(&growing.path);
            return Err(error);
        }
        self.number = number;
        Ok(growing)
    }

    fn seal(&mut self) {
        if let Some(Growing { path, bytes, records, .. }) = self.file.take() {
            self.sealed.push_back((path, bytes, records));
        }
    }

    fn keep_cap(&mut self) {
        while self.bytes() > self.recording.max_bytes {
            let Some((path, _, records)) = self.sealed.pop_front() else { return };
            let _ = std::fs::remove_file(path);
            self.removed += records;
        }
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        let sealed: u64 = self.sealed.iter().map(|(_, bytes, _)| bytes).sum();
        sealed + self.file.as_ref().map_or(0, |file| file.bytes)
    }
}

impl Growing {
    fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if let Err(error) = self.file.write_all(bytes) {
            self.file.set_len(self.bytes)?;
            self.file.seek(SeekFrom::Start(self.bytes))?;
            return Err(error);
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}
