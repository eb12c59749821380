//! The GPU's own thread: waits for CUDA, asks CUPTI for what is complete, reads and writes it.

use super::attach::take_hold;
use super::{SERVED, STATE, WORKING, read, write, write_if_any};
use crate::cupti::CudaDriver;
use crate::engine::{self, Engine, engine};
use crate::state::{Standing, missing};
use crate::{lock, window};
use hodo_record::Gpu;
use hodo_record::binding::{warn, with_all_blocked};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often CUPTI is asked for what is complete.
const FLUSH_EVERY: Duration = Duration::from_millis(50);
/// How often a program that cannot be hooked is looked at, until it starts CUDA.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The same where nobody asked for the GPU's work by name.
const GLANCE_EVERY: Duration = Duration::from_millis(250);
/// How long both wait for a thread of ours that is calling CUPTI.
const THREAD_WAITS: Duration = Duration::from_millis(100);

/// Starts the GPU's thread; with `looking` it first waits for CUDA.
pub(super) fn serve(served: u32, looking: bool) {
    let run = move || {
        if looking && !look(served) {
            return;
        }
        while SERVED.load(Ordering::Acquire) == served {
            wait();
            if unless_ended(served, round).is_none() {
                return;
            }
        }
    };
    let builder = std::thread::Builder::new().name("hodo-gpu".into());
    if let Err(error) = with_all_blocked(|| builder.spawn(run)) {
        warn(&format!("GPU work is written at the end only: no thread for it: {error}"));
    }
}

/// Waits until the program has started CUDA, and attaches. False when the recorder stopped first.
fn look(served: u32) -> bool {
    let every = if lock(&STATE).level == Gpu::Auto.word() { GLANCE_EVERY } else { LOOK_EVERY };
    while SERVED.load(Ordering::Acquire) == served {
        let attach = || CudaDriver::mapped()?.is_up().then(|| take_hold(true));
        if let Some(attached) = unless_ended(served, attach).flatten() {
            return attached;
        }
        std::thread::sleep(every);
    }
    false
}

const GAVE_UP: &str = "CUPTI met an error that it does not recover from and detached itself: what \
                       ran since is not captured";

/// Says so where CUPTI has given up, and leaves it alone from then on.
pub(super) fn notice_giving_up(engine: &Engine) {
    if !engine.has_given_up() {
        return;
    }
    engine::set_counts(None);
    let mut state = lock(&STATE);
    state.standing = Standing::Unavailable;
    state.missing = Some(missing::FAILED);
    state.why = GAVE_UP.into();
    state.gap(engine.clock.now(), 0, GAVE_UP.into());
    drop(state);
    warn(GAVE_UP);
    read(engine);
    write();
}

/// Does `work`, which calls CUPTI, on the GPU's thread; none when its session has ended, or it
/// panicked.
fn unless_ended<T>(served: u32, work: impl FnOnce() -> T) -> Option<T> {
    // Both in one order for all: either the session's end is seen here, or its end sees this.
    WORKING.fetch_add(1, Ordering::SeqCst);
    let is_served = SERVED.load(Ordering::SeqCst) == served;
    let done = if is_served { engine::guarded(None, || Some(work())) } else { None };
    WORKING.fetch_sub(1, Ordering::SeqCst);
    done
}

/// Ends the GPU's thread, and waits a while for what it has under way: CUPTI may be going.
pub(super) fn end_serving() {
    SERVED.fetch_add(1, Ordering::SeqCst);
    let began = Instant::now();
    while WORKING.load(Ordering::SeqCst) > 0 && began.elapsed() < THREAD_WAITS {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits for the next round, reading what comes meanwhile.
fn wait() {
    let Some(engine) = engine() else { return };
    let began = Instant::now();
    while began.elapsed() < FLUSH_EVERY {
        engine.buffers.wait(FLUSH_EVERY.saturating_sub(began.elapsed()));
        read(engine);
    }
}

/// One round of the GPU's thread.
fn round() {
    let Some(engine) = engine() else { return };
    notice_giving_up(engine);
    if !matches!(lock(&STATE).standing, Standing::Capturing | Standing::ByTime) {
        return;
    }
    name_devices();
    window::fetch_often(engine);
    engine.flush(false);
    read(engine);
    write_if_any();
}

/// Asks the driver for the devices, once CUDA is up.
pub(super) fn name_devices() {
    if lock(&STATE).devices.is_empty()
        && let Some(driver) = CudaDriver::mapped().filter(|driver| driver.is_up())
    {
        let devices = driver.devices();
        lock(&STATE).devices = devices;
    }
}
