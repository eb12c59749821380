//! Energy by node of the tree.

use super::power::Power;
use super::sweep::{Group, GroupGpu, Place, Receive, divide};
use super::users::{UsedGpu, User, used};
use super::{EnergyMethod, EnergySummary, GpuEnergy, NodeEnergy};
use crate::links::Links;
use crate::machine::{Machine, TimeRanges};
use crate::select::Selection;
use crate::tree::paths::{NodeId, Paths};
use crate::{Process, Run};
use std::collections::BTreeMap;

/// All energy of a tree.
pub(crate) struct Attribution {
    pub(crate) summary: Option<EnergySummary>,
    nodes: Vec<OfNode>,
}

#[derive(Clone, Copy, Default)]
struct OfNode {
    own: f64,
    kernels: f64,
    total: f64,
    unsampled_ns: u64,
    /// Scopes whose machine was sampled.
    sampled: u64,
}

/// A GPU with its power.
struct Powered {
    gpu: UsedGpu,
    power: Power,
}

impl Attribution {
    pub(crate) fn new(run: &Run, links: &Links, paths: &Paths, kept: &[Selection]) -> Attribution {
        let mut sums =
            Sums { paths, kept, nodes: vec![OfNode::default(); paths.nodes.len()], hidden: 0.0 };
        let mut gpus = Vec::new();
        for machine in &run.machines {
            gpus.extend(of_machine(run, links, machine, &mut sums));
        }
        if gpus.is_empty() {
            return Attribution { summary: None, nodes: Vec::new() };
        }
        let Sums { mut nodes, hidden, .. } = sums;
        // A child is made after its parent.
        for at in (0..nodes.len()).rev() {
            nodes[at].total += nodes[at].own;
            if at > 0 {
                nodes[paths.nodes[at].parent as usize].total += nodes[at].total;
            }
        }
        let summary = EnergySummary {
            total_j: gpus.iter().map(|gpu| gpu.total_j).sum(),
            scopes_j: nodes.iter().map(|node| node.own).sum(),
            outside_j: gpus.iter().map(|gpu| gpu.outside_j).sum(),
            hidden_j: hidden,
            gpus,
        };
        Attribution { summary: Some(summary), nodes }
    }

    /// What a node has, which stands for `count` scopes of `mean_ns`; none where none of them was
    /// sampled.
    pub(crate) fn node(&self, node: NodeId, count: u64, total_ns: u64) -> Option<NodeEnergy> {
        let summary = self.summary.as_ref()?;
        let of = self.nodes.get(node as usize).filter(|of| of.sampled > 0)?;
        if total_ns > 0 && of.unsampled_ns >= total_ns && of.total == 0.0 {
            return None;
        }
        let interval_ns = summary.gpus.iter().map(|gpu| gpu.interval_ns).max().unwrap_or(0);
        Some(NodeEnergy {
            total_j: of.total,
            self_j: of.own,
            kernels_j: of.kernels,
            unsampled_ns: of.unsampled_ns,
            missing: count.saturating_sub(of.sampled),
            pro_rata: count > 0 && total_ns / count < interval_ns,
        })
    }
}

/// Divides the power of a machine's GPUs that the run used.
fn of_machine(run: &Run, links: &Links, machine: &Machine, sums: &mut Sums<'_>) -> Vec<GpuEnergy> {
    let Some(within) = run.time_on(machine).bounds() else { return Vec::new() };
    let powered =
        |gpu: UsedGpu| Some(Powered { power: Power::of(machine, &gpu.uuid, within)?, gpu });
    let gpus: Vec<Powered> = used(run, machine).into_iter().filter_map(powered).collect();
    let mut groups: BTreeMap<&[User], Vec<usize>> = BTreeMap::new();
    for (at, gpu) in gpus.iter().enumerate() {
        groups.entry(gpu.gpu.users.as_slice()).or_default().push(at);
    }
    let mut outside = vec![0.0; gpus.len()];
    for (users, members) in groups {
        let of = |&at: &usize| GroupGpu { power: &gpus[at].power, kernels: &gpus[at].gpu.kernels };
        let group = Group { machine, users, gpus: members.iter().map(of).collect() };
        let left = divide(run, links, &group, sums);
        members.into_iter().zip(left).for_each(|(at, joules)| outside[at] = joules);
    }
    let mut known: Vec<TimeRanges> = gpus.iter().map(|gpu| gpu.power.known()).collect();
    let length_ns = within.1.abs_diff(within.0);
    let found = gpus.iter().zip(&known).zip(outside).map(|((gpu, known), outside_j)| {
        let Powered { gpu, power } = gpu;
        GpuEnergy {
            host: machine.host().to_owned(),
            name: machine.gpu(&gpu.uuid).map(|gpu| gpu.name).unwrap_or_default(),
            uuid: gpu.uuid.clone(),
            total_j: power.joules(),
            outside_j,
            from: power.from,
            method: if gpu.traced { EnergyMethod::Kernels } else { EnergyMethod::WallTime },
            sampled_ns: known.length_ns(),
            unsampled_ns: length_ns - known.length_ns(),
            interval_ns: power.interval_ns,
        }
    });
    let found = found.collect();
    // GPUs that were read together are known at the same times.
    known.dedup();
    sums.unsampled(run, machine, &known);
    found
}

/// Energy by node in the making.
struct Sums<'a> {
    paths: &'a Paths,
    kept: &'a [Selection],
    nodes: Vec<OfNode>,
    hidden: f64,
}

impl Receive for Sums<'_> {
    #[inline]
    fn give(&mut self, (at, row): Place, joules: f64, by_kernels: bool) {
        match self.paths.node(at, row).filter(|_| self.kept[at].keeps(row)) {
            None => self.hidden += joules,
            Some(node) => {
                let node = &mut self.nodes[node as usize];
                node.own += joules;
                node.kernels += if by_kernels { joules } else { 0.0 };
            }
        }
    }
}

impl Sums<'_> {
    /// Counts the time in scopes on `machine` in which power was not known, of the GPU of which
    /// least was.
    fn unsampled(&mut self, run: &Run, machine: &Machine, known: &[TimeRanges]) {
        if known.is_empty() {
            return;
        }
        for (at, process) in run.processes_on(machine) {
            let Some(axis) = machine.axis(process) else { continue };
            let spans = &process.spans;
            let mut most = vec![0; self.nodes.len()];
            for known in known {
                let mut of = vec![0u64; self.nodes.len()];
                self.each(at, process, |node, row| {
                    of[node] +=
                        known.missing_ns(axis.at(spans.start(row)), axis.at(spans.end(row)));
                });
                most.iter_mut().zip(of).for_each(|(most, of)| *most = of.max(*most));
            }
            let mut counts = vec![0; self.nodes.len()];
            self.each(at, process, |node, _| counts[node] += 1);
            for ((node, ns), count) in self.nodes.iter_mut().zip(most).zip(counts) {
                node.unsampled_ns += ns;
                node.sampled += count;
            }
        }
    }

    /// Calls `visit` with every scope of a process that is shown.
    fn each(&self, at: usize, process: &Process, mut visit: impl FnMut(usize, u32)) {
        for row in process.spans.rows().filter(|&row| self.kept[at].keeps(row)) {
            if let Some(node) = self.paths.node(at, row) {
                visit(node as usize, row);
            }
        }
    }
}
