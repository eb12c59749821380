//! The files by which a monitor is found and ended. Each is locked while its process lives, so that
//! a number that the system gave to another process is never taken for it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
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
    let mut file = File::create(path)?;
    lock(&file, libc::LOCK_EX | libc::LOCK_NB)?;
    writeln!(file, "{}", std::process::id())?;
    Ok(file)
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The monitors that write into `folder` now.
pub fn alive(folder: &Path) -> Vec<(u32, PathBuf)> {
    files(folder).into_iter().filter(|(_, path)| is_locked(path)).collect()
}

/// Asks all of them to end, and says of each whether it did in time.
pub fn stop_all(folder: &Path, within: Duration) -> Vec<(u32, bool)> {
    let found: Vec<_> =
        alive(folder).into_iter().map(|(pid, path)| (pid, path, open(pid))).collect();
    for (pid, ..) in &found {
        // SAFETY: a plain call; the lock shows that the number is still the monitor's.
        unsafe { libc::kill(*pid as libc::pid_t, libc::SIGTERM) };
    }
    let until = Instant::now() + within;
    // Its file goes a moment before it does.
    let has_ended =
        |path: &Path, process: Option<&OwnedFd>| !is_locked(path) && process.is_none_or(has_ended);
    let ended = |path: &Path, process: Option<&OwnedFd>| {
        while !has_ended(path, process) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        has_ended(path, process)
    };
    found.iter().map(|(pid, path, process)| (*pid, ended(path, process.as_ref()))).collect()
}

/// A descriptor of a process; none where the kernel has no such thing.
fn open(pid: u32) -> Option<OwnedFd> {
    // SAFETY: a plain call.
    let process = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
    // SAFETY: it was made just now and is nobody else's.
    (process >= 0).then(|| unsafe { OwnedFd::from_raw_fd(process as i32) })
}

/// Whether a process has ended: then its descriptor can be read.
fn has_ended(process: &OwnedFd) -> bool {
    let mut asked = libc::pollfd { fd: process.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one descriptor is asked about, without waiting.
    unsafe { libc::poll(&mut asked, 1, 0) > 0 }
}

fn files(folder: &Path) -> Vec<(u32, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let pid = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok()
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
