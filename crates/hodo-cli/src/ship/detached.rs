//! A shipper without a terminal: a session of its own, nothing of its starter's open, a log.

use hodo_ship::log_file;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// How often is looked whether the run's folder is there.
const LOOK: Duration = Duration::from_millis(100);

/// Leaves the session of whoever started this process, and closes what was theirs.
pub fn leave() {
    const FIRST_THEIRS: u32 = 3;
    // SAFETY: no other thread is there, and nothing of ours is open beyond the standard three.
    unsafe {
        libc::setsid();
        libc::syscall(libc::SYS_close_range, FIRST_THEIRS, u32::MAX, 0);
        // A hang-up of the terminal or a reader that went away is no reason to end.
        libc::signal(libc::SIGHUP, libc::SIG_IGN);
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
}

/// Standard input, which a launcher keeps open as long as more may come.
pub struct Open(());

impl Open {
    /// Watches standard input.
    pub fn of_standard_input() -> Open {
        Open(())
    }

    /// Whether the launcher still has its end.
    pub fn is_open(&self) -> bool {
        let mut input = libc::pollfd { fd: libc::STDIN_FILENO, events: 0, revents: 0 };
        // SAFETY: one descriptor, looked at without waiting.
        let ready = unsafe { libc::poll(&mut input, 1, 0) };
        ready == 0
    }
}

/// Waits for a run to have its folder; false when nothing will come any more.
pub fn wait_for(folder: &Path, is_expecting: &dyn Fn() -> bool) -> bool {
    while !folder.is_dir() {
        if !is_expecting() {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}

/// The log in the run's folder; nothing where it cannot be written.
pub struct Log(Option<File>);

impl Log {
    /// Opens it, at its end.
    pub fn open(folder: &Path) -> Log {
        let mut options = OpenOptions::new();
        options.create(true).append(true).custom_flags(libc::O_NOFOLLOW);
        Log(options.open(folder.join(log_file())).ok())
    }

    /// Writes a line, with the time before it.
    pub fn say(&self, words: &str) {
        if let Some(mut file) = self.0.as_ref() {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            let now = now.map_or(0, |since| since.as_nanos() as i64);
            let line = format!("{} {words}\n", crate::term::number::when(now));
            // A full disk is no reason to end.
            let _ = file.write_all(line.as_bytes());
        }
    }
}
