//! Starting, stopping, asking; and the few helpers every module uses.

use crate::config::Config;
use crate::health::{Health, Numbers};
use crate::process::{self, Started};
use crate::pump::Flushed;
use crate::rendezvous;
use crate::signals;
use crate::table::TABLE;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

/// Starts recording. Never fails the host: what does not work is in the answer and in [`health`].
///
/// What the configuration leaves open comes from the environment; `HODO=0` switches off.
pub fn init(config: Config) -> Started {
    let read = |name: &str| std::env::var(name).ok();
    let config = config.completed(read);
    if config.enabled {
        Config::nonsense(read).iter().for_each(|word| warn(word));
    }
    if !config.enabled {
        return process::start(config);
    }
    if !rendezvous::publish(&TABLE) {
        return Started::Already;
    }
    let started = guarded(Started::Off("internal error".into()), || process::start(config));
    if !matches!(started, Started::Off(_)) {
        rendezvous::set_on(true);
    }
    started
}

/// Stops recording: everything is written, scopes from now on are inert. Optional, and quick.
pub fn shutdown() -> Flushed {
    rendezvous::set_on(false);
    rendezvous::table().map_or(Flushed::Off, |table| {
        Flushed::from_code((table.shutdown)(), || "the spool could not be written".into())
    })
}

/// Waits until everything recorded so far is in the spool, or the time runs out.
pub fn flush(timeout: Duration) -> Flushed {
    rendezvous::table().map_or(Flushed::Off, |table| {
        let code = (table.flush)(timeout.as_millis() as u64);
        Flushed::from_code(code, || health().degraded)
    })
}

/// The state of the recorder.
pub fn health() -> Health {
    let mut numbers = Numbers::off();
    if let Some(table) = rendezvous::table() {
        // SAFETY: the size told is that of the numbers.
        unsafe { (table.health)(&mut numbers, size_of::<Numbers>()) };
    }
    numbers.health()
}

static WARN: RwLock<fn(&str)> = RwLock::new(|message| {
    // A standard error that is closed or full is the host's affair.
    let _ = writeln!(std::io::stderr(), "hodo: {message}");
});

/// Sends warnings elsewhere than to standard error.
pub fn set_warn(warn: fn(&str)) {
    *WARN.write().unwrap_or_else(PoisonError::into_inner) = warn;
}

/// Says something the user should know; rare, and never from a fast path.
pub fn warn(message: &str) {
    let warn = *WARN.read().unwrap_or_else(PoisonError::into_inner);
    signals::without_sigxfsz(|| warn(message));
}

/// Locks; a panic elsewhere while it was held does not matter to the simple data behind it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

static INTERNAL_ERRORS: AtomicU64 = AtomicU64::new(0);

pub(crate) fn internal_errors() -> u64 {
    INTERNAL_ERRORS.load(Ordering::Relaxed)
}

/// Runs `work`; a panic of ours is counted and stays here, for the host must not see it.
pub(crate) fn guarded<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| {
        INTERNAL_ERRORS.fetch_add(1, Ordering::Relaxed);
        otherwise
    })
}
