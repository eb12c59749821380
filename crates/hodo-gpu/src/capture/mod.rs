//! The capture of one recorder: from its start to its stop.

mod attach;
mod serve;

pub use attach::{attach, give_way, resume};

use crate::collector::Collector;
use crate::counts::Counts;
use crate::cupti::CudaDriver;
use crate::engine::{self, Engine, engine};
use crate::state::{Launched, Standing, State, missing};
use crate::{ambient, arm, lock, window};
use attach::why_waiting;
use hodo_format::gpu::Sample;
use hodo_record::Gpu;
use hodo_record::binding::{Recording, warn};
use serve::{end_serving, name_devices, notice_giving_up, serve};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often the state is written beside the work: it has the size of many records.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// How long a stop waits for kernels that are under way.
const STOP_WAITS: Duration = Duration::from_millis(200);
/// How long the end of the program does.
const EXIT_WAITS: Duration = Duration::from_millis(100);

/// What belongs to one recorder.
struct Session {
    recording: Recording,
    collector: Collector,
    counts: &'static Counts,
    kinds: Vec<u32>,
}

/// Counts nothing: for a program that has not started CUDA, which needs no file for it.
static IDLE: Counts = Counts::new();
static SESSION: Mutex<Option<Session>> = Mutex::new(None);
static STATE: Mutex<State> = Mutex::new(State::OFF);
/// Which session the thread serves; another number ends it.
static SERVED: AtomicU32 = AtomicU32::new(0);
/// Threads of ours that are calling CUPTI.
static WORKING: AtomicU32 = AtomicU32::new(0);
/// Kernels that the last flush waited for in vain.
static OVERDUE: AtomicU64 = AtomicU64::new(0);
/// This is a forked child: CUDA does not work here, and locks may be held by nobody.
static FORKED: AtomicBool = AtomicBool::new(false);

/// A recorder was started.
pub fn started(recording: Recording) {
    if FORKED.load(Ordering::Relaxed) {
        return;
    }
    let level = recording.gpu;
    let mut state = State { level: level.word(), ..State::OFF };
    if matches!(level, Gpu::Off | Gpu::Monitor) {
        *lock(&STATE) = state;
        return;
    }
    state.standing = Standing::Waiting;
    let (missing, why) = why_waiting();
    state.missing = Some(missing);
    state.why = why.into();
    if missing == missing::NO_GPU && level != Gpu::Auto {
        warn(&format!("gpu={}: {why}; scopes are recorded, GPU work is not", level.word()));
    }
    *lock(&STATE) = state;
    let collector = Collector::new(recording.clone());
    *lock(&SESSION) = Some(Session { recording, collector, counts: &IDLE, kinds: Vec::new() });
    OVERDUE.store(0, Ordering::Relaxed);
    let served = SERVED.fetch_add(1, Ordering::SeqCst) + 1;
    if arm::is_injecting() || CudaDriver::mapped().is_some_and(CudaDriver::is_up) {
        attach(!arm::is_injecting());
    } else if !arm::arm() {
        serve(served, true);
    } else if CudaDriver::mapped().is_some_and(CudaDriver::is_up) {
        // Another thread started it before the driver could be told to call us.
        attach(true);
    }
}

/// What a window of sampling needs; none while nothing is captured, and why.
pub fn ready() -> Result<(&'static Engine, &'static Counts), String> {
    if FORKED.load(Ordering::Relaxed) {
        return Err("CUDA does not survive a fork".into());
    }
    let state = lock(&STATE).clone();
    if !matches!(state.standing, Standing::Capturing | Standing::ByTime) {
        let state_of = format!("the capture of the GPU is {}", state.standing.word());
        let why =
            if state.why.is_empty() { state_of } else { format!("{state_of}: {}", state.why) };
        return Err(why);
    }
    let counts = lock(&SESSION).as_ref().map(|session| session.counts);
    engine().zip(counts).ok_or_else(|| "the recorder has stopped".into())
}

/// Whether this is a forked child, where nothing of the GPU may be touched.
pub fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Fetches records, waiting for those of kernels under way at most so long.
pub fn settle(engine: &Engine, wait: Duration) {
    drain(engine, wait, 0);
}

/// Some or all kernels of a stretch have no record, and why.
pub fn gap(start: u64, end: u64, why: String) {
    lock(&STATE).gap(start, end, why);
}

/// Takes samples and writes them.
pub fn keep_samples(samples: &[Sample]) {
    if let Some(session) = lock(&SESSION).as_mut() {
        session.collector.samples(samples);
    }
    write();
}

/// The process's folder in the run; none when no recorder is on.
pub fn folder() -> Option<PathBuf> {
    lock(&SESSION).as_ref().map(|session| session.recording.folder.clone())
}

fn read(engine: &Engine) {
    let by_time = engine.by_time.load(Ordering::Acquire);
    if let Some(session) = lock(&SESSION).as_mut() {
        session.collector.read(&engine.cupti, &engine.buffers, &engine.memory, by_time);
        session.collector.counted_by(session.counts);
        OVERDUE.fetch_min(session.counts.kernels_under_way(), Ordering::Relaxed);
    }
}

fn write_if_any() {
    let told = lock(&SESSION).as_ref().map(|s| (s.collector.has_work(), s.collector.told));
    match told {
        Some((true, at)) if at.is_none_or(|at| at.elapsed() >= TELL_EVERY) => write(),
        Some((true, _)) => {
            if let Some(session) = lock(&SESSION).as_mut() {
                session.collector.write_work();
                session.collector.counted_by(session.counts);
            }
        }
        _ => {}
    }
}

