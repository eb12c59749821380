//! The clock: raw counter ticks in records, converted once, when reading.

use hodo_format::arena::{Anchor, clock_kind};

/// Where ticks come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSource {
    /// The CPU's invariant counter: TSC on x86-64, CNTVCT on arm64.
    Counter,
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    Monotonic,
}

impl ClockSource {
    /// The code stored in the arena header.
    pub const fn code(self) -> u32 {
        match self {
            ClockSource::Counter => clock_kind::COUNTER,
            ClockSource::Monotonic => clock_kind::MONOTONIC,
        }
    }

    /// The word used in `process.json` and in health.
    pub const fn name(self) -> &'static str {
        match self {
            ClockSource::Counter => "counter",
            ClockSource::Monotonic => "monotonic",
        }
    }

    /// The time now, in this source's ticks.
    pub fn now(self) -> u64 {
        match self {
            ClockSource::Counter => counter(),
            ClockSource::Monotonic => nanoseconds(libc::CLOCK_MONOTONIC),
        }
    }

    /// All clocks, read close together: the tightest of a few tries.
    pub fn anchor(self) -> Anchor {
        let mut best = (u64::MAX, Anchor::default());
        for _ in 0..5 {
            let before = self.now();
            let monotonic_ns = nanoseconds(libc::CLOCK_MONOTONIC);
            let wall_ns = nanoseconds(libc::CLOCK_REALTIME);
            let after = self.now();
            let width = after.wrapping_sub(before);
            if width < best.0 {
                best = (width, Anchor { ticks: before + width / 2, monotonic_ns, wall_ns });
            }
        }
        best.1
    }
}

/// The CPU's counter.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
pub fn counter() -> u64 {
    // SAFETY: RDTSC is part of x86-64; the recorder uses it only where the kernel trusts it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The CPU's counter.
#[inline(always)]
#[cfg(target_arch = "aarch64")]
pub fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets user space read the virtual counter.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

/// The CPU's counter; this architecture has none that is known to be invariant.
#[inline(always)]
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn counter() -> u64 {
    nanoseconds(libc::CLOCK_MONOTONIC)
}

/// A kernel clock in nanoseconds; 0 if the kernel refuses it.
pub fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to fill.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Chooses the source, and says why when it is not the counter.
pub fn choose(wish: Option<ClockSource>) -> (ClockSource, Option<String>) {
    match (wish, untrusted()) {
        (Some(source), _) => (source, None),
        (None, None) => (ClockSource::Counter, None),
        (None, Some(why)) => (ClockSource::Monotonic, Some(why)),
    }
}

#[cfg(target_arch = "x86_64")]
fn untrusted() -> Option<String> {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    match std::fs::read_to_string(path) {
        Ok(source) if source.trim() == "tsc" => None,
        Ok(source) => Some(format!("the kernel uses the clock source {}, not tsc", source.trim())),
        Err(error) => Some(format!("cannot tell whether the TSC is trusted: {path}: {error}")),
    }
}

#[cfg(target_arch = "aarch64")]
fn untrusted() -> Option<String> {
    None
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn untrusted() -> Option<String> {
    Some("no invariant counter is known for this architecture".into())
}

/// Ticks in a nanosecond, measured between two anchors.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    ticks_per_ns: f64,
}

impl Rate {
    /// The rate between two anchors; one tick a nanosecond if they coincide.
    pub fn between(first: &Anchor, last: &Anchor) -> Rate {
        let ns = last.monotonic_ns.saturating_sub(first.monotonic_ns);
        let ticks = last.ticks.saturating_sub(first.ticks);
        let ticks_per_ns = if ns == 0 || ticks == 0 { 1.0 } else { ticks as f64 / ns as f64 };
        Rate { ticks_per_ns }
    }

    /// `ns` nanoseconds as ticks.
    pub fn ticks(&self, ns: u64) -> u64 {
        (ns as f64 * self.ticks_per_ns) as u64
    }

    /// `ticks` as nanoseconds.
    pub fn ns(&self, ticks: u64) -> u64 {
        (ticks as f64 / self.ticks_per_ns) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_give_a_rate_that_matches_the_kernel() {
        let source = choose(None).0;
        let first = source.anchor();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let middle = source.anchor();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let rate = Rate::between(&first, &source.anchor());
        let told = rate.ns(middle.ticks - first.ticks);
        let real = middle.monotonic_ns - first.monotonic_ns;
        assert!(told.abs_diff(real) < real / 100, "{told} ns told, {real} ns real");
    }

    #[test]
    fn a_rate_of_coinciding_anchors_is_harmless() {
        let anchor = ClockSource::Monotonic.anchor();
        assert_eq!(Rate::between(&anchor, &anchor).ticks(7), 7);
    }
}
