//! Thread CPU time for almost nothing.
//!
//! While a thread has not been scheduled out, its CPU time grows as the counter does. So a thread
//! keeps `offset = cpu - ticks` and re-reads the kernel's clock only when the kernel says that the
//! thread lost the CPU, or when the last reading is too old. The kernel says so in one of two places
//! a thread can read without a system call: the restartable-sequence field, which it clears
//! ([`crate::rseq`]), or the sequence count of a perf event's page ([`crate::perf`]).
//!
//! A hypervisor takes the CPU without either changing, and the kernel does not count what it took.
//! An estimate is never below the kernel's clock, and above it by less than the age of the reading it
//! rests on. So the age is the bound, for a single time and for the difference of two.

use crate::clock::{ClockSource, Rate, nanoseconds};
use crate::{perf, rseq};
use std::sync::atomic::{AtomicU64, Ordering};

/// A reading of the kernel's clock is good for so long where a thread may lose time that it cannot
/// see: to a hypervisor, or for want of a place to see it.
pub const GOOD_FOR_NS: u64 = 20_000;
/// A reading is good for so long on a machine of its own, where only interrupts are not seen.
pub const GOOD_FOR_OWN_NS: u64 = 500_000;

/// How thread CPU time is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuMethod {
    /// The kernel clears the thread's restartable-sequence field when it is scheduled out.
    Rseq,
    /// The kernel moves the sequence count of a perf event's page.
    Perf,
    /// The kernel's thread clock, read at most once in 20 µs.
    Syscall,
    /// Not at all.
    Off,
}

impl CpuMethod {
    /// The word used in health and in `HODO_CPU`.
    pub const fn name(self) -> &'static str {
        match self {
            CpuMethod::Rseq => "rseq",
            CpuMethod::Perf => "perf",
            CpuMethod::Syscall => "syscall",
            CpuMethod::Off => "off",
        }
    }

    /// The method for a word of `HODO_CPU`; `None` for "auto" and unknown words.
    pub fn from_name(name: &str) -> Option<CpuMethod> {
        [CpuMethod::Rseq, CpuMethod::Perf, CpuMethod::Syscall, CpuMethod::Off]
            .into_iter()
            .find(|method| method.name() == name)
    }

    /// Whether the method works here; tested, not assumed.
    pub fn works(self) -> Result<(), String> {
        match self {
            CpuMethod::Rseq => rseq::self_test(),
            CpuMethod::Perf => perf::self_test(),
            CpuMethod::Syscall | CpuMethod::Off => Ok(()),
        }
    }
}

/// The cheapest method that works, or the wished one if it does; with the reasons against others.
pub fn choose(wish: Option<CpuMethod>) -> (CpuMethod, Vec<String>) {
    let order = [CpuMethod::Rseq, CpuMethod::Perf, CpuMethod::Syscall];
    let tries = wish.into_iter().chain(order);
    let mut reasons = Vec::new();
    for method in tries {
        match method.works() {
            Ok(()) => return (method, reasons),
            Err(why) => reasons.push(format!("{}: {why}", method.name())),
        }
    }
    (CpuMethod::Syscall, reasons)
}

/// A word that always differs from [`NEVER_ARMED`]: "read the kernel's clock".
static ALWAYS_STALE: AtomicU64 = AtomicU64::new(0);
const NEVER_ARMED: u64 = 1;

/// What a thread compares to know that its offset still holds. Part of the thread's C layout.
#[derive(Debug)]
#[repr(C)]
pub struct CpuWatch {
    /// The word the kernel changes when the thread is scheduled out.
    pub watch: *const AtomicU64,
    /// What it holds while the thread keeps the CPU.
    pub armed: u64,
    /// Ticks from which on the kernel's clock has to be read again.
    pub deadline: u64,
    /// CPU ticks = ticks + offset.
    pub offset: u64,
}

