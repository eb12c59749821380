//! Files of `/proc` and `/sys` that are read again and again: opened once, read from their start.

use crate::table::Absent;
use std::borrow::Cow;
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};

/// No such file is longer; one that is has gone mad.
const MAX_BYTES: usize = 16 << 20;

/// A descriptor that is none.
const NONE: i32 = -1;

/// Descriptors that are open, for a forked child to close: it would keep them for its life, since
/// only `exec` closes them by itself.
static OPEN: [AtomicI32; 128] = [const { AtomicI32::new(NONE) }; 128];

/// Closes the files that the parent has open. Only for a forked child that reads none of them ever
/// again; takes no lock and no memory.
pub fn close_in_child() {
    for place in &OPEN {
        let descriptor = place.swap(NONE, Ordering::AcqRel);
        if descriptor != NONE {
            // SAFETY: the child's own copy of a descriptor whose owner is never used here.
            unsafe { libc::close(descriptor) };
        }
    }
}

/// A file that is open, and its place among those that are; none where there are too many.
#[derive(Debug)]
struct Kept {
    file: File,
    place: Option<usize>,
}

impl Kept {
    fn open(path: &Path) -> Result<Kept, Error> {
        let file = File::open(path)?;
        let is_taken = |place: &AtomicI32| {
            let own = file.as_raw_fd();
            place.compare_exchange(NONE, own, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let place = OPEN.iter().position(is_taken);
        Ok(Kept { file, place })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Before the file is closed, and its number another's.
        if let Some(place) = self.place {
            OPEN[place].store(NONE, Ordering::Release);
        }
    }
}

/// A file whose text the kernel makes anew at every reading.
#[derive(Debug)]
pub struct ProcFile {
    path: PathBuf,
    file: Option<Kept>,
    bytes: Vec<u8>,
    error: Option<Error>,
    is_kept_open: bool,
}

impl ProcFile {
    /// The file at `path`, which is opened when it is first read.
    pub fn new(path: impl Into<PathBuf>) -> ProcFile {
        let path = path.into();
        ProcFile { path, file: None, bytes: vec![0; 4096], error: None, is_kept_open: true }
    }

    /// As it is, but opened for each reading: descriptors are the program's.
    pub fn reopened(mut self) -> ProcFile {
        self.is_kept_open = false;
        self
    }

    /// Its text now; none when it cannot be read, and [`ProcFile::error`] has why.
    pub fn read(&mut self) -> Option<Cow<'_, str>> {
        match self.fill() {
            Ok(len) => {
                self.error = None;
                if !self.is_kept_open {
                    self.file = None;
                }
                Some(String::from_utf8_lossy(&self.bytes[..len]))
            }
            Err(error) => {
                self.file = None;
                self.error = Some(error);
                None
            }
        }
    }

    fn fill(&mut self) -> Result<usize, Error> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(Kept::open(&self.path)?),
        };
        let file = &file.file;
        let mut len = 0;
        loop {
            if len == self.bytes.len() {
                if len >= MAX_BYTES {
                    return Err(Error::new(ErrorKind::InvalidData, "it has no end"));
                }
                self.bytes.resize(2 * len, 0);
            }
            match file.read_at(&mut self.bytes[len..], len as u64) {
                // What a container's set-up puts over a file to hide it.
                Ok(0) if len == 0 => return Err(Error::new(ErrorKind::InvalidData, "it is empty")),
                Ok(0) => return Ok(len),
                Ok(more) => len += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Why the last reading failed.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// What to say of a part that needs this file and has not got it; none after a good reading.
    pub fn absent(&self, part: &str, fix: &str) -> Option<Absent> {
        let error = self.error.as_ref()?;
        let why = format!("{}: {}", self.path.display(), in_words(error));
        Some(Absent { part: part.into(), why, fix: fix.into() })
    }
}

fn in_words(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".into(),
        ErrorKind::PermissionDenied => "may not be read".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_read_whole_and_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stat");
        std::fs::write(&path, "cpu 1\n".repeat(5000)).unwrap();
        let mut file = ProcFile::new(&path);
        assert_eq!(file.read().unwrap().len(), 30_000);
        std::fs::write(&path, "cpu 2\n").unwrap();
        assert_eq!(file.read().unwrap(), "cpu 2\n");
    }

    #[test]
    fn a_forked_child_closes_what_its_parent_reads() {
        let mut file = ProcFile::new("/proc/self/stat");
        assert!(file.read().is_some());
        let descriptor = file.file.as_ref().unwrap().file.as_raw_fd();
        // SAFETY: the child makes plain calls only.
        let child = unsafe { libc::fork() };
        if child == 0 {
            close_in_child();
            // SAFETY: plain calls; nothing of the parent's may run twice.
            unsafe { libc::_exit(i32::from(libc::fcntl(descriptor, libc::F_GETFD) != -1)) };
        }
        let mut status = 0;
        // SAFETY: our own child, and room for its status.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "it was still open");
        assert!(file.read().is_some(), "the parent reads on");
        drop(file);
        let is_listed = OPEN.iter().any(|place| place.load(Ordering::Acquire) == descriptor);
        // Another test may have been given the number since.
        assert!(!is_listed || std::fs::metadata(format!("/proc/self/fd/{descriptor}")).is_ok());
    }

    #[test]
    fn a_file_that_is_hidden_by_an_empty_one_says_so() {
        let mut file = ProcFile::new("/dev/null");
        assert_eq!(file.read(), None);
        assert_eq!(file.absent("cpu", "").unwrap().why, "/dev/null: it is empty");
    }

    #[test]
    fn a_file_that_is_not_there_says_so_and_may_come() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pressure");
        let mut file = ProcFile::new(&path);
        assert_eq!(file.read(), None);
        let absent = file.absent("pressure", "boot with psi=1").unwrap();
        assert!(absent.why.ends_with("pressure: there is no such file"), "{absent:?}");
        std::fs::write(&path, "some").unwrap();
        assert_eq!(file.read().unwrap(), "some");
        assert_eq!(file.absent("pressure", ""), None);
    }
}
