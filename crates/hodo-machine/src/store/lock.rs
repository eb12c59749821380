//! One sampler for a host and run: the lock that the kernel takes back at any death.

use crate::json;
use hodo_record::binding::{Object, locks_nothing, stand_in};
use std::fs::{File, OpenOptions};
use std::io::{Error, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The lock, held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

/// Who holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// Its process; 0 where it does not say.
    pub pid: u64,
    /// What it is: `in-process` or `monitor`.
    pub kind: String,
}

/// How an attempt went.
#[derive(Debug)]
pub enum Taken {
    /// It is ours.
    Ours(Lock),
    /// Somebody else has it.
    Theirs(Holder),
}

impl Lock {
    /// Takes the lock `path`, or says who has it.
    pub fn take(path: &Path, kind: &str) -> Result<Taken, Error> {
        match Lock::take_at(path, kind) {
            // Some network disks lock nothing; a run has a sampler for each host, so the lock may
            // be the host's own.
            Err(error) if locks_nothing(&error) => Lock::take_at(&stand_in("sampler", path), kind),
            result => result,
        }
    }

    fn take_at(path: &Path, kind: &str) -> Result<Taken, Error> {
        loop {
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                // The folder of temporary files is everybody's, and so are links in it.
                .custom_flags(libc::O_NOFOLLOW)
                .open(path)?;
            // SAFETY: a plain call on an open file.
            if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
                let error = Error::last_os_error();
                return match error.raw_os_error() {
                    Some(libc::EWOULDBLOCK) => Ok(Taken::Theirs(holder(file))),
                    _ => Err(error),
                };
            }
            let lock = Lock { file, path: path.into() };
            if lock.is_in_place() {
                lock.sign(kind);
                return Ok(Taken::Ours(lock));
            }
            // It was deleted between the two calls: what is there now counts.
        }
    }

    /// Whether the file that is locked is still the one at its path: a folder that was deleted or
    /// moved takes its lock along.
    pub fn is_in_place(&self) -> bool {
        let there = std::fs::metadata(&self.path);
        let ours = self.file.metadata();
        there.ok().zip(ours.ok()).is_some_and(|(a, b)| (a.dev(), a.ino()) == (b.dev(), b.ino()))
    }

    /// Its descriptor: a forked child has it too, and with it the lock, unless it closes it.
    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Says who has it; where the disk is full, nobody.
    fn sign(&self, kind: &str) {
        let text =
            Object::default().number("pid", std::process::id().into()).text("kind", kind).finish();
        let mut file = &self.file;
        let _ = file
            .set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(text.as_bytes()));
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: a plain call on an open file; a program that another thread is just starting still has
        // a copy of the descriptor, and must not keep the lock with it.
        unsafe { libc::flock(self.file.as_raw_fd(), libc::LOCK_UN) };
    }
}

/// Who signed the lock last.
pub(super) fn holder(mut file: File) -> Holder {
    let mut text = String::new();
    let _ = file.read_to_string(&mut text);
    Holder {
        pid: json::number(&text, "pid").unwrap_or(0),
        kind: json::text(&text, "kind").unwrap_or_default().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(taken: Taken) -> Lock {
        match taken {
            Taken::Ours(lock) => lock,
            Taken::Theirs(holder) => panic!("held by {holder:?}"),
        }
    }

    #[test]
    fn one_has_it_and_the_others_know_who() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sampler.lock");
        let lock = ours(Lock::take(&path, "monitor").unwrap());
        let Taken::Theirs(holder) = Lock::take(&path, "in-process").unwrap() else {
            panic!("taken twice")
        };
        assert_eq!(holder, Holder { pid: std::process::id().into(), kind: "monitor".into() });
        drop(lock);
        ours(Lock::take(&path, "in-process").unwrap());
    }

    #[test]
    fn a_lock_that_was_dropped_stayed_with_a_copy_of_its_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sampler.lock");
        let lock = ours(Lock::take(&path, "monitor").unwrap());
        let _of_a_child = lock.file.try_clone().unwrap();
        drop(lock);
        ours(Lock::take(&path, "in-process").unwrap());
    }

    #[test]
    fn a_lock_whose_folder_went_is_out_of_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sampler.lock");
        let lock = ours(Lock::take(&path, "monitor").unwrap());
        assert!(lock.is_in_place());
        std::fs::remove_file(&path).unwrap();
        assert!(!lock.is_in_place());
        ours(Lock::take(&path, "monitor").unwrap());
        assert!(!lock.is_in_place(), "another file has its name");
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let [victim, path] = ["victim", "sampler.lock"].map(|name| folder.path().join(name));
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        assert!(Lock::take(&path, "monitor").is_err());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    }
}
