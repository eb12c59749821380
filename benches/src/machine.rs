//! Clocks, cores and what to say about the machine.

use std::fs;
use std::mem;

/// One read of the CPU's counter, unordered: the cheapest timestamp there is.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: rdtsc exists on every x86-64 CPU and touches no memory.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    {
        let value: u64;
        // SAFETY: Linux lets user space read the virtual counter, which touches no memory.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) value, options(nomem, nostack)) };
        value
    }
}

/// CPU time of the calling thread in nanoseconds; other programs' slices are not in it.
pub fn thread_cpu_ns() -> u64 {
    // SAFETY: zeroed is a valid timespec, and the call writes only to it.
    let time = unsafe {
        let mut time: libc::timespec = mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time);
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Keeps thread `tid` (0: the caller) on `core`; false when the system refuses.
pub fn pin(tid: i32, core: usize) -> bool {
    // SAFETY: zeroed is an empty CPU set; CPU_SET stays inside it for core numbers below 1024.
    unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(core % 1024, &mut set);
        libc::sched_setaffinity(tid, size_of::<libc::cpu_set_t>(), &set) == 0
    }
}

/// Measured thread on core 0, every other thread of this process (pumps, collectors) on core 1.
pub fn spread() -> &'static str {
    // SAFETY: gettid has no preconditions.
    let own = unsafe { libc::gettid() };
    let others = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let mut pinned = pin(0, 0);
    for tid in others.filter_map(|e| e.file_name().to_str()?.parse().ok()) {
        pinned &= tid == own || pin(tid, 1);
    }
    if pinned { "measured thread on core 0, all others on core 1" } else { "not pinned" }
}

/// Freed memory stays mapped, so that no row pays page faults for memory it had before.
pub fn keep_freed_memory() {
    // SAFETY: mallopt only sets allocator parameters.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 30);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
    }
}

/// CPU model, cores and kernel in one line.
pub fn describe() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|l| l.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name))
        .unwrap_or(std::env::consts::ARCH);
    let cores = cpu.lines().filter(|l| l.starts_with("processor")).count();
    let virtual_machine = if cpu.contains("hypervisor") { ", virtual machine" } else { "" };
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let clock = fs::read_to_string(clock).unwrap_or_default();
    let (kernel, clock) = (kernel.trim(), clock.trim());
    format!("{model}, {cores} cores{virtual_machine}, Linux {kernel}, clocksource {clock}")
}

/// One-minute load when the run began: other work bends absolute times.
pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("?").to_owned()
}
