//! Sampling in the background: the thread that ties readers to files.

#[cfg(test)]
mod churn;
mod keeper;
#[cfg(test)]
mod tests;

pub use keeper::Keeper;
use keeper::LockDescriptor;

use crate::monotonic_ns;
use crate::sampler::{Newest, Parts, readers};
use crate::state::{Kind, Standing, Status};
use crate::store::Limits;
use crate::tier::Readers;
use hodo_record::binding::{OwnThread, Scopes};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The thread's stack: files and a driver's calls, nothing deep.
const STACK_BYTES: usize = 512 << 10;
/// How long the host of a sampler waits for a reader that hangs. Its rows are in the live file already.
/// Tests run where many others do, and want to see the end.
const STOP_WAITS: Duration = Duration::from_millis(if cfg!(test) { 120_000 } else { 90 });

/// What is sampled, how often, and where it goes.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The run's folder.
    pub run: PathBuf,
    /// Time between rounds.
    pub interval: Duration,
    /// What kind of sampler it is.
    pub kind: Kind,
    /// Looks which scopes are open, to read only while there are any; none to read always.
    pub scopes: Option<fn() -> Scopes>,
    /// Reads also while another writes this host's readings: for [`Sampling::newest`].
    pub reads_while_linked: bool,
    /// Keeps the newest values for [`Sampling::newest`].
    pub keeps_newest: bool,
    /// What of the machine is read.
    pub parts: Parts,
    /// How large files get.
    pub limits: Limits,
}

/// A sampler that runs in the background. Dropped, it stops.
///
/// ```no_run
/// use hodo_machine::gpu::Visible;
/// use hodo_machine::{Kind, Limits, Parts, Roots, Sampling, Settings};
/// use std::time::Duration;
///
/// let run = std::path::PathBuf::from(".hodo/20260101-120000-train-0a1b2c");
/// let parts = Parts { processes: Roots::of_run(&run), gpus: Some(Visible::All) };
/// let settings = Settings {
///     run,
///     interval: Duration::from_secs(1),
///     kind: Kind::Monitor,
///     scopes: None,
///     reads_while_linked: true,
///     keeps_newest: true,
///     parts,
///     limits: Limits::default(),
/// };
/// let sampling = Sampling::start(settings);
/// std::thread::sleep(Duration::from_secs(3));
/// println!("{} series", sampling.newest().len());
/// sampling.stop();
/// ```
#[derive(Debug)]
pub struct Sampling {
    shared: Arc<Shared>,
}

/// What is shared with the thread.
#[derive(Debug)]
pub(crate) struct Shared {
    control: Mutex<Control>,
    changed: Condvar,
    ended: Condvar,
    /// Read even though no scope is open: somebody asked for it.
    pub(crate) is_held: AtomicBool,
    status: Mutex<Status>,
    newest: Mutex<Vec<Newest>>,
    told: Mutex<Vec<(&'static str, String)>>,
    keeper: Mutex<Option<Keeping>>,
    lock_descriptor: LockDescriptor,
}

type Open = Box<dyn FnOnce() -> Readers + Send>;

/// The keeper, once its readers were opened.
enum Keeping {
    ToOpen(Box<Settings>, Open),
    Open(Box<Keeper>),
}

impl std::fmt::Debug for Keeping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keeping")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    GoOn,
    Pause,
    Finish,
}

