//! Work that a collector may not survive, as for want of memory: how often it was begun and not heard of
//! again, and when it is begun anew.

use std::time::Duration;

/// Something is left alone for a while when the collector has ended so often while it did it.
pub const MOST_TRIES: u32 = 3;
/// So long at first, and then twice as long each time: whoever kills a collector now and then is not who
/// runs out of memory with every start.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// And so long at the most.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);

/// What is written down before each try.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    /// How often it began and was not heard of again.
    pub count: u32,
    /// Seconds since 1970 when it is tried again, after that was too often.
    pub next_s: u64,
}

impl Tries {
    /// One more now; or how long to wait for it.
    pub fn begin(self, now_s: u64) -> (Tries, Option<Duration>) {
        let count = self.count;
        let next_s = match count {
            0..MOST_TRIES => 0,
            _ if self.next_s == 0 => now_s + wait_after(count).as_secs(),
            // Later than it could be, where the clock was set back since.
            _ => self.next_s.min(now_s + wait_after(count).as_secs()),
        };
        if now_s < next_s {
            return (Tries { count, next_s }, Some(Duration::from_secs(next_s - now_s)));
        }
        let next_s = if count < MOST_TRIES { 0 } else { now_s + wait_after(count + 1).as_secs() };
        (Tries { count: count + 1, next_s }, None)
    }

    /// One of them was ended by whoever ended the collector.
    pub fn forgiven(self) -> Tries {
        Tries { count: self.count.saturating_sub(1), ..self }
    }
}

/// How long something is left alone that failed so often.
pub fn wait_after(count: u32) -> Duration {
    (FIRST_WAIT * 2_u32.saturating_pow(count.saturating_sub(MOST_TRIES).min(20))).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_back_keeps_nothing_waiting() {
        let waiting = Tries { count: MOST_TRIES + 2, next_s: 1_000_000 };
        let (after, wait) = waiting.begin(1000);
        assert_eq!((after.next_s, wait), (1004, Some(Duration::from_secs(4))));
        assert_eq!(after.begin(1004).1, None);
    }
}
