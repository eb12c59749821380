//! Signals that end the monitor, waited for instead of handled.

use std::time::Duration;

const ENDING: [i32; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

/// The signals, blocked in this thread and in all it starts.
pub struct Signals(libc::sigset_t);

impl Signals {
    /// Blocks them.
    pub fn block() -> Signals {
        // SAFETY: an empty set is filled with signals that exist, and then blocked.
        unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for signal in ENDING {
                libc::sigaddset(&mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            Signals(set)
        }
    }

    /// Waits so long; true when one of them came.
    pub fn wait(&self, for_time: Duration) -> bool {
        let time = libc::timespec {
            tv_sec: for_time.as_secs() as libc::time_t,
            tv_nsec: for_time.subsec_nanos().into(),
        };
        // SAFETY: set and time are valid, and no information is asked for.
        unsafe { libc::sigtimedwait(&self.0, std::ptr::null_mut(), &time) > 0 }
    }
}
