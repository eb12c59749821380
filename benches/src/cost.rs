//! What running a program to its end takes.

use std::fmt;
use std::mem;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Time and memory of a program.
pub struct Cost {
    /// From start to end.
    pub wall_s: f64,
    /// On a CPU, in the program and for it in the system.
    pub cpu_s: f64,
    /// The most memory it had at once.
    pub peak_mib: f64,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cost { wall_s, cpu_s, peak_mib } = self;
        write!(f, "{wall_s:.2} s wall, {cpu_s:.2} s CPU, {peak_mib:.0} MiB peak")
    }
}

/// Runs a program whose output nobody reads.
pub fn cost(program: &str, arguments: &[&str]) -> Result<Cost, String> {
    let began = Instant::now();
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
    let mut status = 0;
    // SAFETY: zeroed is a valid rusage; the call fills both, and the child is ours to wait for.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        libc::wait4(child.id() as i32, &mut status, 0, &mut usage);
        usage
    };
    if status != 0 {
        return Err(format!("{program} {} failed", arguments.join(" ")));
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Cost {
        wall_s: began.elapsed().as_secs_f64(),
        cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        peak_mib: usage.ru_maxrss as f64 / 1024.0,
    })
}