#[derive(Debug)]
struct Control {
    order: Order,
    is_running: bool,
    is_finished: bool,
    thread: Option<OwnThread>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sampling {
    /// Starts. Everything is opened by the thread, so this takes no time and cannot fail; what does
    /// not work is in [`Sampling::status`].
    pub fn start(settings: Settings) -> Sampling {
        let parts = settings.parts.clone();
        Sampling::start_with(settings, Box::new(move || readers(&parts)))
    }

    /// Starts with readers of one's own.
    pub fn start_with(settings: Settings, open: Open) -> Sampling {
        let status = Status {
            standing: Standing::Starting,
            interval: settings.interval,
            only_in_scopes: settings.scopes.is_some(),
            ..Status::default()
        };
        let shared = Shared {
            control: Mutex::new(Control {
                order: Order::GoOn,
                is_running: false,
                is_finished: false,
                thread: None,
            }),
            changed: Condvar::new(),
            ended: Condvar::new(),
            is_held: AtomicBool::new(false),
            status: Mutex::new(status),
            newest: Mutex::default(),
            told: Mutex::default(),
            keeper: Mutex::new(Some(Keeping::ToOpen(Box::new(settings), open))),
            lock_descriptor: LockDescriptor::default(),
        };
        let sampling = Sampling { shared: Arc::new(shared) };
        sampling.resume();
        sampling
    }

    /// Where it stands.
    pub fn status(&self) -> Status {
        lock(&self.shared.status).clone()
    }

    /// The newest value of every series; empty unless the settings ask for it.
    pub fn newest(&self) -> Vec<Newest> {
        lock(&self.shared.newest).clone()
    }

    /// What readers say of themselves, as [`Sampler::told`](crate::Sampler::told) gives it; empty
    /// unless the settings ask for the newest values.
    pub fn told(&self) -> Vec<(&'static str, String)> {
        lock(&self.shared.told).clone()
    }

    /// Stops: what is left is written, in well under a tenth of a second. A reader that hangs is
    /// left to itself.
    pub fn stop(&self) {
        self.stop_within(STOP_WAITS);
    }

    /// Stops, and waits as long as that for a reader that hangs.
    pub fn stop_within(&self, waits: Duration) {
        self.order(Order::Finish, waits);
    }

    /// Stops the thread for a fork and lets others sample; [`Sampling::resume`] goes on.
    pub(crate) fn pause(&self) {
        self.order(Order::Pause, STOP_WAITS);
    }

    /// Starts the thread, unless it runs or has finished.
    pub(crate) fn resume(&self) {
        let mut control = lock(&self.shared.control);
        if control.is_finished || control.order == Order::Finish {
            return;
        }
        control.order = Order::GoOn;
        if control.is_running {
            return;
        }
        let shared = self.shared.clone();
        let thread =
            std::thread::Builder::new().name("hodo-telemetry".into()).stack_size(STACK_BYTES);
        match OwnThread::spawn(thread, move || shared.run()) {
            Ok(thread) => {
                control.is_running = true;
                control.thread = Some(thread);
            }
            Err(error) => {
                let why = format!("cannot start the sampler's thread: {error}");
                lock(&self.shared.status).standing = Standing::Failed(why);
            }
        }
    }

    /// Reads also while no scope is open, or no longer.
    pub(crate) fn hold(&self, is_held: bool) {
        self.shared.is_held.store(is_held, Ordering::Relaxed);
        self.shared.changed.notify_all();
    }

    /// In a forked child: gives up its share of the parent's lock. Takes no lock itself.
    pub(crate) fn forget_in_child(&self) {
        if let Some(descriptor) = self.shared.lock_descriptor.get() {
            // SAFETY: the child's own copy of a descriptor that nothing else uses here.
            unsafe { libc::close(descriptor) };
        }
    }

    fn order(&self, order: Order, waits: Duration) {
        let shared = &self.shared;
        let mut control = lock(&shared.control);
        if !control.is_running {
            if order == Order::Finish && !control.is_finished {
                // It was paused: what it kept is in the live file, for whoever comes next.
                control.is_finished = true;
                lock(&shared.status).standing = Standing::Off;
            }
            return gone(control);
        }
        control.order = order;
        shared.changed.notify_all();
        let until = Instant::now() + waits;
        while control.is_running {
            let Some(left) = until.checked_duration_since(Instant::now()) else { break };
            let waited = shared.ended.wait_timeout(control, left);
            control = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        control.is_finished |= order == Order::Finish;
        // One that hangs is left alone.
        if !control.is_running {
            gone(control);
        }
    }
}

/// Sees to it that a thread that has ended is gone for whoever counts threads.
fn gone(mut control: MutexGuard<'_, Control>) {
    let thread = control.thread.take();
    drop(control);
    thread.into_iter().for_each(OwnThread::join);
}

impl Drop for Sampling {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn run(&self) {
        loop {
            let work = std::panic::AssertUnwindSafe(|| self.work());
            let is_paused = std::panic::catch_unwind(work).unwrap_or_else(|_| {
                let why = "an internal error ended the sampler".into();
                lock(&self.status).standing = Standing::Failed(why);
                false
            });
            let mut control = lock(&self.control);
            // Whoever gave another order meanwhile saw it run.
            if is_paused && control.order != Order::Pause {
                continue;
            }
            control.is_running = false;
            self.ended.notify_all();
            return;
        }
    }

    /// Samples until it is told otherwise; whether that was to pause.
    fn work(&self) -> bool {
        let mut guard = lock(&self.keeper);
        let (mut keeper, keeps_newest) = match guard.take() {
            Some(Keeping::ToOpen(settings, open)) => {
                let keeps_newest = settings.keeps_newest;
                let mut keeper = Keeper::new(*settings, open());
                keeper.tell_lock(&self.lock_descriptor);
                (Box::new(keeper), keeps_newest)
            }
            Some(Keeping::Open(keeper)) => {
                let keeps_newest = keeper.keeps_newest();
                (keeper, keeps_newest)
            }
            None => return false,
        };
        loop {
            let (order, is_abandoned) = {
                let control = lock(&self.control);
                (control.order, control.is_finished)
            };
            match order {
                Order::GoOn => {}
                Order::Pause => {
                    keeper.let_go();
                    self.publish(&keeper, false);
                    *guard = Some(Keeping::Open(keeper));
                    return true;
                }
                // Nobody waits any more, and the folder may be another's by now.
                Order::Finish if is_abandoned => return false,
                Order::Finish => {
                    self.finish(&mut keeper);
                    self.publish(&keeper, keeps_newest);
                    return false;
                }
            }
            let next = keeper.step(&monotonic_ns, self.is_held.load(Ordering::Relaxed));
            self.publish(&keeper, keeps_newest);
            self.wait(next);
        }
    }

    /// A program that ends before the first round has a reading at its end at least.
    fn finish(&self, keeper: &mut Keeper) {
        if keeper.sampler().cost().rounds == 0 {
            keeper.step(&monotonic_ns, self.is_held.load(Ordering::Relaxed));
        }
        keeper.finish(&monotonic_ns);
    }

    fn publish(&self, keeper: &Keeper, newest: bool) {
        *lock(&self.status) = keeper.status();
        if newest {
            *lock(&self.newest) = keeper.sampler().newest();
            *lock(&self.told) = keeper.sampler().told();
        }
    }

    fn wait(&self, until_ns: u64) {
        let control = lock(&self.control);
        let left = until_ns.saturating_sub(monotonic_ns());
        if control.order == Order::GoOn && left > 0 {
            let _ = self.changed.wait_timeout(control, Duration::from_nanos(left));
        }
    }
}
