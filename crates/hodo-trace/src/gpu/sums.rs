//! What is summed over pieces of GPU work.

use super::{WorkRow, WorkRows};
use crate::Clock;
use crate::tree::quantiles;
use hodo_format::gpu::{Detail, flag};
use serde::Serialize;
use std::collections::HashMap;

/// GPU work of a path, a scope or a run. What has no times is counted and part of none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GpuWork {
    /// Time in which kernels, copies or sets of it ran, nanoseconds: what overlaps on one device
    /// counts once, on two devices twice.
    pub busy_ns: u64,
    /// Kernels.
    pub kernels: u64,
    /// Time of the kernels, added up.
    pub kernel_ns: u64,
    /// Work whose scope is inherited: the launching thread had none open.
    pub inherited: u64,
    /// Work that is part of a CUDA graph.
    pub graph: u64,
    /// Work whose times were not taken.
    pub unstamped: u64,
    /// Work that had not ended when the capture did.
    pub unfinished: u64,
    /// From the call that launches a kernel to its start; none when no call is known. Kernels of a
    /// graph have no call of their own.
    pub launch: Option<LaunchLatency>,
    /// The kernels by short name, most time first.
    pub by_kernel: Vec<KernelSum>,
    /// Copies by direction.
    pub copies: Vec<CopySum>,
    /// Memory set.
    pub sets: SetSum,
    /// Waiting for the GPU.
    pub syncs: SyncSum,
    /// Memory taken and given back.
    pub memory: MemorySum,
}

/// Kernels of one short name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelSum {
    /// The name.
    pub name: String,
    /// How many.
    pub count: u64,
    /// Their time, nanoseconds.
    pub total_ns: u64,
    /// The mean of those that have a time.
    pub mean_ns: Option<u64>,
    /// Of the time of all kernels here; none when that is 0.
    pub share: Option<f64>,
}

/// Copies in one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CopySum {
    /// `host to device`, `device to host`, …
    pub direction: &'static str,
    /// How many.
    pub count: u64,
    /// Bytes copied.
    pub bytes: u64,
    /// Their time, nanoseconds.
    pub total_ns: u64,
}

/// Memory set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SetSum {
    /// How many.
    pub count: u64,
    /// Bytes set.
    pub bytes: u64,
    /// Their time, nanoseconds.
    pub total_ns: u64,
}

/// Waiting for the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SyncSum {
    /// How many.
    pub count: u64,
    /// Their time, nanoseconds.
    pub total_ns: u64,
}

/// Memory taken and given back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemorySum {
    /// How often it was taken.
    pub taken: u64,
    /// Bytes taken.
    pub taken_bytes: u64,
    /// How often it was given back.
    pub freed: u64,
    /// Bytes given back.
    pub freed_bytes: u64,
}

/// From the call that launches a kernel to its start, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LaunchLatency {
    /// Kernels whose launch is known.
    pub count: u64,
    /// The mean.
    pub mean_ns: u64,
    /// The median.
    pub p50_ns: u64,
    /// 95 % are not longer.
    pub p95_ns: u64,
}

/// GPU work in three numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GpuTotals {
    /// As in [`GpuWork`].
    pub busy_ns: u64,
    /// Kernels.
    pub kernels: u64,
    /// Their time, added up.
    pub kernel_ns: u64,
}

/// Count and time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) count: u64,
    pub(crate) timed: u64,
    pub(crate) ns: u64,
    pub(crate) bytes: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, ns: Option<u64>, bytes: u64) {
        self.count += 1;
        self.timed += u64::from(ns.is_some());
        self.ns += ns.unwrap_or(0);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    pub(crate) fn join(&mut self, other: &Totals) {
        self.count += other.count;
        self.timed += other.timed;
        self.ns += other.ns;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    pub(crate) fn mean_ns(&self) -> Option<u64> {
        (self.timed > 0).then(|| (self.ns as f64 / self.timed as f64).round() as u64)
    }
}

/// Work being summed up; times are nanoseconds, kernels go by the numbers of their short names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathered {
    kernels: HashMap<u32, Totals>,
    copies: HashMap<u8, Totals>,
    sets: Totals,
    syncs: Totals,
    taken: Totals,
    freed: Totals,
    inherited: u64,
    graph: u64,
    unstamped: u64,
    unfinished: u64,
    launches: Vec<u64>,
}