impl CpuWatch {
    /// A watch that is always stale, until the thread is set up.
    pub const fn stale() -> CpuWatch {
        CpuWatch { watch: &ALWAYS_STALE, armed: NEVER_ARMED, deadline: 0, offset: 0 }
    }

    /// Whether the offset holds at `now`, read just before.
    #[inline(always)]
    pub fn holds(&self, now: u64) -> bool {
        // SAFETY: `watch` points at this thread's rseq field, its perf page, or a static.
        let seen = unsafe { (*self.watch).load(Ordering::Relaxed) };
        seen == self.armed && now < self.deadline
    }
}

/// The setting up and re-reading of a thread's [`CpuWatch`].
#[derive(Debug)]
pub struct CpuClock {
    method: CpuMethod,
    page: Option<perf::Page>,
    good_for_ns: u64,
}

impl CpuClock {
    /// A clock for the calling thread; falls back to system calls if the method fails for it.
    pub fn attach(method: CpuMethod) -> CpuClock {
        let page = (method == CpuMethod::Perf).then(perf::Page::open).and_then(Result::ok);
        let works = match method {
            CpuMethod::Rseq => rseq::field().is_some(),
            CpuMethod::Perf => page.is_some(),
            CpuMethod::Syscall | CpuMethod::Off => true,
        };
        let method = if works { method } else { CpuMethod::Syscall };
        let unseen = method == CpuMethod::Syscall || may_be_virtual();
        CpuClock { method, page, good_for_ns: if unseen { GOOD_FOR_NS } else { GOOD_FOR_OWN_NS } }
    }

    /// Reads the kernel's clock, arms the watch, and returns the thread's CPU ticks and whether a
    /// system call was made.
    pub fn resync(
        &self,
        watch: &mut CpuWatch,
        now: u64,
        source: ClockSource,
        rate: &Rate,
    ) -> (u64, bool) {
        if self.method == CpuMethod::Syscall && now < watch.deadline {
            return (now.wrapping_add(watch.offset), false);
        }
        if self.method == CpuMethod::Off {
            // Nothing to read: the watch holds for ever, and spans say that CPU time is off.
            (watch.watch, watch.armed, watch.deadline) = (&ALWAYS_STALE, 0, u64::MAX);
            return (now, false);
        }
        self.arm(watch);
        // The counter first. Whatever comes between the two, an interrupt or a hypervisor, makes
        // estimates too high by less than their age; the other way round, too low by all of it.
        let read_at = source.now();
        let cpu = rate.ticks(nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID));
        watch.offset = cpu.wrapping_sub(read_at);
        watch.deadline = read_at + rate.ticks(self.good_for_ns);
        (cpu, true)
    }

    /// Arms before the clock is read: a switch in between makes the watch stale, never wrong.
    fn arm(&self, watch: &mut CpuWatch) {
        match (self.method, &self.page) {
            (CpuMethod::Rseq, _) => {
                if let Some(field) = rseq::field() {
                    watch.watch = field;
                    watch.armed = rseq::arm(field);
                }
            }
            (CpuMethod::Perf, Some(page)) => {
                watch.watch = page.sequence();
                // SAFETY: the page stays mapped for as long as `self` lives.
                watch.armed = unsafe { (*watch.watch).load(Ordering::Acquire) };
            }
            _ => {}
        }
    }
}

/// Whether a hypervisor may be there to take the CPU from a thread that its kernel lets run.
#[cfg(target_arch = "x86_64")]
fn may_be_virtual() -> bool {
    // Asking traps under a hypervisor, so it is done once.
    static TOLD: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    // The bit that processors leave 0 and hypervisors set.
    *TOLD.get_or_init(|| core::arch::x86_64::__cpuid(1).ecx >> 31 != 0)
}

/// Whether a hypervisor may be there: nothing says that there is none.
#[cfg(not(target_arch = "x86_64"))]
fn may_be_virtual() -> bool {
    true
}
