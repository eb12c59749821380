//! Readings of the machine as counters: what both formats draw.

use hodo_trace::{Machine, MachineSeries, Run, TimeRanges};

/// The readings of a machine while the run was on.
pub struct Readings<'a> {
    /// The machine.
    pub machine: &'a Machine,
    time: TimeRanges,
}

/// Every machine of a run that was sampled.
pub fn readings(run: &Run) -> impl Iterator<Item = Readings<'_>> {
    let sampled = run.machines.iter().filter(|machine| !machine.series.is_empty());
    sampled.map(|machine| Readings { machine, time: run.time_on(machine) })
}

impl<'a> Readings<'a> {
    /// What the machine is called.
    pub fn title(&self) -> String {
        format!("machine {}", self.machine.host()).trim_end().to_owned()
    }

    /// When the first of them was taken.
    pub fn first_ns(&self) -> Option<u64> {
        let first = |series: &'a MachineSeries| self.points(series).next().map(|point| point.0);
        self.machine.series.iter().filter_map(first).min()
    }

    /// What is drawn of a series: nanoseconds since 1970, and the value. Readings that failed are
    /// left out, which neither format can tell.
    pub fn points(&self, series: &'a MachineSeries) -> impl Iterator<Item = (u64, f64)> + '_ {
        self.machine.points(series).filter_map(|(at, value)| {
            let at_ns = u64::try_from(at).ok().filter(|_| self.time.contains(at))?;
            Some((at_ns, value.filter(|value| value.is_finite())?))
        })
    }

    /// The name of a series beside that of its source.
    pub fn series_title(&self, series: &MachineSeries) -> String {
        format!("{} {}", self.machine.source_name(&series.source), series.metric)
    }
}
