//! The kept scopes around a scope, as nodes.

use super::paths::{NodeId, Paths};
use crate::Run;
use crate::index::NO_ROW;
use crate::links::{Links, Place};
use crate::select::Selection;
use std::collections::HashMap;

/// Number of a chain: a node and the nodes of the kept scopes around it.
pub(super) type ChainId = u32;

/// All chains met so far. Without a filter a node has one; with one, scopes of the same path may
/// have lost different scopes around them.
pub(super) struct Chains<'a> {
    run: &'a Run,
    links: &'a Links,
    paths: &'a Paths,
    kept: &'a [Selection],
    lists: Vec<Vec<NodeId>>,
    known: HashMap<Vec<NodeId>, ChainId>,
    /// By node, where nothing is filtered.
    of_node: Vec<ChainId>,
    last: Option<(Place, ChainId)>,
}

impl<'a> Chains<'a> {
    pub(super) fn new(
        run: &'a Run,
        links: &'a Links,
        paths: &'a Paths,
        kept: &'a [Selection],
    ) -> Chains<'a> {
        let all = kept.iter().all(|kept| matches!(kept, Selection::All));
        let of_node = if all { vec![NO_ROW; paths.nodes.len()] } else { Vec::new() };
        let (lists, known) = (Vec::new(), HashMap::new());
        Chains { run, links, paths, kept, lists, known, of_node, last: None }
    }

    /// The chain of a kept scope.
    pub(super) fn of(&mut self, place: Place) -> ChainId {
        if let Some((last, chain)) = self.last
            && last == place
        {
            return chain;
        }
        let node = self.paths.node(place.0, place.1).map_or(usize::MAX, |node| node as usize);
        let known = self.of_node.get(node).copied().filter(|&chain| chain != NO_ROW);
        let chain = known.unwrap_or_else(|| self.walk(place));
        if let Some(of_node) = self.of_node.get_mut(node) {
            *of_node = chain;
        }
        self.last = Some((place, chain));
        chain
    }

    fn walk(&mut self, place: Place) -> ChainId {
        let mut nodes = Vec::new();
        let mut next = Some(place);
        while let Some((at, row)) = next {
            if self.kept[at].keeps(row) {
                nodes.extend(self.paths.node(at, row));
            }
            let up = self.run.processes[at].spans.parent_row(row);
            next = up.map(|up| (at, up)).or(self.links.started_in[at]);
        }
        let lists = &mut self.lists;
        *self.known.entry(nodes).or_insert_with_key(|nodes| {
            lists.push(nodes.clone());
            lists.len() as ChainId - 1
        })
    }

    /// Its node first, then those around it from the inside out.
    pub(super) fn nodes(&self, chain: ChainId) -> &[NodeId] {
        &self.lists[chain as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.lists.len()
    }
}