impl Gathered {
    /// Adds one piece of work; `name` is the number of its short name if it is a kernel.
    pub(crate) fn add(&mut self, work: &WorkRows, row: WorkRow, name: u32, clock: &Clock) {
        let flags = work.flags(row);
        let ns = work.interval(row).map(|(start, end)| clock.duration_ns(end - start));
        self.inherited += u64::from(flags & flag::SCOPE == flag::INHERITED);
        self.graph += u64::from(flags & flag::GRAPH != 0);
        self.unstamped += u64::from(flags & flag::UNSTAMPED != 0);
        self.unfinished += u64::from(flags & flag::UNFINISHED != 0);
        match work.detail(row) {
            Detail::Kernel(_) => {
                self.kernels.entry(name).or_default().add(ns, 0);
                let latency = launch_latency(work, row).map(|ticks| clock.duration_ns(ticks));
                self.launches.extend(latency);
            }
            Detail::Copy { bytes, direction, .. } => {
                self.copies.entry(direction).or_default().add(ns, bytes);
            }
            Detail::Set { bytes, .. } => self.sets.add(ns, bytes),
            Detail::Sync { .. } => self.syncs.add(ns, 0),
            Detail::Memory { freed: true, bytes, .. } => self.freed.add(None, bytes),
            Detail::Memory { freed: false, bytes, .. } => self.taken.add(None, bytes),
        }
    }

    pub(crate) fn join(&mut self, other: &Gathered) {
        for (name, totals) in &other.kernels {
            self.kernels.entry(*name).or_default().join(totals);
        }
        for (direction, totals) in &other.copies {
            self.copies.entry(*direction).or_default().join(totals);
        }
        self.sets.join(&other.sets);
        self.syncs.join(&other.syncs);
        self.taken.join(&other.taken);
        self.freed.join(&other.freed);
        self.inherited += other.inherited;
        self.graph += other.graph;
        self.unstamped += other.unstamped;
        self.unfinished += other.unfinished;
        self.launches.extend_from_slice(&other.launches);
    }

    /// The sums in the shape that is handed out.
    pub(crate) fn finish(mut self, busy_ns: u64, names: &[String]) -> GpuWork {
        let kernel_ns = self.kernels.values().map(|k| k.ns).sum();
        GpuWork {
            busy_ns,
            kernels: self.kernels.values().map(|k| k.count).sum(),
            kernel_ns,
            inherited: self.inherited,
            graph: self.graph,
            unstamped: self.unstamped,
            unfinished: self.unfinished,
            launch: latency(&mut self.launches),
            by_kernel: by_kernel(&self.kernels, kernel_ns, names),
            copies: by_direction(&self.copies),
            sets: SetSum { count: self.sets.count, bytes: self.sets.bytes, total_ns: self.sets.ns },
            syncs: SyncSum { count: self.syncs.count, total_ns: self.syncs.ns },
            memory: MemorySum {
                taken: self.taken.count,
                taken_bytes: self.taken.bytes,
                freed: self.freed.count,
                freed_bytes: self.freed.bytes,
            },
        }
    }
}

/// Ticks from the call that launched a kernel to its start, if it has a call of its own.
fn launch_latency(work: &WorkRows, row: WorkRow) -> Option<u64> {
    let launched = Some(work.launched(row)).filter(|&launched| launched != 0)?;
    let (start, _) = work.interval(row)?;
    (work.flags(row) & flag::GRAPH == 0).then(|| start.saturating_sub(launched))
}

fn latency(values: &mut [u64]) -> Option<LaunchLatency> {
    let [mean_ns, p95_ns, p50_ns] = quantiles(values, [0.95, 0.5])?;
    Some(LaunchLatency { count: values.len() as u64, mean_ns, p50_ns, p95_ns })
}

fn by_kernel(kernels: &HashMap<u32, Totals>, whole_ns: u64, names: &[String]) -> Vec<KernelSum> {
    let sum = |(&name, totals): (&u32, &Totals)| KernelSum {
        name: names.get(name as usize).cloned().unwrap_or_default(),
        count: totals.count,
        total_ns: totals.ns,
        mean_ns: totals.mean_ns(),
        share: (whole_ns > 0).then(|| totals.ns as f64 / whole_ns as f64),
    };
    let mut all: Vec<KernelSum> = kernels.iter().map(sum).collect();
    all.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    all
}

fn by_direction(copies: &HashMap<u8, Totals>) -> Vec<CopySum> {
    let mut sums: Vec<CopySum> = Vec::new();
    for (&code, totals) in copies {
        let direction = direction(code);
        let at = sums.iter().position(|sum| sum.direction == direction).unwrap_or_else(|| {
            sums.push(CopySum { direction, ..CopySum::default() });
            sums.len() - 1
        });
        sums[at].count += totals.count;
        sums[at].bytes = sums[at].bytes.saturating_add(totals.bytes);
        sums[at].total_ns += totals.ns;
    }
    sums.sort_by_key(|sum| sum.direction);
    sums
}

/// CUPTI's codes in words.
pub(crate) fn direction(code: u8) -> &'static str {
    match code {
        1 => "host to device",
        2 => "device to host",
        3 => "host to array",
        4 => "array to host",
        5 => "array to array",
        6 => "array to device",
        7 => "device to array",
        8 => "device to device",
        9 => "host to host",
        10 => "peer to peer",
        _ => "unknown",
    }
}
