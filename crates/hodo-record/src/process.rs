//! The recorder of one process: made at its start, or at the first scope of a forked child.

use crate::arena::{self, Arena};
use crate::attach::{Arrival, Live};
use crate::clock::{self, ClockSource, Rate};
use crate::config::Config;
use crate::cpu::{self, CpuMethod};
use crate::drain::add;
use crate::handle::Handles;
use crate::pool::{Pool, wiped_on_fork};
use crate::pump::{Flushed, Pump};
use crate::run::Identity;
use crate::scope::{allow_all_fast, forbid_fast};
use crate::strings::Strings;
use crate::write::Sort;
use crate::{calibrate, companion, fork, names, signals};
use hodo_format::arena::{Anchor, Counts, Loss};
use hodo_format::spool::ThreadInfo;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The recorder's state. Made once per process and never freed: late threads may look at it.
#[derive(Debug)]
pub struct Process {
    pub(crate) config: Config,
    pub(crate) identity: Identity,
    pub(crate) arena: Arena,
    /// The arena as `process.json` names it; `None` when it is in memory only.
    pub(crate) arena_name: Option<String>,
    pub(crate) clock: ClockSource,
    pub(crate) first_anchor: Anchor,
    rate: Mutex<Rate>,
    pub(crate) cpu: CpuMethod,
    /// What does not work as it should, known from the start.
    pub(crate) shortcomings: Vec<String>,
    pub(crate) threads: Pool,
    pub(crate) live: Mutex<Vec<Live>>,
    pub(crate) arrivals: Mutex<Vec<Arrival>>,
    pub(crate) next_thread: AtomicU32,
    pub(crate) handles: Handles,
    pub(crate) strings: Strings,
    pub(crate) pump: Pump,
    pub(crate) scope_cost: AtomicU64,
    /// See [`calibrate::readings_cost`]; less once a thread's CPU time shows that they take less.
    pub(crate) readings_cost: AtomicU64,
    /// Sums over threads that ended.
    pub(crate) buried: Mutex<ThreadInfo>,
    /// The pump's round in which a thread waited for memory in vain.
    pub(crate) waited_in: AtomicU64,
    stopped: AtomicBool,
    warned_depth: AtomicBool,
}

/// How a start went. None of them is an error for the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Started {
    /// Recording.
    On,
    /// Recording, but something does not work as it should: what, and why.
    Degraded(String),
    /// Not recording, and why.
    Off(String),
    /// A recorder is running in this process already.
    Already,
}

/// A forked child's share of its parent's memory: there may be many, most are short, and one that
/// ends by `_exit` leaves its arena on disk.
const CHILD_SHARE: usize = 16;
const CHILD_MIN_BYTES: usize = 4 << 20;

/// Points at the running recorder; wiped in a forked child.
static RUNNING: OnceLock<usize> = OnceLock::new();
/// The last recorder made, kept across a fork; null after a shutdown.
static ORIGIN: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
/// Makes starting, stopping and becoming a child exclude each other.
static CHANGING: Mutex<()> = Mutex::new(());

fn running() -> Option<&'static AtomicPtr<Process>> {
    let word = *RUNNING.get_or_init(|| wiped_on_fork(4096) as usize);
    // SAFETY: the mapping is never unmapped, aligned, and zero is a null pointer.
    (word != 0).then(|| unsafe { &*(word as *const AtomicPtr<Process>) })
}

/// The running recorder.
pub fn current() -> Option<&'static Process> {
    // SAFETY: recorders are leaked.
    unsafe { running()?.load(Ordering::Acquire).as_ref() }
}

/// Whether this copy of hodo is the one that records.
pub fn is_recorder() -> bool {
    current().is_some()
}

/// The recorder that was running when this process was forked, if it was.
pub fn origin() -> Option<&'static Process> {
    // SAFETY: recorders are leaked.
    unsafe { ORIGIN.load(Ordering::Acquire).as_ref() }
}

/// Holds starting and stopping off; used around a fork.
pub fn hold() -> std::sync::MutexGuard<'static, ()> {
    crate::lock(&CHANGING)
}

/// Whether a recorder is being started or stopped right now.
pub fn is_changing() -> bool {
    CHANGING.try_lock().is_err()
}

