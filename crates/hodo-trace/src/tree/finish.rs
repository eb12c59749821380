//! Puts the sums into the shape that is handed out: parents first, siblings by their first opening.

use super::durations::ByNode;
use super::gpu::Attribution;
use super::measure::Sum;
use super::paths::{NodeId, Paths, ROOT};
use super::shares::Dropped;
use super::{Bench, MarkSeries, Node, NodeKind, SCHEMA, Tag, Tree, marks};
use crate::Run;
use crate::machine::EnergyAttribution;
use crate::select::Selection;
use hodo_format::record::flag;
use std::collections::BTreeMap;

/// What was measured of every node.
pub(super) struct Measured {
    pub(super) sums: Vec<Sum>,
    pub(super) durations: ByNode,
    pub(super) dropped: Dropped,
    pub(super) gpu: Attribution,
    pub(super) energy: EnergyAttribution,
}

struct Finish {
    paths: Paths,
    sums: Vec<Sum>,
    durations: ByNode,
    dropped: Dropped,
    gpu: Attribution,
    energy: EnergyAttribution,
    wall_ns: Option<u64>,
    /// Whether any process says what recording took.
    has_overhead: bool,
    /// First opening in or under each node.
    first: Vec<i64>,
    marks: BTreeMap<NodeId, Vec<MarkSeries>>,
    tags: BTreeMap<NodeId, Tag>,
}

pub(super) fn finish(run: &Run, mut paths: Paths, measured: Measured, kept: &[Selection]) -> Tree {
    let Measured { mut sums, durations, dropped, gpu, energy } = measured;
    let marks = marks::series(run, &mut paths, kept);
    let tags = marks::tags(run, &paths, kept);
    sums.resize(paths.nodes.len(), Sum::default());
    let first = first_openings(&paths, &sums);
    let spans = sums.iter().map(|s| s.count).sum();
    let untimed = sums.iter().map(|s| s.untimed).sum();
    let wall_ns = run.wall_ns();
    let has_overhead = run.processes.iter().any(|process| process.has_overhead());
    let mut finish = Finish {
        paths,
        sums,
        durations,
        dropped,
        gpu,
        energy,
        wall_ns,
        has_overhead,
        first,
        marks,
        tags,
    };
    let marks_outside_scopes = finish.marks.remove(&ROOT).unwrap_or_default();
    let (schema, run, nodes) = (SCHEMA, run.info.id.clone(), finish.nodes());
    let (gpu, energy) = (finish.gpu.summary, finish.energy.summary);
    Tree { schema, run, nodes, marks_outside_scopes, spans, untimed, wall_ns, gpu, energy }
}

/// A child is made after its parent, so going backwards meets every child first.
fn first_openings(paths: &Paths, sums: &[Sum]) -> Vec<i64> {
    let mut first: Vec<i64> = sums.iter().map(|s| s.first.unwrap_or(i64::MAX)).collect();
    for node in (1..first.len()).rev() {
        let parent = paths.nodes[node].parent as usize;
        if sums[parent].count == 0 {
            first[parent] = first[parent].min(first[node]);
        }
    }
    first
}

impl Finish {
    fn nodes(&mut self) -> Vec<Node> {
        let mut nodes: Vec<Node> = Vec::with_capacity(self.sums.len() - 1);
        let mut left: Vec<(NodeId, Option<u32>, u32)> = Vec::new();
        self.push_children(&mut left, ROOT, None, 0);
        while let Some((id, parent, depth)) = left.pop() {
            let at = nodes.len() as u32;
            let outermost = parent.map_or(at, |parent: u32| nodes[parent as usize].outermost);
            nodes.push(Node { outermost, ..self.node(id, parent, depth) });
            self.push_children(&mut left, id, Some(at), depth + 1);
        }
        nodes
    }

    fn push_children(
        &self,
        left: &mut Vec<(NodeId, Option<u32>, u32)>,
        id: NodeId,
        at: Option<u32>,
        depth: u32,
    ) {
        let from = left.len();
        let children = &self.paths.nodes[id as usize].children;
        left.extend(children.iter().map(|&(_, child)| (child, at, depth)));
        left[from..]
            .sort_by_key(|&(child, ..)| std::cmp::Reverse((self.first[child as usize], child)));
    }

    fn node(&mut self, id: NodeId, parent: Option<u32>, depth: u32) -> Node {
        let (durations, bench) = (self.durations_of(id), self.bench(id));
        let gpu = self.gpu.node(id, self.sums[id as usize].count);
        let sum = &self.sums[id as usize];
        let energy = self.energy.node(id, sum.timed(), sum.total);
        let overhead = (sum.timed() > 0 && self.has_overhead).then(|| marks::overhead(sum));
        Node {
            name: self.paths.name(id).to_owned(),
            parent,
            depth,
            outermost: 0,
            kind: self.kind(id),
            tag: self.tags.remove(&id),
            count: sum.count,
            open: sum.open,
            failed: sum.failed,
            untimed: sum.untimed,
            total_ns: sum.time(sum.total),
            self_ns: sum.time(sum.own),
            parent_ns: self.dropped.whole(id, &self.paths, &self.sums, self.wall_ns),
            durations,
            cpu: sum.cpu,
            gpu,
            energy,
            overhead_ns: sum.time(sum.overhead.total).filter(|_| self.has_overhead),
            threads: sum.threads,
            processes: sum.processes,
            bench,
            marks: overhead.into_iter().chain(self.marks.remove(&id).unwrap_or_default()).collect(),
        }
    }

    fn kind(&self, id: NodeId) -> NodeKind {
        match () {
            () if self.paths.is_lost(id) => NodeKind::Lost,
            () if self.sums[id as usize].count == 0 => NodeKind::Context,
            () => NodeKind::Scope,
        }
    }

    fn has(&self, id: NodeId, flags: u16) -> bool {
        self.sums[id as usize].flags & flags == flags
    }

    fn bench(&mut self, id: NodeId) -> Option<Bench> {
        if !self.has(id, flag::BENCH) {
            return None;
        }
        let warmup = self.warmup(id);
        let measured = self.iterations(id);
        self.durations.bench(&measured, warmup)
    }

    fn iterations(&self, id: NodeId) -> Vec<NodeId> {
        let children = self.paths.nodes[id as usize].children.iter().map(|c| c.1);
        children.filter(|&child| self.has(child, flag::ITERATION)).collect()
    }

    /// Iterations of the sibling that holds the warm-up of this loop.
    fn warmup(&self, id: NodeId) -> u64 {
        let name = format!("{} warm-up", self.paths.name(id));
        let parent = self.paths.nodes[id as usize].parent;
        let siblings = self.paths.nodes[parent as usize].children.iter().map(|c| c.1);
        siblings
            .filter(|&s| self.has(s, flag::WARMUP) && self.paths.name(s) == name)
            .flat_map(|s| self.iterations(s))
            .map(|iteration| self.sums[iteration as usize].count)
            .sum()
    }
}

impl Finish {
    /// Nodes made after the durations were sorted (lost scopes that only marks speak of) have none.
    fn durations_of(&mut self, id: NodeId) -> Option<super::Durations> {
        if self.sums[id as usize].closed == 0 { None } else { self.durations.statistics(id) }
    }
}
