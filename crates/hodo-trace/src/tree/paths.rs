//! Gives every scope the node of its path.

use super::nodes::NodeColumn;
use crate::links::Links;
use crate::select::Selection;
use crate::{Names, Process, Row, Run};
use std::borrow::Cow;
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
    /// Names in its path.
    depth: u32,
    /// The first of its path.
    outermost: NodeId,
    /// Set up when the children are too many to search one after another.
    by_name: HashMap<u32, NodeId>,
}

pub(crate) const ROOT: NodeId = 0;
/// Stands for the name of scopes that are lost; no text is looked up to it.
pub(crate) const LOST: u32 = 0;
const LOST_TEXT: &str = "(lost scope)";
const FEW: usize = 12;
/// A longer path is told by its first name and its last ones: all names of all paths would be as many
/// as the square of how deep scopes are nested.
const MOST_NAMES: usize = 64;

/// The names of a path, given its last node, how many there are and the first node; of one that is too
/// long, those in between are counted instead: `(19937 left out)`.
pub(super) fn path_of<'a>(
    last: NodeId,
    names: usize,
    first: NodeId,
    name: impl Fn(NodeId) -> &'a str,
    parent: impl Fn(NodeId) -> NodeId,
) -> Vec<Cow<'a, str>> {
    let is_long = names > MOST_NAMES;
    let told = if is_long { MOST_NAMES - 2 } else { names };
    let inner = std::iter::successors(Some(last), |&node| Some(parent(node))).take(told);
    let mut path: Vec<Cow<'a, str>> = inner.map(|node| Cow::Borrowed(name(node))).collect();
    if is_long {
        path.push(Cow::Owned(format!("({} left out)", names - 1 - told)));
        path.push(Cow::Borrowed(name(first)));
    }
    path.reverse();
    path
}

/// The same of a path whose scopes are at hand, the outermost first.
pub(crate) fn shortened<T>(
    scopes: impl ExactSizeIterator<Item = T>,
    name: impl Fn(T) -> String,
) -> Vec<String> {
    let left_out = if scopes.len() > MOST_NAMES { scopes.len() + 1 - MOST_NAMES } else { 0 };
    let told = scopes.enumerate().filter_map(|(at, scope)| match at {
        1 if left_out > 0 => Some(format!("({left_out} left out)")),
        at if at > 0 && at <= left_out => None,
        _ => Some(name(scope)),
    });
    told.collect()
}

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

    /// Names from the outermost scope to a node; see [`path_of`].
    pub(crate) fn path(&self, node: NodeId) -> Vec<Cow<'_, str>> {
        let draft = |node: NodeId| &self.nodes[node as usize];
        let (names, first) = (draft(node).depth as usize, draft(node).outermost);
        path_of(node, names, first, |node| self.name(node), |node| draft(node).parent)
    }

    /// Scopes above a node.
    pub(crate) fn depth(&self, node: NodeId) -> u32 {
        self.nodes[node as usize].depth.saturating_sub(1)
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
        let above = &self.nodes[parent as usize];
        let depth = above.depth.saturating_add(1);
        let outermost = if parent == ROOT { node } else { above.outermost };
        self.nodes.push(Draft { name, parent, depth, outermost, ..Draft::default() });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_any_depth_has_few_names() {
        let names: Vec<String> = (0..1000).map(|at| format!("scope {at}")).collect();
        for depth in [1, 2, 63, 64, 65, 66, 1000] {
            let (last, name) = (depth as NodeId - 1, |at: NodeId| names[at as usize].as_str());
            let path = path_of(last, depth, 0, name, |at| at.saturating_sub(1));
            assert_eq!(path.len(), depth.min(MOST_NAMES));
            assert_eq!((&*path[0], &*path[path.len() - 1]), (name(0), name(last)));
            assert_eq!(
                shortened((0..=last).collect::<Vec<_>>().into_iter(), |at| name(at).to_owned()),
                path
            );
        }
        let path = path_of(999, 1000, 0, |at| names[at as usize].as_str(), |at| at - 1);
        assert_eq!((&*path[1], &*path[2]), ("(937 left out)", "scope 938"));
    }
}
