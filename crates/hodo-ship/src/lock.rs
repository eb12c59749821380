//! One shipper for a host and run: the lock that the kernel takes back at any death.

use hodo_record::binding::{locks_nothing, stand_in};
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The lock, held.
#[derive(Debug)]
pub(crate) struct Lock {
    /// Locked as long as it is open.
    file: File,
}

/// How an attempt went.
#[derive(Debug)]
pub(crate) enum Taken {
    Ours(Lock),
    /// The process that has it; 0 where it does not say.
    Theirs(u32),
}

/// Takes the lock `name` in the run's folder, or says who has it.
pub(crate) fn take(run: &Path, name: &str) -> Result<Taken, Error> {
    let path = place(run, name);
    match take_at(&path) {
        // Some network disks lock nothing, and some folders are only to be read.
        Err(error) if is_refused(&error) => take_at(&stand_in("ship", &path)),
        result => result,
    }
}

/// Whether somebody of this host has the lock `name` in the run's folder. It is not asked for: a
/// shipper that begins now would take that for another at work. None where the system does not say.
pub(crate) fn is_held(run: &Path, name: &str) -> Option<bool> {
    let path = place(run, name);
    Some(hodo_trace::is_locked(&path)? || hodo_trace::is_locked(&stand_in("ship", &path))?)
}

/// Where the lock is: one name for it, also where the run is named from the working folder.
fn place(run: &Path, name: &str) -> PathBuf {
    let path = run.join(name);
    std::path::absolute(&path).unwrap_or(path)
}

fn take_at(path: &Path) -> Result<Taken, Error> {
    loop {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        // The folder of temporary files is everybody's, and so are links in it.
        let mut file = options.custom_flags(libc::O_NOFOLLOW).mode(0o644).open(path)?;
        // SAFETY: a plain call on an open file.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let error = Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EWOULDBLOCK) => Ok(Taken::Theirs(holder(&mut file))),
                _ => Err(error),
            };
        }
        let there = std::fs::metadata(path);
        let same = |there: std::fs::Metadata| {
            file.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
        };
        if there.is_ok_and(same) {
            sign(&mut file);
            return Ok(Taken::Ours(Lock { file }));
        }
        // It was deleted between the two calls: what is there now counts.
    }
}

impl Lock {
    /// Whether its file was deleted, as with all of a run: what was only moved, or is on a disk that is
    /// away, has its name still.
    pub(crate) fn is_deleted(&self) -> bool {
        self.file.metadata().is_ok_and(|file| file.nlink() == 0)
    }
}

/// Says who has it; where the disk is full, nobody.
fn sign(file: &mut File) {
    let _ = file
        .set_len(0)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .and_then(|_| file.write_all(std::process::id().to_string().as_bytes()));
}

fn holder(file: &mut File) -> u32 {
    let mut text = String::new();
    let _ = file.take(32).read_to_string(&mut text);
    text.trim().parse().unwrap_or(0)
}

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: a plain call on an open file; a child that has it too must not keep it.
        unsafe { libc::flock(self.file.as_raw_fd(), libc::LOCK_UN) };
    }
}

fn is_refused(error: &Error) -> bool {
    locks_nothing(error)
        || matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_until_it_lets_go() {
        let run = tempfile::tempdir().unwrap();
        let Taken::Ours(lock) = take(run.path(), "ship-a.lock").unwrap() else { panic!("held") };
        let Taken::Theirs(pid) = take(run.path(), "ship-a.lock").unwrap() else { panic!("twice") };
        assert_eq!(pid, std::process::id());
        assert_eq!(is_held(run.path(), "ship-a.lock"), Some(true));
        assert_eq!(is_held(run.path(), "ship-b.lock"), Some(false));
        assert!(matches!(take(run.path(), "ship-b.lock").unwrap(), Taken::Ours(_)), "another host");
        drop(lock);
        assert_eq!(is_held(run.path(), "ship-a.lock"), Some(false), "its file alone is no lock");
        assert!(matches!(take(run.path(), "ship-a.lock").unwrap(), Taken::Ours(_)));
    }

    #[test]
    fn a_run_has_one_lock_however_it_is_named() {
        let here = std::env::current_dir().unwrap();
        let name = Path::new("runs/one");
        assert_eq!(place(name, "ship-a.lock"), place(&here.join(name), "ship-a.lock"));
    }

    #[test]
    fn a_lock_that_was_deleted_is_told_from_one_that_was_moved() {
        let folder = tempfile::tempdir().unwrap();
        let (run, aside) = (folder.path().join("run"), folder.path().join("aside"));
        std::fs::create_dir(&run).unwrap();
        let Taken::Ours(lock) = take(&run, "ship-a.lock").unwrap() else { panic!("held") };
        std::fs::rename(&run, &aside).unwrap();
        assert!(!lock.is_deleted());
        std::fs::remove_dir_all(&aside).unwrap();
        assert!(lock.is_deleted());
    }

    #[test]
    fn a_link_is_not_followed() {
        let run = tempfile::tempdir().unwrap();
        let victim = run.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, run.path().join("ship-a.lock")).unwrap();
        assert!(take(run.path(), "ship-a.lock").is_err());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    }
}
