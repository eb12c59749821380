//! What works beside the recorder in its process, each in a crate of its own: the capture of GPU
//! work, and the readings of the machine.
//!
//! The recorder knows nothing about them but when to call them; a process without loses nothing.

use crate::clock::ClockSource;
use crate::config::Gpu;
use crate::process::Process;
use crate::telemetry::Telemetry;
use crate::thread::Thread;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// The recorder as its companions see it.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The run's folder.
    pub run: PathBuf,
    /// The process's folder in it.
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
    /// How often the machine is to be read.
    pub telemetry: Telemetry,
}

/// A companion's side. Nothing here may panic, nor start or stop the recorder.
#[derive(Debug)]
pub struct Companion {
    /// What it is called, in health and when it is asked for something.
    pub name: &'static str,
    /// The recorder is on: in this process, or in this forked child.
    pub started: fn(Recording),
    /// It is about to stop: what is left is to be written now.
    pub stopping: fn(),
    /// What there is so far is to be written, within a time.
    pub flush: fn(Duration),
    /// The program is ending.
    pub at_exit: fn(),
    /// The program is about to fork: a thread of the companion's is to end, if that can be soon.
    pub before_fork: fn(),
    /// After a fork the recorder's own thread runs again, and the companion's may.
    pub resumed: fn(),
    /// This is a forked child: nothing of the parent's is to be used.
    pub in_child: fn(),
    /// A thread ends; its state will be another's.
    pub thread_ends: fn(*mut Thread),
    /// Its state as a JSON object.
    pub state: fn() -> String,
    /// Does what it is asked, in words of its own; 0 when done.
    pub ask: fn(&str) -> u32,
}

impl Companion {
    /// One that does nothing, to be filled in.
    pub const IDLE: Companion = Companion {
        name: "",
        started: |_| {},
        stopping: || {},
        flush: |_| {},
        at_exit: || {},
        before_fork: || {},
        resumed: || {},
        in_child: || {},
        thread_ends: |_| {},
        state: String::new,
        ask: |_| UNKNOWN,
    };
}

/// The answer of a companion that does not do what it is asked, and where there is none.
pub const UNKNOWN: u32 = u32::MAX;

/// More than there are crates that could be one.
const MOST: usize = 4;

static COMPANIONS: [OnceLock<&'static Companion>; MOST] = [const { OnceLock::new() }; MOST];

/// Makes it a companion of this copy's recorder; of several with one name the first stays.
pub fn accompany(companion: &'static Companion) {
    for place in &COMPANIONS {
        if place.get_or_init(|| companion).name == companion.name {
            return;
        }
    }
}

/// Calls the companions, in the order they came. Takes no lock: a forked child calls this too.
pub(crate) fn tell(what: impl Fn(&'static Companion)) {
    for companion in COMPANIONS.iter().map_while(OnceLock::get) {
        crate::guarded((), || what(companion));
    }
}

fn named(name: &str) -> Option<&'static Companion> {
    COMPANIONS.iter().map_while(OnceLock::get).find(|companion| companion.name == name).copied()
}

/// The state of the companion `name` as a JSON object; empty without it.
pub(crate) fn state(name: &str) -> String {
    named(name).map_or(String::new(), |companion| crate::guarded(String::new(), companion.state))
}

/// Asks the companion `name` for something.
pub(crate) fn ask(name: &str, what: &str) -> u32 {
    named(name).map_or(UNKNOWN, |companion| crate::guarded(UNKNOWN, || (companion.ask)(what)))
}

/// What the companions of `process` need to know.
pub(crate) fn recording(process: &Process) -> Recording {
    Recording {
        run: process.identity.run.clone(),
        folder: process.folder().to_owned(),
        process: process.identity.process,
        clock: process.clock,
        max_bytes: process.config.spool_bytes,
        file_bytes: process.config.spool_file_bytes,
        gpu: process.config.gpu,
        telemetry: process.config.telemetry,
    }
}