/// The running recorder; in a forked child, a new one linked to the parent's.
pub fn current_or_child() -> Option<&'static Process> {
    match current() {
        Some(process) => Some(process),
        None if ORIGIN.load(Ordering::Relaxed).is_null() => None,
        None => become_child(),
    }
}

#[cold]
fn become_child() -> Option<&'static Process> {
    let _changing = hold();
    if let Some(process) = current() {
        return Some(process);
    }
    let parent = origin()?;
    parent.arena.close_file_in_child();
    let mut config = parent.config.clone();
    config.run = Some(parent.identity.run.clone());
    config.app = Some(parent.identity.app.clone());
    config.parent = fork::link(parent);
    config.memory_bytes = (config.memory_bytes / CHILD_SHARE).max(CHILD_MIN_BYTES.min(config.memory_bytes));
    let process = establish(Process::make(config))?;
    companion::tell(|companion| (companion.started)(companion::recording(process)));
    Some(process)
}

fn establish(process: Process) -> Option<&'static Process> {
    let word = running()?;
    let process: &'static Process = Box::leak(Box::new(process));
    ORIGIN.store(std::ptr::from_ref(process).cast_mut(), Ordering::Release);
    word.store(std::ptr::from_ref(process).cast_mut(), Ordering::Release);
    process.pump.ensure_running(process);
    Some(process)
}

/// Starts the recorder.
pub fn start(config: Config) -> Started {
    if !config.enabled {
        return Started::Off("switched off by configuration or HODO=0".into());
    }
    let _changing = hold();
    if current().is_some() {
        return Started::Already;
    }
    fork::install();
    crate::pin::pin_library();
    let share = config.share_run;
    let Some(process) = establish(Process::make(config)) else {
        return Started::Off("the system has no memory for the recorder".into());
    };
    if share && process.arena_name.is_some() {
        process.share();
    }
    companion::tell(|companion| (companion.started)(companion::recording(process)));
    crate::shipper::start(process);
    match process.shortcomings.first() {
        None => Started::On,
        Some(first) => {
            crate::warn(first);
            Started::Degraded(process.shortcomings.join("; "))
        }
    }
}

/// Stops the recorder: everything recorded is written, scopes from now on are inert.
pub fn stop() -> Flushed {
    let _changing = hold();
    let Some(process) = current() else { return Flushed::Off };
    companion::tell(|companion| (companion.stopping)());
    if let Some(word) = running() {
        word.store(std::ptr::null_mut(), Ordering::Release);
    }
    ORIGIN.store(std::ptr::null_mut(), Ordering::Release);
    process.stopped.store(true, Ordering::SeqCst);
    forbid_fast(process);
    process.pump.finish(process);
    crate::health::keep_last(process);
    process.remove_arena();
    let trouble = crate::lock(&process.pump.trouble).clone();
    process.unshare();
    if trouble.is_empty() { Flushed::Done } else { Flushed::Failed(trouble) }
}

/// In a forked child: the parent's recorder is not ours, and its file not open here.
pub fn forget_in_child() {
    if let Some(word) = running() {
        word.store(std::ptr::null_mut(), Ordering::Release);
    }
    if let Some(parent) = origin() {
        parent.arena.close_file_in_child();
    }
}

/// Counts a record of a thread that could not even be given a state.
pub fn count_unattached(sort: Sort) {
    if let Some(process) = current() {
        crate::write::count(&process.arena.header().lost[Loss::RingFull as usize], sort);
    }
}

impl Process {
    fn make(config: Config) -> Process {
        signals::without_sigxfsz(|| Process::new(config))
    }

