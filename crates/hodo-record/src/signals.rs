//! The host's signals are the host's: ours must not bring one upon it, nor take one of its own.

/// Runs `work` so that a write past the limit on file sizes fails instead of ending the host:
/// the SIGXFSZ it brings is taken back.
pub fn without_sigxfsz<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: fills local sets, changes this thread's mask and changes it back.
    unsafe {
        let (mut only, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
        libc::sigemptyset(&mut only);
        libc::sigaddset(&mut only, libc::SIGXFSZ);
        libc::pthread_sigmask(libc::SIG_BLOCK, &only, &mut before);
        let waited = is_pending();
        let result = work();
        if !waited && is_pending() {
            let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            libc::sigtimedwait(&only, std::ptr::null_mut(), &at_once);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
}

fn is_pending() -> bool {
    // SAFETY: fills a local set and looks at it.
    unsafe {
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigpending(&mut pending);
        libc::sigismember(&pending, libc::SIGXFSZ) == 1
    }
}

/// Runs `spawn` so that the thread it starts takes no signals: they are for the host's threads.
pub fn with_all_blocked<T>(spawn: impl FnOnce() -> T) -> T {
    // SAFETY: as above.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let result = spawn();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
}
