//! Gives every scope the node of its path.

use super::nodes::NodeColumn;
use crate::links::Links;
use crate::select::Selection;
use crate::{Names, Process, Row, Run};
use std::collections::HashMap;

/// A node's number while the tree is built.
pub(crate) type NodeId = u32;

/// The nodes, and the node of each row of each process.
pub(crate) struct Paths {
    pub(crate) nodes: Vec<Draft>,
    pub(crate) of: Vec<NodeColumn>,
    names: Vec<String>,
    name_ids: HashMap<String, u32>,
}

/// A path in the making. Number 0 is the root above all outermost scopes.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) name: u32,
    pub(crate) parent: NodeId,
    pub(crate) children: Vec<(u32, NodeId)>,
    /// Set up when the children are too many to search one after another.
    by_name: HashMap<u32, NodeId>,
}

pub(crate) const ROOT: NodeId = 0;
/// Stands for the name of scopes that are lost; no text is looked up to it.
pub(crate) const LOST: u32 = 0;
const LOST_TEXT: &str = "(lost scope)";
const FEW: usize = 12;

impl Paths {
    pub(crate) fn new(run: &Run, links: &Links, kept: &[Selection]) -> Paths {
        let mut paths = Paths {
            nodes: vec![Draft::default()],
            of: run.processes.iter().map(|_| NodeColumn::new(0)).collect(),
            names: vec![LOST_TEXT.to_owned()],
            name_ids: HashMap::new(),
        };
        for &at in &links.order {
            let process = &run.processes[at];
            if matches!(kept[at], Selection::None) {
                paths.of[at] = NodeColumn::new(process.spans.len());
                continue;
            }
            let root = paths.root_of(run, links, at);
            paths.of[at] = paths.assign(process, root, &kept[at]);
        }
        paths
    }

    /// The node of a row; none when the filter dropped it.
    #[inline]
    pub(crate) fn node(&self, process: usize, row: Row) -> Option<NodeId> {
        self.of[process].get(row)
    }

    pub(crate) fn name(&self, node: NodeId) -> &str {
        &self.names[self.nodes[node as usize].name as usize]
    }

    /// Names from the outermost scope to a node.
    pub(crate) fn path(&self, mut node: NodeId) -> Vec<&str> {
        let mut names = Vec::new();
        while node != ROOT {
            names.push(self.name(node));
            node = self.nodes[node as usize].parent;
        }
        names.reverse();
        names
    }

    pub(crate) fn is_lost(&self, node: NodeId) -> bool {
        node != ROOT && self.nodes[node as usize].name == LOST
    }

    /// The node that stands for lost scopes at the top.
    pub(crate) fn lost(&mut self) -> NodeId {
        self.child(ROOT, LOST)
    }

    /// Where the outermost scopes of a process hang. The scope that started it may have been
    /// filtered away; it is then on the way to what is kept.
    fn root_of(&mut self, run: &Run, links: &Links, at: usize) -> NodeId {
        let mut way = Vec::new();
        let mut next = links.started_in[at];
        while let Some((process, row)) = next.filter(|&(p, row)| self.node(p, row).is_none()) {
            way.push((process, row));
            let up = run.processes[process].spans.parent_row(row);
            next = up.map(|up| (process, up)).or(links.started_in[process]);
        }
        let mut node = next.and_then(|(p, row)| self.node(p, row)).unwrap_or(ROOT);
        for (process, row) in way.into_iter().rev() {
            let process = &run.processes[process];
            let name = self.intern(&process.names.text(process.spans.name(row)));
            node = self.child(node, name);
        }
        node
    }

    fn assign(&mut self, process: &Process, root: NodeId, kept: &Selection) -> NodeColumn {
        let spans = &process.spans;
        let mut nodes = NodeColumn::new(spans.len());
        let mut names = LocalNames::new(&process.names);
        let mut way: Vec<Row> = Vec::new();
        let mut name_of = spans.scan_names();
        spans.parents_first(|row, up| {
            if !kept.keeps(row) || nodes.get(row).is_some() {
                return;
            }
            // Dropped parents of a kept row get their node here: the way to it.
            let mut top = row;
            let mut next = up;
            let mut known = None;
            while let Some(above) = next {
                known = nodes.get(above);
                if known.is_some() {
                    break;
                }
                way.push(top);
                top = above;
                next = spans.parent_row(above);
            }
            let mut node = match known {
                Some(node) => node,
                None if spans.lost_parent(top).is_some() => self.child(root, LOST),
                None => root,
            };
            for row in std::iter::once(top).chain(way.drain(..).rev()) {
                let name = names.global(name_of(row), self);
                node = self.child(node, name);
                nodes.set(row, node);
            }
        });
        nodes
    }

    fn intern(&mut self, text: &str) -> u32 {
        if let Some(&id) = self.name_ids.get(text) {
            return id;
        }
        let id = self.names.len() as u32;
        self.names.push(text.to_owned());
        self.name_ids.insert(text.to_owned(), id);
        id
    }

    #[inline]
    fn child(&mut self, parent: NodeId, name: u32) -> NodeId {
        let draft = &self.nodes[parent as usize];
        if draft.children.len() <= FEW {
            if let Some(found) = draft.children.iter().find(|c| c.0 == name) {
                return found.1;
            }
        } else if let Some(&found) = draft.by_name.get(&name) {
            return found;
        }
        self.add_child(parent, name)
    }

    #[cold]
    fn add_child(&mut self, parent: NodeId, name: u32) -> NodeId {
        let node = self.nodes.len() as NodeId;
        self.nodes.push(Draft { name, parent, ..Draft::default() });
        let draft = &mut self.nodes[parent as usize];
        draft.children.push((name, node));
        if draft.children.len() > FEW {
            if draft.by_name.is_empty() {
                draft.by_name.extend(draft.children.iter().copied());
            }
            draft.by_name.insert(name, node);
        }
        node
    }
}

/// A process's string ids as run-wide ones, looked up once each.
struct LocalNames<'a> {
    names: &'a Names,
    known: Vec<u32>,
}

impl<'a> LocalNames<'a> {
    fn new(names: &'a Names) -> LocalNames<'a> {
        LocalNames { names, known: vec![u32::MAX; names.end() as usize] }
    }

    #[inline]
    fn global(&mut self, local: u32, paths: &mut Paths) -> u32 {
        match self.known.get(local as usize) {
            Some(&id) if id != u32::MAX => id,
            _ => self.look_up(local, paths),
        }
    }

    #[cold]
    fn look_up(&mut self, local: u32, paths: &mut Paths) -> u32 {
        let id = paths.intern(&self.names.text(local));
        if let Some(known) = self.known.get_mut(local as usize) {
            *known = id;
        }
        id
    }
}
