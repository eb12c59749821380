//! What the GPU did: the work of a process as columns, and what is known of its capture.
//!
//! A number about the GPU is captured (perhaps zero), or it is missing and [`GpuMissing`] says why.
//! Times are ticks of the process's clock, as in [`crate::Spans`].

mod busy;
mod by_span;
mod by_time;
mod live;
mod names;
mod rows;
mod state;
mod sums;
mod words;

pub(crate) use busy::{Cover, Devices, Seeker, Unions};
pub use by_span::{GpuBySpan, SpanGpu};
pub use live::GpuLaunched;
pub use names::KernelName;
pub(crate) use names::KernelNames;
pub use rows::{WorkByScope, WorkRow, WorkRows};
pub use state::{GpuCounts, GpuDevice, GpuGap, GpuMissing, GpuState};
pub use sums::{CopySum, GpuTotals, GpuWork, KernelSum, LaunchLatency, MemorySum, SetSum, SyncSum};
pub(crate) use sums::{Gathered, Totals, direction};

use crate::{Clock, Names, Spans, Thread};
use hodo_format::gpu::{Live, Sample, Work};

/// The GPU's part of a process.
#[derive(Debug, Default)]
pub struct Gpu {
    /// What the capture says of itself; the newest counts.
    pub state: Option<GpuState>,
    /// Its work, in order of start; what has no start comes first.
    pub work: WorkRows,
    /// Samples of where its kernels stood.
    pub samples: Vec<Sample>,
    /// Work that was launched while a live run was being read, left out.
    pub newer: u64,
    live: Option<Live>,
    names: KernelNames,
}

impl Gpu {
    pub(crate) fn new(
        collected: Collected,
        names: &Names,
        spans: &Spans,
        threads: &[Thread],
    ) -> Gpu {
        let Collected { mut work, state, samples, newer, live } = collected;
        work.sort_by_start();
        by_time::resolve(&mut work, spans, threads);
        let names = KernelNames::new(work.kernel_names().chain(sampled(&samples)), names);
        Gpu { state, work, samples, newer, live, names }
    }

    /// The GPU's part of a process whose work is in order and has its scopes.
    pub(crate) fn again(
        mut work: WorkRows,
        state: Option<GpuState>,
        samples: Vec<Sample>,
        newer: u64,
        live: Option<Live>,
        names: &Names,
    ) -> Gpu {
        work.sort_by_start();
        let names = KernelNames::new(work.kernel_names().chain(sampled(&samples)), names);
        Gpu { state, work, samples, newer, live, names }
    }

    /// What the callbacks counted.
    pub(crate) fn live(&self) -> Option<Live> {
        self.live
    }

    /// Why there is nothing to say about the GPU; none when its work was captured.
    pub fn missing(&self) -> Option<GpuMissing> {
        match &self.state {
            _ if !self.work.is_empty() => None,
            Some(state) => state.missing(),
            None if self.live.is_some() => Some(GpuMissing::Unwritten),
            None => Some(GpuMissing::NotRecorded),
        }
    }

    /// The same where times are wanted too.
    pub(crate) fn missing_times(&self, clock: &Clock) -> Option<GpuMissing> {
        self.missing().or((!clock.is_calibrated()).then_some(GpuMissing::Uncalibrated))
    }

    /// The name of a kernel by the string id that [`hodo_format::gpu::Kernel::name`] has.
    pub fn kernel_name(&self, id: u32) -> &KernelName {
        self.names.get(id)
    }

    /// Stretches in which nothing was captured, in order of their start.
    pub fn gaps(&self) -> Vec<GpuGap> {
        self.state.as_ref().map(GpuState::gaps).unwrap_or_default()
    }
}

fn sampled(samples: &[Sample]) -> impl Iterator<Item = u32> {
    samples.iter().map(|sample| sample.kernel)
}

/// What the GPU files of a process hold, as far as they were read.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) work: WorkRows,
    pub(crate) state: Option<GpuState>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) newer: u64,
    pub(crate) live: Option<Live>,
}

impl Collected {
    /// Takes a piece of work unless it was launched after the moment to show.
    pub(crate) fn add(&mut self, work: &Work, until: Option<u64>) {
        let launched = if work.launched == 0 { work.start } else { work.launched };
        if until.is_some_and(|until| launched > until) || !self.work.push(work) {
            self.newer += 1;
        }
    }
}
