//! Why there is no number.

use super::{Machine, Measures, SeriesStats};
use crate::Run;
use hodo_format::machine::Source;
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
            None => Err(self.machine().why_missing(metric)),
        }
    }
}

impl Machine {
    /// Why there is no series of a metric.
    pub fn why_missing(&self, metric: &str) -> SeriesMissing {
        let Some(state) = &self.state else { return SeriesMissing::NotRead };
        let absent = state.absent();
        let parts = parts_of(metric);
        let found = parts.iter().find_map(|part| absent.iter().find(|a| a.part == *part));
        found.map_or(SeriesMissing::NotRead, |absent| SeriesMissing::Absent(absent.why.clone()))
    }
}

/// Parts of a sampler without which a metric cannot be read, the narrowest first. A metric's own
/// name is such a part too, and so is what stands before its first dot.
fn parts_of(metric: &str) -> Vec<&str> {
    let by_gpm = ["gpu.sm.active", "gpu.sm.occupancy", "gpu.tensor.active", "gpu.dram.active"];
    let family = metric.split('.').next().unwrap_or(metric);
    let mut parts = vec![metric];
    if by_gpm.contains(&metric) {
        parts.push("gpm");
    }
    if family == "gpu" {
        parts.push("nvml");
    }
    parts.push(family);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_part_explains_a_metric() {
        assert_eq!(parts_of("gpu.tensor.active"), ["gpu.tensor.active", "gpm", "nvml", "gpu"]);
        assert_eq!(parts_of("pressure.io"), ["pressure.io", "pressure"]);
    }
}
