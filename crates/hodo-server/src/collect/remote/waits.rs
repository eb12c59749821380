//! What failed in the store, and when it is tried again: told once, and less and less often.

use crate::collect::depot::lock;
use crate::collect::janitor::tell;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// So long at first, and then twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// And so long at the most.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// By run.
#[derive(Default)]
pub struct Waits(Mutex<HashMap<String, Wait>>);

struct Wait {
    /// None of what is never due again.
    until: Option<Instant>,
    pause: Duration,
    told: String,
}

impl Waits {
    /// The list of runs in the store, which is no run.
    pub const LIST: &str = "";

    /// Whether it is time for something that failed, or has not.
    pub fn is_due(&self, what: &str) -> bool {
        let waits = lock(&self.0);
        waits.get(what).is_none_or(|wait| wait.until.is_some_and(|until| until <= Instant::now()))
    }

    /// Something failed, which is told where that is news.
    pub fn failed(&self, what: &str, why: &str) {
        let mut waits = lock(&self.0);
        let before = waits.remove(what);
        let pause = before.as_ref().map_or(FIRST_PAUSE, |before| before.pause * 2);
        let pause = pause.min(LONGEST_PAUSE);
        if !why.is_empty() && before.is_none_or(|before| before.told != why) {
            tell(&format!("{why}; it is tried again"));
        }
        let until = Some(Instant::now() + pause);
        waits.insert(what.to_owned(), Wait { until, pause, told: why.to_owned() });
    }

    /// Something worked. The list is read once.
    pub fn worked(&self, what: &str) {
        let mut waits = lock(&self.0);
        waits.remove(what);
        if what == Waits::LIST {
            let wait = Wait { until: None, pause: FIRST_PAUSE, told: String::new() };
            waits.insert(what.to_owned(), wait);
        }
    }

    /// As if all of them had waited long enough.
    #[cfg(test)]
    pub fn let_all_be_due(&self) {
        for wait in lock(&self.0).values_mut() {
            wait.until = wait.until.map(|_| Instant::now());
        }
    }
}