/// The state as it is now.
fn current() -> State {
    State { sampling: window::json(), ..lock(&STATE).clone() }
}

/// Writes what was read, and the state.
pub fn write() {
    let state = current();
    // CUPTI counts for whoever has it, and says nothing sensible once it gave up.
    let has_cupti = matches!(state.standing, Standing::Capturing | Standing::ByTime);
    let dropped = engine().filter(|_| has_cupti).map_or(0, Engine::dropped);
    if let Some(session) = lock(&SESSION).as_mut() {
        session.collector.tally.dropped += dropped;
        session.collector.counted_by(session.counts);
        let launched = launched(session.counts);
        session.collector.write(|tally| state.json(tally, &launched));
    }
}

fn launched(counts: &Counts) -> Launched {
    let mut launched = counts.launched();
    if let Some(engine) = engine() {
        launched.buffers_refused = engine.buffers.refused.load(Ordering::Relaxed);
        launched.nodes_refused = engine.memory.graphs.refused();
    }
    launched
}

/// Fetches everything there is, waiting at most so long for the kernels launched before, all but
/// `except` of them; says how many did not come.
fn drain(engine: &Engine, wait: Duration, except: u64) -> u64 {
    let began = Instant::now();
    name_devices();
    let counts = lock(&SESSION).as_ref().map_or(&IDLE, |session| session.counts);
    let launched = counts.launched_kernels();
    loop {
        engine.flush(false);
        read(engine);
        // What is launched meanwhile is not waited for: a program that goes on has no end.
        let since = counts.launched_kernels().saturating_sub(launched);
        let missing = counts.kernels_under_way().saturating_sub(since);
        if missing <= except || began.elapsed() >= wait {
            return missing;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Everything captured so far is to be written.
pub fn flush(timeout: Duration) {
    if FORKED.load(Ordering::Relaxed) {
        return;
    }
    if let Some(engine) = engine() {
        notice_giving_up(engine);
        // While another tool has CUPTI, what it holds is not ours to ask for.
        if matches!(lock(&STATE).standing, Standing::Capturing | Standing::ByTime) {
            // Records that a flush waited for in vain may never come; the next has waited enough.
            let overdue = OVERDUE.load(Ordering::Relaxed);
            let missing = drain(engine, timeout.min(STOP_WAITS), overdue);
            OVERDUE.store(missing, Ordering::Relaxed);
        }
        window::write_waiting(engine, window::LINES_TAKE_AT_END);
    }
    let any = |s: &Session| s.collector.has_work() || s.collector.has_untold;
    if lock(&SESSION).as_ref().is_some_and(any) {
        write();
    }
}

/// The recorder is about to stop.
pub fn stopping() {
    if FORKED.load(Ordering::Relaxed) {
        return;
    }
    arm::disarm();
    window::end();
    end_serving();
    if let Some(engine) = engine() {
        notice_giving_up(engine);
    }
    let standing = lock(&STATE).standing.clone();
    if let Some(engine) = engine() {
        if matches!(standing, Standing::Capturing | Standing::ByTime) {
            drain(engine, STOP_WAITS, 0);
            engine.flush(true);
            let kinds = lock(&SESSION).as_ref().map_or(Vec::new(), |s| s.kinds.clone());
            engine.release(&kinds);
            // Behind the last record there can be: what stayed would come to the next recorder.
            engine.flush(true);
            let _ = engine.listen(false);
        }
        engine::set_counts(None);
        engine.buffers.ring();
        read(engine);
        // Counts what was dropped; silent where nothing was captured.
        if matches!(standing, Standing::Capturing | Standing::ByTime) {
            write();
        }
        window::write_waiting(engine, window::LINES_TAKE_AT_END);
    }
    if matches!(standing, Standing::Capturing | Standing::ByTime | Standing::Yielded) {
        lock(&STATE).standing = Standing::Stopped;
    }
    write_last();
    *lock(&SESSION) = None;
    window::forget();
}

/// The program is ending without a stop: as much as can be had is written.
pub fn at_exit() {
    if FORKED.load(Ordering::Relaxed) {
        return;
    }
    // Libraries go from now on, and CUPTI with them.
    end_serving();
    if let Some(engine) = engine()
        && matches!(lock(&STATE).standing, Standing::Capturing | Standing::ByTime)
    {
        window::end();
        drain(engine, EXIT_WAITS, 0);
        engine.flush(true);
        read(engine);
        window::write_waiting(engine, window::LINES_TAKE_AT_END);
    }
    write_last();
}

/// Writes the last state, unless there is nothing to say: a program that never started CUDA was
/// to be captured only if it did.
fn write_last() {
    let state = lock(&STATE).clone();
    let silent = state.standing == Standing::Off
        || state.standing == Standing::Waiting && state.level == Gpu::Auto.word();
    if !silent {
        write();
    }
}

/// This is a forked child.
pub fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
    engine::set_counts(None);
    ambient::forget();
}

/// The state as a JSON object.
pub fn state() -> String {
    if FORKED.load(Ordering::Relaxed) {
        let why = "GPU work of a forked child is not captured, and CUDA that was running before the \
                   fork does not work in it: start workers that use it by spawn";
        let missing = Some(missing::FAILED);
        let state =
            State { standing: Standing::Unavailable, missing, why: why.into(), ..State::OFF };
        return state.json(&Default::default(), &Launched::default());
    }
    let state = current();
    match lock(&SESSION).as_ref() {
        Some(session) => state.json(&session.collector.tally, &launched(session.counts)),
        None => state.json(&Default::default(), &Launched::default()),
    }
}
