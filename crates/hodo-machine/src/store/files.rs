//! The numbered files of a folder: the newest grows, the oldest go when all are too many.

use super::Limits;
use super::glance;
use super::growing::Growing;
use hodo_format::machine::FILE_PREFIX;
use hodo_format::spool::file_header;
use std::collections::VecDeque;
use std::io::Error;
use std::path::{Path, PathBuf};

/// There are at least so many files at the cap, so that it removes a part, not all.
const MIN_FILES: u64 = 4;
const SUFFIX: &str = ".hodo";

/// The files.
#[derive(Debug)]
pub struct Files {
    folder: PathBuf,
    writer: u64,
    file_bytes: u64,
    max_bytes: u64,
    current: Option<Current>,
    sealed: VecDeque<Sealed>,
    next: u32,
    /// Blocks that went with their file.
    pub removed_blocks: u64,
}

#[derive(Debug)]
struct Current {
    file: Growing,
    blocks: u64,
    first_ns: Option<u64>,
}

#[derive(Debug)]
struct Sealed {
    path: PathBuf,
    bytes: u64,
    /// Blocks in it; not known of files that another sampler wrote.
    blocks: Option<u64>,
    first_ns: Option<u64>,
}

/// Frames to be appended.
#[derive(Debug)]
pub struct Blocks<'a> {
    /// The frames.
    pub frames: &'a [u8],
    /// Blocks of readings among them.
    pub count: u64,
    /// Moment of the first reading.
    pub first_ns: Option<u64>,
}

impl Files {
    /// The files of `folder`, those that others wrote among them.
    pub fn open(folder: &Path, writer: u64, limits: &Limits) -> Result<Files, Error> {
        let mut found: Vec<(u32, PathBuf, u64)> = Vec::new();
        for entry in std::fs::read_dir(folder)?.flatten() {
            if let Some(number) = entry.file_name().to_str().and_then(number) {
                found.push((number, entry.path(), entry.metadata().map_or(0, |about| about.len())));
            }
        }
        found.sort_unstable();
        let next = found.last().map_or(0, |(number, ..)| *number) + 1;
        let sealed = |(_, path, bytes)| Sealed { path, bytes, blocks: None, first_ns: None };
        Ok(Files {
            folder: folder.into(),
            writer,
            file_bytes: limits.file_bytes.min(limits.max_bytes / MIN_FILES),
            max_bytes: limits.max_bytes,
            current: None,
            sealed: found.into_iter().map(sealed).collect(),
            next,
            removed_blocks: 0,
        })
    }

    /// The newest file that is complete.
    pub fn newest_sealed(&self) -> Option<&Path> {
        self.sealed.back().map(|sealed| sealed.path.as_path())
    }

    /// Path of the file that would be next.
    pub fn next(&self) -> PathBuf {
        self.folder.join(format!("{FILE_PREFIX}{:06}{SUFFIX}", self.next))
    }

    /// Its header.
    pub fn next_header(&self) -> Vec<u8> {
        file_header(self.writer, self.next).into()
    }

    /// Lets go of the growing file if it was deleted; returns the blocks it had.
    pub fn forget_gone(&mut self) -> u64 {
        self.current.take_if(|current| current.file.is_gone()).map_or(0, |current| current.blocks)
    }

    /// Blocks that this sampler wrote and that were not removed.
    pub fn blocks(&self) -> u64 {
        let sealed: u64 = self.sealed.iter().filter_map(|sealed| sealed.blocks).sum();
        sealed + self.current.as_ref().map_or(0, |current| current.blocks)
    }

    /// A file was made at [`Files::next`], and is complete.
    pub fn add_sealed(&mut self, path: PathBuf, bytes: u64, blocks: u64, first_ns: Option<u64>) {
        self.next += 1;
        self.sealed.push_back(Sealed { path, bytes, blocks: Some(blocks), first_ns });
    }

    /// Whether `bytes` more would be too many for the file that grows, or there is none.
    pub fn wants_new(&self, bytes: usize) -> bool {
        let fits = |current: &Current| current.file.bytes() + bytes as u64 <= self.file_bytes;
        !self.current.as_ref().is_some_and(fits)
    }

    /// Whether the file that grows has any block.
    pub fn has_blocks(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.blocks > 0)
    }

    /// Closes the file that grows and begins the next, with `head` behind its header.
    pub fn begin(&mut self, head: &[u8]) -> Result<(), Error> {
        let (path, mut bytes) = (self.next(), self.next_header());
        bytes.extend_from_slice(head);
        let file = Growing::create(&path, &bytes)?;
        if let Some(Current { file, blocks, first_ns }) = self.current.take() {
            let (path, bytes) = (file.path().to_owned(), file.bytes());
            self.sealed.push_back(Sealed { path, bytes, blocks: Some(blocks), first_ns });
        }
        self.next += 1;
        self.current = Some(Current { file, blocks: 0, first_ns: None });
        Ok(())
    }

    /// Appends to the file that grows: all or nothing.
    pub fn append(&mut self, blocks: &Blocks<'_>) -> Result<(), Error> {
        let Some(current) = &mut self.current else { return Ok(()) };
        current.file.append(blocks.frames)?;
        current.blocks += blocks.count;
        current.first_ns = current.first_ns.or(blocks.first_ns);
        self.keep_cap();
        Ok(())
    }

    fn keep_cap(&mut self) {
        while self.bytes() > self.max_bytes {
            let Some(oldest) = self.sealed.pop_front() else { return };
            let blocks = oldest.blocks.unwrap_or_else(|| glance::blocks(&oldest.path));
            let removed = std::fs::remove_file(&oldest.path);
            if removed.is_err_and(|error| error.kind() != std::io::ErrorKind::NotFound) {
                self.sealed.push_front(oldest);
                return;
            }
            self.removed_blocks += blocks;
        }
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        let sealed: u64 = self.sealed.iter().map(|sealed| sealed.bytes).sum();
        sealed + self.current.as_ref().map_or(0, |current| current.file.bytes())
    }

    /// Moment of the oldest reading that is left; none while nothing was removed, for then all are.
    pub fn oldest_kept_ns(&mut self) -> Option<u64> {
        if self.removed_blocks == 0 {
            return None;
        }
        match self.sealed.front_mut() {
            Some(oldest) => {
                oldest.first_ns = oldest.first_ns.or_else(|| glance::first_ns(&oldest.path));
                oldest.first_ns
            }
            None => self.current.as_ref()?.first_ns,
        }
    }
}

/// The number of a file of readings.
fn number(name: &str) -> Option<u32> {
    name.strip_prefix(FILE_PREFIX)?.strip_suffix(SUFFIX)?.parse().ok()
}
