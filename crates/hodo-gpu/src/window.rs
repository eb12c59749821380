//! Windows of closer looking: what a user asks for, for a while.
//!
//! The one kind so far is `pc-sampling`: where kernels stand and why. While a window is open the
//! program is slower; how much is for readers to see, from the times inside and outside of it.

use crate::cupti::code::{kind, result};
use crate::cupti::{CudaDriver, CudaError, Problem};
use crate::engine::{Engine, engine};
use crate::pc::contexts::IN_USE;
use crate::pc::{self, Mode, Options, Rows, Sampler, Sampling, Whose, Window};
use crate::{ambient, capture, lock};
use hodo_format::record::SpanId;
use hodo_record::binding::{warn, with_all_blocked};
use std::collections::HashSet;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long opening waits for records of earlier kernels, and closing for those inside.
const BEGIN_WAITS: Duration = Duration::from_millis(50);
const END_WAITS: Duration = Duration::from_millis(200);
/// How long source lines may take, and where the program waits for them.
const LINES_TAKE: Duration = Duration::from_secs(5);
pub(crate) const LINES_TAKE_AT_END: Duration = Duration::from_secs(2);

/// Why no window was opened, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Code {
    /// GPU work is not captured.
    NotCapturing = 1,
    /// The program has no CUDA context yet.
    NoContext = 2,
    /// One is open.
    AlreadyOpen = 3,
    /// No such kind or mode.
    NotUnderstood = 4,
    /// The process may not profile.
    NotAllowed = 5,
    /// CUPTI or the driver refused.
    Failed = 6,
}

/// No window was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Why, as a number.
    pub code: Code,
    /// Why, and what to do.
    pub why: String,
}

impl Refused {
    fn new(code: Code, why: impl Into<String>) -> Refused {
        Refused { code, why: why.into() }
    }

    fn by(problem: &Problem) -> Refused {
        let code = match problem.code {
            result::INSUFFICIENT_PRIVILEGES | result::VIRTUALIZED_PRIVILEGES => Code::NotAllowed,
            _ => Code::Failed,
        };
        Refused::new(code, pc::explain(problem))
    }
}

/// The window that is open.
struct Open {
    window: Window,
    options: Options,
    samplers: Vec<Sampler>,
    rows: Rows,
    /// The scope of samples without a launch.
    otherwise: SpanId,
    /// Kernels launched before, and those of them without a record.
    before: (u64, u64),
}

static OPEN: Mutex<Option<Open>> = Mutex::new(None);
static SAMPLING: Mutex<Sampling> = Mutex::new(Sampling::NONE);
/// What closed windows saw, until it is written.
static WAITING: Mutex<Vec<Rows>> = Mutex::new(Vec::new());
/// Held by whoever writes it.
static WRITING: Mutex<()> = Mutex::new(());
/// Contexts that were prepared when they were made.
static PREPARED: Mutex<Vec<Sampler>> = Mutex::new(Vec::new());
/// String id of the name that launches must be inside of to count; 0 when all do.
static ONLY_IN: AtomicU32 = AtomicU32::new(0);
/// The launches that do.
static COUNTED: Mutex<Option<HashSet<u32>>> = Mutex::new(None);

/// Opens a window. `mode` is `serialized` (or empty) or `continuous`; with `scope`, only work that
/// was launched inside a scope of that name counts.
pub fn begin(kind: &str, mode: &str, scope: &str) -> Result<(), Refused> {
    if capture::is_forked() {
        return Err(Refused::new(Code::NotCapturing, "CUDA does not survive a fork"));
    }
    let told = try_begin(kind, mode, scope);
    if let Err(refused) = &told {
        lock(&SAMPLING).refuse(&refused.why);
    }
    if engine().is_some() {
        capture::write();
    }
    told
}

