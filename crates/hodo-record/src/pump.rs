//! The pump: the one background thread, which moves records from the rings to the spool.

use crate::arena::Arena;
use crate::companion;
use crate::own_thread::OwnThread;
use crate::process::Process;
use crate::work::Work;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// How often the pump looks whether enough has gathered.
const TICK: Duration = Duration::from_millis(20);
/// How often it tries again after the disk refused.
const RETRY: Duration = Duration::from_millis(100);

const GO_ON: u32 = 0;
const PAUSE: u32 = 1;
const FINISH: u32 = 2;

/// The pump's controls, shared with the threads that record.
#[derive(Debug, Default)]
pub struct Pump {
    /// 1 while a wake-up is on its way; the pump sleeps on this word.
    woken: AtomicU32,
    order: AtomicU32,
    running: AtomicBool,
    /// A fork is under way: no thread may be started.
    forking: AtomicBool,
    /// Rounds that wrote something, or found nothing to write.
    pub rounds: AtomicU64,
    thread: Mutex<Option<OwnThread>>,
    work: Mutex<Option<Work>>,
    asked: AtomicU64,
    answered: Mutex<Answered>,
    answer: Condvar,
    /// Nanoseconds the newest round took from waking to the end of its writing.
    pub lag_ns: AtomicU64,
    /// Bytes of the spool.
    pub spool_bytes: AtomicU64,
    /// Why the last attempt to write failed; empty while all is well.
    pub trouble: Mutex<String>,
}

#[derive(Debug, Default)]
struct Answered {
    request: u64,
    well: bool,
}

/// How a flush ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flushed {
    /// Everything recorded before the call is in the spool.
    Done,
    /// The time ran out; the rest follows.
    TimedOut,
    /// The disk refused; records stay in memory and are tried again.
    Failed(String),
    /// The recorder is not on.
    Off,
}

impl Flushed {
    /// The answer as it crosses between copies of hodo.
    pub fn code(&self) -> u32 {
        match self {
            Flushed::Done => 0,
            Flushed::TimedOut => 1,
            Flushed::Failed(_) => 2,
            Flushed::Off => 3,
        }
    }

    /// The answer of another copy.
    pub(crate) fn from_code(code: u32, why: impl FnOnce() -> String) -> Flushed {
        match code {
            0 => Flushed::Done,
            1 => Flushed::TimedOut,
            2 => Flushed::Failed(why()),
            _ => Flushed::Off,
        }
    }
}

impl Pump {
    /// Starts the pump if it is not running: at the start, and after a fork stopped it.
    #[inline]
    pub fn ensure_running(&self, process: &'static Process) {
        if !self.running.load(Ordering::Acquire) {
            self.start(process, false);
        }
    }

    /// Starts the thread; of a recorder that was stopped only `to_finish` it.
    #[cold]
    fn start(&self, process: &'static Process, to_finish: bool) {
        let mut thread = crate::lock(&self.thread);
        let refused = self.forking.load(Ordering::Acquire) || process.is_stopped() && !to_finish;
        if refused || self.running.load(Ordering::Acquire) {
            return;
        }
        self.order.store(GO_ON, Ordering::Relaxed);
        let builder = std::thread::Builder::new().name("hodo-pump".into());
        match OwnThread::spawn(builder, move || process.pump.run(process)) {
            Ok(spawned) => {
                *thread = Some(spawned);
                self.running.store(true, Ordering::Release);
                process.resume_fast_path();
                companion::tell(|companion| (companion.resumed)());
            }
            Err(error) => {
                self.complain(process, &format!("cannot start the pump thread: {error}"));
            }
        }
    }

    /// Stops the pump and waits until it has: before a fork, and at the end.
    fn stop(&self, order: u32) {
        let Some(thread) = crate::lock(&self.thread).take() else { return };
        self.order.store(order, Ordering::Release);
        self.wake();
        thread.join();
        self.running.store(false, Ordering::Release);
    }

    /// Stops the pump for a fork; after [`Pump::forked`] it restarts with the next scope.
    pub fn pause(&self) {
        self.forking.store(true, Ordering::Release);
        self.stop(PAUSE);
    }

    /// The fork is over.
    pub fn forked(&self) {
        self.forking.store(false, Ordering::Release);
    }

    /// Whether the pump is to stop at once; what it has not written stays in the rings.
    pub fn is_pausing(&self) -> bool {
        self.order.load(Ordering::Acquire) == PAUSE
    }

