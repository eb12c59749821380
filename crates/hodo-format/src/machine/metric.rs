//! What hodo reads of a machine: the one list of names, units and meanings.
//!
//! A counter has the name of what its growth means a second: `gpu.energy` grows by joules, which
//! are watts.

use super::Kind::{self, Counter, Gauge};

/// Something that can be read at a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its unit, as UCUM writes it: `1` (a share), `By`, `s`, `W`, `J`, `Hz`, `Cel`; empty for a
    /// count.
    pub unit: &'static str,
    /// How its values are meant.
    pub kind: Kind,
    /// Values are stored as whole numbers of ten to this.
    pub exponent: i8,
    /// What it is, in a sentence.
    pub help: &'static str,
}

macro_rules! metrics {
    ($($constant:ident $name:literal $unit:literal $kind:ident $exponent:literal $help:literal;)*) => {
        $(
            #[doc = $help]
            pub const $constant: Metric =
                Metric { name: $name, unit: $unit, kind: $kind, exponent: $exponent, help: $help };
        )*
        /// All of them.
        pub const ALL: &[Metric] = &[$($constant),*];
    };
}

metrics! {
    GPU_UTILIZATION "gpu.utilization" "1" Gauge -4 "Share of the last moments in which any kernel was resident, however small.";
    GPU_MEMORY_BUSY "gpu.memory.busy" "1" Gauge -4 "Share of the last moments in which device memory was read or written.";
    GPU_SM_ACTIVE "gpu.sm.active" "1" Gauge -4 "Share of the SMs' cycles with at least one warp, over all SMs.";
    GPU_SM_OCCUPANCY "gpu.sm.occupancy" "1" Gauge -4 "Resident warps as a share of the most there can be.";
    GPU_TENSOR_ACTIVE "gpu.tensor.active" "1" Gauge -4 "Share of cycles in which the tensor cores worked.";
    GPU_DRAM_ACTIVE "gpu.dram.active" "1" Gauge -4 "Share of the device memory's bandwidth in use.";
    GPU_MEMORY_USED "gpu.memory.used" "By" Gauge 0 "Device memory in use, by anyone.";
    GPU_MEMORY_TOTAL "gpu.memory.total" "By" Gauge 0 "Device memory there is.";
    GPU_TEMPERATURE "gpu.temperature" "Cel" Gauge 0 "Temperature of the GPU's core.";
    GPU_MEMORY_TEMPERATURE "gpu.memory.temperature" "Cel" Gauge 0 "Temperature of the GPU's memory.";
    GPU_POWER "gpu.power" "W" Gauge -3 "Power drawn by the board.";
    GPU_POWER_LIMIT "gpu.power.limit" "W" Gauge -3 "Power the board may draw.";
    GPU_ENERGY "gpu.energy" "J" Counter -3 "Energy the board has used since the driver was loaded.";
    GPU_SM_CLOCK "gpu.sm.clock" "Hz" Gauge 6 "Clock of the SMs.";
    GPU_MEMORY_CLOCK "gpu.memory.clock" "Hz" Gauge 6 "Clock of the device memory.";
    GPU_THROTTLE "gpu.throttle" "" Gauge 0 "Why the clocks are held down: NVML's bits.";
    GPU_PCIE_SENT "gpu.pcie.sent" "By/s" Gauge 0 "Bytes a second from the GPU over PCIe: since the reading before, or in the last 20 ms where there is no GPM.";
    GPU_PCIE_RECEIVED "gpu.pcie.received" "By/s" Gauge 0 "Bytes a second to the GPU over PCIe: since the reading before, or in the last 20 ms where there is no GPM.";
    GPU_NVLINK_SENT "gpu.nvlink.sent" "By" Counter 0 "Bytes from the GPU over all NVLinks.";
    GPU_NVLINK_RECEIVED "gpu.nvlink.received" "By" Counter 0 "Bytes to the GPU over all NVLinks.";
    GPU_ECC_CORRECTED "gpu.ecc.corrected" "" Counter 0 "Memory errors that ECC corrected since the driver was loaded.";
    GPU_ECC_UNCORRECTED "gpu.ecc.uncorrected" "" Counter 0 "Memory errors that ECC could not correct since the driver was loaded.";
    GPU_XID "gpu.xid" "" Gauge 0 "The last Xid error that came while sampling; 0 for none.";
    GPU_XIDS "gpu.xids" "" Counter 0 "Xid errors that came while sampling.";
    GPU_FAN "gpu.fan" "1" Gauge -2 "Speed of the fan as a share of its most.";
    GPU_PROCESS_MEMORY "gpu.process.memory" "By" Gauge 0 "Device memory a process holds.";
    CPU_TIME "cpu.time" "s" Counter -3 "Time the processor worked: not idle, not waiting for a disk, not stolen. Of the host: the sum of all cores.";
    CPU_STOLEN "cpu.stolen" "s" Counter -3 "Time a hypervisor gave the processor to others.";
    CPU_CORES "cpu.cores" "" Gauge 0 "Processors that are online.";
    LOAD "load" "" Gauge -2 "Load average of the last minute.";
    MEMORY_USED "memory.used" "By" Gauge 0 "Memory that could not be had by a new program: the total less what is available. The cache does not count.";
    MEMORY_TOTAL "memory.total" "By" Gauge 0 "Memory there is.";
    MEMORY_CACHE "memory.cache" "By" Gauge 0 "Memory that caches files and can be had back.";
    SWAP_USED "swap.used" "By" Gauge 0 "Swap in use.";
    SWAP_TOTAL "swap.total" "By" Gauge 0 "Swap there is.";
    CGROUP_MEMORY_USED "cgroup.memory.used" "By" Gauge 0 "Memory that the container or cgroup of the sampler holds, but for file cache that nobody uses.";
    CGROUP_MEMORY_LIMIT "cgroup.memory.limit" "By" Gauge 0 "Memory that the container or cgroup of the sampler may hold; past it the kernel kills.";
    CGROUP_CPU_LIMIT "cgroup.cpu.limit" "" Gauge -3 "Processors' worth of time that the container or cgroup of the sampler may use.";
    CGROUP_CPU_THROTTLED "cgroup.cpu.throttled" "s" Counter -6 "Time in which the container or cgroup of the sampler was stopped for having used its share of processors.";
    PRESSURE_CPU "pressure.cpu" "s" Counter -6 "Time in which some task waited for a processor.";
    PRESSURE_MEMORY "pressure.memory" "s" Counter -6 "Time in which some task waited for memory.";
    PRESSURE_IO "pressure.io" "s" Counter -6 "Time in which some task waited for a disk.";
    DISK_READ "disk.read" "By" Counter 0 "Bytes read from a disk.";
    DISK_WRITTEN "disk.written" "By" Counter 0 "Bytes written to a disk.";
    DISK_BUSY "disk.busy" "s" Counter -3 "Time in which a disk had something to do.";
    NETWORK_RECEIVED "network.received" "By" Counter 0 "Bytes received.";
    NETWORK_SENT "network.sent" "By" Counter 0 "Bytes sent.";
    PROCESS_COUNT "process.count" "" Gauge 0 "Processes of the run on this host, with their children.";
    PROCESS_CPU_TIME "process.cpu.time" "s" Counter -2 "CPU time of these processes, those that have ended included as far as they were seen.";
    PROCESS_MEMORY "process.memory" "By" Gauge 0 "Resident memory of these processes; shared pages count in each.";
    PROCESS_THREADS "process.threads" "" Gauge 0 "Threads of these processes.";
    PROCESS_READ "process.read" "By" Counter 0 "Bytes these processes had read from disks.";
    PROCESS_WRITTEN "process.written" "By" Counter 0 "Bytes these processes had written to disks.";
    SAMPLER_CPU_TIME "sampler.cpu.time" "s" Counter -6 "CPU time that sampling itself took.";
    SAMPLER_ROUND "sampler.round" "s" Gauge -6 "How long the last round of readings took.";
    SAMPLER_LATE "sampler.late" "" Counter 0 "Rounds that were left out since the one before took too long.";
}

impl Metric {
    /// The metric of a name.
    pub fn named(name: &str) -> Option<&'static Metric> {
        ALL.iter().find(|metric| metric.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_found() {
        let names: HashSet<&str> = ALL.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), ALL.len());
        assert_eq!(Metric::named("gpu.energy"), Some(&GPU_ENERGY));
        assert_eq!(Metric::named("gpu.magic"), None);
    }
}
