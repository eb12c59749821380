//! Which paths of the tree are shown, in which order, and behind which lines.

use super::{Limit, View};
use crate::args::SortBy;
use hodo_trace::{Node, NodeKind, Tree};
use std::cmp::{Ordering, Reverse};

/// Levels of tree lines kept in front of a name; deeper ones are folded into one mark.
const LEVELS: usize = 10;

/// Lines of text that are shown unless --min or --depth says otherwise.
const MAX_LINES: usize = 400;

/// One line of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Place in [`Tree::nodes`].
    pub node: u32,
    /// The lines that lead to it.
    pub branch: String,
    /// The lines that lead past what is said below it.
    pub below: String,
}

/// The lines to show, and how many paths are left out.
pub struct Selection {
    /// In order.
    pub lines: Vec<Line>,
    /// Paths that are too deep or too small.
    pub hidden: usize,
}

/// Children of every node, and the roots, in the order asked for.
struct Children {
    roots: Vec<u32>,
    of: Vec<Vec<u32>>,
}

/// Chooses the lines.
pub fn select(view: &View<'_>) -> Selection {
    let tree = view.tree;
    let depth = view.args.depth.unwrap_or(u32::MAX);
    let min_ns = match (&view.args.min, view.args.depth, view.args.json) {
        (None, None, false) => readable_ns(tree),
        _ => min_ns(tree, view.min),
    };
    let large = |n: &Node| n.total_ns.is_none_or(|ns| ns as f64 >= min_ns);
    let keep = keep(tree, |n| n.depth < depth && large(n));
    let children = children(tree, view.args.sort, &keep);
    let lines = walk(&children);
    Selection { hidden: tree.nodes.len() - lines.len(), lines }
}

/// The time below which paths are hidden.
fn min_ns(tree: &Tree, limit: Limit) -> f64 {
    match limit {
        Limit::Time(ns) => ns,
        Limit::Share(share) => share * tree.scopes_ns() as f64,
    }
}

/// The time that about [`MAX_LINES`] paths reach: names with ids in them make trees nobody reads.
fn readable_ns(tree: &Tree) -> f64 {
    if tree.nodes.len() <= MAX_LINES {
        return 0.0;
    }
    let mut totals: Vec<u64> = tree.nodes.iter().map(|n| n.total_ns.unwrap_or(0)).collect();
    let (_, least, _) = totals.select_nth_unstable_by_key(MAX_LINES, |&ns| Reverse(ns));
    (*least + 1) as f64
}

/// Nodes that fit, with everything that leads to them; parents come before children.
fn keep(tree: &Tree, fits: impl Fn(&Node) -> bool) -> Vec<bool> {
    let mut keep: Vec<bool> =
        tree.nodes.iter().map(|n| n.kind == NodeKind::Scope && fits(n)).collect();
    for at in (0..tree.nodes.len()).rev() {
        if let (true, Some(parent)) = (keep[at], tree.nodes[at].parent) {
            keep[parent as usize] = true;
        }
    }
    keep
}

fn children(tree: &Tree, sort: SortBy, keep: &[bool]) -> Children {
    let mut all = Children { roots: Vec::new(), of: vec![Vec::new(); tree.nodes.len()] };
    for (at, node) in tree.nodes.iter().enumerate().filter(|(at, _)| keep[*at]) {
        match node.parent {
            Some(parent) => all.of[parent as usize].push(at as u32),
            None => all.roots.push(at as u32),
        }
    }
    let by = |a: &u32, b: &u32| compare(&tree.nodes[*a as usize], &tree.nodes[*b as usize], sort);
    all.roots.sort_by(by);
    all.of.iter_mut().for_each(|list| list.sort_by(by));
    all
}

/// Order of siblings; equal ones stay as they first began.
fn compare(a: &Node, b: &Node, sort: SortBy) -> Ordering {
    let key = |n: &Node| match sort {
        SortBy::Total => n.total_ns.unwrap_or(0),
        SortBy::SelfTime => n.self_ns.unwrap_or(0),
        SortBy::Count => n.count,
        SortBy::Mean => n.durations.map_or(0, |d| d.mean_ns),
        SortBy::P95 => n.durations.map_or(0, |d| d.p95_ns),
        SortBy::Max => n.durations.map_or(0, |d| d.max_ns),
        SortBy::Cpu => n.cpu.total_ns.unwrap_or(0),
        SortBy::Gpu => n.gpu.as_ref().map_or(0, |gpu| gpu.all.busy_ns),
        SortBy::Name | SortBy::Start => 0,
    };
    match sort {
        SortBy::Name => a.name.cmp(&b.name),
        _ => Reverse(key(a)).cmp(&Reverse(key(b))),
    }
}

/// Lines from the roots down, without recursion: a tree may be as deep as a program nests.
fn walk(children: &Children) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut stack: Vec<(u32, Vec<bool>)> =
        children.roots.iter().rev().map(|&n| (n, Vec::new())).collect();
    while let Some((node, last)) = stack.pop() {
        let inside = &children.of[node as usize];
        lines.push(Line { node, branch: branch(&last), below: below(&last, !inside.is_empty()) });
        for (k, &child) in inside.iter().enumerate().rev() {
            let mut path = last.clone();
            path.push(k + 1 == inside.len());
            stack.push((child, path));
        }
    }
    lines
}

/// The lines in front of a name; `last` says for each level whether its branch ends there.
fn branch(last: &[bool]) -> String {
    let Some((&own, above)) = last.split_last() else { return String::new() };
    let folded = above.len().saturating_sub(LEVELS);
    let out = if folded > 0 { format!("⋯{} ", folded + 1) } else { String::new() };
    out + &past(&above[folded..]) + if own { "└─ " } else { "├─ " }
}

/// The lines in front of what is said below a name, which has others inside or not.
fn below(last: &[bool], has_inside: bool) -> String {
    let folded = last.len().saturating_sub(LEVELS + 1);
    let out = " ".repeat(if folded > 0 { format!("⋯{folded} ").chars().count() } else { 0 });
    out + &past(&last[folded..]) + if has_inside { "│  " } else { "   " }
}

fn past(last: &[bool]) -> String {
    last.iter().map(|&ended| if ended { "   " } else { "│  " }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_end_where_their_last_child_is() {
        assert_eq!(branch(&[]), "");
        assert_eq!(branch(&[false]), "├─ ");
        assert_eq!(branch(&[false, true]), "│  └─ ");
        assert_eq!(branch(&[true, false]), "   ├─ ");
        assert_eq!(below(&[false, true], false), "│     ".to_owned() + "   ");
        assert_eq!(below(&[], true), "│  ");
    }

    #[test]
    fn deep_branches_are_folded() {
        let deep = branch(&[true; 60]);
        assert!(deep.starts_with("⋯50 "), "{deep}");
        assert!(deep.chars().count() < 45);
        assert_eq!(below(&[true; 60], false).chars().count(), deep.chars().count() + 3);
    }
}
