//! Which scope made which call: written at every launch, looked up when its record arrives.

use hodo_format::gpu::flag;
use hodo_format::record::SpanId;
use std::alloc::Layout;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Calls that are remembered; a power of two. CUPTI numbers calls one after another, so this is
/// how many calls later a record may still arrive.
const REMEMBERED: usize = 1 << 18;
/// Ticks are kept in steps of this many bits: some tens of nanoseconds.
const TIME_SHIFT: u32 = 6;
/// Bits of the time that are kept: half a minute before it repeats.
const TIME_BITS: u32 = 30;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;

/// A call that may cause work on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The scope it belongs to.
    pub span: SpanId,
    /// [`flag::SCOPE`] bits: how that is known.
    pub how: u16,
    /// Ticks when it began; 0 when not known.
    pub launched: u64,
    /// The scope of the forward operation whose gradient it computes.
    pub forward: SpanId,
    /// The calling thread, as the operating system numbers it; 0 when not known.
    pub thread: u32,
}

impl Launch {
    /// A call of which nothing is known.
    pub const UNKNOWN: Launch = Launch {
        span: SpanId::NONE,
        how: flag::UNKNOWN,
        launched: 0,
        forward: SpanId::NONE,
        thread: 0,
    };
}

#[derive(Debug, Default)]
struct Entry {
    span: AtomicU64,
    /// Correlation in the upper half, then two bits of how, then the time.
    call: AtomicU64,
    forward: AtomicU64,
    thread: AtomicU64,
}

/// The calls of the last while, by their number.
#[derive(Debug)]
pub struct Launches(Box<[Entry]>);

impl Default for Launches {
    fn default() -> Self {
        // Zeroed memory of this size comes from the system untouched: pages cost when first used.
        let layout = Layout::new::<[Entry; REMEMBERED]>();
        // SAFETY: the layout is not empty, and zero is a value of every field.
        unsafe {
            let entries = std::alloc::alloc_zeroed(layout).cast::<[Entry; REMEMBERED]>();
            if entries.is_null() {
                std::alloc::handle_alloc_error(layout);
            }
            Launches(Box::from_raw(entries))
        }
    }
}

impl Launches {
    /// Remembers a call. No lock, a few nanoseconds.
    #[inline]
    pub fn put(&self, correlation: u32, launch: Launch) {
        let entry = &self.0[correlation as usize % REMEMBERED];
        // A reader that comes in between sees no call, or this one whole.
        entry.call.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        entry.span.store(launch.span.0, Ordering::Relaxed);
        entry.forward.store(launch.forward.0, Ordering::Relaxed);
        entry.thread.store(launch.thread.into(), Ordering::Relaxed);
        let time = launch.launched >> TIME_SHIFT & TIME_MASK;
        let call = u64::from(correlation) << 32 | u64::from(launch.how) << TIME_BITS | time;
        entry.call.store(call, Ordering::Release);
    }

    /// Forgets every call.
    pub fn forget(&self) {
        // Only where there is one: pages that were never used stay so.
        let used = self.0.iter().filter(|entry| entry.call.load(Ordering::Relaxed) != 0);
        used.for_each(|entry| entry.call.store(0, Ordering::Relaxed));
    }

    /// The call with this number, of work that began at `start`.
    pub fn find(&self, correlation: u32, start: u64) -> Launch {
        let entry = &self.0[correlation as usize % REMEMBERED];
        let call = entry.call.load(Ordering::Acquire);
        let span = SpanId(entry.span.load(Ordering::Relaxed));
        let forward = SpanId(entry.forward.load(Ordering::Relaxed));
        let thread = entry.thread.load(Ordering::Relaxed) as u32;
        fence(Ordering::Acquire);
        let same = entry.call.load(Ordering::Relaxed) == call;
        if !same || call >> 32 != u64::from(correlation) || call == 0 {
            return Launch::UNKNOWN;
        }
        let how = (call >> TIME_BITS) as u16 & flag::SCOPE;
        Launch { span, how, launched: near(call & TIME_MASK, start), forward, thread }
    }
}

/// The whole time whose kept bits are `time`: the one nearest to `start`.
fn near(time: u64, start: u64) -> u64 {
    if start == 0 {
        return 0;
    }
    let before = (start >> TIME_SHIFT).wrapping_sub(time) & TIME_MASK;
    let signed =
        if before > TIME_MASK / 2 { before as i64 - (1 << TIME_BITS) } else { before as i64 };
    start.wrapping_sub((signed << TIME_SHIFT) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(span: u64, launched: u64) -> Launch {
        Launch { span: SpanId(span), how: flag::INHERITED, launched, forward: SpanId(7), thread: 3 }
    }

    #[test]
    fn a_call_is_found_with_its_time() {
        let launches = Launches::default();
        launches.put(5, launch(42, 1_000_000));
        let found = launches.find(5, 1_050_000);
        assert_eq!((found.span.0, found.how, found.forward.0), (42, flag::INHERITED, 7));
        assert!(found.launched.abs_diff(1_000_000) < 64, "{found:?}");
    }

    #[test]
    fn a_clock_that_is_a_little_behind_gives_a_small_negative_latency() {
        let launches = Launches::default();
        launches.put(5, launch(42, 1_000_000));
        assert!(launches.find(5, 999_000).launched.abs_diff(1_000_000) < 64);
    }

    #[test]
    fn a_call_is_read_whole_or_not_at_all() {
        let launches = Launches::default();
        let same = |n: u64| Launch {
            span: SpanId(n),
            how: flag::BY_LAUNCH,
            launched: 0,
            forward: SpanId(n),
            thread: n as u32,
        };
        std::thread::scope(|scope| {
            let launches = &launches;
            // One place in the table, written for one call and then for another.
            scope.spawn(move || {
                for n in 0..200_000u32 {
                    // No call is made twice at the same time: a reader that slept through two
                    // others would not notice.
                    let launched = u64::from(n) << TIME_SHIFT;
                    let launch = Launch { launched, ..same(u64::from(n % 2) + 1) };
                    launches.put(5 + n % 2 * REMEMBERED as u32, launch);
                }
            });
            for n in 0..200_000u32 {
                let found = launches.find(5 + n % 2 * REMEMBERED as u32, 1);
                let expected = same(u64::from(n % 2) + 1);
                let whole = (found.span, found.forward, found.thread)
                    == (expected.span, expected.forward, expected.thread);
                assert!(whole || found == Launch::UNKNOWN, "{found:?}");
            }
        });
    }

    #[test]
    fn a_call_that_was_overwritten_is_not_mistaken_for_another() {
        let launches = Launches::default();
        launches.put(5, launch(42, 1));
        launches.put(5 + REMEMBERED as u32, launch(43, 1));
        assert_eq!(launches.find(5, 1), Launch::UNKNOWN);
        assert_eq!(launches.find(6, 1), Launch::UNKNOWN);
    }
}
