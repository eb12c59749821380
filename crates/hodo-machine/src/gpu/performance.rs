//! What the SMs, the tensor cores and the memory did: GPM, on Hopper and later.
//!
//! Two samples of the GPU's counters are taken and compared; NVIDIA asks for 100 ms between them.

use super::device::Gpu;
use crate::{Absent, Reader, Table};
use hodo_format::machine::{Metric, metric, part};
use nvml_wrapper::Nvml;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::{GpmSample, gpm_metrics_get};
use std::time::{Duration, Instant};

/// Rounds are 100 ms apart but for some jitter, which must not cost every third of them.
const LEAST_APART: Duration = Duration::from_millis(75);
/// GPM tells shares in percent.
const PERCENT: f64 = 1e-2;
/// GPM tells PCIe traffic in MiB a second.
const MEBI: f64 = 1_048_576.0;

/// What is asked for, as what it is kept, and what turns the one into the other.
const WANTED: [(GpmMetricId, &Metric, f64); 6] = [
    (GpmMetricId::SmUtil, &metric::GPU_SM_ACTIVE, PERCENT),
    (GpmMetricId::SmOccupancy, &metric::GPU_SM_OCCUPANCY, PERCENT),
    (GpmMetricId::AnyTensorUtil, &metric::GPU_TENSOR_ACTIVE, PERCENT),
    (GpmMetricId::DramBwUtil, &metric::GPU_DRAM_ACTIVE, PERCENT),
    (GpmMetricId::PcieTxPerSec, &metric::GPU_PCIE_SENT, MEBI),
    (GpmMetricId::PcieRxPerSec, &metric::GPU_PCIE_RECEIVED, MEBI),
];

/// Reads GPM.
pub(super) struct Performance {
    nvml: &'static Nvml,
    gpus: Vec<Watched>,
    without: Vec<Absent>,
}

struct Watched {
    gpu: Gpu,
    before: Option<(Instant, GpmSample<'static>)>,
}

impl Performance {
    pub(super) fn new(nvml: &'static Nvml, gpus: Vec<Gpu>) -> Performance {
        let mut made = Performance { nvml, gpus: Vec::new(), without: Vec::new() };
        for gpu in gpus {
            match gpu.device.gpm_support() {
                Ok(true) => made.gpus.push(Watched { gpu, before: None }),
                Ok(false) => made.without.push(without(&gpu, "it is older than Hopper")),
                Err(error) => made.without.push(without(&gpu, &error.to_string())),
            }
        }
        made
    }
}

fn without(gpu: &Gpu, why: &str) -> Absent {
    Absent {
        part: part::of_source(part::PERFORMANCE, &gpu.source),
        why: why.into(),
        fix: String::new(),
    }
}

impl Reader for Performance {
    fn read(&mut self, table: &mut Table) {
        for watched in &mut self.gpus {
            watched.read(self.nvml, table);
        }
    }

    fn absent(&self) -> Vec<Absent> {
        let missing = self.gpus.iter().flat_map(|watched| watched.gpu.absent());
        self.without.iter().cloned().chain(missing).collect()
    }
}

impl Watched {
    fn read(&mut self, nvml: &'static Nvml, table: &mut Table) {
        let now = Instant::now();
        if self.before.as_ref().is_some_and(|(at, _)| now.duration_since(*at) < LEAST_APART) {
            return;
        }
        let sample = match self.gpu.device.gpm_sample() {
            Ok(sample) => sample,
            Err(error) => return self.gpu.put(table, &metric::GPU_SM_ACTIVE, Err(error)),
        };
        if let Some((_, before)) = self.before.replace((now, sample))
            && let Some((_, sample)) = &self.before
        {
            let ids = WANTED.map(|(id, _, _)| id);
            match gpm_metrics_get(nvml, &before, sample, &ids) {
                Ok(results) => {
                    for ((_, metric, scale), result) in WANTED.into_iter().zip(results) {
                        let value = result.and_then(|r| finite(r.value)).map(|v| v * scale);
                        self.gpu.put(table, metric, value);
                    }
                }
                Err(error) => self.gpu.put(table, &metric::GPU_SM_ACTIVE, Err(error)),
            }
        }
    }
}

fn finite(value: f64) -> Result<f64, NvmlError> {
    if value.is_finite() { Ok(value) } else { Err(NvmlError::NoData) }
}
