//! How often each token may ask.

use super::refusal::Refusal;
use super::tokens::TokenInfo;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Requests in a second where a token has no limit of its own.
const USUAL_RATE: u32 = 1000;
/// A request that has so many bytes written again counts as one more.
const CHARGED_BYTES: u64 = 64 << 10;
/// So many seconds' worth may come at once.
const BURST_S: f64 = 2.0;

/// What is left to each token.
pub struct Rates {
    usual: u32,
    left: Mutex<HashMap<String, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Rates {
    /// With this limit for tokens without one of their own.
    pub fn new(usual: Option<u32>) -> Rates {
        Rates { usual: usual.unwrap_or(USUAL_RATE), left: Mutex::default() }
    }

    /// Takes one request off what is left.
    pub fn take(&self, token: &TokenInfo) -> Result<(), Refusal> {
        self.take_at(token, Instant::now())
    }

    /// Takes what was written for one request off as well: as if each part of it had been asked.
    pub fn charge(&self, token: &TokenInfo, written_bytes: u64) {
        let mut all = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = all.get_mut(&token.id) {
            bucket.left -= (written_bytes / CHARGED_BYTES) as f64;
        }
    }

    fn take_at(&self, token: &TokenInfo, now: Instant) -> Result<(), Refusal> {
        let rate = f64::from(token.rate.unwrap_or(self.usual).max(1));
        let most = (rate * BURST_S).max(1.0);
        let mut all = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let full = || Bucket { left: most, at: now };
        let bucket = all.entry(token.id.clone()).or_insert_with(full);
        let refilled = now.saturating_duration_since(bucket.at).as_secs_f64() * rate;
        (bucket.left, bucket.at) = ((bucket.left + refilled).min(most), now);
        if bucket.left < 1.0 {
            let wait = ((1.0 - bucket.left) / rate).ceil() as u64;
            let words =
                format!("more than {rate} requests in a second with the token {}", token.name);
            return Err(Refusal::later(words, wait));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::tokens::TokenKind;
    use std::time::Duration;

    #[test]
    fn who_asks_too_often_waits_and_nobody_else_does() {
        let token = |id: &str| TokenInfo {
            id: id.into(),
            name: id.into(),
            kind: TokenKind::Ingest,
            sha256: String::new(),
            made_s: 0,
            max_bytes: None,
            rate: Some(5),
        };
        let (rates, now) = (Rates::new(None), Instant::now());
        let taken = (0..100).filter(|_| rates.take_at(&token("a"), now).is_ok()).count();
        assert_eq!(taken, 10, "two seconds' worth");
        assert!(rates.take_at(&token("b"), now).is_ok());
        let later = now + Duration::from_secs(1);
        let taken = (0..100).filter(|_| rates.take_at(&token("a"), later).is_ok()).count();
        assert_eq!(taken, 5);
        // Much that is written again is as many requests.
        rates.charge(&token("b"), 20 * CHARGED_BYTES);
        assert!(rates.take_at(&token("b"), later).is_err());
        assert!(rates.take_at(&token("b"), later + Duration::from_secs(2)).is_ok());
    }
}
