//! A thread of our own, of which nothing is left for a host that counts its threads.

use std::io::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// How long the kernel may take to forget one that has ended: it runs on for a moment, and a fork
/// waits for it. Tests run where many others do, and want to see the end.
const AT_MOST: Duration = Duration::from_millis(if cfg!(test) { 300_000 } else { 100 });

/// Waits in vain after which none is waited for any more, as where a debugger does not reap threads: a count
/// that is off costs the host a warning, and a wait at each of its forks would cost it more.
const MOST_IN_VAIN: u32 = 3;
static IN_VAIN: AtomicU32 = AtomicU32::new(0);

/// A thread that takes no signals.
#[derive(Debug)]
pub struct OwnThread {
    handle: JoinHandle<()>,
    number: Arc<AtomicI32>,
}

impl OwnThread {
    /// Starts it.
    pub fn spawn(
        builder: Builder,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<OwnThread, Error> {
        let number = Arc::new(AtomicI32::new(0));
        let told = Arc::clone(&number);
        let run = move || {
            // SAFETY: gettid has no failure.
            told.store(unsafe { libc::syscall(libc::SYS_gettid) } as i32, Ordering::Relaxed);
            work();
        };
        let handle = crate::signals::with_all_blocked(|| builder.spawn(run))?;
        Ok(OwnThread { handle, number })
    }

    /// Waits until it has ended and is counted no more: a join is told of the end before the kernel
    /// has taken the thread off its list.
    pub fn join(self) {
        let _ = self.handle.join();
        let number = self.number.load(Ordering::Relaxed);
        let until = Instant::now() + AT_MOST;
        while IN_VAIN.load(Ordering::Relaxed) < MOST_IN_VAIN && is_counted(number) {
            if Instant::now() >= until {
                IN_VAIN.fetch_add(1, Ordering::Relaxed);
                return;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

fn is_counted(thread: i32) -> bool {
    // SAFETY: signal 0 is none, and only asks.
    unsafe { libc::syscall(libc::SYS_tgkill, std::process::id(), thread, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_runs_is_counted() {
        let (let_it_end, waits) = std::sync::mpsc::channel::<()>();
        let thread = OwnThread::spawn(Builder::new(), move || { let _ = waits.recv(); }).unwrap();
        while !is_counted(thread.number.load(Ordering::Relaxed)) {
            std::thread::yield_now();
        }
        drop(let_it_end);
        thread.join();
    }

    #[test]
    fn a_thread_that_was_joined_was_counted_for_a_moment() {
        for _ in 0..20_000 {
            let thread = OwnThread::spawn(Builder::new(), || {}).unwrap();
            let number = Arc::clone(&thread.number);
            thread.join();
            assert!(!is_counted(number.load(Ordering::Relaxed)));
        }
    }
}
