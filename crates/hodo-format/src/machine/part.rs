//! Parts of a machine that a sampler may not be able to read: what it calls them, and which metrics
//! are not there for it.

use super::{Metric, Source, metric};

/// All GPUs.
pub const GPU: &str = "GPU";
/// Which GPUs the program sees.
pub const GPU_CHOICE: &str = "the program's GPUs alone";
/// Parts of GPUs.
pub const MIG: &str = "MIG instances";
/// What a GPU's performance monitors tell.
pub const PERFORMANCE: &str = "SM, tensor and DRAM activity";
/// Xid errors of GPUs.
pub const XID: &str = "Xid errors";
/// Processor time.
pub const CPU: &str = "cpu";
/// Memory and swap.
pub const MEMORY: &str = "memory";
/// The load average.
pub const LOAD: &str = "load";
/// Pressure (PSI).
pub const PRESSURE: &str = "pressure";
/// Disks.
pub const DISKS: &str = "disks";
/// Network interfaces.
pub const NETWORKS: &str = "networks";
/// Bytes that processes read and wrote.
pub const PROCESS_IO: &str = "I/O of processes";

const BY_MONITORS: [Metric; 4] = [
    metric::GPU_SM_ACTIVE,
    metric::GPU_SM_OCCUPANCY,
    metric::GPU_TENSOR_ACTIVE,
    metric::GPU_DRAM_ACTIVE,
];
/// How metrics begin, and the part without which they are not there.
const FAMILIES: [(&str, &str); 12] = [
    ("gpu.xid", XID),
    ("gpu.", GPU),
    ("cpu.", CPU),
    ("memory.", MEMORY),
    ("swap.", MEMORY),
    ("load", LOAD),
    ("pressure.", PRESSURE),
    ("disk.", DISKS),
    ("network.", NETWORKS),
    ("process.read", PROCESS_IO),
    ("process.written", PROCESS_IO),
    ("process.cpu", CPU),
];

/// A part, or a metric, of one source.
pub fn of_source(part: &str, source: &Source) -> String {
    format!("{part} of {source}")
}

/// Parts without which `metric` is not read at `source`, the narrowest first.
pub fn without(metric: &str, source: &Source) -> Vec<String> {
    let by_monitors = BY_MONITORS.iter().any(|one| one.name == metric);
    let monitors = by_monitors.then(|| of_source(PERFORMANCE, source));
    let families = FAMILIES.iter().filter(|(start, _)| metric.starts_with(start));
    let families = families.map(|(_, part)| (*part).to_owned());
    std::iter::once(of_source(metric, source)).chain(monitors).chain(families).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_part_comes_first() {
        let gpu = Source::Gpu("GPU-1".into());
        let parts = without("gpu.tensor.active", &gpu);
        let monitors = "SM, tensor and DRAM activity of gpu:GPU-1";
        assert_eq!(parts, ["gpu.tensor.active of gpu:GPU-1", monitors, "GPU"]);
        let parts = without("gpu.xids", &gpu);
        assert_eq!(parts, ["gpu.xids of gpu:GPU-1", "Xid errors", "GPU"]);
        assert_eq!(without("pressure.io", &Source::Host)[1..], ["pressure"]);
    }
}
