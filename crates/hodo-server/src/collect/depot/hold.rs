//! A folder has one collector, and the kernel takes the lock back at any death.

use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

const LOCK: &str = "lock";
/// How long a collector may take to end.
const ENDING: Duration = Duration::from_secs(2);

/// Takes the lock of a store's folder; one that is just ending is waited for.
pub(super) fn hold(dir: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(crate::collect::durable::FILE_MODE);
    let file = options.open(dir.join(LOCK))?;
    let until = Instant::now() + ENDING;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(ENDING / 50);
            }
            Err(fs::TryLockError::WouldBlock) => {
                let words = "another `hodo serve` uses it; a folder has one collector";
                return Err(io::Error::new(io::ErrorKind::WouldBlock, words));
            }
            Err(fs::TryLockError::Error(error)) => return Err(error),
        }
    }
}