fn try_begin(kind: &str, mode: &str, scope: &str) -> Result<(), Refused> {
    if kind != "pc-sampling" {
        let why = format!("{kind:?} is no kind of window: there is \"pc-sampling\"");
        return Err(Refused::new(Code::NotUnderstood, why));
    }
    let Some(mode) = Mode::from_word(mode) else {
        let why = format!("{mode:?} is no mode: there are \"serialized\" and \"continuous\"");
        return Err(Refused::new(Code::NotUnderstood, why));
    };
    if mode == Mode::Continuous && !scope.is_empty() {
        let why = "without serialised kernels samples have no launch, so no scope to choose by: \
                   leave out the scope, or open the window inside it";
        return Err(Refused::new(Code::NotUnderstood, why));
    }
    let (engine, counts) = capture::ready().map_err(|why| Refused::new(Code::NotCapturing, why))?;
    let mut place = lock(&OPEN);
    if place.is_some() {
        return Err(Refused::new(Code::AlreadyOpen, "a window is open: end it first"));
    }
    let began = Instant::now();
    let options = Options::new(mode);
    let mut window = Window { mode, scope: scope.into(), ..Window::default() };
    window.notes = notes(engine, scope);
    let contexts = settled_contexts(&mut window.notes)?;
    capture::settle(engine, BEGIN_WAITS);
    let launched = || counts.launched().kernels;
    let before = (launched(), counts.kernels_under_way());
    if options.without_kernels {
        engine.release(&[kind::CONCURRENT_KERNEL]);
    }
    count_only_in(scope);
    let samplers = start(engine, &contexts, &options, &mut window).inspect_err(|_| {
        count_only_in("");
        kernels_again(engine, &options);
    })?;
    window.start = engine.clock.now();
    window.contexts = samplers.len() as u64;
    window.period = samplers.first().and_then(|sampler| sampler.period);
    window.begin_ns = began.elapsed().as_nanos() as u64;
    lock(&SAMPLING).opened(window.clone());
    let otherwise = if mode == Mode::Continuous { ambient::scope().0 } else { SpanId::NONE };
    *place = Some(Open { window, options, samplers, rows: Rows::default(), otherwise, before });
    Ok(())
}

/// What is known beforehand of what will be missing.
fn notes(engine: &Engine, scope: &str) -> Vec<String> {
    let mut notes = pc::preload(&engine.cupti);
    if engine.by_time.load(Ordering::Acquire) {
        notes.push("another tool holds CUPTI's callbacks: samples have no scope".into());
        if !scope.is_empty() {
            notes.push(format!("so none is inside {scope:?}"));
        }
    }
    if !engine.with_modules.load(Ordering::Acquire) {
        notes.push("no source lines: they need the level pc-sampling from the start".into());
    }
    notes
}

/// The contexts in use, their work done.
fn settled_contexts(notes: &mut Vec<String>) -> Result<Vec<*mut c_void>, Refused> {
    let Some(driver) = CudaDriver::mapped() else {
        return Err(Refused::new(Code::NoContext, "libcuda is not mapped"));
    };
    let mut contexts = IN_USE.all();
    if contexts.is_empty() {
        contexts.extend(Some(driver.current_context()).filter(|context| !context.is_null()));
    }
    if contexts.is_empty() {
        let why = "the program has not used a GPU yet: run a step before the window";
        return Err(Refused::new(Code::NoContext, why));
    }
    let mut trouble = None;
    // SAFETY: they are in use: those that go are taken from the list.
    contexts.retain(|&context| match unsafe { driver.synchronize(context) } {
        Ok(()) => true,
        Err(error) => {
            notes.push(format!("a context was left out: {error}"));
            trouble = Some(error);
            false
        }
    });
    match trouble {
        Some(error) if contexts.is_empty() => Err(Refused::new(Code::Failed, error.to_string())),
        _ => Ok(contexts),
    }
}

/// Starts sampling on as many of the contexts as let themselves be sampled.
fn start(
    engine: &Engine,
    contexts: &[*mut c_void],
    options: &Options,
    window: &mut Window,
) -> Result<Vec<Sampler>, Refused> {
    let cupti = &engine.cupti;
    let mut samplers = Vec::new();
    let mut trouble = None;
    for &context in contexts {
        let sampler = match prepared(context) {
            Some(sampler) => Ok(sampler),
            None => Sampler::enable(cupti, context, options),
        };
        let started = sampler.and_then(|mut sampler| match sampler.start(cupti) {
            Ok(()) => {
                window.notes.append(&mut sampler.notes);
                Ok(sampler)
            }
            Err(problem) => {
                sampler.abandon(cupti);
                Err(problem)
            }
        });
        match started {
            Ok(sampler) => samplers.push(sampler),
            Err(problem) => {
                window.notes.push(format!("a context was left out: {problem}"));
                trouble = Some(Refused::by(&problem));
            }
        }
    }
    match trouble {
        Some(refused) if samplers.is_empty() => Err(refused),
        _ => Ok(samplers),
    }
}

fn prepared(context: *mut c_void) -> Option<Sampler> {
    let mut prepared = lock(&PREPARED);
    let at = prepared.iter().position(|sampler| sampler.context() == context)?;
    Some(prepared.swap_remove(at))
}

