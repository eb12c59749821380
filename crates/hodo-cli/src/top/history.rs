//! The readings of a machine over the last minutes, as a view shows them: counters as what they
//! grow by a second.

use hodo_format::machine::{Kind, Metric, Source};
use std::collections::{BTreeMap, VecDeque};

/// Readings that are kept of each series: as many as the widest line shows.
const KEPT: usize = 240;
/// A value that was not read anew for so long is not shown any more; the slowest readers come
/// every five seconds, those that cost much less often.
const STALE_NS: u64 = 30_000_000_000;

/// A series that was not read for so long is gone.
const GONE_NS: u64 = 600_000_000_000;

/// What is known of a machine.
#[derive(Debug, Default)]
pub struct History {
    series: BTreeMap<(Source, &'static str), Shown>,
    /// The newest moment, nanoseconds of the clock that all readings have.
    now_ns: u64,
}

/// One series as it is shown.
#[derive(Debug, Default)]
struct Shown {
    /// The last reading of a counter, which the next is compared with.
    before: Option<(u64, f64)>,
    read_ns: u64,
    values: VecDeque<Option<f64>>,
}

impl History {
    /// Adds a reading of `metric` at `source`; one of a moment that is known adds nothing.
    pub fn add(
        &mut self,
        source: &Source,
        metric: &'static Metric,
        at_ns: u64,
        value: Option<f64>,
    ) {
        self.now_ns = self.now_ns.max(at_ns);
        let shown = self.series.entry((source.clone(), metric.name)).or_default();
        if at_ns <= shown.read_ns && shown.read_ns > 0 {
            return;
        }
        shown.read_ns = at_ns;
        let value = match metric.kind {
            Kind::Gauge => value,
            Kind::Counter => shown.growth(at_ns, value),
        };
        shown.values.push_back(value);
        if shown.values.len() > KEPT {
            shown.values.pop_front();
        }
    }

    /// Moves the clock on where nothing is read.
    pub fn at(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Forgets series that nobody reads any more: processes on a GPU come and go for days.
    pub fn forget_gone(&mut self) {
        let now_ns = self.now_ns;
        self.series.retain(|_, shown| now_ns.saturating_sub(shown.read_ns) <= GONE_NS);
    }

    /// The newest value; none when it was not read, or too long ago.
    pub fn value(&self, source: &Source, metric: &Metric) -> Option<f64> {
        let shown = self.get(source, metric)?;
        let fresh = self.now_ns.saturating_sub(shown.read_ns) <= STALE_NS;
        shown.values.back().copied().flatten().filter(|_| fresh)
    }

    /// The last `count` values, oldest first.
    pub fn last(&self, source: &Source, metric: &Metric, count: usize) -> Vec<Option<f64>> {
        let values = self.get(source, metric).map(|shown| &shown.values);
        let skip = values.map_or(0, |v| v.len().saturating_sub(count));
        values.into_iter().flatten().skip(skip).copied().collect()
    }

    /// Whether there ever was such a series.
    pub fn has(&self, source: &Source, metric: &Metric) -> bool {
        self.get(source, metric).is_some()
    }

    /// Every source, each once and in order.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        let mut last = None;
        self.series.keys().map(|(source, _)| source).filter(move |source| {
            let new = last != Some(*source);
            last = Some(*source);
            new
        })
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    fn get(&self, source: &Source, metric: &Metric) -> Option<&Shown> {
        self.series.get(&(source.clone(), metric.name))
    }
}

impl Shown {
    /// What a counter grew by a second since the reading before; none at its first reading and
    /// where it started anew.
    fn growth(&mut self, at_ns: u64, value: Option<f64>) -> Option<f64> {
        let value = value?;
        let (before_ns, before) = self.before.replace((at_ns, value))?;
        let seconds = at_ns.checked_sub(before_ns)? as f64 / 1e9;
        (value >= before && seconds > 0.0).then(|| (value - before) / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hodo_format::machine::metric;

    #[test]
    fn counters_are_shown_by_what_they_grow() {
        let mut history = History::default();
        for (second, value) in [(1u64, 10.0), (2, 11.5), (4, 12.5), (5, 1.0), (6, 3.0)] {
            history.add(&Source::Host, &metric::CPU_TIME, second * 1_000_000_000, Some(value));
        }
        let last = history.last(&Source::Host, &metric::CPU_TIME, 9);
        assert_eq!(last, [None, Some(1.5), Some(0.5), None, Some(2.0)]);
        history.add(&Source::Host, &metric::CPU_TIME, 6_000_000_000, Some(99.0));
        assert_eq!(history.value(&Source::Host, &metric::CPU_TIME), Some(2.0), "known already");
    }

    #[test]
    fn what_was_not_read_for_long_is_not_shown() {
        let mut history = History::default();
        history.add(&Source::Host, &metric::LOAD, 1, Some(0.5));
        assert_eq!(history.value(&Source::Host, &metric::LOAD), Some(0.5));
        history.at(STALE_NS + 2);
        assert_eq!(history.value(&Source::Host, &metric::LOAD), None);
        assert_eq!(history.value(&Source::Host, &metric::SWAP_USED), None);
    }

    #[test]
    fn processes_that_are_gone_are_forgotten() {
        let mut history = History::default();
        for pid in 0..5000u32 {
            let at_ns = u64::from(pid + 1) * 1_000_000_000;
            let source = Source::GpuProcess("GPU-1".into(), pid);
            history.add(&source, &metric::GPU_PROCESS_MEMORY, at_ns, Some(1.0));
            history.forget_gone();
            assert!(history.sources().count() <= 601);
        }
        assert!(
            history.sources().any(|source| *source == Source::GpuProcess("GPU-1".into(), 4999))
        );
    }
}
