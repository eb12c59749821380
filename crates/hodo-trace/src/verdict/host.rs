//! Where the time of scopes went when no GPU was captured: input, CPU, waiting.

use super::input::{by_attribute, is_input_name};
use super::{Cause, CauseScope, HostLedger, path, summed};
use crate::links::Links;
use crate::select::Selection;
use crate::tree::paths::Paths;
use crate::{NodeKind, Run, Tree};
use std::borrow::Cow;
use std::collections::HashSet;

const CAUSES: [Cause; 4] = [Cause::Input, Cause::Cpu, Cause::Waiting, Cause::Unknown];

/// The ledger; none when no scope has a time.
pub(super) fn ledger(run: &Run, tree: &Tree) -> Option<HostLedger> {
    let nodes = Nodes::new(run, tree);
    let rows = (0..tree.nodes.len()).filter(|&at| nodes.counts(at));
    let rows: Vec<CauseScope> = rows.flat_map(|at| nodes.rows(at)).collect();
    let (scopes_ns, causes, scopes) = summed(rows, &CAUSES);
    (scopes_ns > 0).then_some(HostLedger { scopes_ns, causes, scopes })
}

struct Nodes<'a> {
    tree: &'a Tree,
    /// Whether its scopes, or scopes around them, wait for input.
    waits: Vec<bool>,
    /// The outermost scope of each.
    outermost: Vec<usize>,
    /// Outermost scopes with a wait for input inside; where there are none, all.
    leading: HashSet<usize>,
    /// CPU time of their children.
    inside_cpu_ns: Vec<u64>,
    /// Paths of processes that a scope started: they work beside it.
    beside: HashSet<Vec<String>>,
}

impl<'a> Nodes<'a> {
    fn new(run: &Run, tree: &'a Tree) -> Nodes<'a> {
        let said = paths_that_say_so(run);
        let count = tree.nodes.len();
        let (mut waits, mut outermost) = (vec![false; count], vec![0; count]);
        let mut inside_cpu_ns = vec![0; count];
        // Parents come before their children.
        for (at, node) in tree.nodes.iter().enumerate() {
            let above = node.parent.map(|parent| parent as usize);
            outermost[at] = above.map_or(at, |above| outermost[above]);
            waits[at] = above.is_some_and(|above| waits[above])
                || is_input_name(&node.name)
                || (!said.is_empty() && said.contains(&owned(tree, at)));
            if let Some(above) = above {
                inside_cpu_ns[above] += node.cpu.total_ns.unwrap_or(0);
            }
        }
        let waiting = (0..count).filter(|&at| waits[at]).map(|at| outermost[at]);
        let mut leading: HashSet<usize> = waiting.collect();
        if leading.is_empty() {
            leading = outermost.iter().copied().collect();
        }
        let beside = paths_beside(run);
        Nodes { tree, waits, outermost, leading, inside_cpu_ns, beside }
    }

    fn counts(&self, at: usize) -> bool {
        let is_beside = || !self.beside.is_empty() && self.beside.contains(&owned(self.tree, at));
        self.tree.nodes[at].kind == NodeKind::Scope
            && self.leading.contains(&self.outermost[at])
            && !is_beside()
    }

    /// The time in a node's own code, by cause.
    fn rows(&self, at: usize) -> Vec<CauseScope> {
        let node = &self.tree.nodes[at];
        let own = node.self_ns.unwrap_or(0);
        let row = |cause, ns| CauseScope { cause, path: owned(self.tree, at), ns };
        if self.waits[at] {
            return vec![row(Cause::Input, own)];
        }
        let all_have_it = node.cpu.captured + node.open == node.count;
        match node.cpu.total_ns.filter(|_| all_have_it) {
            None => vec![row(Cause::Unknown, own)],
            Some(cpu) => {
                let cpu = cpu.saturating_sub(self.inside_cpu_ns[at]).min(own);
                vec![row(Cause::Cpu, cpu), row(Cause::Waiting, own - cpu)]
            }
        }
    }
}

fn owned(tree: &Tree, at: usize) -> Vec<String> {
    tree.path(at as u32).into_iter().map(Cow::into_owned).collect()
}

/// Paths of scopes that have the attribute.
fn paths_that_say_so(run: &Run) -> HashSet<Vec<String>> {
    let rows = run.processes.iter().flat_map(|p| by_attribute(p).map(move |row| (p, row)));
    rows.map(|(process, row)| path(process, row)).collect()
}

/// Paths of the processes that were started by a scope of another.
fn paths_beside(run: &Run) -> HashSet<Vec<String>> {
    let links = Links::new(&run.processes);
    if links.started_in.iter().all(Option::is_none) {
        return HashSet::new();
    }
    let all: Vec<Selection> = run.processes.iter().map(|_| Selection::All).collect();
    let paths = Paths::new(run, &links, &all);
    let mut is_beside = vec![false; paths.nodes.len()];
    for (at, process) in run.processes.iter().enumerate() {
        if links.started_in[at].is_some() {
            let nodes = process.spans.rows().filter_map(|row| paths.node(at, row));
            nodes.for_each(|node| is_beside[node as usize] = true);
        }
    }
    let nodes = (0..).zip(is_beside).filter(|(_, is_beside)| *is_beside);
    nodes.map(|(node, _)| paths.path(node).into_iter().map(Cow::into_owned).collect()).collect()
}
