//! Checks of the clocks: wall time by counter, CPU time by rseq, perf or system call.

use super::Check;
use std::fs;

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// What the recorder was told through an environment variable; `auto` if nothing.
fn told(variable: &str) -> String {
    std::env::var(variable).ok().filter(|v| !v.is_empty()).unwrap_or_else(|| "auto".to_owned())
}

/// Which clock the trial used, and why.
pub fn clock(used: &str) -> Check {
    let source = fs::read_to_string(CLOCK_SOURCE).unwrap_or_default();
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    clock_from(used, &told("HODO_CLOCK"), source.trim(), &info)
}

fn clock_from(used: &str, told: &str, source: &str, cpuinfo: &str) -> Check {
    const NAME: &str = "clock";
    let flag = |name: &str| cpuinfo.split_ascii_whitespace().any(|word| word == name);
    let invariant = flag("constant_tsc") && flag("nonstop_tsc");
    let slower = "CLOCK_MONOTONIC, which costs about twice the processor's counter";
    match (used, told) {
        ("counter", "counter") => {
            Check::ok(NAME, "the processor's counter, because HODO_CLOCK says so")
        }
        ("counter", _) if source == "tsc" => {
            Check::ok(NAME, "the processor's counter: an invariant TSC, which the kernel uses too")
        }
        ("counter", _) => {
            Check::ok(NAME, format!("the processor's counter; the kernel keeps time by `{source}`"))
        }
        (_, "monotonic") => {
            Check::warn(NAME, format!("{slower}: HODO_CLOCK says so"), "unset HODO_CLOCK")
        }
        _ if !invariant => Check::warn(
            NAME,
            format!("{slower}: this processor's TSC is not invariant"),
            "nothing to do; a scope costs a little more",
        ),
        _ => Check::warn(
            NAME,
            format!("{slower}: the kernel does not trust the TSC and keeps time by `{source}`"),
            "in a virtual machine you control, boot with clocksource=tsc",
        ),
    }
}

/// How the trial read CPU time, and why.
pub fn cpu_time(used: &str) -> Check {
    cpu_time_from(used, &told("HODO_CPU"), rseq_bytes().is_some())
}

fn cpu_time_from(used: &str, told: &str, has_rseq: bool) -> Check {
    const NAME: &str = "cpu time";
    let chosen = if told == "auto" { String::new() } else { format!(", because HODO_CPU={told}") };
    match used {
        "rseq" => Check::ok(
            NAME,
            format!(
                "rseq: the kernel's clock is read after a context switch, or when a reading is old{chosen}"
            ),
        ),
        "perf" => Check::ok(
            NAME,
            format!(
                "perf page: the kernel's clock is read after a context switch, or when a reading is old{chosen}"
            ),
        ),
        "off" if told == "off" => {
            Check::warn(NAME, "not captured, because HODO_CPU=off", "unset HODO_CPU")
        }
        "off" => {
            Check::warn(NAME, "not captured: no thread clock works here", "allow clock_gettime")
        }
        _ => {
            let rounded = "system call, at most every 20 µs a thread, so short scopes are rounded";
            let (why, todo) = match (told, has_rseq) {
                ("auto", true) => (": rseq failed its self-test", "allow perf events; see below"),
                ("auto", false) => {
                    (": no rseq", "glibc 2.35 or newer gives rseq; or allow perf events")
                }
                _ => ("", "unset HODO_CPU to let hodo choose"),
            };
            Check::warn(NAME, format!("{rounded}{why}{chosen}"), todo)
        }
    }
}

/// Whether the C library registered restartable sequences.
pub fn rseq() -> Check {
    match rseq_bytes() {
        Some(size) => Check::ok("rseq", format!("registered by the C library, {size} bytes")),
        None => Check::warn(
            "rseq",
            "not registered: the C library is older than glibc 2.35, or GLIBC_TUNABLES turns it off",
            "check GLIBC_TUNABLES for glibc.pthread.rseq=0",
        ),
    }
}

/// Bytes of the rseq area the C library registered, if it did.
fn rseq_bytes() -> Option<u32> {
    // SAFETY: dlsym only looks the name up.
    let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()) };
    if symbol.is_null() {
        return None;
    }
    // SAFETY: glibc documents __rseq_size as a constant unsigned int.
    let size = unsafe { symbol.cast::<u32>().read() };
    (size > 0).then_some(size)
}

/// Whether this user may open perf events.
pub fn perf_events() -> Check {
    let paranoid = fs::read_to_string(PARANOID).ok().and_then(|t| t.trim().parse().ok());
    perf_from(paranoid, perf_opens(), rseq_bytes().is_some())
}

fn perf_from(paranoid: Option<i32>, opens: bool, has_rseq: bool) -> Check {
    const NAME: &str = "perf events";
    let level = paranoid.map_or("no perf_event_paranoid here".to_owned(), |p| {
        format!("perf_event_paranoid is {p}")
    });
    if opens {
        Check::ok(NAME, format!("allowed ({level})"))
    } else if has_rseq {
        Check::ok(NAME, format!("refused ({level}); not needed, rseq works"))
    } else {
        Check::warn(
            NAME,
            format!("refused ({level}), so CPU time needs system calls"),
            "sudo sysctl kernel.perf_event_paranoid=2, or in a container allow perf_event_open",
        )
    }
}

/// Tries to open the task clock of this thread.
fn perf_opens() -> bool {
    // struct perf_event_attr up to its third version: type 1 is software, config 1 the task clock.
    const BYTES: u32 = 96;
    const EXCLUDE_KERNEL: u64 = 1 << 5;
    let mut attr = [0u64; BYTES as usize / 8];
    attr[0] = 1 | (u64::from(BYTES) << 32);
    attr[1] = 1;
    attr[5] = EXCLUDE_KERNEL;
    // SAFETY: `attr` is a zeroed perf_event_attr of the size it states, alive for the call.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, attr.as_ptr(), 0, -1, -1, 0) };
    let Ok(fd) = i32::try_from(fd) else { return false };
    if fd < 0 {
        return false;
    }
    // SAFETY: `fd` was just opened here and is not used again.
    unsafe { libc::close(fd) };
    true
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn the_clock_is_explained() {
        let flags = "flags : fpu constant_tsc nonstop_tsc";
        assert_eq!(clock_from("counter", "auto", "tsc", flags).state, State::Ok);
        assert!(clock_from("monotonic", "auto", "hpet", flags).found.contains("hpet"));
        assert!(
            clock_from("monotonic", "auto", "tsc", "flags : fpu").found.contains("not invariant")
        );
        assert!(clock_from("monotonic", "monotonic", "tsc", flags).found.contains("HODO_CLOCK"));
    }

    #[test]
    fn cpu_time_says_which_method_and_why() {
        assert_eq!(cpu_time_from("rseq", "auto", true).state, State::Ok);
        assert!(cpu_time_from("perf", "perf", true).found.ends_with("HODO_CPU=perf"));
        assert!(cpu_time_from("syscall", "auto", false).found.ends_with("no rseq"));
        assert!(cpu_time_from("syscall", "auto", true).found.contains("self-test"));
        assert!(cpu_time_from("off", "off", true).found.contains("not captured"));
    }

    #[test]
    fn refused_perf_events_matter_only_without_rseq() {
        assert_eq!(perf_from(Some(4), false, true).state, State::Ok);
        assert_eq!(perf_from(Some(4), false, false).state, State::Warn);
        assert_eq!(perf_from(None, true, false).state, State::Ok);
    }
}
