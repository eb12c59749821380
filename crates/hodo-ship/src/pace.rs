//! How long to wait before a collector is asked again.

use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(250);
const MOST: Duration = Duration::from_secs(30);
/// The longest that a collector may ask for.
const MOST_ASKED: Duration = Duration::from_secs(300);

/// Waits that double while nothing works, each a little different: when a collector comes back, not
/// all ask at once.
#[derive(Debug)]
pub(crate) struct Pace {
    next: Duration,
    random: u64,
    /// Since when nothing worked.
    pub(crate) since: Option<Instant>,
}

impl Pace {
    pub(crate) fn new(seed: u64) -> Pace {
        Pace { next: FIRST, random: seed | 1, since: None }
    }

    /// Something worked.
    pub(crate) fn reset(&mut self) {
        (self.next, self.since) = (FIRST, None);
    }

    /// Nothing worked: how long to wait now.
    pub(crate) fn wait(&mut self, asked: Option<Duration>) -> Duration {
        self.since.get_or_insert_with(Instant::now);
        let whole = self.next;
        self.next = (whole * 2).min(MOST);
        if let Some(asked) = asked {
            return asked.min(MOST_ASKED).max(FIRST);
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        whole / 2 + whole.mul_f64((self.random % 1000) as f64 / 2000.0)
    }

    /// How long nothing has worked.
    pub(crate) fn waited(&self) -> Duration {
        self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_half_a_minute_and_begin_anew() {
        let mut pace = Pace::new(7);
        let mut whole = FIRST;
        for _ in 0..12 {
            let wait = pace.wait(None);
            assert!(wait >= whole / 2 && wait <= whole, "{wait:?} of {whole:?}");
            whole = (whole * 2).min(MOST);
        }
        assert_eq!(whole, MOST);
        pace.reset();
        assert!(pace.wait(None) <= FIRST);
        assert_eq!(pace.wait(Some(Duration::from_secs(9))), Duration::from_secs(9));
        assert_eq!(pace.wait(Some(Duration::from_secs(9999))), MOST_ASKED);
    }

    #[test]
    fn two_shippers_do_not_wait_alike() {
        let waits = |seed| {
            let mut pace = Pace::new(seed);
            (0..8).map(|_| pace.wait(None)).collect::<Vec<_>>()
        };
        assert_ne!(waits(0x1234_5678_9abc), waits(0x0fed_cba9_8765));
    }
}
