//! Which scope captured which node of a CUDA graph.

use hodo_format::record::SpanId;
use std::collections::HashMap;
use std::sync::Mutex;

/// Nodes that are remembered; more are counted.
const MOST_NODES: usize = 1 << 20;

/// Scopes by graph node.
#[derive(Debug, Default)]
pub struct Graphs(Mutex<Nodes>);

#[derive(Debug, Default)]
struct Nodes {
    scopes: HashMap<u64, SpanId>,
    refused: u64,
}

impl Graphs {
    fn lock(&self) -> std::sync::MutexGuard<'_, Nodes> {
        crate::lock(&self.0)
    }

    /// A node was made while `scope` was innermost.
    pub fn created(&self, node: u64, scope: SpanId) {
        let mut nodes = self.lock();
        if nodes.scopes.len() >= MOST_NODES && !nodes.scopes.contains_key(&node) {
            nodes.refused += 1;
        } else {
            nodes.scopes.insert(node, scope);
        }
    }

    /// A node was copied from `original`: whoever captured that one captured this one.
    pub fn cloned(&self, node: u64, original: u64) {
        let mut nodes = self.lock();
        match nodes.scopes.get(&original).copied() {
            Some(scope) => _ = nodes.scopes.insert(node, scope),
            // Captured before hodo attached: the scope that made the copy is not its scope.
            None => _ = nodes.scopes.remove(&node),
        }
    }

    /// The scope that captured a node; none when it is not known.
    pub fn scope(&self, node: u64) -> SpanId {
        if node == 0 {
            return SpanId::NONE;
        }
        self.lock().scopes.get(&node).copied().unwrap_or(SpanId::NONE)
    }

    /// Forgets every node.
    pub fn forget(&self) {
        *self.lock() = Nodes::default();
    }

    /// Nodes that were too many to remember.
    pub fn refused(&self) -> u64 {
        self.lock().refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_scope_of_its_original() {
        let graphs = Graphs::default();
        graphs.created(1, SpanId(10));
        graphs.created(2, SpanId(99));
        graphs.cloned(2, 1);
        assert_eq!(graphs.scope(2), SpanId(10));
        graphs.created(3, SpanId(99));
        graphs.cloned(3, 77);
        assert_eq!(graphs.scope(3), SpanId::NONE);
    }
}
