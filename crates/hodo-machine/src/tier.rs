//! How often a part of the machine is read.

use crate::sampler::MIN_INTERVAL;
use crate::table::Reader;
use std::time::Duration;

/// How often a reader is called: what is cheap in every round, what is dear rarely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// In every round.
    Fast,
    /// In every round, but not more often than ten times a second.
    Brisk,
    /// Once a second at most.
    Medium,
    /// Once in five seconds at most.
    Slow,
}

/// Readers, each with how often it is called.
pub type Readers = Vec<(Tier, Box<dyn Reader>)>;

impl Tier {
    /// All of them, the fastest first.
    pub const ALL: [Tier; 4] = [Tier::Fast, Tier::Brisk, Tier::Medium, Tier::Slow];

    /// The least time between two readings.
    pub fn at_least(self) -> Duration {
        Duration::from_millis(match self {
            Tier::Fast => 0,
            Tier::Brisk => 100,
            Tier::Medium => 1000,
            Tier::Slow => 5000,
        })
    }

    /// The same where something begins or ends: what energy was used until then is worth a reading
    /// that comes early. Counters move in steps, so two readings at nearly one moment would show a
    /// step as a burst of work.
    pub(crate) fn at_least_at_an_edge(self) -> Duration {
        match self {
            Tier::Fast => MIN_INTERVAL,
            Tier::Medium => Tier::Brisk.at_least(),
            _ => self.at_least(),
        }
    }

    /// Every how many rounds it is read, with rounds `interval` apart.
    pub(crate) fn every(self, interval: Duration) -> u64 {
        let interval = interval.as_nanos().max(1);
        self.at_least().as_nanos().div_ceil(interval).max(1) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_tiers_are_read_in_whole_rounds_never_too_often() {
        let every = |ms| Tier::ALL.map(|tier| tier.every(Duration::from_millis(ms)));
        assert_eq!(every(50), [1, 2, 20, 100]);
        assert_eq!(every(300), [1, 1, 4, 17]);
        assert_eq!(every(1000), [1, 1, 1, 5]);
        assert_eq!(every(10_000), [1, 1, 1, 1]);
    }
}