    fn new(config: Config) -> Process {
        let (clock, slow_clock) = clock::choose(config.clock);
        let first_anchor = clock.anchor();
        let identity = Identity::new(&config);
        let mut shortcomings: Vec<String> = slow_clock.into_iter().collect();
        let (arena, arena_name, trouble) = make_arena(&config, &identity, clock);
        shortcomings.extend(trouble);
        let (cpu, _) = cpu::choose(config.cpu_time);
        let scope_cost = calibrate::scope_cost();
        let readings_cost = calibrate::readings_cost();
        wait_since(&first_anchor, clock);
        let second_anchor = clock.anchor();
        arena.keep(first_anchor);
        arena.keep(second_anchor);
        arena.publish(identity.process, clock);
        arena.lock_for_life();
        let process = Process {
            config,
            identity,
            arena,
            arena_name,
            clock,
            first_anchor,
            rate: Mutex::new(Rate::between(&first_anchor, &second_anchor)),
            cpu,
            shortcomings,
            threads: Pool::default(),
            live: Mutex::default(),
            arrivals: Mutex::default(),
            next_thread: AtomicU32::new(1),
            handles: Handles::default(),
            strings: Strings::default(),
            pump: Pump::default(),
            scope_cost: AtomicU64::new(scope_cost),
            readings_cost: AtomicU64::new(readings_cost),
            buried: Mutex::default(),
            waited_in: AtomicU64::new(u64::MAX),
            stopped: AtomicBool::new(false),
            warned_depth: AtomicBool::new(false),
        };
        process.keep_names();
        process
    }

