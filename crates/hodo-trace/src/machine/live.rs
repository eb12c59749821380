//! Whether a host is being sampled.

use hodo_format::machine::LOCK_FILE;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether the host of a folder is being sampled for its run.
pub fn is_sampled(folder: &Path) -> bool {
    is_locked(&folder.join(LOCK_FILE)) == Some(true)
}

/// Whether anyone holds the lock at `path`. Asking for it would be in the way of a sampler that
/// wants it, so the kernel's list is looked at; none where there is no such list to be read.
pub fn is_locked(path: &Path) -> Option<bool> {
    let Ok(file) = std::fs::metadata(path) else { return Some(false) };
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    Some(locks.lines().any(|line| is_of(line, file.ino())))
}

/// What numbers of processes mean here, and whose locks the kernel lists: containers on one host can have
/// their own. Empty where the system does not say.
pub fn pid_space() -> String {
    let name = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Whether a line such as `2: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF` is of a file. The
/// device is not compared: file systems such as btrfs show another one there.
fn is_of(line: &str, inode: u64) -> bool {
    let mut words = line.split_ascii_whitespace().skip(1);
    let is_flock = words.next() == Some("FLOCK");
    let place = words.nth(3).and_then(|place| place.rsplit(':').next());
    is_flock && place.and_then(|number| number.parse().ok()) == Some(inode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_lock_shows_while_it_is_held() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        assert_eq!(is_locked(file.path()), Some(false));
        // SAFETY: the descriptor is open.
        assert_eq!(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) }, 0);
        assert_eq!(is_locked(file.path()), Some(true));
        assert!(!is_of("1: POSIX  ADVISORY  WRITE 1 fd:01:77 0 EOF", 77));
        assert!(is_of("1: FLOCK  ADVISORY  WRITE 1 fd:01:77 0 EOF", 77));
    }
}
