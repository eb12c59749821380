//! The files by which a monitor is found and ended. Each is locked while its process lives, so that
//! a number that the system gave to another process is never taken for it.

use hodo_trace::pid_space;
use libc::pid_t;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const PREFIX: &str = "monitor-";
const SUFFIX: &str = ".pid";

/// This process's file; removed when it ends.
#[derive(Debug)]
pub struct PidFile {
    path: PathBuf,
    /// Holds the lock.
    file: File,
}

impl PidFile {
    /// Writes it into `folder`, and removes those of monitors that were killed.
    pub fn write(folder: &Path) -> io::Result<PidFile> {
        for (_, path) in files(folder) {
            if !is_locked(&path) {
                // Another monitor may be doing the same.
                let _ = std::fs::remove_file(&path);
            }
        }
        let path = folder.join(format!("{PREFIX}{}{SUFFIX}", std::process::id()));
        let file = signed(&path)?;
        Ok(PidFile { path, file })
    }

    /// Whether it was deleted, with its folder most likely.
    pub fn is_gone(&self) -> bool {
        !self.path.exists()
    }

    /// Writes it anew.
    pub fn renew(&mut self) -> io::Result<()> {
        self.file = signed(&self.path)?;
        Ok(())
    }
}

fn signed(path: &Path) -> io::Result<File> {
    // What a monitor of another container wrote, which can have the same number, stays.
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    lock(&file, libc::LOCK_EX | libc::LOCK_NB)?;
    file.set_len(0)?;
    file.write_all(format!("{}\n{}\n", std::process::id(), pid_space()).as_bytes())?;
    Ok(file)
}

