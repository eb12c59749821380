//! The aggregated tree: every number of a report is made here.

mod chains;
pub(crate) mod children;
mod durations;
mod finish;
mod flat;
mod gpu;
mod kernels;
mod marks;
mod measure;
mod nodes;
pub(crate) mod paths;
mod samples;
mod shares;

use crate::links::Links;
use crate::machine::EnergyAttribution;
use crate::select::select;
use crate::{EnergySummary, Filter, NodeEnergy, Run, Value};
use durations::ByNode;
use finish::Measured;
use gpu::Attribution;
use paths::Paths;
use serde::Serialize;
use shares::Dropped;
use std::borrow::Cow;

pub(crate) use durations::{quantiles, statistics_of};
pub use flat::{FlatRow, FlatSort, flat};
pub use gpu::{GpuAbsence, GpuSummary, NodeGpu};
pub use kernels::{
    BackwardRow, KernelRow, KernelScope, KernelShape, KernelTable, backward_by_forward, kernels,
    kernels_in_full,
};
pub(crate) use marks::{TAG_KEY, tags};
pub use samples::{
    SampleTable, SampledInstruction, SampledKernel, SampledScope, StallSum, samples,
};

/// Names the shape of the JSON a [`Tree`] becomes.
pub const SCHEMA: &str = "hodo.tree/1";

/// The scopes of a run by path, over all its threads and processes.
#[derive(Clone, Debug, Serialize)]
pub struct Tree {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The run's id.
    pub run: String,
    /// Every path, each parent before its children; siblings in the order they first opened.
    pub nodes: Vec<Node>,
    /// Marks made outside any scope; all others are with the node of theirs.
    pub marks_outside_scopes: Vec<MarkSeries>,
    /// Scopes in the tree.
    pub spans: u64,
    /// Those whose times are not known, since no reading of their process's clocks is left. They
    /// are counted everywhere and part of no time.
    pub untimed: u64,
    /// How long the run was, whatever the filter: [`Run::wall_ns`].
    pub wall_ns: Option<u64>,
    /// GPU work over all nodes, and why there is none where there is none.
    pub gpu: GpuSummary,
    /// Energy of the GPUs; none when none was sampled.
    pub energy: Option<EnergySummary>,
}

/// One path.
#[derive(Clone, Debug, Serialize)]
pub struct Node {
    /// The scope's name.
    pub name: String,
    /// Place of the parent in [`Tree::nodes`].
    pub parent: Option<u32>,
    /// Parents above it.
    pub depth: u32,
    /// Place of the outermost of them, or its own where it has none.
    #[serde(skip)]
    pub outermost: u32,
    /// What sort of node it is.
    pub kind: NodeKind,
    /// The tag of its scopes.
    pub tag: Option<Tag>,
    /// Scopes, open ones included.
    pub count: u64,
    /// Those that were still open.
    pub open: u64,
    /// Those left by a panic or an exception.
    pub failed: u64,
    /// Those whose times are not known; see [`Tree::untimed`].
    pub untimed: u64,
    /// Time inside, nanoseconds; open scopes up to the last moment known. None when no scope has a
    /// time.
    pub total_ns: Option<u64>,
    /// Time inside and in no child. Children count wherever they ran, on other threads and in
    /// processes started here too, and time that several of them cover counts once.
    pub self_ns: Option<u64>,
    /// Time in the scopes they were opened in, those a filter dropped too; of outermost ones the
    /// run's.
    pub parent_ns: Option<u64>,
    /// Statistics of the closed ones; none when none closed.
    pub durations: Option<Durations>,
    /// CPU time.
    pub cpu: CpuSum,
    /// GPU work; none when it was not captured, see [`Tree::gpu`].
    pub gpu: Option<NodeGpu>,
    /// Energy of the GPUs; none when it was not sampled.
    pub energy: Option<NodeEnergy>,
    /// Recording work inside, nanoseconds.
    pub overhead_ns: Option<u64>,
    /// Threads its scopes were opened on.
    pub threads: u32,
    /// Processes they belong to.
    pub processes: u32,
    /// Statistics of a benchmark loop.
    pub bench: Option<Bench>,
    /// Marks made in its scopes, `hodo.overhead` first.
    pub marks: Vec<MarkSeries>,
}

impl Node {
    /// `total_ns` as a share of `parent_ns`: more than 1 where children overlap or outlive their
    /// parent.
    pub fn of_parent(&self) -> Option<f64> {
        let whole = self.parent_ns.filter(|&ns| ns > 0)?;
        Some(self.total_ns? as f64 / whole as f64)
    }
}

/// What sort of node it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// Scopes.
    Scope,
    /// On the way to scopes that fit the filter; has no numbers of its own.
    Context,
    /// Stands for scopes whose records are lost; their children are below.
    Lost,
}

