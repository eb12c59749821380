//! One series of readings.

use hodo_format::machine::{Kind, Source};
use std::sync::Arc;

/// One metric at one source, over time.
#[derive(Clone, Debug)]
pub struct MachineSeries {
    /// Where it was read.
    pub source: Source,
    /// What was read, as [`hodo_format::machine::metric`] names it.
    pub metric: String,
    /// The unit of its values.
    pub unit: String,
    /// How they are meant.
    pub kind: Kind,
    pub(super) times: Arc<[i64]>,
    pub(super) values: Vec<f64>,
    /// Places of a counter where it had started anew: its growth since the reading before is not
    /// known.
    pub(super) anew: Vec<usize>,
}

impl MachineSeries {
    /// Moments of its readings in order, nanoseconds since 1970. Series read together share them.
    pub fn times(&self) -> &Arc<[i64]> {
        &self.times
    }

    /// Its values as they were read, one for each moment; NaN where it could not be read.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The newest value.
    pub fn last(&self) -> Option<f64> {
        self.values.iter().rev().copied().find(|value| !value.is_nan())
    }

    /// Places of the readings that are there.
    pub(super) fn present(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.values.len()).filter(|&at| !self.values[at].is_nan())
    }

    /// Growth a second of a counter from one reading to a later one; none where it started anew
    /// between them.
    pub(super) fn rate(&self, from: usize, to: usize) -> Option<f64> {
        let after = self.anew.partition_point(|&at| at <= from);
        if self.anew.get(after).is_some_and(|&at| at <= to) {
            return None;
        }
        let seconds = (self.times[to] - self.times[from]) as f64 / 1e9;
        (seconds > 0.0).then(|| (self.values[to] - self.values[from]) / seconds)
    }
}

/// Places where a counter is smaller than before.
pub(super) fn falls(values: &[f64]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut before = f64::NEG_INFINITY;
    for (at, &value) in values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
        if value < before {
            found.push(at);
        }
        before = value;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_starts_anew_has_no_growth_there() {
        let values = vec![1.0, 3.0, f64::NAN, 2.0, 6.0];
        let series = MachineSeries {
            source: Source::Host,
            metric: "cpu.time".into(),
            unit: "s".into(),
            kind: Kind::Counter,
            times: (0..5).map(|second| second * 1_000_000_000).collect(),
            anew: falls(&values),
            values,
        };
        assert_eq!(series.anew, [3]);
        assert_eq!(series.rate(0, 1), Some(2.0));
        assert_eq!(series.rate(1, 3), None);
        assert_eq!(series.rate(0, 4), None);
        assert_eq!(series.rate(3, 4), Some(4.0));
        assert_eq!((series.last(), series.present().count()), (Some(6.0), 4));
    }
}