/// Says inside of which name launches count; all for none.
fn count_only_in(scope: &str) {
    let name = if scope.is_empty() { 0 } else { hodo_record::intern(scope) };
    *lock(&COUNTED) = (name != 0).then(HashSet::new);
    ONLY_IN.store(name, Ordering::Release);
}

fn kernels_again(engine: &Engine, options: &Options) {
    if options.without_kernels {
        // SAFETY: a plain call.
        let _ = unsafe { engine.cupti.activity_enable(kind::CONCURRENT_KERNEL) };
    }
}

/// Ends the window: waits for the work in it and fetches the samples. False when none was open.
pub fn end() -> bool {
    if capture::is_forked() {
        return false;
    }
    let mut place = lock(&OPEN);
    let Some((mut open, engine)) = place.take().zip(engine()) else { return false };
    let began = Instant::now();
    let synchronized = synchronize(&mut open);
    open.window.end = engine.clock.now();
    ONLY_IN.store(0, Ordering::Release);
    let counted = lock(&COUNTED).take();
    for (sampler, is_up) in std::mem::take(&mut open.samplers).into_iter().zip(synchronized) {
        finish(engine, &mut open, sampler, counted.as_ref(), is_up);
    }
    kernels_again(engine, &open.options);
    capture::settle(engine, END_WAITS);
    compare_kernels(&mut open);
    open.window.count(&open.rows);
    open.window.end_ns = began.elapsed().as_nanos() as u64;
    lock(&SAMPLING).closed(open.window);
    lock(&WAITING).push(open.rows);
    drop(place);
    capture::write();
    write_beside(engine);
    true
}

/// Writes what the window saw on a thread of its own: finding source lines takes long.
fn write_beside(engine: &'static Engine) {
    let builder = std::thread::Builder::new().name("hodo-lines".into());
    let spawned = with_all_blocked(|| builder.spawn(|| write_waiting(engine, LINES_TAKE)));
    if let Err(error) = spawned {
        warn(&format!("samples are written at the end only: no thread for them: {error}"));
    }
}

/// Waits for the work of every context; says for each whether CUDA is still there.
fn synchronize(open: &mut Open) -> Vec<bool> {
    let driver = CudaDriver::mapped();
    let notes = &mut open.window.notes;
    let wait = |sampler: &Sampler| {
        let Some(driver) = driver else { return false };
        // SAFETY: contexts that go take their samplers with them.
        let Err(error) = (unsafe { driver.synchronize(sampler.context()) }) else { return true };
        notes.push(format!("waiting for the window's work: {error}"));
        error.code != CudaError::DEINITIALIZED
    };
    open.samplers.iter().map(wait).collect()
}

/// Stops sampling on one context and takes over what was sampled.
fn finish(
    engine: &Engine,
    open: &mut Open,
    mut sampler: Sampler,
    counted: Option<&HashSet<u32>>,
    is_up: bool,
) {
    let notes = &mut open.window.notes;
    if !is_up {
        notes.push("CUDA was shut down before the window: its samples are lost".into());
        sampler.leak();
        return;
    }
    let cupti = &engine.cupti;
    if let Err(problem) = sampler.stop(cupti) {
        notes.push(pc::explain(&problem));
    }
    let reasons = sampler.reasons().clone();
    let whose = whose(engine, counted, open.otherwise);
    let mut take = |seen| open.rows.add(&seen, &reasons, &whose);
    let totals = &mut open.window.totals;
    if let Err(problem) = sampler.fetch(cupti, totals, &mut take) {
        notes.push(pc::explain(&problem));
    }
    if Options::is_early() {
        lock(&PREPARED).push(sampler);
        return;
    }
    match sampler.disable(cupti, totals, &mut take) {
        Ok(0) => {}
        Ok(late) => notes.push(format!("{late} instructions came when sampling was disabled")),
        Err(problem) => notes.push(pc::explain(&problem)),
    }
}

fn whose<'a>(engine: &'a Engine, only: Option<&'a HashSet<u32>>, otherwise: SpanId) -> Whose<'a> {
    let by_time = engine.by_time.load(Ordering::Acquire);
    Whose { launches: (!by_time).then_some(&engine.memory.launches), only, otherwise }
}

