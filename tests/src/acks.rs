//! Acknowledgements: a mapped file of counters in which a victim says what it has finished.
//!
//! The file is shared memory backed by the page cache, so it holds the last store a killed
//! process made. It has nothing to do with hodo's own files: it is the independent witness.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one victim thread.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Lane {
    /// Scopes closed.
    pub spans: AtomicU64,
    /// Marks made.
    pub marks: AtomicU64,
    /// Attribute calls that returned.
    pub attrs: AtomicU64,
    /// Depth of scopes that are open.
    pub open: AtomicU64,
    /// Progress of the victim as a whole; its meaning is the mode's.
    pub stage: AtomicU64,
    /// Two values whose meaning is the mode's.
    pub values: [AtomicU64; 3],
}

/// The mapped file.
pub struct Acks {
    lanes: NonNull<Lane>,
    count: usize,
    _file: File,
}

// SAFETY: the mapping is shared memory that is reached through atomics only.
unsafe impl Send for Acks {}
// SAFETY: as above.
unsafe impl Sync for Acks {}

impl Acks {
    /// Makes a file of `count` zeroed lanes.
    pub fn create(path: &Path, count: usize) -> io::Result<Acks> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        file.set_len((count * size_of::<Lane>()) as u64)?;
        Acks::map(file, count)
    }

    /// Opens a file made by [`Acks::create`].
    pub fn open(path: &Path) -> io::Result<Acks> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let count = file.metadata()?.len() as usize / size_of::<Lane>();
        Acks::map(file, count)
    }

    fn map(file: File, count: usize) -> io::Result<Acks> {
        let bytes = count * size_of::<Lane>();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new shared mapping of a file that is `bytes` long; nothing else is touched.
        let at = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        match NonNull::new(at.cast()) {
            Some(lanes) if at != libc::MAP_FAILED => Ok(Acks { lanes, count, _file: file }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Every lane.
    pub fn lanes(&self) -> &[Lane] {
        // SAFETY: the mapping holds `count` lanes, lives as long as self, and all-zero is valid.
        unsafe { std::slice::from_raw_parts(self.lanes.as_ptr(), self.count) }
    }

    /// Lane `at`.
    pub fn lane(&self, at: usize) -> &Lane {
        &self.lanes()[at]
    }
}

impl Drop for Acks {
    fn drop(&mut self) {
        // SAFETY: unmaps what `map` mapped; the borrow of `lanes` has ended.
        unsafe { libc::munmap(self.lanes.as_ptr().cast(), self.count * size_of::<Lane>()) };
    }
}

/// Adds one; the store is seen by other processes even if this one is killed right after.
pub fn bump(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::SeqCst);
}

/// Reads a counter.
pub fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::SeqCst)
}

/// Values of [`Lane::stage`] of lane 0, by which a victim and its test talk.
pub mod stage {
    /// The victim has started its recorder.
    pub const STARTED: u64 = 1;
    /// The test wants the loops to end.
    pub const STOP: u64 = 100;
    /// The victim has done its work and waits.
    pub const HELD: u64 = 200;
    /// The test lets a held victim go.
    pub const RELEASE: u64 = 300;
}
