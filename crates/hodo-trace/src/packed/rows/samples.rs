//! Readings of a machine, series by series.

use super::Rows;
use crate::packed::values::Values;
use crate::{Machine, MachineSeries, Run};
use std::ops::Range;

/// The readings of a machine as they are shown.
pub(super) struct Samples<'a> {
    run: &'a Run,
    machine: &'a Machine,
    rows: usize,
}

impl<'a> Samples<'a> {
    pub(super) fn new(run: &'a Run, machine: &'a Machine) -> Samples<'a> {
        Samples { run, machine, rows: count(machine) }
    }

    fn texts(&self, rows: Range<usize>, text: impl Fn(&MachineSeries) -> String) -> Values {
        let series = &self.machine.series;
        Values::by_key(series_of(self.machine, rows).map(Some), |at| {
            Some(text(&series[at as usize]))
        })
    }
}

fn count(machine: &Machine) -> usize {
    machine.series.iter().map(|series| series.times().len()).sum()
}

/// The place of every row's series.
fn series_of(machine: &Machine, rows: Range<usize>) -> impl Iterator<Item = u32> {
    let all = machine.series.iter().zip(0u32..);
    let all = all.flat_map(|(series, at)| std::iter::repeat_n(at, series.times().len()));
    all.skip(rows.start).take(rows.len())
}

impl Rows for Samples<'_> {
    fn len(&self) -> usize {
        self.rows
    }

    fn column(&self, name: &'static str, rows: Range<usize>) -> Values {
        let machine = self.machine;
        let points = machine.series.iter().flat_map(|series| machine.points(series));
        let mut points = points.skip(rows.start).take(rows.len());
        match name {
            "host" => Values::same_text(Some(machine.host()), rows.len()),
            "source" => self.texts(rows, |series| series.source.to_string()),
            "metric" => self.texts(rows, |series| series.metric.clone()),
            "unit" => self.texts(rows, |series| machine.shown_unit(series).to_owned()),
            "time_ns" => Values::whole(points.by_ref().map(|point| point.0)),
            "value" => Values::numbers(points.by_ref().map(|point| point.1)),
            _ => Values::same_text(Some(&self.run.info.id), rows.len()),
        }
    }
}

/// The same readings as the sampler made them.
pub(super) struct Readings<'a> {
    machine: &'a Machine,
    rows: usize,
}

impl<'a> Readings<'a> {
    pub(super) fn new(machine: &'a Machine) -> Readings<'a> {
        Readings { machine, rows: count(machine) }
    }
}

impl Rows for Readings<'_> {
    fn len(&self) -> usize {
        self.rows
    }

    fn column(&self, name: &'static str, rows: Range<usize>) -> Values {
        let series = &self.machine.series;
        match name {
            "series" => Values::whole(series_of(self.machine, rows).map(i64::from)),
            "time_ns" => {
                let times = series.iter().flat_map(|series| series.times().iter().copied());
                Values::whole(times.skip(rows.start).take(rows.len()))
            }
            _ => {
                let values = series.iter().flat_map(|series| series.values().iter().copied());
                Values::Number(values.skip(rows.start).take(rows.len()).collect(), None)
            }
        }
    }
}
