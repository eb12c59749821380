//! The capture of one recorder: from its start to its stop.

use crate::collector::Collector;
use crate::counts::Counts;
use crate::cupti::code::{kind, result};
use crate::cupti::{CudaDriver, Cupti, Problem, find};
use crate::engine::{self, Engine, KINDS, engine};
use crate::state::{Launched, Standing, State, missing};
use crate::{ambient, arm, forward, window};
use hodo_format::gpu::Sample;
use hodo_record::Gpu;
use hodo_record::binding::{Recording, warn, with_all_blocked};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often CUPTI is asked for what is complete.
const FLUSH_EVERY: Duration = Duration::from_millis(50);
/// How often the state is written beside the work: it has the size of many records.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// How often a program that cannot be hooked is looked at, until it starts CUDA.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The same where nobody asked for the GPU's work by name.
const GLANCE_EVERY: Duration = Duration::from_millis(250);
/// How long a stop waits for kernels that are under way.
const STOP_WAITS: Duration = Duration::from_millis(200);
/// How long the end of the program does.
const EXIT_WAITS: Duration = Duration::from_millis(100);
/// How long both wait for a thread of ours that is calling CUPTI.
const THREAD_WAITS: Duration = Duration::from_millis(100);

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

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

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
    state.missing = Some(missing::NO_CUDA);
    state.why = why_waiting().into();
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

/// Why there is nothing yet, and perhaps never will be.
fn why_waiting() -> &'static str {
    // The last two are the drivers of WSL and of Tegra.
    const DRIVERS: [&str; 4] =
        ["/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg", "/dev/nvmap"];
    if DRIVERS.iter().any(|file| std::path::Path::new(file).exists()) {
        "the program has not started CUDA"
    } else {
        "the program has not started CUDA; no NVIDIA driver was found here"
    }
}

/// CUDA is starting, or was found running (`late`): takes hold of CUPTI.
pub fn attach(late: bool) {
    if FORKED.load(Ordering::Relaxed) {
        return;
    }
    if take_hold(late) {
        serve(SERVED.load(Ordering::Acquire), false);
    }
}

/// Attaches unless that was done or refused already. True when this call did it.
fn take_hold(late: bool) -> bool {
    static TAKING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = lock(&TAKING);
    if lock(&STATE).standing != Standing::Waiting {
        return false;
    }
    match try_attach(late) {
        Ok(()) => true,
        Err(why) => {
            unavailable(why);
            false
        }
    }
}

fn unavailable((missing, why): Refusal) {
    let mut state = lock(&STATE);
    let silent = state.level == Gpu::Auto.word();
    state.standing = Standing::Unavailable;
    state.missing = Some(missing);
    state.why.clone_from(&why);
    drop(state);
    if !silent {
        warn(&format!("GPU work is not captured: {why}"));
    }
    write();
}