/// Statistics of durations, nanoseconds. Percentiles interpolate between neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Durations {
    /// The shortest.
    pub min_ns: u64,
    /// The mean.
    pub mean_ns: u64,
    /// The median.
    pub p50_ns: u64,
    /// 95 % are not longer.
    pub p95_ns: u64,
    /// 99 % are not longer.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// CPU time of a node: what was captured, and of how many scopes it was not, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CpuSum {
    /// Nanoseconds over the scopes that have it; none when none has.
    pub total_ns: Option<u64>,
    /// Scopes with CPU time.
    pub captured: u64,
    /// Scopes that were suspended.
    pub suspended: u64,
    /// Scopes not bound to one thread.
    pub other_thread: u64,
    /// Scopes recorded without a CPU clock.
    pub off: u64,
    /// Scopes still open.
    pub open: u64,
    /// Scopes of a process whose clock is not calibrated.
    pub uncalibrated: u64,
}

/// The tag of a node's scopes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tag {
    /// All tagged ones have this one.
    One(String),
    /// So many different ones.
    Many(u64),
}

/// Statistics over the measured iterations of a benchmark loop, warm-up excluded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bench {
    /// Measured iterations.
    pub iterations: u64,
    /// Iterations of the warm-up.
    pub warmup: u64,
    /// The shortest, nanoseconds.
    pub min_ns: u64,
    /// The median.
    pub median_ns: u64,
    /// The mean.
    pub mean_ns: u64,
    /// 95 % are not longer.
    pub p95_ns: u64,
    /// 95 % confidence interval of the mean: low and high; none for fewer than two iterations.
    pub ci95_ns: Option<[u64; 2]>,
}

/// Marks of one name in one node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MarkSeries {
    /// The mark's name.
    pub name: String,
    /// Summaries of their scopes rather than points of a series.
    pub summary: bool,
    /// How many.
    pub count: u64,
    /// The first value.
    pub first: Value,
    /// The last value.
    pub last: Value,
    /// The attributes of that mark.
    pub last_attrs: Option<Value>,
    /// The smallest number.
    pub min: Option<f64>,
    /// The largest number.
    pub max: Option<f64>,
    /// The mean of the finite numbers.
    pub mean: Option<f64>,
}

impl Tree {
    /// Names from the outermost scope to node `at`. Of more than 64 the first and the last 62 are
    /// told, and how many are left out between them; [`Node::parent`] leads through them all.
    pub fn path(&self, at: u32) -> Vec<Cow<'_, str>> {
        let node = |at: u32| &self.nodes[at as usize];
        let Some(last) = self.nodes.get(at as usize) else { return Vec::new() };
        let names = last.depth as usize + 1;
        let parent = |at| node(at).parent.unwrap_or(at);
        paths::path_of(at, names, last.outermost, |at| node(at).name.as_str(), parent)
    }

    /// Time in the outermost scopes that have numbers.
    pub fn scopes_ns(&self) -> u64 {
        self.outermost().filter_map(|n| n.total_ns).sum()
    }

    /// Recording work in all scopes; none when no time is known. A scope's own number holds that of
    /// the scopes inside it, but for those in other tasks, threads and processes.
    pub fn overhead_ns(&self) -> Option<u64> {
        let mut inside = vec![None; self.nodes.len()];
        let mut whole = None;
        // Children come after their parents.
        for (at, node) in self.nodes.iter().enumerate().rev() {
            // What is known is more than what is not, a measured zero too.
            let Some(own) = node.overhead_ns.max(inside[at]) else { continue };
            let sum = node.parent.map_or(&mut whole, |parent| &mut inside[parent as usize]);
            *sum = Some(sum.unwrap_or(0) + own);
        }
        whole
    }

    fn outermost(&self) -> impl Iterator<Item = &Node> {
        let has_numbers = |at: u32| self.nodes[at as usize].kind == NodeKind::Scope;
        self.nodes.iter().filter(move |n| !n.parent.is_some_and(has_numbers))
    }
}

/// Aggregates the scopes of `run` that `filter` keeps by path.
pub fn tree(run: &Run, filter: &Filter) -> Tree {
    let links = Links::new(&run.processes);
    let kept = select(run, &links, filter);
    let paths = Paths::new(run, &links, &kept);
    let sums = measure::sums(run, &links, &paths, &kept);
    let durations = ByNode::new(run, &paths, &kept, &sums);
    let dropped = Dropped::new(run, &links, &paths, &kept);
    let gpu = Attribution::new(run, &links, &paths, &kept);
    let energy = EnergyAttribution::new(run, &links, &paths, &kept);
    finish::finish(run, paths, Measured { sums, durations, dropped, gpu, energy }, &kept)
}