    /// Every string known so far goes into the new arena.
    fn keep_names(&self) {
        for (id, text) in names::lock().texts().iter().enumerate() {
            if !self.strings.keep(self, id as u32, text) {
                return;
            }
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.identity.folder
    }

    pub(crate) fn rate(&self) -> Rate {
        *crate::lock(&self.rate)
    }

    /// The time of day at `ticks`, by the wall clock as it is now.
    pub(crate) fn wall_ns(&self, ticks: u64) -> u64 {
        let now = self.clock.anchor();
        now.wall_ns.saturating_sub(self.rate().ns(now.ticks.saturating_sub(ticks)))
    }

    pub(crate) fn cpu_is_off(&self) -> bool {
        self.cpu == CpuMethod::Off
    }

    /// Whether the recorder was shut down.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Whether every scope takes the slow path here, for its clock is not the counter.
    pub(crate) fn is_slow(&self) -> bool {
        self.cpu_is_off() || self.clock != ClockSource::Counter
    }

    /// What [`Thread::fast`](crate::thread::Thread::fast) is while nothing speaks against it.
    pub(crate) fn may_be_fast(&self) -> u32 {
        (!self.is_slow()).into()
    }

    pub(crate) fn flush(&'static self, timeout: Duration) -> Flushed {
        companion::tell(|companion| (companion.flush)(timeout));
        let flushed = self.pump.flush(self, timeout);
        if flushed == Flushed::Done {
            self.be_read_until_now();
        }
        flushed
    }

    /// Who reads the run as it is now shows all that has ended: what left the arena says no more how
    /// late it is, and nothing after the latest moment found there is shown.
    pub(crate) fn be_read_until_now(&self) {
        self.arena.keep(self.clock.anchor());
    }

    /// After a fork stopped the pump: it runs again, so threads need not take the slow path.
    pub(crate) fn resume_fast_path(&self) {
        allow_all_fast(self);
    }

    pub(crate) fn lose(&self, reason: Loss, counts: Counts) {
        add(&self.arena.header().lost[reason as usize], counts);
    }

    /// Adds an ended thread's counters to the totals, since its slab is about to be reused.
    pub(crate) fn bury(&self, thread: &ThreadInfo) {
        let header = self.arena.header();
        add(&header.ended_produced, thread.produced);
        for (total, lost) in header.ended_lost.iter().zip(thread.lost) {
            add(total, lost);
        }
        let mut buried = crate::lock(&self.buried);
        buried.depth_dropped += thread.depth_dropped;
        buried.out_of_order += thread.out_of_order;
        buried.double_closed += thread.double_closed;
        buried.wrong_thread += thread.wrong_thread;
        buried.cpu_syscalls += thread.cpu_syscalls;
    }

    pub(crate) fn set_scope_cost(&self, ticks: u64) {
        self.scope_cost.store(ticks, Ordering::Relaxed);
        for thread in crate::lock(&self.live).iter() {
            // SAFETY: threads leave this list, under its lock, before their state is reused.
            unsafe { (*thread.0).scope_cost.store(ticks, Ordering::Relaxed) };
        }
    }

    pub(crate) fn warn_depth(&self) {
        let limit = self.config.max_depth;
        if !self.warned_depth.swap(true, Ordering::Relaxed) {
            crate::warn(&format!(
                "scopes nested deeper than {limit} are counted, not recorded; \
                 raise max_depth (HODO_MAX_DEPTH) to keep them"
            ));
        }
    }

    /// The recorder has stopped: the arena goes from memory, and if the spool holds everything
    /// from the disk too.
    fn remove_arena(&self) {
        if let Some(name) = self.arena_name.as_ref().filter(|_| self.arena.is_finished()) {
            let _ = std::fs::remove_file(self.folder().join(name));
        }
        self.arena.retire();
    }

    /// Puts the run into the environment for child processes.
    fn share(&self) {
        // SAFETY: changing the environment races with other threads that read it without Rust's
        // lock; `share_run` documents it, and a recorder is started before threads are.
        unsafe { std::env::set_var("HODO_RUN", &self.identity.run) };
    }

    /// Takes it out again, unless somebody else put it there.
    fn unshare(&self) {
        let ours = self.config.share_run && self.config.run.is_none();
        if ours && std::env::var_os("HODO_RUN").is_some_and(|run| run == self.identity.run) {
            // SAFETY: as in `share`.
            unsafe { std::env::remove_var("HODO_RUN") };
        }
    }
}

/// The rate of the counter needs two readings some time apart.
fn wait_since(first: &Anchor, clock: ClockSource) {
    const APART_NS: u64 = 2_000_000;
    while clock.anchor().monotonic_ns.saturating_sub(first.monotonic_ns) < APART_NS {
        std::hint::spin_loop();
    }
}

type Made = (Arena, Option<String>, Option<String>);

/// The best arena to be had: on the run's disk, on a local one, or in memory; with what is wrong.
fn make_arena(config: &Config, identity: &Identity, clock: ClockSource) -> Made {
    let bytes = config.memory_bytes.max(arena::MIN_BYTES);
    match arena_on_disk(bytes, identity, clock) {
        Ok((arena, name)) => (arena, Some(name), None),
        Err(why) => {
            let what = format!(
                "{why}; recording into memory, so a killed process loses what was not written"
            );
            (in_memory(bytes), None, Some(what))
        }
    }
}

fn in_memory(bytes: usize) -> Arena {
    let mut bytes = bytes;
    loop {
        match Arena::in_memory(bytes) {
            Ok(arena) => return arena,
            Err(_) if bytes > arena::MIN_BYTES => bytes /= 2,
            // A process that cannot map a megabyte cannot go on in any case.
            Err(error) => panic!("hodo: no memory for the smallest arena: {error}"),
        }
    }
}

fn arena_on_disk(
    bytes: usize,
    identity: &Identity,
    clock: ClockSource,
) -> Result<(Arena, String), String> {
    let run = identity.folder.display();
    std::fs::create_dir_all(&identity.folder).map_err(|e| format!("cannot create {run}: {e}"))?;
    let (folder, name) = match arena::fit_for_mapping(&identity.folder) {
        Ok(()) => (identity.folder.clone(), PathBuf::from("arena")),
        Err(_) => {
            let folder = std::env::temp_dir().join(format!("hodo-{:016x}", identity.process));
            std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
            arena::fit_for_mapping(&folder)?;
            (folder.clone(), folder.join("arena"))
        }
    };
    let path = folder.join(&name);
    let arena = preallocate(&path, bytes)
        .inspect_err(|_| drop(std::fs::remove_file(&path)))
        .map_err(|error| format!("cannot make {}: {error}", path.display()))?;
    let name = name.to_string_lossy().into_owned();
    identity
        .establish(clock.name(), Some(&name))
        .map_err(|error| format!("cannot write to {run}: {error}"))?;
    Ok((arena, name))
}

/// Halves the size while the disk or a limit refuses it; leaves half of the free space to the spool.
fn preallocate(path: &Path, bytes: usize) -> std::io::Result<Arena> {
    let folder = path.parent().unwrap_or(path);
    let fits = arena::free_bytes(folder).map_or(u64::MAX, |free| free / 2);
    let mut bytes = bytes.min(usize::try_from(fits).unwrap_or(usize::MAX)).max(arena::MIN_BYTES);
    loop {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        match Arena::on_file(file, bytes) {
            Ok(arena) => return Ok(arena),
            Err(_) if bytes / 2 >= arena::MIN_BYTES => bytes /= 2,
            Err(error) => return Err(error),
        }
    }
}
