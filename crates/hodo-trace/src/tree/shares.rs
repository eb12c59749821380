//! The time in a path's parents, of which its own is a share.

use super::measure::Sum;
use super::paths::{NodeId, Paths, ROOT};
use crate::links::Links;
use crate::select::Selection;
use crate::{Row, Run};

/// Time by node in scopes that a filter dropped and that hold one it kept, in nanoseconds: they
/// are part of the whole that the kept ones are a share of.
pub(super) struct Dropped(Vec<u64>);

impl Dropped {
    pub(super) fn new(run: &Run, links: &Links, paths: &Paths, kept: &[Selection]) -> Dropped {
        let mut time = vec![0; paths.nodes.len()];
        if kept.iter().all(|k| matches!(k, Selection::All)) {
            return Dropped(time);
        }
        let holds = parents(run, links, kept);
        for (at, process) in run.processes.iter().enumerate() {
            let dropped = |row: &Row| holds[at][*row as usize] && !kept[at].keeps(*row);
            for row in process.spans.rows().filter(dropped) {
                if let Some(node) = paths.node(at, row) {
                    time[node as usize] += process.span(row).duration_ns();
                }
            }
        }
        Dropped(time)
    }

    /// The time that `node` is a share of: its parents', or the run's where it has no parent.
    pub(super) fn whole(
        &self,
        node: NodeId,
        paths: &Paths,
        sums: &[Sum],
        wall: Option<u64>,
    ) -> Option<u64> {
        let parent = paths.nodes[node as usize].parent;
        if parent == ROOT || paths.is_lost(parent) {
            return wall;
        }
        let sum = &sums[parent as usize];
        Some(sum.total + self.of(parent)).filter(|&ns| ns > 0 || sum.timed() > 0)
    }

    /// Nodes made later (lost scopes that only marks speak of) have none.
    fn of(&self, node: NodeId) -> u64 {
        self.0.get(node as usize).copied().unwrap_or(0)
    }
}

/// Rows that are the parent of a kept one, in whichever process.
fn parents(run: &Run, links: &Links, kept: &[Selection]) -> Vec<Vec<bool>> {
    let mut holds: Vec<Vec<bool>> =
        run.processes.iter().map(|p| vec![false; p.spans.len()]).collect();
    for (at, process) in run.processes.iter().enumerate() {
        let mut starts = false;
        for row in process.spans.rows().filter(|&row| kept[at].keeps(row)) {
            match process.spans.parent_row(row) {
                Some(parent) => holds[at][parent as usize] = true,
                None => starts = true,
            }
        }
        if let Some((starter, row)) = links.started_in[at].filter(|_| starts) {
            holds[starter][row as usize] = true;
        }
    }
    holds
}
