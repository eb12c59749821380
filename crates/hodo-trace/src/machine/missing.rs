//! Why there is no number.

use super::{Machine, MachineState, Measures, SeriesStats};
use crate::Run;
use hodo_format::machine::{Source, part};
use serde::Serialize;

/// Why nothing is known of a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesMissing {
    /// Nobody sampled the machine.
    NoSampler,
    /// The sampler could not read it, for this reason.
    Absent(String),
    /// The sampler did not read it, and does not say why.
    NotRead,
    /// It was read, at other times.
    OtherTime,
}

impl SeriesMissing {
    /// The reason in words.
    pub fn text(&self) -> &str {
        match self {
            SeriesMissing::NoSampler => "nobody sampled the machine",
            SeriesMissing::Absent(why) => why,
            SeriesMissing::NotRead => "the machine does not tell it",
            SeriesMissing::OtherTime => "nothing was sampled at that time",
        }
    }
}

impl Run {
    /// Why a run has no readings at all; none when it has some.
    pub fn machine_missing(&self) -> Option<SeriesMissing> {
        let empty = self.machines.iter().all(|machine| machine.series.is_empty());
        empty.then_some(SeriesMissing::NoSampler)
    }
}

impl Measures<'_> {
    /// A metric at a source, or why it is not known.
    pub fn measure(&self, source: &Source, metric: &str) -> Result<SeriesStats, SeriesMissing> {
        match self.machine().get(source, metric) {
            Some(series) => self.of(series).ok_or(SeriesMissing::OtherTime),
            None => Err(self.machine().why_missing(source, metric)),
        }
    }
}

impl Machine {
    /// Why there is no series of a metric at a source.
    pub fn why_missing(&self, source: &Source, metric: &str) -> SeriesMissing {
        let absent = self.state.as_ref().map(MachineState::absent).unwrap_or_default();
        let parts = part::without(metric, source);
        let found = parts.iter().find_map(|part| absent.iter().find(|a| a.part == *part));
        found.map_or(SeriesMissing::NotRead, |absent| SeriesMissing::Absent(absent.why.clone()))
    }

    /// Why there is no series of a metric at all.
    pub fn why_missing_everywhere(&self, metric: &str) -> SeriesMissing {
        let gpus = self.gpus().into_iter().map(|uuid| Source::Gpu(uuid.to_owned()));
        let told = gpus.chain([Source::Host]).map(|source| self.why_missing(&source, metric));
        told.into_iter()
            .find(|why| *why != SeriesMissing::NotRead)
            .unwrap_or(SeriesMissing::NotRead)
    }
}
