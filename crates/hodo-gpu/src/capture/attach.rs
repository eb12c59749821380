//! Taking hold of CUPTI, lending it, and why it cannot be had.

use super::serve::serve;
use super::{FORKED, IDLE, SERVED, SESSION, STATE, STOP_WAITS, drain, read, write};
use crate::counts::Counts;
use crate::cupti::code::{kind, result};
use crate::cupti::{CudaDriver, Cupti, Problem, find};
use crate::engine::{self, Engine, KINDS, engine};
use crate::state::{Standing, missing};
use crate::{ambient, forward, lock, window};
use hodo_record::Gpu;
use hodo_record::binding::warn;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

/// Why there is nothing yet, and perhaps never will be.
pub(super) fn why_waiting() -> (&'static str, &'static str) {
    // The last two are the drivers of WSL and of Tegra.
    const DRIVERS: [&str; 4] =
        ["/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg", "/dev/nvmap"];
    let has_driver = DRIVERS.iter().any(|file| std::path::Path::new(file).exists());
    if has_driver || CudaDriver::mapped().is_some() {
        (missing::NO_CUDA, "the program has not started CUDA")
    } else {
        (missing::NO_GPU, "no NVIDIA driver was found here: there is no /dev/nvidiactl")
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
pub(super) fn take_hold(late: bool) -> bool {
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
