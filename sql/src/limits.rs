//! How much a statement may take.

use crate::SqlError;
use std::num::NonZeroUsize;
use std::time::Duration;

/// Time, memory and cores of one statement.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest it may run; none for no limit.
    pub timeout: Option<Duration>,
    /// Memory; beyond it goes to temporary files.
    pub memory_bytes: usize,
    /// Cores.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Limits { timeout: Some(Duration::from_secs(60)), memory_bytes: 2 << 30, threads }
    }
}

/// `60s`, `500ms`; nothing for `0`.
pub fn parse_timeout(text: &str) -> Result<Option<Duration>, SqlError> {
    if text == "0" {
        return Ok(None);
    }
    let ns = hodo_trace::parse_duration_ns(text).filter(|&ns| ns >= 1.0);
    let wrong =
        || SqlError::Query(format!("`{text}` is no time with its unit, as in 500ms or 60s"));
    Ok(Some(Duration::from_nanos(ns.ok_or_else(wrong)? as u64)))
}

/// The least that a query can be planned and run with.
const LEAST_BYTES: usize = 1 << 20;

/// `512m`, `2g`, `1000000`.
pub fn parse_bytes(text: &str) -> Result<usize, SqlError> {
    let lower = text.to_ascii_lowercase();
    let (digits, shift) = match lower.strip_suffix(['k', 'm', 'g']) {
        Some(digits) if lower.ends_with('k') => (digits, 10),
        Some(digits) if lower.ends_with('m') => (digits, 20),
        Some(digits) => (digits, 30),
        None => (lower.as_str(), 0),
    };
    let bytes = digits.parse::<usize>().ok().and_then(|n| n.checked_mul(1 << shift));
    bytes.filter(|&bytes| bytes >= LEAST_BYTES).ok_or_else(|| {
        SqlError::Query(format!("`{text}` is no amount of memory from 1m on, as in 512m or 2g"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_with_their_units() {
        assert_eq!(parse_bytes("2g").unwrap(), 2 << 30);
        assert_eq!(parse_bytes("1048576").unwrap(), 1 << 20);
        assert_eq!(parse_timeout("500ms").unwrap(), Some(Duration::from_millis(500)));
        assert_eq!(parse_timeout("0").unwrap(), None);
        for wrong in ["", "g", "-1g", "1t", "3k", "99999999999999g"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "10", "-1s", "soon"] {
            assert!(parse_timeout(wrong).is_err(), "{wrong}");
        }
    }
}
