//! Signals that end what runs until somebody ends it, waited for instead of handled.

use std::time::Duration;

const ENDING: [i32; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

/// The signals, blocked in this thread and in all it starts.
pub struct Signals {
    ending: libc::sigset_t,
    before: libc::sigset_t,
}

impl Signals {
    /// Blocks them.
    pub fn block() -> Signals {
        // SAFETY: an empty set is filled with signals that exist, and then blocked.
        unsafe {
            let (mut ending, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigemptyset(&mut ending);
            for signal in ENDING {
                libc::sigaddset(&mut ending, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &ending, &mut before);
            Signals { ending, before }
        }
    }

    /// Waits so long; true when one of them came.
    pub fn wait(&self, for_time: Duration) -> bool {
        let time = libc::timespec {
            tv_sec: for_time.as_secs() as libc::time_t,
            tv_nsec: for_time.subsec_nanos().into(),
        };
        // SAFETY: set and time are valid, and no information is asked for.
        unsafe { libc::sigtimedwait(&self.ending, std::ptr::null_mut(), &time) > 0 }
    }

    /// Waits until one of them comes, or has come since they were blocked.
    pub fn wait_for_one(&self) {
        // SAFETY: the set is valid, and no information is asked for. A stop and its end interrupt it.
        while unsafe { libc::sigwaitinfo(&self.ending, std::ptr::null_mut()) } < 0 {}
    }

    /// This thread takes signals as it did before; those it started meanwhile do not.
    pub fn restore(self) {
        // SAFETY: the mask is what it was.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}
