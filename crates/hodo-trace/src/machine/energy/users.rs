//! Who uses a GPU.

use crate::machine::Machine;
use crate::{GpuMissing, Process, Run, Thread, WorkRow};
use hodo_format::machine::Source;
use std::collections::{BTreeSet, HashMap, HashSet};

/// A process that uses a GPU, and the threads that launch on it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct User {
    /// Its place in the run.
    pub(super) process: usize,
    /// Numbers of the threads; none: all of them.
    pub(super) threads: Option<BTreeSet<u32>>,
}

/// A GPU of the run.
pub(super) struct UsedGpu {
    pub(super) uuid: String,
    pub(super) users: Vec<User>,
    /// Kernels on it: process and row.
    pub(super) kernels: Vec<(usize, WorkRow)>,
    /// Whether kernels of any user were recorded.
    pub(super) traced: bool,
}

/// The sampled GPUs of a machine that processes of the run use. When nothing tells which do, all use
/// all; else a GPU that none of them uses is not the run's.
pub(super) fn used(run: &Run, machine: &Machine) -> Vec<UsedGpu> {
    let uuids = machine.gpus();
    let processes: Vec<(usize, &Process)> =
        run.processes_on(machine).filter(|(_, p)| p.clock.is_calibrated()).collect();
    let mut gpus: Vec<UsedGpu> = uuids.iter().map(|uuid| UsedGpu::new(uuid)).collect();
    for &(at, process) in &processes {
        traced(at, process, &uuids, &mut gpus);
    }
    listed(machine, &processes, &mut gpus);
    if gpus.iter().all(|gpu| gpu.users.is_empty()) {
        let all = |&(process, _): &(usize, _)| User { process, threads: None };
        let users: Vec<User> = processes.iter().map(all).collect();
        gpus.iter_mut().for_each(|gpu| gpu.users.clone_from(&users));
    }
    gpus.retain(|gpu| !gpu.users.is_empty());
    gpus
}

impl UsedGpu {
    fn new(uuid: &str) -> UsedGpu {
        let (users, kernels) = (Vec::new(), Vec::new());
        UsedGpu { uuid: uuid.to_owned(), users, kernels, traced: false }
    }
}

/// Adds a process to the GPUs that its kernels ran on.
fn traced(at: usize, process: &Process, uuids: &[&str], gpus: &mut [UsedGpu]) {
    let work = &process.gpu.work;
    let places = places(process, uuids);
    let mut launchers: HashMap<usize, HashSet<u32>> = HashMap::new();
    for row in work.rows() {
        let place = places.get(&work.device(row)).filter(|_| work.kernel(row).is_some());
        let Some((&place, _)) = place.zip(work.interval(row)) else { continue };
        gpus[place].kernels.push((at, row));
        launchers.entry(place).or_default().insert(work.thread(row));
    }
    for (place, launchers) in launchers {
        let is_one = |thread: &&Thread| thread.os_tid != 0 && launchers.contains(&thread.os_tid);
        let threads: BTreeSet<u32> =
            process.threads.iter().filter(is_one).map(|thread| thread.number).collect();
        let threads = Some(threads).filter(|threads| !threads.is_empty());
        gpus[place].users.push(User { process: at, threads });
        gpus[place].traced = true;
    }
}

/// By CUDA's number of a device, its place in `uuids`: by its UUID, or by its number where the
/// recorder did not tell that.
fn places(process: &Process, uuids: &[&str]) -> HashMap<u32, usize> {
    let told = process.gpu.state.as_ref().map(|state| state.devices()).unwrap_or_default();
    let of = |device: u32| {
        let uuid = told.iter().find(|d| d.device == device).and_then(|d| d.uuid.as_deref());
        match uuid {
            Some(uuid) => uuids.iter().position(|known| *known == uuid),
            None if uuids.len() == 1 => Some(0),
            None => Some(device as usize).filter(|&place| place < uuids.len()),
        }
    };
    let devices = process.gpu.work.devices();
    devices.into_iter().filter_map(|device| Some((device, of(device)?))).collect()
}

/// Adds processes whose kernels were not recorded to the GPUs that the driver lists them on.
fn listed(machine: &Machine, processes: &[(usize, &Process)], gpus: &mut [UsedGpu]) {
    for series in &machine.series {
        let Source::GpuProcess(uuid, pid) = &series.source else { continue };
        let Some(gpu) = gpus.iter_mut().find(|gpu| gpu.uuid == *uuid) else { continue };
        let is_it = |(_, p): &&(usize, &Process)| {
            p.info.pid == *pid && p.gpu.missing().is_some_and(|why| why != GpuMissing::NoCuda)
        };
        for &(process, _) in processes.iter().filter(is_it) {
            if gpu.users.iter().all(|user| user.process != process) {
                gpu.users.push(User { process, threads: None });
            }
        }
    }
}
