//! `report-cost <hodo> <run folder>`: time and memory of `hodo report` on one core.

use super::Done;
use crate::{machine, table};
use std::mem;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const TRIES: usize = 3;

/// What a program took.
pub struct Cost {
    pub wall_s: f64,
    pub cpu_s: f64,
    pub peak_mib: f64,
}

/// Reports a few times and tells the least.
pub fn run(arguments: &[String]) -> Done {
    let [hodo, folder] = arguments else {
        return Err("usage: report-cost <hodo> <run folder>".into());
    };
    // Children inherit the core.
    machine::pin(0, 0);
    let costs: Vec<Cost> = (0..TRIES)
        .map(|_| measured(Path::new(hodo), &["report", folder]))
        .collect::<Result<_, _>>()?;
    for cost in &costs {
        println!(
            "report: {:.2} s wall, {:.2} s CPU, {:.0} MiB peak",
            cost.wall_s, cost.cpu_s, cost.peak_mib
        );
    }
    let least = |of: fn(&Cost) -> f64| costs.iter().map(of).fold(f64::INFINITY, f64::min);
    table::verdict("report of ten million spans, one core, wall", least(|c| c.wall_s), 4.0, " s");
    println!("the same in CPU time: {:.2} s", least(|c| c.cpu_s));
    table::verdict("its peak memory", least(|c| c.peak_mib), 1024.0, " MiB");
    Ok(())
}

/// Runs `hodo` with these arguments.
pub fn measured(hodo: &Path, arguments: &[&str]) -> Result<Cost, String> {
    let began = Instant::now();
    let mut command = Command::new(hodo);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().map_err(|error| format!("{}: {error}", hodo.display()))?;
    let mut status = 0;
    // SAFETY: zeroed is a valid rusage; the call fills both, and the child is ours to wait for.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        libc::wait4(child.id() as i32, &mut status, 0, &mut usage);
        usage
    };
    if status != 0 {
        return Err(format!("hodo {} failed", arguments.join(" ")));
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Cost {
        wall_s: began.elapsed().as_secs_f64(),
        cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        peak_mib: usage.ru_maxrss as f64 / 1024.0,
    })
}
