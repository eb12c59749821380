use super::{Node, NodeKind, Tree};
use serde::Serialize;
use std::collections::HashMap;

/// A row of a flat table: all scopes of one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlatRow {
    /// The name.
    pub name: String,
    /// Scopes.
    pub count: u64,
    /// Time inside; a scope inside one of the same name is not counted twice. None when none has a
    /// time.
    pub total_ns: Option<u64>,
    /// Time inside and in no child.
    pub self_ns: Option<u64>,
}

/// Order of a flat table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlatSort {
    /// By time in no child.
    SelfTime,
    /// By time inside.
    Total,
}

/// What the warm-up passes of a benchmark loop are called, after the loop's name.
const WARM_UP: &str = " warm-up";

/// The scopes of a tree by name, largest first; warm-up passes are in no statistic.
pub fn flat(tree: &Tree, sort: FlatSort) -> Vec<FlatRow> {
    let mut rows: Vec<FlatRow> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let outermost = outermost(tree);
    let mut warming = None;
    for (node, outermost) in tree.nodes.iter().zip(outermost) {
        warming = warming.filter(|&depth| node.depth > depth);
        if warming.is_none() && is_warm_up(tree, node) {
            warming = Some(node.depth);
        }
        if node.kind != NodeKind::Scope || warming.is_some() {
            continue;
        }
        let at = *places.entry(&node.name).or_insert_with(|| {
            let name = node.name.clone();
            rows.push(FlatRow { name, count: 0, total_ns: None, self_ns: None });
            rows.len() - 1
        });
        rows[at].count += node.count;
        add(&mut rows[at].self_ns, node.self_ns);
        add(&mut rows[at].total_ns, node.total_ns.map(|ns| if outermost { ns } else { 0 }));
    }
    let key = |row: &FlatRow| match sort {
        FlatSort::SelfTime => row.self_ns,
        FlatSort::Total => row.total_ns,
    };
    rows.sort_by_key(|row| std::cmp::Reverse(key(row)));
    rows
}

fn add(sum: &mut Option<u64>, ns: Option<u64>) {
    if let Some(ns) = ns {
        *sum = Some(sum.unwrap_or(0) + ns);
    }
}

/// Whether a node holds the warm-up passes of the benchmark loop beside it.
fn is_warm_up(tree: &Tree, node: &Node) -> bool {
    let Some(name) = node.name.strip_suffix(WARM_UP) else { return false };
    let is_its_loop = |n: &Node| n.parent == node.parent && n.name == name && n.bench.is_some();
    tree.nodes.iter().any(is_its_loop)
}

/// Per node whether no node above it has its name. Walks the preorder with the names of the way down.
fn outermost(tree: &Tree) -> Vec<bool> {
    let mut above: HashMap<&str, u32> = HashMap::new();
    let mut way: Vec<&str> = Vec::new();
    let step = |node: &'_ super::Node| node.depth as usize;
    let mut result = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        for name in way.drain(step(node).min(way.len())..) {
            *above.entry(name).or_default() -= 1;
        }
        let counted = above.entry(&node.name).or_default();
        result.push(*counted == 0);
        *counted += 1;
        way.push(&node.name);
    }
    result
}
