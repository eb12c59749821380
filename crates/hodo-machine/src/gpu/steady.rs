//! What changes slowly: energy, temperatures, limits, why clocks are held down.
//!
//! The energy counter takes NVML 3 to 4 ms (H200, driver 580), a hundred times what power does, and
//! moves ten times a second: read once a second it is as exact, and power tells what is in between.

use super::device::Gpu;
use crate::{Absent, Reader, Table};
use hodo_format::machine::metric;
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::sys_exports::field_id::NVML_FI_DEV_MEMORY_TEMP;

/// NVML counts energy in millijoules, and tells power in milliwatts.
const MILLI: f64 = 1e-3;

/// Reads what changes slowly.
pub(super) struct Steady(Vec<Gpu>);

impl Steady {
    pub(super) fn new(gpus: Vec<Gpu>) -> Steady {
        Steady(gpus)
    }
}

impl Reader for Steady {
    fn read(&mut self, table: &mut Table) {
        for gpu in &mut self.0 {
            let core = gpu.device.temperature(TemperatureSensor::Gpu).map(f64::from);
            let [memory] = gpu.fields([NVML_FI_DEV_MEMORY_TEMP]);
            let limit = gpu.device.enforced_power_limit().map(|mw| f64::from(mw) * MILLI);
            let held = gpu.device.current_throttle_reasons().map(|bits| bits.bits() as f64);
            let energy = gpu.device.total_energy_consumption().map(|mj| mj as f64 * MILLI);
            gpu.put(table, &metric::GPU_ENERGY, energy);
            gpu.put(table, &metric::GPU_TEMPERATURE, core);
            gpu.put(table, &metric::GPU_MEMORY_TEMPERATURE, memory);
            gpu.put(table, &metric::GPU_POWER_LIMIT, limit);
            gpu.put(table, &metric::GPU_THROTTLE, held);
        }
    }

    fn absent(&self) -> Vec<Absent> {
        self.0.iter().flat_map(Gpu::absent).collect()
    }
}
