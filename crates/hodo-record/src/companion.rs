//! What works beside the recorder in its process: the capture of GPU work, in a crate of its own.
//!
//! The recorder knows nothing about it but when to call it; a process without one loses nothing.

use crate::clock::ClockSource;
use crate::config::Gpu;
use crate::process::Process;
use crate::thread::Thread;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// The recorder as its companion sees it.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The process's folder in the run.
    pub folder: PathBuf,
    /// Random half of the process's ids.
    pub process: u64,
    /// Where ticks come from.
    pub clock: ClockSource,
    /// Most bytes of files to keep; the oldest go first.
    pub max_bytes: u64,
    /// Bytes at which a file is closed and the next one begun.
    pub file_bytes: u64,
    /// What is wanted of the GPU.
    pub gpu: Gpu,
}

/// The companion's side. Nothing here may panic, nor start or stop the recorder.
#[derive(Debug)]
pub struct Companion {
    /// The recorder is on.
    pub started: fn(Recording),
    /// It is about to stop: what is left is to be written now.
    pub stopping: fn(),
    /// What there is so far is to be written, within a time.
    pub flush: fn(Duration),
    /// The program is ending.
    pub at_exit: fn(),
    /// This is a forked child: nothing of the parent's is to be used.
    pub in_child: fn(),
    /// A thread ends; its state will be another's.
    pub thread_ends: fn(*mut Thread),
    /// Its state as a JSON object.
    pub state: fn() -> String,
}

static COMPANION: OnceLock<&'static Companion> = OnceLock::new();

/// Makes it the companion of this copy's recorder; the first stays.
pub fn accompany(companion: &'static Companion) {
    let _ = COMPANION.set(companion);
}

/// Calls the companion, if there is one.
pub(crate) fn tell(what: impl FnOnce(&'static Companion)) {
    if let Some(companion) = COMPANION.get() {
        crate::guarded((), || what(companion));
    }
}

/// The companion's state as a JSON object; empty without one.
pub(crate) fn state() -> String {
    COMPANION.get().map_or(String::new(), |companion| crate::guarded(String::new(), companion.state))
}

/// What the companion of `process` needs to know.
pub(crate) fn recording(process: &Process) -> Recording {
    Recording {
        folder: process.folder().to_owned(),
        process: process.identity.process,
        clock: process.clock,
        max_bytes: process.config.spool_bytes,
        file_bytes: process.config.spool_file_bytes,
        gpu: process.config.gpu,
    }
}
