//! Readings by a thread of the program that records, as its configuration says or as it asks.

use crate::gpu::Visible;
use crate::processes::Roots;
use crate::procfile::close_in_child;
use crate::sampler::Parts;
use crate::sampling::{Sampling, Settings};
use crate::state::{Kind, Status};
use crate::store::Limits;
use hodo_record::binding::{Companion, Recording, Scopes, UNKNOWN, accompany, scopes};
use hodo_record::{Gpu, Telemetry};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::time::Duration;

/// What [`Companion::ask`] answers.
const DONE: u32 = 0;
const NONSENSE: u32 = 1;
const NOT_STARTED: u32 = 2;

static COMPANION: Companion = Companion {
    name: "telemetry",
    started,
    stopping: stop,
    at_exit: stop,
    before_fork: || with(|session| session.each(Sampling::pause)),
    resumed: || with(|session| session.each(Sampling::resume)),
    in_child,
    state,
    ask,
    ..Companion::IDLE
};

/// Makes recorders that this copy of hodo starts read the machine, as their configuration says.
pub fn install() {
    accompany(&COMPANION);
}

/// What belongs to one recorder. Never freed: a thread that hangs in a driver may come back to it.
struct Session {
    pid: u32,
    recording: Recording,
    sampling: OnceLock<Sampling>,
    /// How often readings were asked for and not yet ended.
    holds: AtomicU32,
}

static SESSION: AtomicPtr<Session> = AtomicPtr::new(std::ptr::null_mut());

/// The session of the recorder that is on, unless this is a process that was cloned from it.
fn current() -> Option<&'static Session> {
    // SAFETY: sessions are leaked.
    let session = unsafe { SESSION.load(Ordering::Acquire).as_ref() };
    session.filter(|session| session.pid == std::process::id())
}

fn with(what: impl FnOnce(&'static Session)) {
    if let Some(session) = current() {
        what(session);
    }
}

fn started(recording: Recording) {
    let interval = recording.telemetry.interval_with(recording.gpu);
    let only_in_scopes = recording.telemetry.only_in_scopes;
    let session = Session {
        pid: std::process::id(),
        recording,
        sampling: OnceLock::new(),
        holds: AtomicU32::new(0),
    };
    let session: &'static Session = Box::leak(Box::new(session));
    // The one before belongs to a recorder that has stopped, or to the parent of this child.
    SESSION.store(std::ptr::from_ref(session).cast_mut(), Ordering::Release);
    if let Some(interval) = interval {
        session.begin(interval, only_in_scopes.then_some(scopes as fn() -> Scopes));
    }
}

/// Stands for scopes where readings are made only when they are asked for.
fn none_open() -> Scopes {
    Scopes::default()
}

impl Session {
    fn begin(&self, interval: Duration, scopes: Option<fn() -> Scopes>) -> &Sampling {
        let run = self.recording.run.clone();
        let sees = || Visible::from_env(|name| std::env::var(name).ok());
        let parts = Parts {
            processes: Roots::of_run(&run).and_own(),
            gpus: (self.recording.gpu != Gpu::Off).then(sees),
        };
        let usual = Limits::default();
        let limits = Limits { max_bytes: usual.max_bytes.min(self.recording.max_bytes), ..usual };
        self.sampling.get_or_init(|| {
            Sampling::start(Settings {
                run,
                interval,
                kind: Kind::InProcess,
                scopes,
                reads_while_linked: false,
                keeps_newest: false,
                parts,
                limits,
            })
        })
    }

    fn each(&self, what: impl FnOnce(&Sampling)) {
        if let Some(sampling) = self.sampling.get() {
            what(sampling);
        }
    }

    /// Reads from now on, whether or not a scope is open; an interval counts where none was set.
    fn start(&self, words: &str) -> u32 {
        let said = match words {
            "" => self.recording.telemetry,
            words => match Telemetry::parse(words) {
                Ok(telemetry) => telemetry,
                Err(_) => return NONSENSE,
            },
        };
        if said.only_in_scopes && !words.is_empty() {
            self.begin(said.interval_or_usual(), Some(scopes));
        } else if said != Telemetry::OFF || words.is_empty() {
            self.holds.fetch_add(1, Ordering::Relaxed);
            self.begin(said.interval_or_usual(), Some(none_open)).hold(true);
        }
        DONE
    }

    fn stop(&self) -> u32 {
        let less = |holds: u32| holds.checked_sub(1);
        match self.holds.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
            Ok(1) => self.each(|sampling| sampling.hold(false)),
            Ok(_) => {}
            Err(_) => return NOT_STARTED,
        }
        DONE
    }
}

fn stop() {
    with(|session| session.each(Sampling::stop));
}

fn in_child() {
    // SAFETY: sessions are leaked. The session is the parent's, so its number does not count here.
    if let Some(session) = unsafe { SESSION.load(Ordering::Acquire).as_ref() } {
        session.each(Sampling::forget_in_child);
        close_in_child();
    }
    SESSION.store(std::ptr::null_mut(), Ordering::Release);
}

fn state() -> String {
    let sampling = current().and_then(|session| session.sampling.get());
    sampling.map_or_else(Status::default, Sampling::status).json()
}

fn ask(words: &str) -> u32 {
    let Some(session) = current() else { return NOT_STARTED };
    match words.split_once(' ').unwrap_or((words, "")) {
        ("start", interval) => session.start(interval),
        ("stop", _) => session.stop(),
        _ => UNKNOWN,
    }
}
