//! The last scopes of a run, by number or by time.

use crate::select::Selection;
use crate::{Process, Row, Run, TraceError};
use std::str::FromStr;

/// The last scopes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// So many: those that closed last, and open ones behind these.
    Scopes(usize),
    /// Those that were open in the last so many nanoseconds of the run.
    Nanoseconds(u64),
}

impl FromStr for Last {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Last, TraceError> {
        let time = || parse_duration_ns(text).map(|ns| Last::Nanoseconds(ns as u64));
        let number = text.trim().parse().ok().map(Last::Scopes);
        number.or_else(time).ok_or_else(|| TraceError::Last { text: text.to_owned() })
    }
}

impl Last {
    /// Drops what is not among the last of what is kept.
    pub(crate) fn narrow(self, run: &Run, kept: &mut [Selection]) {
        let since = match self {
            Last::Nanoseconds(ns) => last_moment(run).map(|end| end.saturating_sub_unsigned(ns)),
            Last::Scopes(count) => nth_last_end(run, kept, count),
        };
        let Some(since) = since else { return };
        for (kept, process) in kept.iter_mut().zip(&run.processes) {
            kept.and(process.spans.rows().map(|row| end_ns(process, row) >= since).collect());
        }
        if let Last::Scopes(count) = self {
            drop_ties(run, kept, count, since);
        }
    }
}

/// Where a scope ended; those without times count as the earliest.
fn end_ns(process: &Process, row: Row) -> i64 {
    if process.is_timed() { process.span(row).end_ns() } else { i64::MIN }
}

fn last_moment(run: &Run) -> Option<i64> {
    run.processes.iter().filter_map(Process::end_ns).max()
}

/// Where the `count`-th last of the kept scopes ended; none when there are not more than that.
fn nth_last_end(run: &Run, kept: &[Selection], count: usize) -> Option<i64> {
    let mut ends: Vec<i64> = Vec::new();
    for (kept, process) in kept.iter().zip(&run.processes) {
        let rows = process.spans.rows().filter(|&row| kept.keeps(row));
        ends.extend(rows.map(|row| end_ns(process, row)));
    }
    match count {
        0 => Some(i64::MAX),
        _ if ends.len() <= count => None,
        _ => {
            let at = ends.len() - count;
            Some(*ends.select_nth_unstable(at).1)
        }
    }
}

/// Of scopes that ended in the same moment the earlier ones go until `count` are left.
fn drop_ties(run: &Run, kept: &mut [Selection], count: usize, since: i64) {
    let all = |kept: &[Selection]| -> usize {
        let of =
            |(kept, p): (&Selection, &Process)| p.spans.rows().filter(|&r| kept.keeps(r)).count();
        kept.iter().zip(&run.processes).map(of).sum()
    };
    let mut surplus = all(kept).saturating_sub(count);
    for (kept, process) in kept.iter_mut().zip(&run.processes) {
        let mut rows: Vec<bool> = process.spans.rows().map(|row| kept.keeps(row)).collect();
        for row in process.spans.rows() {
            if surplus > 0 && rows[row as usize] && end_ns(process, row) == since {
                rows[row as usize] = false;
                surplus -= 1;
            }
        }
        kept.and(rows);
    }
}

/// Nanoseconds of `250us`, `1.5 ms` or `2s`; a number without a unit says nothing unless it is 0.
pub fn parse_duration_ns(text: &str) -> Option<f64> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..split].parse().ok()?;
    let scale = match text[split..].trim() {
        "ns" => 1.0,
        "" if number == 0.0 => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    Some(number * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_scopes_and_a_time_has_a_unit() {
        let read = |text: &str| text.parse::<Last>().ok();
        assert_eq!(read("100"), Some(Last::Scopes(100)));
        assert_eq!(read(" 10s"), Some(Last::Nanoseconds(10_000_000_000)));
        assert_eq!(read("1.5 ms"), Some(Last::Nanoseconds(1_500_000)));
        for refused in ["", "-1", "1.5", "ten", "10 parsecs"] {
            assert_eq!(read(refused), None, "{refused}");
        }
    }

    #[test]
    fn durations_are_read_with_their_unit() {
        assert_eq!(parse_duration_ns("250us"), Some(250e3));
        assert_eq!(parse_duration_ns("1.5 ms"), Some(1.5e6));
        assert_eq!(parse_duration_ns("2s"), Some(2e9));
        assert_eq!(parse_duration_ns("100"), None, "of what?");
        assert_eq!(parse_duration_ns("0"), Some(0.0));
        assert_eq!(parse_duration_ns("fast"), None);
        assert_eq!(parse_duration_ns("1.2.3s"), None);
    }
}
