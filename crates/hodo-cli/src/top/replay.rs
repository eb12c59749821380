//! The readings of a recorded run, played back.

use super::history::History;
use super::model::{GpuName, Mode, Model};
use crate::absent;
use hodo_format::machine::{Metric, Source};
use hodo_trace::{Machine, Run};
use std::time::Duration;

/// A recorded machine, and how far it has been played.
pub struct Replay {
    host: String,
    cores: Option<f64>,
    gpus: Vec<GpuName>,
    absent: Vec<String>,
    /// Every reading in the order of time: moment, series, value.
    readings: Vec<(i64, u32, Option<f64>)>,
    series: Vec<(Source, &'static Metric)>,
    /// Readings that were shown.
    shown: usize,
    start_ns: i64,
    end_ns: i64,
    at_ns: i64,
    speed: f64,
}

impl Replay {
    /// The readings of the run's first host that has any; none when no host has.
    pub fn new(run: &Run, speed: f64) -> Option<Replay> {
        let machine = run.machines.iter().find(|machine| machine.extent().is_some())?;
        let (start_ns, end_ns) = machine.extent()?;
        let mut replay = Replay {
            host: machine.host().to_owned(),
            cores: machine.cores(),
            gpus: gpus(machine),
            absent: absent(machine),
            readings: Vec::new(),
            series: Vec::new(),
            shown: 0,
            start_ns,
            end_ns,
            at_ns: start_ns,
            speed,
        };
        for series in &machine.series {
            // A newer version may know more metrics.
            let Some(metric) = Metric::named(&series.metric) else { continue };
            let id = replay.series.len() as u32;
            replay.series.push((series.source.clone(), metric));
            let values = series.times().iter().zip(series.values());
            let value = |value: f64| Some(value).filter(|value| !value.is_nan());
            replay.readings.extend(values.map(|(&at, &v)| (at, id, value(v))));
        }
        replay.readings.sort_by_key(|reading| reading.0);
        Some(replay)
    }

    /// Moves on by `elapsed` of the viewer's time and fills `model`.
    pub fn advance(&mut self, elapsed: Duration, model: &mut Model) {
        let by = (elapsed.as_nanos() as f64 * self.speed) as i64;
        self.at_ns = self.at_ns.saturating_add(by).min(self.end_ns);
        self.show(model);
    }

    /// Jumps by so much, forwards or backwards.
    pub fn seek(&mut self, by_ns: i64, model: &mut Model) {
        self.at_ns = self.at_ns.saturating_add(by_ns).clamp(self.start_ns, self.end_ns);
        (self.shown, model.history) = (0, History::default());
        self.show(model);
    }

    /// The end of the recording.
    pub fn play_out(&mut self, model: &mut Model) {
        self.seek(i64::MAX / 2, model);
    }

    fn show(&mut self, model: &mut Model) {
        let until = self.readings.partition_point(|reading| reading.0 <= self.at_ns);
        for &(at, series, value) in &self.readings[self.shown.min(until)..until] {
            let (source, metric) = &self.series[series as usize];
            model.history.add(source, metric, self.since_start(at), value);
        }
        self.shown = until;
        model.history.at(self.since_start(self.at_ns));
        model.host.clone_from(&self.host);
        model.wall_ns = self.at_ns;
        model.cores = self.cores;
        model.gpus.clone_from(&self.gpus);
        model.absent.clone_from(&self.absent);
        model.mode = Mode::Replay {
            at_ns: self.at_ns.abs_diff(self.start_ns),
            of_ns: self.end_ns.abs_diff(self.start_ns),
            speed: self.speed,
        };
    }

    /// Never 0, which a history takes for "not read yet".
    fn since_start(&self, at_ns: i64) -> u64 {
        at_ns.saturating_sub(self.start_ns).max(0) as u64 + 1
    }
}

fn gpus(machine: &Machine) -> Vec<GpuName> {
    let name = |uuid: &&str| {
        let known = machine.gpu(uuid).unwrap_or_default();
        GpuName { uuid: (*uuid).to_owned(), index: known.index, name: known.name }
    };
    machine.gpus().iter().map(name).collect()
}

fn absent(machine: &Machine) -> Vec<String> {
    super::absent_words(&absent::of(machine))
}
