//! What is cheap enough for every round.

use super::device::Gpu;
use crate::{Absent, Reader, Table};
use hodo_format::machine::metric;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::sys_exports::field_id::NVML_FI_DEV_POWER_INSTANT;

/// NVML tells power in milliwatts.
const MILLI: f64 = 1e-3;
/// NVML tells shares in percent.
const PERCENT: f64 = 1e-2;
/// NVML tells clocks in megahertz.
const MEGA: f64 = 1e6;

/// Reads utilisation, memory, power and clocks.
pub(super) struct Quick(Vec<Gpu>);

impl Quick {
    pub(super) fn new(gpus: Vec<Gpu>) -> Quick {
        Quick(gpus)
    }
}

impl Reader for Quick {
    fn read(&mut self, table: &mut Table) {
        for gpu in &mut self.0 {
            power(gpu, table);
            utilization(gpu, table);
            memory(gpu, table);
            clocks(gpu, table);
        }
    }

    fn absent(&self) -> Vec<Absent> {
        self.0.iter().flat_map(Gpu::absent).collect()
    }
}

fn power(gpu: &mut Gpu, table: &mut Table) {
    let [power] = gpu.fields([NVML_FI_DEV_POWER_INSTANT]);
    // Older boards only have the mean of the last second.
    let power = power.or_else(|_| gpu.device.power_usage().map(f64::from));
    gpu.put(table, &metric::GPU_POWER, power.map(|mw| mw * MILLI));
}

fn utilization(gpu: &mut Gpu, table: &mut Table) {
    let (kernels, memory) = match gpu.device.utilization_rates() {
        Ok(rates) => (Ok(f64::from(rates.gpu) * PERCENT), Ok(f64::from(rates.memory) * PERCENT)),
        // Both come of one call, and an error cannot be had twice.
        Err(error) => return gpu.put(table, &metric::GPU_UTILIZATION, Err(error)),
    };
    gpu.put(table, &metric::GPU_UTILIZATION, kernels);
    gpu.put(table, &metric::GPU_MEMORY_BUSY, memory);
}

fn memory(gpu: &mut Gpu, table: &mut Table) {
    match gpu.device.memory_info() {
        Ok(info) => {
            gpu.put(table, &metric::GPU_MEMORY_USED, Ok(info.used as f64));
            gpu.put(table, &metric::GPU_MEMORY_TOTAL, Ok(info.total as f64));
        }
        Err(error) => gpu.put(table, &metric::GPU_MEMORY_USED, Err(error)),
    }
}

fn clocks(gpu: &mut Gpu, table: &mut Table) {
    for (clock, metric) in
        [(Clock::SM, &metric::GPU_SM_CLOCK), (Clock::Memory, &metric::GPU_MEMORY_CLOCK)]
    {
        let value = gpu.device.clock_info(clock).map(|mhz| f64::from(mhz) * MEGA);
        gpu.put(table, metric, value);
    }
}