/// Says how many kernels of the window have no record of their times.
fn compare_kernels(open: &mut Open) {
    let Ok((_, counts)) = capture::ready() else { return };
    let window = &mut open.window;
    window.kernels = counts.launched().kernels.saturating_sub(open.before.0);
    window.kernels_missing = counts.kernels_under_way().saturating_sub(open.before.1);
    if window.kernels_missing > 0 {
        let (missing, all) = (window.kernels_missing, window.kernels);
        let why = format!("{missing} of {all} kernels have no record: they ran while sampled");
        capture::gap(window.start, window.end, why);
    }
}

/// A kernel or graph is being launched. One load unless a window counts certain scopes alone.
#[inline]
pub(crate) fn launched(correlation: u32) {
    let name = ONLY_IN.load(Ordering::Relaxed);
    if name != 0 {
        count(correlation, name);
    }
}

#[cold]
fn count(correlation: u32, name: u32) {
    if ambient::is_in(name)
        && let Some(counted) = lock(&COUNTED).as_mut()
    {
        counted.insert(correlation);
    }
}

/// A context was made: prepared at once if that is wanted, as CUPTI's own examples do it.
pub(crate) fn context_made(engine: &Engine, context: *mut c_void) {
    IN_USE.add(context);
    if !engine.with_modules.load(Ordering::Acquire) || !Options::is_early() {
        return;
    }
    pc::preload(&engine.cupti);
    match Sampler::enable(&engine.cupti, context, &Options::new(Mode::Serialized)) {
        Ok(sampler) => lock(&PREPARED).push(sampler),
        Err(problem) => lock(&SAMPLING).refuse(&pc::explain(&problem)),
    }
}

/// A context is about to go, inside a call of the program's: what was sampled on it is fetched,
/// unless another thread is ending the window.
pub(crate) fn context_ends(engine: &Engine, context: *mut c_void) {
    IN_USE.remove(context);
    if let Some(sampler) = prepared(context) {
        sampler.abandon(&engine.cupti);
    }
    let Ok(mut place) = OPEN.try_lock() else { return };
    let Some(open) = place.as_mut() else { return };
    let is_its = |sampler: &mut Sampler| sampler.context() == context;
    let gone: Vec<Sampler> = open.samplers.extract_if(.., is_its).collect();
    // A copy: launches in other contexts go on, and no lock is held while CUPTI is called.
    let counted = lock(&COUNTED).clone();
    for sampler in gone {
        finish(engine, open, sampler, counted.as_ref(), true);
        open.window.notes.push("a context ended inside the window".into());
    }
}

/// Fetches while the window is open, where that was asked for.
pub(crate) fn fetch_often(engine: &Engine) {
    let Ok(mut place) = OPEN.try_lock() else { return };
    let Some(open) = place.as_mut().filter(|open| open.options.fetch_often) else { return };
    let mut samplers = std::mem::take(&mut open.samplers);
    for sampler in &mut samplers {
        let reasons = sampler.reasons().clone();
        let counted = lock(&COUNTED).clone();
        let whose = whose(engine, counted.as_ref(), open.otherwise);
        let mut take = |seen| open.rows.add(&seen, &reasons, &whose);
        if let Err(problem) = sampler.fetch(&engine.cupti, &mut open.window.totals, &mut take)
            && open.window.notes.len() < 32
        {
            open.window.notes.push(pc::explain(&problem));
        }
    }
    open.samplers = samplers;
}

/// Finds the source lines of what closed windows saw, as far as `time` allows, and writes it.
pub(crate) fn write_waiting(engine: &Engine, time: Duration) {
    let _turn = lock(&WRITING);
    let waiting = std::mem::take(&mut *lock(&WAITING));
    let Some(folder) = capture::folder().filter(|_| !waiting.is_empty()) else { return };
    for rows in waiting {
        let cubins = folder.join("cubins");
        let samples = pc::resolve(&rows, &engine.cubins, &engine.cupti, &cubins, time);
        capture::keep_samples(&samples);
    }
}

/// What is said of windows, as JSON; none when none was asked for.
pub(crate) fn json() -> Option<String> {
    let cubins = engine().map(|engine| engine.cubins.counts()).unwrap_or_default();
    lock(&SAMPLING).json(cubins)
}

/// The recorder has stopped: the next has windows of its own.
pub(crate) fn forget() {
    *lock(&SAMPLING) = Sampling::NONE;
    lock(&WAITING).clear();
    if let Some(engine) = engine() {
        engine.cubins.forget_saved();
    }
}

/// Why the last window that was asked for was not opened; empty when it was.
pub fn reason() -> String {
    if capture::is_forked() {
        return "CUDA does not survive a fork".into();
    }
    lock(&SAMPLING).refused.clone()
}
