//! Scopes by path, each as wide as the time in it.

use super::Timeline;
use super::sums::{ScopeSum, Sums};
use crate::tree::paths::{NodeId, ROOT};
use crate::tree::tags;
use crate::{Filter, Run, Tag};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What the width of a scope is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlameBy {
    /// Time on the clock.
    Wall,
    /// Time on a processor.
    Cpu,
    /// Time in which work launched in it kept a GPU busy.
    Gpu,
}

/// A smaller part of the whole is left out, and said to be.
const LEAST_PART: u64 = 2000;
/// Deeper scopes are left out; no program nests like that but by mistake.
const MOST_DEPTH: usize = 200;

impl Timeline {
    /// The flame graph of a run or a range of it, as [`FlameBy`] says; what it does not know is none.
    pub fn flame(&self, run: &Run, filter: &Filter, range: Option<[i64; 2]>, by: FlameBy) -> Value {
        let sums = self.sums(run, filter, range);
        let inside = match by {
            FlameBy::Cpu => self.cpu_inside(run, &sums, range),
            FlameBy::Wall | FlameBy::Gpu => Vec::new(),
        };
        let flame = Flame::new(&sums, by, &inside, tags(run, sums.paths, &sums.kept));
        let word = match by {
            FlameBy::Wall => "wall",
            FlameBy::Cpu => "cpu",
            FlameBy::Gpu => "gpu",
        };
        let roots = flame.children(ROOT, 0);
        let why = match by {
            FlameBy::Wall => None,
            FlameBy::Cpu => sums.scopes.iter().find_map(|sum| sum.cpu_why),
            FlameBy::Gpu => sums.gpu_why,
        };
        json!({
            "by": word, "total_ns": flame.values[ROOT as usize], "why": why,
            "roots": roots.0, "rest": roots.1,
        })
    }
}

struct Flame<'a> {
    sums: &'a Sums<'a>,
    /// By node; a node without scopes of its own has what is inside it.
    values: Vec<u64>,
    /// By node, what is in none of its children.
    own: Vec<u64>,
    least: u64,
    tags: BTreeMap<NodeId, Tag>,
}

impl<'a> Flame<'a> {
    /// `cpu_inside` is of [`Timeline::cpu_inside`], where CPU time is asked for.
    fn new(
        sums: &'a Sums<'a>,
        by: FlameBy,
        cpu_inside: &[u64],
        tags: BTreeMap<NodeId, Tag>,
    ) -> Flame<'a> {
        let both = |(node, sum): (usize, &ScopeSum)| match by {
            FlameBy::Wall => (sum.total_ns, sum.self_ns),
            FlameBy::Cpu => (sum.cpu_ns, sum.cpu_ns.saturating_sub(cpu_inside[node])),
            FlameBy::Gpu => (sum.gpu_ns.unwrap_or(0), sum.gpu_self_ns),
        };
        let (mut values, own): (Vec<u64>, Vec<u64>) =
            sums.scopes.iter().enumerate().map(both).unzip();
        let mut inside = vec![0_u64; values.len()];
        // A child is made after its parent, so going backwards meets every child first.
        for node in (1..values.len()).rev() {
            if sums.scopes[node].count == 0 {
                values[node] = inside[node];
            }
            inside[sums.parent(node as NodeId) as usize] += values[node];
        }
        values[ROOT as usize] = inside[ROOT as usize];
        let least = values[ROOT as usize] / LEAST_PART;
        Flame { sums, values, own, least, tags }
    }

    /// What is inside a node, the widest first, and what is left out there.
    fn children(&self, node: NodeId, depth: usize) -> (Vec<Value>, Value) {
        let inside = &self.sums.paths.nodes[node as usize].children;
        let mut inside: Vec<NodeId> = inside.iter().map(|&(_, child)| child).collect();
        let value = |node: NodeId| self.values[node as usize];
        inside.retain(|&child| value(child) > 0);
        inside.sort_by_key(|&child| (std::cmp::Reverse(value(child)), child));
        let fits = |child: &NodeId| value(*child) >= self.least.max(1) && depth < MOST_DEPTH;
        let (shown, left): (Vec<NodeId>, Vec<NodeId>) = inside.into_iter().partition(fits);
        let rest = (!left.is_empty()).then(|| {
            json!({"paths": self.paths_in(&left), "value_ns": left.iter().map(|&n| value(n)).sum::<u64>()})
        });
        (shown.into_iter().map(|child| self.node(child, depth)).collect(), json!(rest))
    }

    /// Nodes that have a time, and such inside them.
    fn paths_in(&self, nodes: &[NodeId]) -> usize {
        let (mut left, mut paths) = (nodes.to_vec(), 0);
        while let Some(node) = left.pop() {
            paths += 1;
            let inside = self.sums.paths.nodes[node as usize].children.iter();
            left.extend(inside.map(|&(_, child)| child).filter(|&n| self.values[n as usize] > 0));
        }
        paths
    }

    fn node(&self, node: NodeId, depth: usize) -> Value {
        let (children, rest) = self.children(node, depth + 1);
        let value = self.values[node as usize];
        json!({
            "name": self.sums.paths.name(node), "tag": self.tags.get(&node), "value_ns": value,
            "self_ns": self.own[node as usize], "parallel_ns": self.parallel_ns(node),
            "count": self.sums.scopes[node as usize].count,
            "children": children, "rest": rest,
        })
    }

    /// By how much its own time and that of its children are more than it took: they ran at the same
    /// time, on other threads or streams, and do not fit into its width.
    fn parallel_ns(&self, node: NodeId) -> u64 {
        let inside = &self.sums.paths.nodes[node as usize].children;
        let children: u64 = inside.iter().map(|&(_, child)| self.values[child as usize]).sum();
        let over = (children + self.own[node as usize]).saturating_sub(self.values[node as usize]);
        // Every scope's time is rounded by itself.
        let all = inside.iter().map(|&(_, child)| child).chain([node]);
        let rounded: u64 = all.map(|node| self.sums.scopes[node as usize].count).sum();
        if over > rounded { over } else { 0 }
    }
}
