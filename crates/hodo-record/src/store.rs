//! The files the pump appends to: the catalog and the spool files, with rotation and a size cap.

use crate::process::Process;
use crate::run::Identity;
use hodo_format::arena::{Counts, Loss};
use hodo_format::spool::{FILE_HEADER_BYTES, file_header};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Error, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Number of the catalog, as its file header says; spool files count from 1.
const CATALOG: u32 = 0;
/// A spool holds at least so many files, so that the cap removes a part, not all.
const MIN_FILES: u64 = 4;

/// A file that grows by whole frames.
#[derive(Debug)]
struct Growing {
    file: File,
    path: PathBuf,
    bytes: u64,
    counts: Counts,
}

impl Growing {
    fn create(path: PathBuf, process: u64, number: u32) -> Result<Growing, Error> {
        let file = File::create(&path)?;
        let mut growing = Growing { file, path, bytes: 0, counts: Counts::default() };
        if let Err(error) = growing.append(&file_header(process, number)) {
            let _ = std::fs::remove_file(&growing.path);
            return Err(error);
        }
        Ok(growing)
    }

    /// Appends all of `bytes` or nothing.
    fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = (&self.file).write_all(bytes);
        if written.is_err() {
            use std::io::Seek;
            self.file.set_len(self.bytes)?;
            self.file.seek(std::io::SeekFrom::Start(self.bytes))?;
            return written;
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn is_gone(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.nlink() == 0)
    }
}

/// A spool file that is complete.
#[derive(Debug)]
struct Sealed {
    path: PathBuf,
    bytes: u64,
    counts: Counts,
}

/// The files of one process.
#[derive(Debug)]
pub struct Store {
    identity: Identity,
    clock: &'static str,
    arena: Option<String>,
    cap: u64,
    file_cap: u64,
    catalog: Option<Growing>,
    spool: Option<Growing>,
    sealed: VecDeque<Sealed>,
    number: u32,
}

impl Store {
    /// A store that opens its files when it first writes.
    pub fn new(process: &Process) -> Store {
        let config = &process.config;
        Store {
            identity: process.identity.clone(),
            clock: process.clock.name(),
            arena: process.arena_name.clone(),
            cap: config.spool_bytes,
            file_cap: config.spool_file_bytes.min(config.spool_bytes / MIN_FILES).max(1 << 16),
            catalog: None,
            spool: None,
            sealed: VecDeque::new(),
            number: 0,
        }
    }

    /// Makes sure that folder and catalog are there. True when the catalog is new and empty.
    pub fn open(&mut self, lost: &mut dyn FnMut(Loss, Counts)) -> Result<bool, Error> {
        self.forget_gone(lost);
        if self.catalog.is_some() {
            return Ok(false);
        }
        self.identity.establish(self.clock, self.arena.as_deref())?;
        let path = self.identity.folder.join("catalog.hodo");
        self.catalog = Some(Growing::create(path, self.identity.process, CATALOG)?);
        Ok(true)
    }

    /// Lets go of files that were deleted under us, and counts what they held.
    fn forget_gone(&mut self, lost: &mut dyn FnMut(Loss, Counts)) {
        let catalog = self.catalog.take_if(|catalog| catalog.is_gone());
        let spool = self.spool.take_if(|spool| spool.is_gone());
        if let Some(spool) = &spool {
            lost(Loss::SpoolGone, spool.counts);
        }
        if catalog.is_none() && spool.is_none() {
            return;
        }
        self.sealed.retain(|sealed| {
            let there = sealed.path.exists();
            if !there {
                lost(Loss::SpoolGone, sealed.counts);
            }
            there
        });
    }

    /// Appends frames to the catalog; once a limit on its size is reached, to the spool.
    pub fn append_catalog(&mut self, frames: &[u8]) -> Result<(), Error> {
        match &mut self.catalog {
            Some(catalog) if !frames.is_empty() => match catalog.append(frames) {
                Err(error) if is_too_big(&error) => self.append(frames, Counts::default()),
                result => result,
            },
            _ => Ok(()),
        }
    }

    /// Appends frames that hold `counts` records, in the next file if this one is full.
    pub fn append(&mut self, frames: &[u8], counts: Counts) -> Result<(), Error> {
        let full = |spool: &Growing| spool.bytes + frames.len() as u64 > self.file_cap;
        if self.has_frames() && self.spool.as_ref().is_some_and(full) {
            self.seal();
        }
        match self.write(frames, counts) {
            // The limit on a file's size is reached before our own: go on in a new file.
            Err(error) if is_too_big(&error) && self.has_frames() => {
                self.seal();
                self.write(frames, counts)
            }
            result => result,
        }
    }

    fn has_frames(&self) -> bool {
        self.spool.as_ref().is_some_and(|spool| spool.bytes > FILE_HEADER_BYTES as u64)
    }

    fn write(&mut self, frames: &[u8], counts: Counts) -> Result<(), Error> {
        if self.spool.is_none() {
            let path = spool_path(&self.identity.folder, self.number + 1);
            let process = self.identity.process;
            self.spool = Some(Growing::create(path, process, self.number + 1)?);
            self.number += 1;
        }
        let Some(spool) = &mut self.spool else { return Ok(()) };
        spool.append(frames)?;
        spool.counts += counts;
        Ok(())
    }

    fn seal(&mut self) {
        if let Some(Growing { path, bytes, counts, .. }) = self.spool.take() {
            self.sealed.push_back(Sealed { path, bytes, counts });
        }
    }

    /// Removes the oldest files until the spool fits its cap.
    pub fn keep_cap(&mut self, lost: &mut dyn FnMut(Loss, Counts)) {
        while self.bytes() > self.cap {
            let Some(oldest) = self.sealed.pop_front() else { return };
            let removed = std::fs::remove_file(&oldest.path);
            if removed.is_err_and(|error| error.kind() != std::io::ErrorKind::NotFound) {
                self.sealed.push_front(oldest);
                return;
            }
            lost(Loss::SpoolCap, oldest.counts);
        }
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        let growing = self.catalog.iter().chain(&self.spool).map(|file| file.bytes);
        growing.chain(self.sealed.iter().map(|file| file.bytes)).sum()
    }
}

/// Whether the limit on a file's size stands in the way.
fn is_too_big(error: &Error) -> bool {
    error.raw_os_error() == Some(libc::EFBIG)
}

fn spool_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("spool-{number:06}.hodo"))
}
