//! GPU work by node: whose scopes launched it, in whose forward pass it began, in whose capture.

use super::chains::{ChainId, Chains};
use super::paths::{NodeId, Paths};
use crate::gpu::{Cover, Devices, Gathered, Seeker, Unions};
use crate::links::Links;
use crate::select::Selection;
use crate::{GpuCounts, GpuMissing, GpuTotals, GpuWork, Process, Row, Run, SpanId, WorkRow};
use hodo_format::gpu::flag;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// GPU work of the scopes of a path.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NodeGpu {
    /// Scopes whose process captured the GPU.
    pub captured: u64,
    /// Scopes whose process did not; [`GpuSummary::missing`] says why.
    pub missing: u64,
    /// Of those captured, scopes in part of whose time nothing was: what they have is too little.
    pub in_gap: u64,
    /// Time in captured scopes in which no device of their process was busy; none when all of them
    /// are in a gap, which are left out.
    pub idle_ns: Option<u64>,
    /// What its scopes launched themselves.
    pub own: GpuWork,
    /// What they and the scopes inside them launched, in processes started there too.
    pub all: GpuWork,
    /// Gradients of what they and the scopes inside them computed, wherever those were launched.
    pub backward: GpuTotals,
    /// Work of CUDA graphs that they and the scopes inside them captured, wherever launched.
    pub graph_captured: GpuTotals,
}

/// GPU work of a run, and what is known of its capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GpuSummary {
    /// Processes that captured the GPU.
    pub captured: u32,
    /// Devices that did any work of theirs, counted by process: busy time is a share of the run's
    /// where it is one.
    pub devices: u32,
    /// Why others did not.
    pub missing: Vec<GpuAbsence>,
    /// All work of the scopes shown and, where nothing is filtered, of no scope.
    pub all: GpuWork,
    /// Work launched while no scope was open; none when scopes are filtered.
    pub outside: Option<GpuWork>,
    /// Work of whose launch nothing is known; none when scopes are filtered.
    pub unknown: Option<GpuWork>,
    /// Work of scopes whose records are lost; none when scopes are filtered.
    pub lost_scopes: Option<GpuWork>,
    /// What the capture of all these processes counted.
    pub counts: GpuCounts,
    /// Kernels that were launched whose records were lost with their process.
    pub lost_kernels: u64,
    /// Kernels that running processes launched whose records have not come yet.
    pub under_way_kernels: u64,
    /// Stretches in which nothing was captured.
    pub gaps: u64,
    /// Work launched while a live run was being read, left out.
    pub newer: u64,
}

/// Processes that did not capture the GPU, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GpuAbsence {
    /// The reason.
    pub reason: GpuMissing,
    /// The same in words, the recorder's where it has some.
    pub why: String,
    /// How many.
    pub processes: u32,
}

/// All GPU numbers of a tree.
pub(super) struct Attribution {
    pub(super) summary: GpuSummary,
    nodes: HashMap<NodeId, NodeGpu>,
}

impl Attribution {
    pub(super) fn new(run: &Run, links: &Links, paths: &Paths, kept: &[Selection]) -> Attribution {
        let summary = described(run, kept);
        if summary.captured == 0 {
            return Attribution { summary, nodes: HashMap::new() };
        }
        let mut pass = Pass::new(run, links, paths, kept);
        for (at, process) in captured(run, kept) {
            pass.process(at, process);
        }
        pass.finish(summary)
    }

    /// What a node has, which stands for `count` scopes; none where no process of theirs captured
    /// the GPU.
    pub(super) fn node(&mut self, node: NodeId, count: u64) -> Option<NodeGpu> {
        let says = |gpu: &NodeGpu| gpu.captured > 0 || gpu.all != GpuWork::default();
        let mut gpu = self.nodes.remove(&node).filter(says)?;
        gpu.missing = count.saturating_sub(gpu.captured);
        Some(gpu)
    }
}

/// Processes with scopes to show whose GPU was captured.
pub(super) fn captured<'a>(
    run: &'a Run,
    kept: &'a [Selection],
) -> impl Iterator<Item = (usize, &'a Process)> {
    let shown = run.processes.iter().enumerate().filter(|(at, _)| !is_dropped(&kept[*at]));
    shown.filter(|(_, process)| process.gpu.missing_times(&process.clock).is_none())
}

