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
//! rests on. So the age is the bound, for a single time and for the difference of two. What the
//! thread's own scopes took at the very least since then cannot have been taken from it, and does not
//! count as age ([`Made`]): a thread that does little but open and close scopes asks the kernel less
//! often, for the same bound.

use crate::calibrate::READINGS;
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
        self.is_armed() && now < self.deadline
    }

    /// Whether the thread has kept the CPU since the watch was armed.
    #[inline(always)]
    fn is_armed(&self) -> bool {
        // SAFETY: `watch` points at this thread's rseq field, its perf page, or a static.
        unsafe { (*self.watch).load(Ordering::Relaxed) == self.armed }
    }
}

/// What a thread has recorded so far, for what it tells of the time that it ran.
#[derive(Clone, Copy, Debug, Default)]
pub struct Made {
    /// Scopes opened, from any start.
    pub opened: u64,
    /// Records written, from any start.
    pub records: u64,
    /// Openings and closings that had no reading of the counter to themselves.
    pub shared_readings: u64,
}

impl Made {
    /// Readings of the counter that were certainly made since `before`: one to open a scope and one
    /// to write its record.
    fn readings_since(&self, before: &Made) -> u64 {
        let opened = self.opened.wrapping_sub(before.opened);
        let records = self.records.wrapping_sub(before.records);
        let shared = self.shared_readings.wrapping_sub(before.shared_readings);
        (2 * opened.min(records)).saturating_sub(shared)
    }
}

/// The last reading of the kernel's clock.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    at: u64,
    cpu: u64,
    made: Made,
    /// Ticks that it is good for.
    good_for: u64,
    /// Ticks after which it is too old in any case.
    longest: u64,
}

impl Reading {
    /// Ticks that it is still good for at `now`, when the thread has `made` that since and each
    /// [`READINGS`] readings of the counter take `readings_cost` ticks at least.
    fn left(&self, now: u64, made: &Made, readings_cost: u64) -> u64 {
        let age = now.saturating_sub(self.at);
        let known = self.known(made, readings_cost);
        let left = self.good_for.saturating_sub(age.saturating_sub(known));
        left.min(self.longest.saturating_sub(age))
    }

    /// Ticks that the thread must have run for what it `made` since.
    fn known(&self, made: &Made, readings_cost: u64) -> u64 {
        made.readings_since(&self.made).saturating_mul(readings_cost) / READINGS
    }

    /// The cost of readings, less if the thread's CPU time is now `cpu` and that was too little for
    /// what it `made`. Little by little, so that one odd time of the kernel's does not spoil it.
    fn corrected(&self, cpu: u64, made: &Made, readings_cost: u64) -> u64 {
        let ran = cpu.saturating_sub(self.cpu);
        if self.known(made, readings_cost) > ran { readings_cost - readings_cost / 16 } else { readings_cost }
    }
}

/// The setting up and re-reading of a thread's [`CpuWatch`].
#[derive(Debug)]
pub struct CpuClock {
    method: CpuMethod,
    page: Option<perf::Page>,
    good_for_ns: u64,
    last: Reading,
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
        let good_for_ns = if unseen { GOOD_FOR_NS } else { GOOD_FOR_OWN_NS };
        CpuClock { method, page, good_for_ns, last: Reading::default() }
    }

    /// Lets the last reading hold for longer, if the thread kept the CPU and what it `made` since
    /// accounts for the time.
    pub fn extend(
        &self,
        watch: &mut CpuWatch,
        now: u64,
        made: &Made,
        readings_cost: &AtomicU64,
    ) -> bool {
        let left = self.last.left(now, made, readings_cost.load(Ordering::Relaxed));
        // For less than this it would soon be asked again.
        let extends = left > self.last.good_for / 8 && watch.is_armed();
        if extends {
            watch.deadline = now + left;
        }
        extends
    }

    /// Reads the kernel's clock, arms the watch, and returns the thread's CPU ticks and whether a
    /// system call was made.
    pub fn resync(
        &mut self,
        watch: &mut CpuWatch,
        now: u64,
        source: ClockSource,
        rate: &Rate,
        made: Made,
        readings_cost: &AtomicU64,
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
        let good_for = rate.ticks(self.good_for_ns);
        watch.offset = cpu.wrapping_sub(read_at);
        watch.deadline = read_at + good_for;
        let before = readings_cost.load(Ordering::Relaxed);
        let corrected = self.last.corrected(cpu, &made, before);
        if corrected != before {
            readings_cost.store(corrected, Ordering::Relaxed);
        }
        let longest = rate.ticks(GOOD_FOR_OWN_NS);
        self.last = Reading { at: read_at, cpu, made, good_for, longest };
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

#[cfg(test)]
mod tests {
    use super::*;

    const READING: Reading =
        Reading { at: 1_000,
        cpu: 400, made: Made { opened: 7, records: 5, shared_readings: 3 }, good_for: 200, longest: 900 };

    fn made(scopes: u64, records: u64, shared: u64) -> Made {
        Made { opened: 7 + scopes, records: 5 + records, shared_readings: 3 + shared }
    }

    #[test]
    fn a_reading_ages_with_the_time_that_no_scope_accounts_for() {
        let ten_a_reading = 10 * READINGS;
        assert_eq!(READING.left(1_150, &made(0, 0, 0), ten_a_reading), 50);
        assert_eq!(READING.left(1_150, &made(5, 5, 0), ten_a_reading), 150);
        assert_eq!(READING.left(1_600, &made(5, 5, 0), ten_a_reading), 0);
        assert_eq!(READING.left(1_300, &made(5, 5, 0), 0), 0);
    }

    #[test]
    fn only_readings_that_were_surely_made_count() {
        let (before, only_opened) = (READING.made, made(9, 0, 0));
        assert_eq!(only_opened.readings_since(&before), 0);
        assert_eq!(made(0, 9, 0).readings_since(&before), 0);
        assert_eq!(made(9, 4, 0).readings_since(&before), 8);
        assert_eq!(made(4, 4, 3).readings_since(&before), 5);
        assert_eq!(made(1, 1, 4).readings_since(&before), 0);
    }

    #[test]
    fn no_reading_is_good_for_longer_than_one_on_a_machine_of_its_own() {
        let cost = 100 * READINGS;
        assert_eq!(READING.left(1_850, &made(99, 99, 0), cost), 50);
        assert_eq!(READING.left(2_000, &made(99, 99, 0), cost), 0);
    }

    #[test]
    fn a_cost_that_a_thread_has_beaten_comes_down() {
        let cost = 16 * READINGS;
        assert_eq!(READING.corrected(400 + 160, &made(5, 5, 0), cost), cost);
        assert_eq!(READING.corrected(400 + 159, &made(5, 5, 0), cost), 15 * READINGS);
    }

    #[test]
    fn a_reading_is_extended_only_while_the_thread_keeps_the_cpu() {
        let word = AtomicU64::new(4);
        let mut watch = CpuWatch { watch: &raw const word, armed: 4, deadline: 1_200, offset: 0 };
        let mut clock = CpuClock::attach(CpuMethod::Off);
        clock.last = READING;
        let (scopes, cost) = (made(5, 5, 0), &AtomicU64::new(10 * READINGS));
        assert!(clock.extend(&mut watch, 1_200, &scopes, cost));
        assert_eq!(watch.deadline, 1_300);
        assert!(!clock.extend(&mut watch, 1_290, &scopes, cost), "too little is left");
        word.store(0, Ordering::Relaxed);
        assert!(!clock.extend(&mut watch, 1_200, &scopes, cost));
    }
}