/// A kind of work by its word, and its records.
type Wanted = (&'static str, &'static [u32]);
/// One of [`missing`], and why in words.
type Refusal = (&'static str, String);

fn try_attach(late: bool) -> Result<(), Refusal> {
    let Some((clock, level, wanted)) =
        lock(&SESSION).as_ref().map(|s| (s.recording.clock, s.recording.gpu, wanted_kinds()))
    else {
        return Err((missing::FAILED, "the recorder has stopped".into()));
    };
    let engine = match engine() {
        Some(engine) => engine,
        None => engine::make(open()?, clock),
    };
    engine.with_modules.store(level == Gpu::PcSampling, Ordering::Release);
    let attached = attach_to(engine, &wanted, late);
    if attached.is_err() {
        // What cannot be used is left to tools that can.
        engine::set_counts(None);
        let kinds = lock(&SESSION).as_ref().map_or(Vec::new(), |s| s.kinds.clone());
        engine.release(&kinds);
        let _ = engine.unsubscribe();
    }
    attached.map_err(|problem| explain(&problem))
}

fn attach_to(engine: &'static Engine, wanted: &[Wanted], late: bool) -> Result<(), Problem> {
    if !engine.has_callbacks() {
        let subscribed = engine.subscribe()?;
        engine.by_time.store(!subscribed, Ordering::Release);
    } else {
        engine.listen(true)?;
    }
    let by_time = engine.by_time.load(Ordering::Acquire);
    let mut kinds: Vec<u32> = wanted.iter().flat_map(|(_, kinds)| kinds.iter().copied()).collect();
    if by_time {
        // A runtime call and the driver call inside it leave one record, of the runtime's.
        kinds.extend([kind::DRIVER, kind::RUNTIME]);
    }
    let counts = lock(&SESSION).as_mut().map(|session| {
        session.kinds.clone_from(&kinds);
        if std::ptr::eq(session.counts, &IDLE) {
            // Scopes of a recorder before this one have the same ids.
            engine.memory.forget();
            forward::forget();
            ambient::forget();
            session.counts = Counts::make(&session.recording.folder);
        }
        session.counts
    });
    engine::set_counts(counts);
    engine.capture(&kinds)?;
    #[cfg(feature = "record")]
    crate::recording::attached(engine);
    let mut state = lock(&STATE);
    state.standing = if by_time { Standing::ByTime } else { Standing::Capturing };
    state.missing = None;
    state.tier = Some(if by_time { "time" } else { "callbacks" });
    state.why = if by_time { BY_TIME.into() } else { String::new() };
    state.library = engine.cupti.path.to_string_lossy().into_owned();
    state.version = engine.cupti.version_text();
    state.driver = engine.driver;
    state.late = late;
    state.kinds = wanted.iter().map(|(word, _)| *word).collect();
    Ok(())
}

const BY_TIME: &str = "another tool holds CUPTI's callbacks: scopes are found by thread and time of \
                       launch, which costs a record a call";

/// The kinds of work to capture: those of `HODO_GPU_KINDS`, else kernels, copies and sets.
fn wanted_kinds() -> Vec<Wanted> {
    const USUAL: usize = 3;
    let named = std::env::var("HODO_GPU_KINDS").unwrap_or_default();
    let is_named = |word: &str| named.split(',').any(|name| name.trim() == word);
    let chosen: Vec<_> = KINDS.into_iter().filter(|(word, _)| is_named(word)).collect();
    if chosen.is_empty() { KINDS[..USUAL].to_vec() } else { chosen }
}

fn open() -> Result<Cupti, Refusal> {
    let major = CudaDriver::mapped().map_or(0, CudaDriver::version) / 1000;
    let Some(found) = find(major) else {
        let why = "no libcupti was found: it comes with the CUDA toolkit and with torch; \
                   set HODO_CUPTI_PATH to one";
        return Err((missing::NO_LIBRARY, why.into()));
    };
    Cupti::open(&found.path).map_err(|why| {
        let file = found.path.display();
        let why = format!("{file} cannot be used: {why}; set HODO_CUPTI_PATH to another");
        (missing::NO_LIBRARY, why)
    })
}

fn explain(problem: &Problem) -> Refusal {
    let fix = match problem.code {
        result::NOT_INITIALIZED => {
            "; this CUPTI does not fit the driver: HODO_CUPTI_PATH names another"
        }
        result::MULTIPLE_SUBSCRIBERS => "; another profiler is attached: run without it",
        result::INSUFFICIENT_PRIVILEGES | result::VIRTUALIZED_PRIVILEGES => {
            "; the driver lets administrators alone profile: run as one, or load its module with \
             NVreg_RestrictProfilingToAdminUsers=0"
        }
        result::NOT_COMPATIBLE => "; another tool uses CUPTI in a way that excludes this one",
        _ => "",
    };
    let missing = match problem.code {
        result::MULTIPLE_SUBSCRIBERS | result::NOT_COMPATIBLE => missing::OTHER_TOOL,
        _ => missing::FAILED,
    };
    (missing, format!("{problem}{fix}"))
}

/// Starts the GPU's thread; with `looking` it first waits for CUDA.
fn serve(served: u32, looking: bool) {
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
fn notice_giving_up(engine: &Engine) {
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
fn end_serving() {
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

/// Asks the driver for the devices, once CUDA is up.
fn name_devices() {
    if lock(&STATE).devices.is_empty()
        && let Some(driver) = CudaDriver::mapped().filter(|driver| driver.is_up())
    {
        let devices = driver.device_names();
        lock(&STATE).devices = devices;
    }
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

/// Lets another tool have CUPTI until [`resume`]: what runs meanwhile is not captured, and said so.
pub fn give_way(why: &str) {
    let Some(engine) = engine() else { return };
    if FORKED.load(Ordering::Relaxed)
        || !matches!(lock(&STATE).standing, Standing::Capturing | Standing::ByTime)
    {
        return;
    }
    window::end();
    drain(engine, STOP_WAITS, 0);
    let kinds = lock(&SESSION).as_ref().map_or(Vec::new(), |s| s.kinds.clone());
    engine.release(&kinds);
    // A buffer that CUPTI still has goes to whoever registers next, and never comes back.
    engine.flush(true);
    read(engine);
    write();
    let _ = engine.unsubscribe();
    engine::set_counts(None);
    let mut state = lock(&STATE);
    state.standing = Standing::Yielded;
    state.why = why.into();
    state.gap(engine.clock.now(), 0, why.into());
    drop(state);
    write();
}

/// The other tool is done with CUPTI: captures again, without the callbacks if they are kept.
pub fn resume() {
    let Some(engine) = engine() else { return };
    if FORKED.load(Ordering::Relaxed) || lock(&STATE).standing != Standing::Yielded {
        return;
    }
    let now = engine.clock.now();
    let mut state = lock(&STATE);
    state.standing = Standing::Waiting;
    if let Some(gap) = state.gaps.last_mut() {
        gap.1 = now;
    }
    let late = state.late;
    drop(state);
    take_hold(late);
}
