//! The last word on memory: what the query engine does not count, such as one long text, ends the
//! program before it takes the machine's memory away from others.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

/// How often the memory is looked at.
const PERIOD: Duration = Duration::from_millis(20);
/// What reading and writing may take beside the query.
const BESIDE_BYTES: u64 = 256 << 20;
/// No limit while no statement runs.
const UNLIMITED: u64 = u64::MAX;

static CEILING_BYTES: AtomicU64 = AtomicU64::new(UNLIMITED);
static LEFTOVERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Guards the memory until it is dropped.
#[derive(Debug)]
pub struct Guard(());

impl Guard {
    /// Lets the program take half as much again as `memory_bytes` beside what it has now.
    pub fn start(memory_bytes: usize) -> Guard {
        let most = memory_bytes as u64 / 2 * 3 + BESIDE_BYTES;
        let now = resident_bytes().unwrap_or(0);
        CEILING_BYTES.store(now.saturating_add(most), Ordering::Relaxed);
        static WATCH: Once = Once::new();
        // Without a thread to watch, the engine's own limit remains.
        WATCH.call_once(|| _ = std::thread::Builder::new().name("memory".into()).spawn(watch));
        Guard(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        CEILING_BYTES.store(UNLIMITED, Ordering::Relaxed);
    }
}

/// A file or folder that must go when the guard ends the program.
pub fn remove_at_end(path: &Path) {
    LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
}

fn watch() {
    loop {
        std::thread::sleep(PERIOD);
        if resident_bytes().is_some_and(|bytes| bytes > CEILING_BYTES.load(Ordering::Relaxed)) {
            end();
        }
    }
}

fn end() -> ! {
    for path in LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
    }
    let error = crate::SqlError::Limit(
        "the query holds more memory than --memory allows and was ended; --memory gives it more"
            .to_owned(),
    );
    eprintln!("error: {error}");
    std::process::exit(error.exit_code().into())
}

/// Memory of this process, as the kernel counts it.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib << 10)
}