/// Whether the number in its name means the same process here. One that is being written does not say so yet.
fn is_numbered_here(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().nth(1) == Some(&pid_space())
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // A monitor of another container, which can have the same number, may have made it anew.
        let same = |there: Metadata, ours: Metadata| {
            there.dev() == ours.dev() && there.ino() == ours.ino()
        };
        let there = std::fs::metadata(&self.path).ok().zip(self.file.metadata().ok());
        if there.is_some_and(|(there, ours)| same(there, ours)) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// What became of a monitor that was asked to end.
#[derive(Debug)]
pub enum Answer {
    /// It has ended.
    Ended,
    /// Not in time.
    GoesOn,
    /// It runs where processes have other numbers, as in another container.
    Elsewhere,
    /// It may not be asked.
    Refused(io::Error),
}

/// The monitors that write into `folder` now.
pub fn alive(folder: &Path) -> Vec<(pid_t, PathBuf)> {
    files(folder).into_iter().filter(|(_, path)| is_locked(path)).collect()
}

/// Asks all of them to end, and says of each whether it did in time.
pub fn stop_all(folder: &Path, within: Duration) -> Vec<(pid_t, Answer)> {
    let alive = alive(folder).into_iter();
    let asked: Vec<_> = alive.map(|(pid, path)| (pid, ask(pid, &path), path)).collect();
    let until = Instant::now() + within;
    // Its file goes a moment before it does.
    let has_ended =
        |path: &Path, process: Option<&OwnedFd>| !is_locked(path) && process.is_none_or(has_ended);
    let answer = |process: Option<OwnedFd>, path: &Path| {
        while !has_ended(path, process.as_ref()) {
            if Instant::now() >= until {
                return Answer::GoesOn;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Answer::Ended
    };
    let answers = asked.into_iter();
    answers
        .map(|(pid, asked, path)| (pid, asked.map_or_else(|no| no, |p| answer(p, &path))))
        .collect()
}

/// Asks the holder of a lock to end: a descriptor of its process, where the kernel has such a thing,
/// or what became of it.
fn ask(pid: pid_t, path: &Path) -> Result<Option<OwnedFd>, Answer> {
    if !is_numbered_here(path) {
        return Err(Answer::Elsewhere);
    }
    let process = open(pid);
    // A lock that is still held shows that the number was the monitor's when it was opened.
    if !is_locked(path) {
        return Err(Answer::Ended);
    }
    let sent = process.as_ref().map(send);
    match sent.unwrap_or(Err(libc::ENOSYS)) {
        Ok(()) => Ok(process),
        Err(libc::ESRCH) => Err(Answer::Ended),
        // SAFETY: a plain call; the lock shows that the number is still the monitor's.
        Err(_) if unsafe { libc::kill(pid, libc::SIGTERM) } == 0 => Ok(process),
        Err(_) => Err(Answer::Refused(io::Error::last_os_error())),
    }
}

/// A descriptor of a process; none where the kernel has no such thing.
fn open(pid: pid_t) -> Option<OwnedFd> {
    // SAFETY: a plain call.
    let process = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    // SAFETY: it was made just now and is nobody else's.
    (process >= 0).then(|| unsafe { OwnedFd::from_raw_fd(process as i32) })
}

/// Asks a process to end; why not, where it cannot be asked.
fn send(process: &OwnedFd) -> Result<(), i32> {
    let nothing = std::ptr::null::<libc::siginfo_t>();
    let (fd, signal) = (process.as_raw_fd(), libc::SIGTERM);
    // SAFETY: the descriptor is open, and no information goes along.
    match unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, nothing, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
    }
}

/// Whether a process has ended: then its descriptor can be read.
fn has_ended(process: &OwnedFd) -> bool {
    let mut asked = libc::pollfd { fd: process.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one descriptor is asked about, without waiting.
    unsafe { libc::poll(&mut asked, 1, 0) > 0 }
}

fn files(folder: &Path) -> Vec<(pid_t, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let pid = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        let pid = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok();
        // Others mean many processes at once to `kill`.
        pid.filter(|pid| *pid > 0)
    };
    entries.filter_map(|e| Some(e.ok()?.path())).filter_map(|p| Some((pid(&p)?, p))).collect()
}

fn is_locked(path: &Path) -> bool {
    let Ok(file) = OpenOptions::new().read(true).open(path) else { return false };
    match lock(&file, libc::LOCK_SH | libc::LOCK_NB) {
        Ok(()) => false,
        Err(error) => error.raw_os_error() == Some(libc::EWOULDBLOCK),
    }
}

fn lock(file: &File, how: i32) -> io::Result<()> {
    // SAFETY: a plain call on an open file.
    match unsafe { libc::flock(file.as_raw_fd(), how) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn sleeper() -> Child {
        Command::new("sleep").arg("600").spawn().unwrap()
    }

    /// The file of a monitor that is `pid`, and the lock on it.
    fn of(folder: &Path, pid: impl std::fmt::Display, numbering: &str) -> File {
        let path = folder.join(format!("{PREFIX}{pid}{SUFFIX}"));
        std::fs::write(&path, format!("{pid}\n{numbering}\n")).unwrap();
        let file = File::open(path).unwrap();
        lock(&file, libc::LOCK_EX | libc::LOCK_NB).unwrap();
        file
    }

    #[test]
    fn numbers_that_mean_many_processes_are_no_monitors() {
        let folder = tempfile::tempdir().unwrap();
        let _locks = ["0", "-1", "4294967295", "2147483648"].map(|pid| of(folder.path(), pid, ""));
        assert!(stop_all(folder.path(), Duration::ZERO).is_empty());
    }

    #[test]
    fn a_number_of_another_container_is_not_asked() {
        let folder = tempfile::tempdir().unwrap();
        let mut stranger = sleeper();
        let _lock = of(folder.path(), stranger.id(), "pid:[1]");
        let answers = stop_all(folder.path(), Duration::from_secs(60));
        assert!(matches!(answers[..], [(_, Answer::Elsewhere)]), "{answers:?}");
        assert!(stranger.try_wait().unwrap().is_none(), "it lives");
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[test]
    fn a_file_that_another_has_keeps_what_it_says() {
        let folder = tempfile::tempdir().unwrap();
        let mut stranger = sleeper();
        let _lock = of(folder.path(), stranger.id(), "pid:[1]");
        let path = folder.path().join(format!("{PREFIX}{}{SUFFIX}", stranger.id()));
        let said = std::fs::read_to_string(&path).unwrap();
        assert!(signed(&path).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), said);
        // As in the moments before it is written.
        for written in ["", "7", "7\n", "7\npid:["] {
            std::fs::write(&path, written).unwrap();
            let answers = stop_all(folder.path(), Duration::from_secs(60));
            assert!(matches!(answers[..], [(_, Answer::Elsewhere)]), "{answers:?}");
            assert!(stranger.try_wait().unwrap().is_none(), "it lives");
        }
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[test]
    fn a_file_that_another_has_made_anew_stays() {
        let folder = tempfile::tempdir().unwrap();
        let mine = PidFile::write(folder.path()).unwrap();
        let path = mine.path.clone();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "another's").unwrap();
        drop(mine);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "another's");
        let mine = PidFile { file: File::open(&path).unwrap(), path: path.clone() };
        drop(mine);
        assert!(!path.exists());
    }

    #[test]
    fn one_that_is_asked_ends() {
        let folder = tempfile::tempdir().unwrap();
        let mut monitor = sleeper();
        let lock = of(folder.path(), monitor.id(), &pid_space());
        let answers = stop_all(folder.path(), Duration::ZERO);
        assert!(matches!(answers[..], [(_, Answer::GoesOn)]), "its lock is held: {answers:?}");
        monitor.wait().unwrap();
        // A program that another test just starts may have a copy of its descriptor.
        super::lock(&lock, libc::LOCK_UN).unwrap();
        assert!(stop_all(folder.path(), Duration::ZERO).is_empty());
    }
}
