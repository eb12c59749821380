//! Checks of the clocks: wall time by counter, CPU time by rseq, perf or system call.

use super::Check;
use std::fs;

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// What the recorder was told through an environment variable; `auto` if nothing.
fn told(variable: &str) -> String {
    std::env::var(variable).ok().filter(|v| !v.is_empty()).unwrap_or_else(|| "auto".to_owned())
}

/// Whether time is read from the processor's counter.
pub fn clock() -> Check {
    let source = fs::read_to_string(CLOCK_SOURCE).unwrap_or_default();
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    clock_from(&told("HODO_CLOCK"), source.trim(), &info, std::env::consts::ARCH)
}

fn clock_from(told: &str, source: &str, cpuinfo: &str, arch: &str) -> Check {
    const NAME: &str = "clock";
    if told == "monotonic" {
        return Check::warn(
            NAME,
            "CLOCK_MONOTONIC, because HODO_CLOCK says so; each reading costs about twice the counter's",
            "unset HODO_CLOCK",
        );
    }
    if arch == "aarch64" {
        return Check::ok(NAME, "counter: CNTVCT, constant on this architecture");
    }
    let flag = |name: &str| cpuinfo.split_ascii_whitespace().any(|word| word == name);
    let invariant = flag("constant_tsc") && flag("nonstop_tsc");
    match (source, invariant) {
        ("tsc", true) => Check::ok(NAME, "counter: invariant TSC, which the kernel uses too"),
        (_, false) => Check::warn(
            NAME,
            "CLOCK_MONOTONIC: this processor's TSC is not invariant",
            "nothing to do; a scope costs a little more",
        ),
        (other, true) => Check::warn(
            NAME,
            format!("CLOCK_MONOTONIC: the TSC is invariant, but the kernel keeps time by `{other}`"),
            "if this is a virtual machine you control, boot it with clocksource=tsc",
        ),
    }
}

/// How the CPU time of a scope is read.
pub fn cpu_time() -> Check {
    cpu_time_from(&told("HODO_CPU"), rseq_bytes(), perf_opens())
}

fn cpu_time_from(told: &str, rseq: Option<u32>, perf: bool) -> Check {
    const NAME: &str = "cpu time";
    let by_rseq = "rseq: the system clock is read only after a context switch";
    let by_perf = "perf page: read from mapped memory, no system call";
    let by_call = "system call, at most every 20 µs a thread, so short scopes are rounded";
    match told {
        "off" => Check::warn(NAME, "not captured, because HODO_CPU=off", "unset HODO_CPU"),
        "rseq" | "auto" if rseq.is_some() => Check::ok(NAME, by_rseq),
        "perf" | "auto" if perf => Check::ok(NAME, by_perf),
        "auto" => Check::warn(NAME, by_call, "glibc 2.35 or newer gives rseq; or allow perf events"),
        "syscall" => Check::warn(NAME, by_call, "unset HODO_CPU"),
        other => Check::warn(
            NAME,
            format!("{by_call}: HODO_CPU={other} cannot be had here"),
            "unset HODO_CPU to let hodo choose",
        ),
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
    fn the_counter_is_used_only_where_the_kernel_trusts_it() {
        let flags = "flags : fpu constant_tsc nonstop_tsc";
        assert_eq!(clock_from("auto", "tsc", flags, "x86_64").state, State::Ok);
        assert_eq!(clock_from("auto", "hpet", flags, "x86_64").state, State::Warn);
        assert!(clock_from("auto", "hpet", flags, "x86_64").found.contains("hpet"));
        assert_eq!(clock_from("auto", "tsc", "flags : fpu", "x86_64").state, State::Warn);
        assert_eq!(clock_from("monotonic", "tsc", flags, "x86_64").state, State::Warn);
        assert_eq!(clock_from("auto", "arch_sys_counter", "", "aarch64").state, State::Ok);
    }

    #[test]
    fn cpu_time_says_which_method_and_why() {
        assert!(cpu_time_from("auto", Some(32), false).found.starts_with("rseq"));
        assert!(cpu_time_from("auto", None, true).found.starts_with("perf"));
        assert_eq!(cpu_time_from("auto", None, false).state, State::Warn);
        assert!(cpu_time_from("perf", Some(32), false).found.contains("HODO_CPU=perf"));
        assert!(cpu_time_from("off", Some(32), true).found.contains("not captured"));
    }

    #[test]
    fn refused_perf_events_matter_only_without_rseq() {
        assert_eq!(perf_from(Some(4), false, true).state, State::Ok);
        assert_eq!(perf_from(Some(4), false, false).state, State::Warn);
        assert_eq!(perf_from(None, true, false).state, State::Ok);
    }
}