    /// Writes all that is left and ends the spool.
    pub fn finish(&self, process: &'static Process) {
        self.start(process, true);
        self.stop(FINISH);
        *crate::lock(&self.work) = None;
    }

    /// Wakes the pump.
    pub fn wake(&self) {
        if self.woken.swap(1, Ordering::AcqRel) == 0 {
            futex(&self.woken, libc::FUTEX_WAKE, 1, None);
        }
    }

    /// Wakes the pump when half of the arena is in use.
    pub fn nudge(&self, arena: &Arena) {
        if arena.free() < arena.slabs() / 2 && self.woken.load(Ordering::Relaxed) == 0 {
            self.wake();
        }
    }

    /// Waits until everything recorded so far is in the spool.
    pub fn flush(&self, process: &'static Process, timeout: Duration) -> Flushed {
        self.ensure_running(process);
        let request = self.asked.fetch_add(1, Ordering::AcqRel) + 1;
        self.wake();
        let waiting = |answered: &mut Answered| answered.request < request;
        let answered = crate::lock(&self.answered);
        let (answered, out) = match self.answer.wait_timeout_while(answered, timeout, waiting) {
            Ok(woken) => woken,
            Err(poisoned) => poisoned.into_inner(),
        };
        match (out.timed_out(), answered.well) {
            (true, _) => Flushed::TimedOut,
            (_, true) => Flushed::Done,
            _ => Flushed::Failed(crate::lock(&self.trouble).clone()),
        }
    }

    /// The pump's thread.
    fn run(&self, process: &'static Process) {
        let mut work = crate::lock(&self.work);
        let work = work.get_or_insert_with(|| Work::new(process));
        loop {
            let order = self.order.load(Ordering::Acquire);
            if order == PAUSE {
                return;
            }
            let request = self.asked.load(Ordering::Acquire);
            let answered = crate::lock(&self.answered).request;
            let woken = self.woken.swap(0, Ordering::AcqRel) != 0;
            let now = woken || order != GO_ON || request > answered;
            let well = crate::guarded(false, || self.round(work, process, now));
            crate::shipper::bury();
            if request > answered {
                *crate::lock(&self.answered) = Answered { request, well };
                self.answer.notify_all();
            }
            match order {
                FINISH => {
                    crate::guarded((), || work.finish(process));
                    return;
                }
                _ => self.sleep(if well { TICK } else { RETRY }),
            }
        }
    }

    /// One round: writes if asked to or if enough has gathered. False when the disk refused.
    fn round(&self, work: &mut Work, process: &'static Process, now: bool) -> bool {
        let began = Instant::now();
        if !now && !work.is_due(process) {
            return true;
        }
        let result = work.write_all(process);
        self.lag_ns.store(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.spool_bytes.store(work.spool_bytes(), Ordering::Relaxed);
        match result {
            Ok(()) => {
                self.rounds.fetch_add(1, Ordering::Relaxed);
                self.recover();
                true
            }
            Err(error) => {
                let folder = process.folder().display();
                self.complain(process, &format!("cannot write to {folder}: {error}"));
                false
            }
        }
    }

    /// Says once when trouble begins and once when it ends; what the start said is not said again.
    fn complain(&self, process: &Process, what: &str) {
        let before = std::mem::replace(&mut *crate::lock(&self.trouble), what.into());
        if before.is_empty() && process.arena.has_file() {
            let goes_on = "recording goes on in memory; what does not fit is counted as lost";
            crate::warn(&format!("{what}; {goes_on}"));
        }
    }

    fn recover(&self) {
        let before = std::mem::take(&mut *crate::lock(&self.trouble));
        if !before.is_empty() {
            crate::warn("writing works again");
        }
    }

    fn sleep(&self, time: Duration) {
        futex(&self.woken, libc::FUTEX_WAIT, 0, Some(time));
    }
}

/// Waits on a word or wakes those who wait; both sides are in one process.
fn futex(word: &AtomicU32, operation: libc::c_int, value: u32, timeout: Option<Duration>) {
    let time = timeout.map(|t| libc::timespec {
        tv_sec: t.as_secs() as libc::time_t,
        tv_nsec: t.subsec_nanos() as _,
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let operation = operation | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word outlives the call, and the time is null or valid.
    unsafe { libc::syscall(libc::SYS_futex, word, operation, value, time) };
}
