//! What takes NVML long: processes, PCIe, NVLink, errors, fans.

use super::device::Gpu;
use super::xid::Xids;
use crate::{Absent, Reader, Table};
use hodo_format::machine::{Source, metric};
use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::PcieUtilCounter;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::sys_exports::field_id::{
    NVML_FI_DEV_ECC_DBE_VOL_TOTAL, NVML_FI_DEV_ECC_SBE_VOL_TOTAL,
    NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX,
};

/// NVML counts NVLink's traffic in KiB, and tells PCIe's in KiB a second.
const KIBI: f64 = 1024.0;
const PERCENT: f64 = 1e-2;

/// Reads what takes long.
pub(super) struct Slow {
    gpus: Vec<Watched>,
    xids: Result<Xids, Absent>,
}

struct Watched {
    gpu: Gpu,
    /// GPM tells PCIe's traffic without waiting 20 ms for it.
    has_gpm: bool,
}

impl Slow {
    pub(super) fn new(nvml: &'static Nvml, gpus: Vec<Gpu>) -> Slow {
        let watched =
            |gpu: Gpu| Watched { has_gpm: gpu.device.gpm_support().unwrap_or(false), gpu };
        let xids = Xids::watch(nvml, &gpus);
        Slow { gpus: gpus.into_iter().map(watched).collect(), xids }
    }
}

impl Reader for Slow {
    fn read(&mut self, table: &mut Table) {
        for Watched { gpu, has_gpm } in &mut self.gpus {
            processes(gpu, table);
            errors(gpu, table);
            links(gpu, table);
            fan(gpu, table);
            if !*has_gpm {
                pcie(gpu, table);
            }
        }
        if let Ok(xids) = &mut self.xids {
            xids.read(table);
        }
    }

    fn absent(&self) -> Vec<Absent> {
        let gpus = self.gpus.iter().flat_map(|watched| watched.gpu.absent());
        gpus.chain(self.xids.as_ref().err().cloned()).collect()
    }
}

fn processes(gpu: &mut Gpu, table: &mut Table) {
    let found = match gpu.device.running_compute_processes() {
        Ok(found) => found,
        Err(error) => return gpu.put(table, &metric::GPU_PROCESS_MEMORY, Err(error)),
    };
    let Some(uuid) = gpu.source.gpu() else { return };
    for process in found {
        if let UsedGpuMemory::Used(bytes) = process.used_gpu_memory {
            let source = Source::GpuProcess(uuid.into(), process.pid);
            let slot = table.slot(source, &metric::GPU_PROCESS_MEMORY);
            table.set(slot, bytes as f64);
        }
    }
}

fn errors(gpu: &mut Gpu, table: &mut Table) {
    let [corrected, uncorrected] =
        gpu.fields([NVML_FI_DEV_ECC_SBE_VOL_TOTAL, NVML_FI_DEV_ECC_DBE_VOL_TOTAL]);
    gpu.put(table, &metric::GPU_ECC_CORRECTED, corrected);
    gpu.put(table, &metric::GPU_ECC_UNCORRECTED, uncorrected);
}

fn links(gpu: &mut Gpu, table: &mut Table) {
    let [sent, received] =
        gpu.fields([NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX]);
    gpu.put(table, &metric::GPU_NVLINK_SENT, sent.map(|kib| kib * KIBI));
    gpu.put(table, &metric::GPU_NVLINK_RECEIVED, received.map(|kib| kib * KIBI));
}

fn fan(gpu: &mut Gpu, table: &mut Table) {
    if !gpu.never_tells(&metric::GPU_FAN) {
        let has_fan = gpu.device.num_fans().is_ok_and(|fans| fans > 0);
        let speed = if has_fan { gpu.device.fan_speed(0) } else { Err(NvmlError::NotSupported) };
        gpu.put(table, &metric::GPU_FAN, speed.map(|percent| f64::from(percent) * PERCENT));
    }
}

fn pcie(gpu: &mut Gpu, table: &mut Table) {
    for (counter, metric) in [
        (PcieUtilCounter::Send, &metric::GPU_PCIE_SENT),
        (PcieUtilCounter::Receive, &metric::GPU_PCIE_RECEIVED),
    ] {
        if !gpu.never_tells(metric) {
            let rate = gpu.device.pcie_throughput(counter).map(|kib| f64::from(kib) * KIBI);
            gpu.put(table, metric, rate);
        }
    }
}
