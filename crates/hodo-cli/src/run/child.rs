//! The program in the foreground: it has our terminal and our group, and we end as it ends.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It exited.
    Code(u8),
    /// A signal ended it.
    Signal(i32),
}

/// Why it could not be started, and the exit code that a shell has for it.
#[derive(Debug)]
pub struct Failed {
    /// In words.
    pub why: String,
    /// 127 when it is not there, 126 when it is and cannot be run.
    pub code: u8,
}

/// Signals that are the program's affair. Those of the terminal reach it by themselves.
const PASSED_ON: [i32; 8] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// Starts the program, says its number to `started`, passes signals on, and waits for its end.
/// Signals that come after that wait, until [`Blocked::lift`].
pub fn run(command: &mut Command, started: impl FnOnce(u32)) -> Result<(Ended, Blocked), Failed> {
    let blocked = Blocked::new();
    let Blocked { mask, of_children } = blocked;
    // SAFETY: the closure makes two system calls and touches nothing else.
    unsafe {
        command.pre_exec(move || {
            libc::signal(libc::SIGCHLD, of_children);
            libc::pthread_sigmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
            Ok(())
        })
    };
    let child = command.spawn().map_err(|error| Failed::of(&error))?;
    started(child.id());
    Ok((wait(child.id() as libc::pid_t), blocked))
}

impl Failed {
    fn of(error: &io::Error) -> Failed {
        let (why, code) = match error.raw_os_error() {
            Some(libc::ENOENT) => (
                "there is no such program; is it on the PATH, or spelt as it should be?".into(),
                127,
            ),
            Some(libc::EACCES) => ("it is not executable; chmod +x makes it so".into(), 126),
            Some(libc::E2BIG) => ("its arguments and environment are too long".into(), 126),
            _ => (error.to_string(), 126),
        };
        Failed { why, code }
    }
}

/// Signals wait to be taken one by one.
pub struct Blocked {
    mask: libc::sigset_t,
    of_children: libc::sighandler_t,
}

impl Blocked {
    fn new() -> Blocked {
        // SAFETY: the sets are valid to be filled.
        unsafe {
            let mut mask = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, &watched(), &mut mask);
            // Where our parent ignores it we would inherit that, and never learn how a child ended.
            let of_children = libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            Blocked { mask, of_children }
        }
    }

    /// They come as they did before, also those that waited.
    pub fn lift(self) {
        // SAFETY: the mask is what it was.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.mask, std::ptr::null_mut()) };
    }
}

fn watched() -> libc::sigset_t {
    // SAFETY: an empty set is filled with signals that exist.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in PASSED_ON.into_iter().chain([libc::SIGCHLD]) {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

fn wait(child: libc::pid_t) -> Ended {
    let watched = watched();
    loop {
        // SAFETY: a zeroed structure is valid to be filled.
        let (signal, info) = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            (libc::sigwaitinfo(&watched, &mut info), info)
        };
        if signal == libc::SIGCHLD {
            if let Some(ended) = look_at(child) {
                return ended;
            }
        } else if signal > 0 && is_for(child, signal, &info) {
            // SAFETY: the child was not waited for, so the number is still its own.
            unsafe { libc::kill(child, signal) };
        }
    }
}

/// Whether a signal must be passed on: not what the terminal sends, which the program got too, nor
/// what the program itself sends.
fn is_for(child: libc::pid_t, signal: i32, info: &libc::siginfo_t) -> bool {
    // SAFETY: a signal that a process sent says which.
    signal == libc::SIGCONT || (info.si_code <= 0 && unsafe { info.si_pid() } != child)
}

/// What became of the program; when the terminal stopped it, we stop too, so that the shell knows.
fn look_at(child: libc::pid_t) -> Option<Ended> {
    let mut status = 0;
    // SAFETY: plain calls; the status is valid to be filled.
    unsafe {
        match libc::waitpid(child, &mut status, libc::WNOHANG | libc::WUNTRACED) {
            0 => return None,
            -1 => return Some(Ended::Code(super::CANNOT_RECORD)),
            _ => {}
        }
        if libc::WIFSTOPPED(status) {
            let by_terminal = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
            if by_terminal.contains(&libc::WSTOPSIG(status)) {
                libc::kill(libc::getpid(), libc::SIGSTOP);
            }
            return None;
        }
    }
    Some(if libc::WIFSIGNALED(status) {
        Ended::Signal(libc::WTERMSIG(status))
    } else {
        Ended::Code(libc::WEXITSTATUS(status) as u8)
    })
}

/// Ends this process by a signal, so that whoever waits for it sees what the program died of; an
/// exit code where the signal does not end it, as in the first process of a container.
pub fn die_by(signal: i32) -> u8 {
    // SAFETY: plain calls with valid arguments.
    unsafe {
        // The program's core is the one to look at.
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::signal(signal, libc::SIG_DFL);
        let mut only = std::mem::zeroed();
        libc::sigemptyset(&mut only);
        libc::sigaddset(&mut only, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &only, std::ptr::null_mut());
        libc::kill(libc::getpid(), signal);
    }
    128u8.saturating_add(signal as u8)
}