fn is_dropped(kept: &Selection) -> bool {
    matches!(kept, Selection::None)
}

/// What is known of the capture without looking at any work.
pub(super) fn described(run: &Run, kept: &[Selection]) -> GpuSummary {
    let mut summary = GpuSummary::default();
    let mut missing: BTreeMap<(GpuMissing, String), u32> = BTreeMap::new();
    let shown = run.processes.iter().zip(kept).filter(|(_, kept)| !is_dropped(kept));
    for (process, _) in shown {
        let state = process.gpu.state.as_ref();
        match process.gpu.missing_times(&process.clock) {
            None => {
                summary.captured += 1;
                summary.devices += process.gpu.work.devices().len() as u32;
            }
            Some(reason) => {
                let why = state.and_then(|s| s.why()).unwrap_or(reason.text()).to_owned();
                *missing.entry((reason, why)).or_default() += 1;
            }
        }
        summary.counts += state.map(|state| state.counts()).unwrap_or_default();
        let launched = process.gpu.launched(process.state).unwrap_or_default();
        summary.lost_kernels += launched.lost;
        summary.under_way_kernels += launched.under_way;
        summary.gaps += process.gpu.gaps().len() as u64;
        summary.newer += process.gpu.newer;
    }
    let absence = |((reason, why), processes)| GpuAbsence { reason, why, processes };
    summary.missing = missing.into_iter().map(absence).collect();
    summary
}

/// Short kernel names with numbers that hold for the whole run.
#[derive(Default)]
pub(super) struct ShortNames {
    ids: HashMap<String, u32>,
    pub(super) texts: Vec<String>,
}

impl ShortNames {
    /// By string id of the process, the number of the short name.
    pub(super) fn of_process(&mut self, process: &Process) -> ByKernel {
        let names = &process.names;
        let mut of = vec![None; names.end() as usize];
        let mut lost = HashMap::new();
        for id in process.gpu.work.kernel_names() {
            let number = self.intern(&process.gpu.kernel_name(id).short);
            match of.get_mut(id as usize) {
                Some(place) => *place = Some(number),
                None => drop(lost.insert(id, number)),
            }
        }
        ByKernel { of, lost }
    }

    fn intern(&mut self, text: &str) -> u32 {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.ids.insert(text.to_owned(), id);
        id
    }
}

/// Numbers of short names by string id.
pub(super) struct ByKernel {
    of: Vec<Option<u32>>,
    lost: HashMap<u32, u32>,
}

impl ByKernel {
    pub(super) fn number(&self, process: &Process, row: WorkRow) -> u32 {
        let Some(kernel) = process.gpu.work.kernel(row) else { return 0 };
        let known = self.of.get(kernel.name as usize).copied().flatten();
        known.or_else(|| self.lost.get(&kernel.name).copied()).unwrap_or(0)
    }
}

/// Whose work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Scope(Row),
    /// No scope was open.
    Outside,
    /// Nothing is known of the launch.
    Unknown,
    /// Its scope's record is lost.
    LostScope,
}

impl Owner {
    /// The owner of a piece of work; none when a filter dropped it. What belongs to no scope, or to
    /// a lost one, shows only when nothing is filtered.
    pub(super) fn of(process: &Process, row: WorkRow, kept: &Selection) -> Option<Owner> {
        let work = &process.gpu.work;
        let span = work.span(row);
        match process.spans.row_of(span) {
            Some(scope) => kept.keeps(scope).then_some(Owner::Scope(scope)),
            None if !matches!(kept, Selection::All) => None,
            None if !span.is_none() => Some(Owner::LostScope),
            None if work.flags(row) & flag::SCOPE == flag::UNKNOWN => Some(Owner::Unknown),
            None => Some(Owner::Outside),
        }
    }
}

/// Work of no scope, in order of [`Pass::buckets`].
const BUCKETS: usize = 3;
/// Union of everything, behind the buckets.
const EVERYTHING: usize = BUCKETS;

