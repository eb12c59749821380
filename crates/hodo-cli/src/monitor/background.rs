//! Going on without the terminal: two forks, a session of its own, output into a file.

use super::target::Target;
use crate::output::{Failure, Outcome, file_error};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;

/// What the monitor says when it works.
const READY: &str = "ready";

/// Which of the two we are.
pub enum Background {
    /// The one the user waits for; the other's answer comes out of it.
    Parent(File),
    /// The one that goes on.
    Child(Child),
}

/// The way to the one that the user waits for.
pub struct Child(File);

impl Child {
    /// Lets the user go: it works.
    pub fn tell_ready(mut self) {
        // The user may not have waited.
        let _ = self.0.write_all(format!("{READY} {}", std::process::id()).as_bytes());
    }
}

/// Leaves the terminal; what is said from then on goes to `log`. No thread may be running.
pub fn leave(log: &Path) -> Result<Background, Failure> {
    let log_file = OpenOptions::new().create(true).append(true).open(log);
    let log_file = log_file.map_err(|e| file_error("write", log, &e))?;
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(system("make a pipe"));
    }
    // SAFETY: both were made just now and are nobody else's.
    let (from, to) = unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) };
    if fork()? {
        drop(to);
        // SAFETY: no status is asked for; the first child ends at once.
        unsafe { libc::wait(std::ptr::null_mut()) };
        return Ok(Background::Parent(from));
    }
    drop(from);
    // SAFETY: plain calls. A session without a terminal, which its leader could get back: so another
    // fork, after which we lead none.
    unsafe { libc::setsid() };
    match fork() {
        // SAFETY: nothing is left to be done here, and nothing of the parent's may run twice.
        Ok(true) | Err(_) => unsafe { libc::_exit(0) },
        Ok(false) => {}
    }
    redirect(&log_file)?;
    Ok(Background::Child(Child(to)))
}

/// True in the parent.
fn fork() -> Result<bool, Failure> {
    // SAFETY: this process has one thread, so the child may do all that it could.
    match unsafe { libc::fork() } {
        -1 => Err(system("fork")),
        0 => Ok(false),
        _ => Ok(true),
    }
}

fn redirect(log: &File) -> Result<(), Failure> {
    let nothing = File::open("/dev/null").map_err(|_| system("open /dev/null"))?;
    for (file, descriptor) in [(&nothing, 0), (log, 1), (log, 2)] {
        // SAFETY: both descriptors are open.
        if unsafe { libc::dup2(file.as_raw_fd(), descriptor) } == -1 {
            return Err(system("redirect the output"));
        }
    }
    Ok(())
}

fn system(doing: &str) -> Failure {
    Failure::Failed(format!("cannot {doing}: {}", std::io::Error::last_os_error()))
}

/// Waits for the monitor and says what became of it.
pub fn answer(mut from: &File, target: &Target) -> Outcome {
    let mut said = String::new();
    // A monitor that ended without a word gives an empty answer.
    let _ = from.read_to_string(&mut said);
    let log = target.machine.join("monitor.log");
    let Some(pid) = said.strip_prefix(READY) else {
        return Err(Failure::Failed(format!(
            "the monitor ended at once; {} says why",
            log.display()
        )));
    };
    let words = format!(
        "monitor in the background: pid {}\nrun  {}\nlog  {}\n`hodo monitor --stop {}` ends it\n",
        pid.trim(),
        target.run.display(),
        log.display(),
        target.run.display()
    );
    let words = words.lines().map(crate::term::text::safe).collect::<Vec<_>>().join("\n");
    std::io::stdout().lock().write_all(format!("{words}\n").as_bytes())?;
    Ok(0)
}
