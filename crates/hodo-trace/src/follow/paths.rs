//! Scopes by path, as they come and go.

use super::window::{Ended, Window};
use std::collections::HashMap;

/// A path's number.
pub(super) type PathId = u32;
/// Above all outermost scopes.
pub(super) const ROOT: PathId = 0;
/// Stands for a parent that is not known any more.
const LOST: &str = "(lost scope)";
/// More paths than a person can look at: names with numbers in them make as many as there are scopes.
const MOST: usize = 4096;
/// Names that are kept apart, of all paths there were.
const MOST_NAMES: usize = 1 << 16;
const OTHERS: &str = "(other names)";
/// Looks after which a path that nothing happened at may be forgotten.
const FORGET_AFTER: u64 = 30;

/// The paths there are.
pub(super) struct Paths {
    nodes: Vec<Node>,
    by_name: HashMap<(PathId, u32), PathId>,
    names: Vec<Box<str>>,
    name_ids: HashMap<Box<str>, u32>,
    free: Vec<PathId>,
    look: u64,
    /// Scopes that found no room.
    pub(super) left_out: u64,
}

/// One path.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) name: u32,
    pub(super) children: Vec<PathId>,
    pub(super) window: Window,
    /// Closed since following began.
    pub(super) closed: u64,
    pub(super) last_ns: Option<u64>,
    /// Open now, and when the oldest of these opened.
    pub(super) open: u64,
    pub(super) oldest_ns: Option<u64>,
    touched: u64,
}

impl Paths {
    pub(super) fn new() -> Paths {
        Paths {
            nodes: vec![Node::default()],
            by_name: HashMap::new(),
            names: Vec::new(),
            name_ids: HashMap::new(),
            free: Vec::new(),
            look: 0,
            left_out: 0,
        }
    }

    pub(super) fn node(&self, path: PathId) -> &Node {
        &self.nodes[path as usize]
    }

    pub(super) fn name(&self, path: PathId) -> &str {
        self.names.get(self.node(path).name as usize).map_or("", |name| name)
    }

    /// The number of a name, the same in all processes.
    pub(super) fn intern(&mut self, text: &str) -> u32 {
        if let Some(&id) = self.name_ids.get(text) {
            return id;
        }
        if self.names.len() >= MOST_NAMES && text != OTHERS {
            return self.intern(OTHERS);
        }
        let id = self.names.len() as u32;
        self.names.push(text.into());
        self.name_ids.insert(text.into(), id);
        id
    }

    /// The path that stands for parents that are lost.
    pub(super) fn lost(&mut self) -> PathId {
        let name = self.intern(LOST);
        self.child(ROOT, name)
    }

    /// The path of `name` under `parent`; the parent itself when there is no room for more.
    pub(super) fn child(&mut self, parent: PathId, name: u32) -> PathId {
        if let Some(&found) = self.by_name.get(&(parent, name)) {
            self.nodes[found as usize].touched = self.look;
            return found;
        }
        let node = Node { name, touched: self.look, ..Node::default() };
        let path = match self.free.pop() {
            Some(free) => {
                self.nodes[free as usize] = node;
                free
            }
            None if self.nodes.len() < MOST => {
                self.nodes.push(node);
                self.nodes.len() as PathId - 1
            }
            None => {
                self.left_out += 1;
                return parent;
            }
        };
        self.by_name.insert((parent, name), path);
        self.nodes[parent as usize].children.push(path);
        path
    }

    pub(super) fn close(&mut self, path: PathId, ended: Ended) {
        let node = &mut self.nodes[path as usize];
        node.window.add(ended);
        node.closed += ended.weight;
        node.last_ns = Some(ended.duration_ns);
    }

    pub(super) fn open(&mut self, path: PathId, start_ns: u64) {
        let node = &mut self.nodes[path as usize];
        node.open += 1;
        node.oldest_ns = Some(node.oldest_ns.map_or(start_ns, |oldest| oldest.min(start_ns)));
    }

    /// Before a look: what was open is told anew, and where it gets crowded old paths go.
    pub(super) fn begin_look(&mut self) {
        self.look += 1;
        for node in &mut self.nodes {
            (node.open, node.oldest_ns) = (0, None);
        }
        if self.nodes.len() - self.free.len() > MOST / 4 * 3 {
            self.forget();
        }
    }

    /// Forgets leaves that nothing happened at for long.
    fn forget(&mut self) {
        let before = self.look.saturating_sub(FORGET_AFTER);
        let stale = |node: &Node| node.children.is_empty() && node.touched < before;
        let known: Vec<(PathId, u32, PathId)> =
            self.by_name.iter().map(|(&(parent, name), &path)| (parent, name, path)).collect();
        for (parent, name, path) in known {
            if stale(&self.nodes[path as usize]) {
                self.by_name.remove(&(parent, name));
                self.nodes[parent as usize].children.retain(|&child| child != path);
                self.free.push(path);
            }
        }
    }
}