struct Pass<'a> {
    chains: Chains<'a>,
    paths: &'a Paths,
    kept: &'a [Selection],
    names: ShortNames,
    by_chain: Vec<Gathered>,
    buckets: [Gathered; BUCKETS],
    /// Nanoseconds of the buckets and of everything.
    bucket_busy: [u64; BUCKETS + 1],
    nodes: HashMap<NodeId, NodeGpu>,
}

impl<'a> Pass<'a> {
    fn new(run: &'a Run, links: &'a Links, paths: &'a Paths, kept: &'a [Selection]) -> Pass<'a> {
        Pass {
            chains: Chains::new(run, links, paths, kept),
            paths,
            kept,
            names: ShortNames::default(),
            by_chain: Vec::new(),
            buckets: Default::default(),
            bucket_busy: [0; BUCKETS + 1],
            nodes: HashMap::new(),
        }
    }

    fn process(&mut self, at: usize, process: &Process) {
        self.launched(at, process);
        let work = &process.gpu.work;
        self.secondary(at, process, |row| work.forward(row), |gpu| &mut gpu.backward);
        self.secondary(at, process, |row| work.captured(row), |gpu| &mut gpu.graph_captured);
        self.scopes(at, process);
    }

    /// Work by the scope that launched it.
    fn launched(&mut self, at: usize, process: &Process) {
        let work = &process.gpu.work;
        let names = self.names.of_process(process);
        let devices = Devices::of(work);
        let nodes = self.paths.nodes.len();
        let mut own = Unions::new(nodes, devices.len());
        let mut all = Unions::new(nodes, devices.len());
        let mut others = Unions::new(BUCKETS + 1, devices.len());
        for row in work.rows() {
            let Some(owner) = Owner::of(process, row, &self.kept[at]) else { continue };
            let name = names.number(process, row);
            let busy = work.interval(row).filter(|_| work.is_busy(row));
            let device = devices.place(work.device(row));
            let gathered = match owner {
                Owner::Scope(scope) => {
                    let chain = self.chains.of((at, scope));
                    if let Some(interval) = busy {
                        let around = self.chains.nodes(chain);
                        own.add(around[0] as usize, device, interval);
                        around.iter().for_each(|&n| all.add(n as usize, device, interval));
                    }
                    self.by_chain.resize_with(self.chains.len(), Gathered::default);
                    &mut self.by_chain[chain as usize]
                }
                bucket => {
                    let bucket = bucket.bucket();
                    busy.into_iter().for_each(|interval| others.add(bucket, device, interval));
                    &mut self.buckets[bucket]
                }
            };
            gathered.add(work, row, name, &process.clock);
            busy.into_iter().for_each(|interval| others.add(EVERYTHING, device, interval));
        }
        let ns = |ticks| process.clock.duration_ns(ticks);
        for node in (0..nodes).filter(|&node| all.ticks(node) > 0) {
            let gpu = self.nodes.entry(node as NodeId).or_default();
            gpu.own.busy_ns += ns(own.ticks(node));
            gpu.all.busy_ns += ns(all.ticks(node));
        }
        for (bucket, busy_ns) in self.bucket_busy.iter_mut().enumerate() {
            *busy_ns += ns(others.ticks(bucket));
        }
    }

    /// Work by another scope it has, in three numbers.
    fn secondary(
        &mut self,
        at: usize,
        process: &Process,
        scope_of: impl Fn(WorkRow) -> SpanId,
        totals: impl Fn(&mut NodeGpu) -> &mut GpuTotals,
    ) {
        let work = &process.gpu.work;
        let scoped = |&row: &WorkRow| !scope_of(row).is_none() && work.is_busy(row);
        if !work.rows().any(|row| scoped(&row)) {
            return;
        }
        let devices = Devices::of(work);
        let mut unions = Unions::new(self.paths.nodes.len(), devices.len());
        let mut counts = vec![GpuTotals::default(); self.paths.nodes.len()];
        for row in work.rows().filter(scoped) {
            let scope = process.spans.row_of(scope_of(row));
            let Some(scope) = scope.filter(|&scope| self.kept[at].keeps(scope)) else { continue };
            let interval = work.interval(row);
            let ns = interval.map(|(start, end)| process.clock.duration_ns(end - start));
            let device = devices.place(work.device(row));
            let chain = self.chains.of((at, scope));
            for &node in self.chains.nodes(chain) {
                counts[node as usize].count(work.kernel(row).is_some(), ns);
                interval.into_iter().for_each(|i| unions.add(node as usize, device, i));
            }
        }
        for (node, counted) in counts.iter().enumerate() {
            let busy_ns = process.clock.duration_ns(unions.ticks(node));
            if counted.kernels > 0 || busy_ns > 0 {
                let totals = totals(self.nodes.entry(node as NodeId).or_default());
                totals.busy_ns += busy_ns;
                totals.kernels += counted.kernels;
                totals.kernel_ns += counted.kernel_ns;
            }
        }
    }

    /// What every scope has, whether it launched anything or not.
    fn scopes(&mut self, at: usize, process: &Process) {
        #[derive(Clone, Copy, Default)]
        struct Part {
            captured: u64,
            in_gap: u64,
            idle: u64,
        }
        let spans = &process.spans;
        let cover = Cover::of(&process.gpu.work);
        let mut seeker = Seeker::new(&cover);
        let gaps = process.gpu.gaps();
        let mut parts = vec![Part::default(); self.paths.nodes.len()];
        for row in spans.rows().filter(|&row| self.kept[at].keeps(row)) {
            let Some(node) = self.paths.node(at, row) else { continue };
            let part = &mut parts[node as usize];
            let (start, end) = (spans.start(row), spans.end(row));
            part.captured += 1;
            if gaps.iter().any(|gap| gap.touches(start, end)) {
                part.in_gap += 1;
            } else {
                part.idle += (end - start) - seeker.covered(start, end);
            }
        }
        for (node, part) in parts.iter().enumerate().filter(|(_, part)| part.captured > 0) {
            let gpu = self.nodes.entry(node as NodeId).or_default();
            gpu.captured += part.captured;
            gpu.in_gap += part.in_gap;
            if part.captured > part.in_gap {
                let idle_ns = process.clock.duration_ns(part.idle);
                gpu.idle_ns = Some(gpu.idle_ns.unwrap_or(0) + idle_ns);
            }
        }
    }

    fn finish(mut self, mut summary: GpuSummary) -> Attribution {
        let mut own: HashMap<NodeId, Vec<ChainId>> = HashMap::new();
        let mut all: HashMap<NodeId, Vec<ChainId>> = HashMap::new();
        for chain in 0..self.by_chain.len() as ChainId {
            let nodes = self.chains.nodes(chain);
            own.entry(nodes[0]).or_default().push(chain);
            nodes.iter().for_each(|&node| all.entry(node).or_default().push(chain));
        }
        let (by_chain, names) = (&self.by_chain, &self.names.texts);
        let sum = |chains: Option<&Vec<ChainId>>, busy_ns: u64| {
            let mut sum = Gathered::default();
            chains.into_iter().flatten().for_each(|&chain| sum.join(&by_chain[chain as usize]));
            sum.finish(busy_ns, names)
        };
        for node in all.keys() {
            self.nodes.entry(*node).or_default();
        }
        for (node, gpu) in &mut self.nodes {
            gpu.own = sum(own.get(node), gpu.own.busy_ns);
            gpu.all = sum(all.get(node), gpu.all.busy_ns);
        }
        let mut everything = Gathered::default();
        by_chain.iter().chain(&self.buckets).for_each(|part| everything.join(part));
        summary.all = everything.finish(self.bucket_busy[EVERYTHING], names);
        if self.kept.iter().any(|kept| matches!(kept, Selection::All)) {
            let busy = self.bucket_busy;
            let mut buckets = self.buckets.into_iter().zip(busy);
            let mut next = || buckets.next().map(|(part, busy)| part.finish(busy, names));
            (summary.outside, summary.unknown, summary.lost_scopes) = (next(), next(), next());
        }
        Attribution { summary, nodes: self.nodes }
    }
}

impl Owner {
    /// Its place in [`Pass::buckets`].
    fn bucket(self) -> usize {
        match self {
            Owner::Unknown => 1,
            Owner::LostScope => 2,
            _ => 0,
        }
    }
}
