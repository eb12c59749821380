//! What a series was over some time: the one home of these numbers.

use super::weights::Weights;
use super::{Machine, MachineSeries, TimeRanges};
use hodo_format::machine::{Kind, Source};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// What a series was over some time, in [`Machine::shown_unit`]: a gauge's value, a counter's growth
/// a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SeriesStats {
    /// The mean over the time that was sampled. Between two readings a gauge goes in a straight line
    /// and a counter grows evenly.
    pub mean: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// The newest.
    pub last: f64,
    /// How much of the time was sampled, from 0 to 1.
    pub covered: f64,
    /// Readings in it.
    pub readings: u64,
}

/// Statistics of a machine's series over one choice of time.
pub struct Measures<'a> {
    machine: &'a Machine,
    ranges: TimeRanges,
    /// By address of the times that series share.
    weights: RefCell<HashMap<*const i64, Rc<Weights>>>,
}

impl Machine {
    /// What its series were over `ranges`.
    pub fn over(&self, ranges: TimeRanges) -> Measures<'_> {
        Measures { machine: self, ranges, weights: RefCell::default() }
    }

    /// What is shown of a series is what it says times this: processor time of the host is shown
    /// as a share of the machine.
    pub fn scale(&self, series: &MachineSeries) -> f64 {
        match self.cores().filter(|_| is_processor_time(series) && series.source == Source::Host) {
            Some(cores) => 1.0 / cores,
            None => 1.0,
        }
    }

    /// The unit of what is shown of a series: `1` for a share, `cores` for processor time of some
    /// processes, a second's growth of a counter.
    pub fn shown_unit<'a>(&self, series: &'a MachineSeries) -> &'a str {
        let is_share = matches!(series.source, Source::Core(_))
            || (series.source == Source::Host && self.cores().is_some());
        match (series.kind, series.unit.as_str()) {
            (Kind::Gauge, unit) => unit,
            (Kind::Counter, "s") if is_processor_time(series) && !is_share => "cores",
            (Kind::Counter, "s") => "1",
            (Kind::Counter, "J") => "W",
            (Kind::Counter, "By") => "By/s",
            (Kind::Counter, _) => "1/s",
        }
    }

    /// What is shown of a series at each of its readings: none where it was not captured, which the
    /// growth of a counter at its first reading never is.
    pub fn points<'a>(
        &self,
        series: &'a MachineSeries,
    ) -> impl Iterator<Item = (i64, Option<f64>)> + 'a {
        let (scale, most) = (self.scale(series), self.most(series));
        let mut before = None;
        series.times.iter().zip(&series.values).enumerate().map(move |(at, (&time, &value))| {
            let there = (!value.is_nan()).then_some(at);
            let shown = there.and_then(|at| match series.kind {
                Kind::Gauge => Some(value),
                Kind::Counter => series.rate(before?, at),
            });
            before = there.or(before);
            (time, shown.map(|value| value.min(most) * scale))
        })
    }

    /// The most that a series can be: the kernel counts processor time in ticks, and one that falls
    /// between two readings close together looks like more processors than there are.
    fn most(&self, series: &MachineSeries) -> f64 {
        let processors = match series.source {
            Source::Core(_) => Some(1.0),
            Source::Host | Source::Processes => self.cores(),
            _ => None,
        };
        processors.filter(|_| is_processor_time(series)).unwrap_or(f64::INFINITY)
    }
}

fn is_processor_time(series: &MachineSeries) -> bool {
    series.metric.ends_with("cpu.time") || series.metric == "cpu.stolen"
}

impl<'a> Measures<'a> {
    /// The time they are over.
    pub fn ranges(&self) -> &TimeRanges {
        &self.ranges
    }

    /// The machine they are of.
    pub fn machine(&self) -> &'a Machine {
        self.machine
    }

    /// What a series was; none when nothing of it was captured in this time.
    pub fn of(&self, series: &MachineSeries) -> Option<SeriesStats> {
        let weights = self.weights_of(series);
        let mut sum = Sum { most: self.machine.most(series), ..Sum::default() };
        let mut before = None;
        for at in series.present() {
            if let Some(from) = before {
                sum.between(series, &weights, from, at);
            }
            if weights.is_inside(at) {
                sum.readings += 1;
                if series.kind == Kind::Gauge {
                    sum.see(series.values[at]);
                    sum.newest = Some(series.values[at]);
                    sum.plain += series.values[at];
                }
            }
            before = Some(at);
        }
        sum.finish(self.ranges.length_ns(), self.machine.scale(series))
    }

    /// The same for the series of a metric at a source, if there is one.
    pub fn of_metric(&self, source: &Source, metric: &str) -> Option<SeriesStats> {
        self.of(self.machine.get(source, metric)?)
    }

    pub(super) fn weights_of(&self, series: &MachineSeries) -> Rc<Weights> {
        let times: &Arc<[i64]> = &series.times;
        let mut known = self.weights.borrow_mut();
        let weights = known.entry(times.as_ptr());
        Rc::clone(weights.or_insert_with(|| Rc::new(Weights::new(times, &self.ranges))))
    }
}

/// Statistics in the making.
#[derive(Default)]
struct Sum {
    /// Value times nanoseconds.
    integral: f64,
    ns: f64,
    readings: u64,
    /// The readings, added up.
    plain: f64,
    seen: Option<(f64, f64, f64)>,
    /// The last reading of a gauge in this time.
    newest: Option<f64>,
    /// More than this cannot be.
    most: f64,
}

impl Sum {
    /// Takes what lies between two readings.
    fn between(&mut self, series: &MachineSeries, weights: &Weights, from: usize, to: usize) {
        let part = weights.between(&series.times, from, to);
        if part.ns == 0.0 {
            return;
        }
        let apart = series.times[to] - series.times[from];
        let value = match series.kind {
            Kind::Counter => series.rate(from, to),
            Kind::Gauge => (apart <= weights.longest_ns).then(|| {
                let (first, last) = (series.values[from], series.values[to]);
                first + (last - first) * part.middle() / apart as f64
            }),
        };
        if let Some(value) = value {
            self.integral += value * part.ns;
            self.ns += part.ns;
            self.see(value);
        }
    }

    fn see(&mut self, value: f64) {
        let value = value.min(self.most);
        let (min, max, _) = self.seen.unwrap_or((value, value, value));
        self.seen = Some((min.min(value), max.max(value), value));
    }

    fn finish(self, whole_ns: u64, scale: f64) -> Option<SeriesStats> {
        let (min, max, last) = self.seen?;
        let mean = match self.ns > 0.0 {
            true => self.integral / self.ns,
            // Readings with gaps on both sides.
            false => self.plain / self.readings as f64,
        };
        Some(SeriesStats {
            mean: mean.clamp(min, max) * scale,
            min: min * scale,
            max: max * scale,
            last: self.newest.unwrap_or(last) * scale,
            covered: if whole_ns == 0 { 0.0 } else { (self.ns / whole_ns as f64).min(1.0) },
            readings: self.readings,
        })
    }
}
