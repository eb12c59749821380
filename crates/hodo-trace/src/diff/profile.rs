//! A run reduced to what comparing it needs, so that many runs fit into memory.

use super::series::{Instances, NO_STEP, Series, steps};
use crate::links::Links;
use crate::select::Selection;
use crate::tree::children::own_times;
use crate::tree::paths::Paths;
use crate::{
    Account, Filter, GpuMissing, GpuState, MachineState, Node, NodeKind, Process, ProcessState,
    Run, tree,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// One run as [`crate::diff`] sees it.
#[derive(Clone, Debug)]
pub struct RunProfile {
    /// The run's id.
    pub id: String,
    /// Its application.
    pub app: String,
    pub(super) start_ns: Option<i64>,
    pub(super) machines: BTreeSet<String>,
    pub(super) gpus: BTreeSet<String>,
    pub(super) gpu_captured: bool,
    /// Why the GPU was not captured, if no process did.
    pub(super) gpu_missing: Option<(GpuMissing, String)>,
    pub(super) ranks: usize,
    pub(super) is_live: bool,
    pub(super) lost: u64,
    pub(super) untimed: u64,
    /// By path, each parent before its children.
    pub(super) scopes: Vec<ScopeProfile>,
    /// By short name.
    pub(super) kernels: BTreeMap<String, Series>,
}

/// The scopes of one path.
#[derive(Clone, Debug, Default)]
pub(super) struct ScopeProfile {
    pub(super) path: Vec<String>,
    pub(super) count: u64,
    pub(super) total_ns: f64,
    pub(super) self_ns: f64,
    /// None unless every scope of the path has it.
    pub(super) cpu_ns: Option<f64>,
    /// None when it was not captured.
    pub(super) gpu_ns: Option<f64>,
    pub(super) series: Series,
    /// Of each the time in no child.
    pub(super) own: Series,
}

impl RunProfile {
    /// Reduces `run`.
    pub fn of(run: &Run) -> RunProfile {
        let tree = tree(run, &Filter::default());
        let (mut series, mut own) = scope_series(run);
        let has_times = |node: &&(usize, &Node)| node.1.kind == NodeKind::Scope;
        let nodes: Vec<(usize, &Node)> = tree.nodes.iter().enumerate().collect();
        let scope = |&(at, node): &(usize, &Node)| {
            let path: Vec<String> = tree.path(at as u32).into_iter().map(Cow::into_owned).collect();
            Some(ScopeProfile {
                count: node.count - node.untimed,
                total_ns: node.total_ns? as f64,
                self_ns: node.self_ns? as f64,
                cpu_ns: node.cpu.total_ns.filter(|_| node.cpu.captured == node.count).map(as_f64),
                gpu_ns: node
                    .gpu
                    .as_ref()
                    .filter(|gpu| gpu.captured > 0)
                    .map(|gpu| gpu.all.busy_ns as f64),
                series: series.remove(&path).unwrap_or_default(),
                own: own.remove(&path).unwrap_or_default(),
                path,
            })
        };
        let scopes = nodes.iter().filter(has_times).filter_map(scope).collect();
        let absence = tree.gpu.missing.first().filter(|_| tree.gpu.captured == 0);
        RunProfile {
            id: name(run),
            app: run.info.app.clone(),
            start_ns: run.start_ns(),
            machines: machines(run),
            gpus: gpus(run),
            gpu_captured: tree.gpu.captured > 0,
            gpu_missing: absence.map(|absence| (absence.reason, absence.why.clone())),
            ranks: ranks(run),
            is_live: run.state() == Some(ProcessState::Live),
            lost: Account::of(&run.processes).lost_records(),
            untimed: tree.untimed,
            scopes,
            kernels: kernel_series(run),
        }
    }

    pub(super) fn scope(&self, path: &[String]) -> Option<&ScopeProfile> {
        self.scopes.iter().find(|scope| scope.path == path)
    }

    /// Time in outermost scopes.
    pub(super) fn whole_ns(&self) -> f64 {
        self.scopes.iter().filter(|scope| scope.path.len() == 1).map(|scope| scope.total_ns).sum()
    }
}

fn as_f64(ns: u64) -> f64 {
    ns as f64
}

fn name(run: &Run) -> String {
    let folder = || run.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if run.info.id.is_empty() { folder() } else { run.info.id.clone() }
}

fn machines(run: &Run) -> BTreeSet<String> {
    let hosts = run.processes.iter().map(|p| &p.info.host).chain([&run.info.host]);
    hosts.filter(|host| !host.is_empty()).cloned().collect()
}

/// Names of the GPUs: those that were captured, else those of the machines.
fn gpus(run: &Run) -> BTreeSet<String> {
    let states = run.processes.iter().filter_map(|p| p.gpu.state.as_ref());
    let captured: BTreeSet<String> =
        states.flat_map(GpuState::devices).map(|device| device.name).collect();
    let there = run.machines.iter().filter_map(|machine| machine.state.as_ref());
    let there = there.flat_map(MachineState::gpus).map(|gpu| gpu.name);
    if captured.is_empty() { there.collect() } else { captured }
}

fn ranks(run: &Run) -> usize {
    let ranks: BTreeSet<u32> = run.processes.iter().filter_map(|p| p.info.rank).collect();
    ranks.len()
}

/// By path.
type AllSeries = HashMap<Vec<String>, Series>;

/// The durations of every path, and what of them is in none of its children.
fn scope_series(run: &Run) -> (AllSeries, AllSeries) {
    let links = Links::new(&run.processes);
    let kept: Vec<Selection> = run.processes.iter().map(|_| Selection::All).collect();
    let paths = Paths::new(run, &links, &kept);
    let mut all = vec![Instances::default(); paths.nodes.len()];
    let mut own = all.clone();
    for (at, process) in run.processes.iter().enumerate().filter(|(_, p)| p.is_timed()) {
        let steps = steps(process);
        own_times(run, &links, at, |row, times, scan| {
            let closed = paths.node(at, row).filter(|_| !scan.is_open(row));
            let Some(node) = closed.map(|node| node as usize) else { return };
            let (span, step) = (process.span(row), steps[row as usize]);
            let own_ns = process.clock.duration_ns(times.own) as f64;
            own[node].push(span.start_ns(), step, own_ns);
            all[node].push(span.start_ns(), step, span.duration_ns() as f64);
        });
    }
    let named = |instances: Vec<Instances>| {
        let path = |node| paths.path(node as u32).into_iter().map(Cow::into_owned).collect();
        let named = |(node, of_node): (usize, Instances)| (path(node), of_node.finish());
        instances.into_iter().enumerate().skip(1).map(named).collect()
    };
    (named(all), named(own))
}

/// The durations of the kernels of every short name.
fn kernel_series(run: &Run) -> BTreeMap<String, Series> {
    let mut all: BTreeMap<String, Instances> = BTreeMap::new();
    for process in run.processes.iter().filter(|p| p.gpu.missing_times(&p.clock).is_none()) {
        let mut by_name: HashMap<u32, Instances> = HashMap::new();
        of_process(process, &mut by_name);
        for (name, instances) in by_name {
            let name = process.gpu.kernel_name(name).short.to_string();
            all.entry(name).or_default().extend(instances);
        }
    }
    all.into_iter().map(|(name, instances)| (name, instances.finish())).collect()
}

fn of_process(process: &Process, by_name: &mut HashMap<u32, Instances>) {
    let work = &process.gpu.work;
    for row in work.rows() {
        let (Some(kernel), Some((start, end))) = (work.kernel(row), work.interval(row)) else {
            continue;
        };
        let ns = process.clock.duration_ns(end - start) as f64;
        let start_ns = process.clock.steady_ns(start);
        by_name.entry(kernel.name).or_default().push(start_ns, NO_STEP, ns);
    }
}
