//! Readings of the machine: what was sampled on each host while the run was recorded.
//!
//! Times are nanoseconds since 1970 on the axis of the scopes ([`crate::Clock::steady_ns`] of the
//! host's first process), so that a scope's start and end can be looked up among them.

mod absorb;
mod boot;
mod document;
mod ends;
mod energy;
mod linked;
mod live;
mod missing;
mod of_run;
mod packed;
mod read;
mod series;
mod state;
mod stats;
mod throttle;
mod time;
mod weights;

pub(crate) use ends::ends;
pub(crate) use energy::Attribution as EnergyAttribution;
pub use energy::{
    EnergyFrom, EnergyMethod, EnergySummary, GpuEnergy, GpuJoules, NodeEnergy, money,
};
pub use live::{is_locked, is_sampled, pid_space};
pub use missing::SeriesMissing;
pub(crate) use read::machine_folders;
pub use series::MachineSeries;
pub use state::{Absent, MachineGpu, MachineState, SamplerCost};
pub use stats::{Measures, SeriesStats};
pub use throttle::Throttle;
pub use time::TimeRanges;

use crate::clock::Axis;
use crate::{Damage, Process};
use boot::Boot;
use hodo_format::machine::Source;
use std::path::PathBuf;

/// The readings of one host.
#[derive(Debug)]
pub struct Machine {
    /// Its folder.
    pub folder: PathBuf,
    /// What the sampler says of itself; the newest counts.
    pub state: Option<MachineState>,
    /// Its series, by source and metric.
    pub series: Vec<MachineSeries>,
    /// The run whose readings these are, where this run has none of its own: a sidecar's.
    pub linked: Option<String>,
    /// Whether it is being sampled now.
    pub live: bool,
    /// What could not be read.
    pub damage: Damage,
    boot: Boot,
    /// What is added to the monotonic clock to get the times of the series.
    offset_ns: i64,
}

impl Machine {
    /// The host's name.
    pub fn host(&self) -> &str {
        &self.boot.host
    }

    /// A series.
    pub fn get(&self, source: &Source, metric: &str) -> Option<&MachineSeries> {
        let order =
            |one: &MachineSeries| one.source.cmp(source).then(one.metric.as_str().cmp(metric));
        self.series.get(self.series.binary_search_by(order).ok()?)
    }

    /// The first and the last reading; none when there is none.
    pub fn extent(&self) -> Option<(i64, i64)> {
        let first = self.series.iter().filter_map(|one| one.times().first()).min()?;
        let last = self.series.iter().filter_map(|one| one.times().last()).max()?;
        Some((*first, *last))
    }

    /// UUIDs of the GPUs that were sampled, in the order the driver numbers them.
    pub fn gpus(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for series in &self.series {
            match &series.source {
                Source::Gpu(uuid) if !found.contains(&uuid.as_str()) => found.push(uuid),
                _ => {}
            }
        }
        found.sort_by_key(|uuid| self.gpu(uuid).and_then(|gpu| gpu.index).unwrap_or(u32::MAX));
        found
    }

    /// What is known of a GPU.
    pub fn gpu(&self, uuid: &str) -> Option<MachineGpu> {
        self.state.as_ref()?.gpus().into_iter().find(|gpu| gpu.uuid == uuid)
    }

    /// Processors that were online; none when nothing says.
    pub fn cores(&self) -> Option<f64> {
        let told = self.state.as_ref().and_then(MachineState::cores);
        let read = || self.get(&Source::Host, "cpu.cores")?.last();
        let counted = || self.series.iter().filter(|s| is_core(s)).count() as f64;
        told.or_else(read).or(Some(counted())).filter(|&cores| cores > 0.0)
    }

    /// The moment that `process` calls `ticks`, on the axis of these readings; none when its clock
    /// is not calibrated.
    pub fn moment(&self, process: &Process, ticks: u64) -> Option<i64> {
        self.axis(process).map(|axis| axis.at(ticks))
    }

    /// The same for many moments of one process.
    pub(crate) fn axis(&self, process: &Process) -> Option<Axis> {
        process.clock.axis(self.offset_ns)
    }
}

fn is_core(series: &MachineSeries) -> bool {
    matches!(series.source, Source::Core(_)) && series.metric == "cpu.time"
}
