//! What changes slowly: temperatures, limits, why clocks are held down.

use super::device::Gpu;
use crate::{Absent, Reader, Table};
use hodo_format::machine::metric;
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::sys_exports::field_id::NVML_FI_DEV_MEMORY_TEMP;

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
            let limit = gpu.device.enforced_power_limit().map(|mw| f64::from(mw) * 1e-3);
            let held = gpu.device.current_throttle_reasons().map(|bits| bits.bits() as f64);
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
