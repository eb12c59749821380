//! The tree of scopes as a table: the numbers of a report.

use super::{Column, Data};
use crate::packed::{Kind, Values};
use crate::{Durations, Filter, Node, NodeKind, Run, by_total, tree};

/// A row a path of scopes that `filter` keeps, each parent before its children, siblings with the
/// most time first. The columns are those of the view `tree` in SQL:
///
/// `run`, `path` (names joined by `/`), `depth`, `name`, `count`, `total_ns`, `self_ns`, `mean_ns`,
/// `p50_ns`, `p95_ns` and `max_ns` (of those that closed), `cpu_ns`, `gpu_ns`.
pub fn tree_columns(run: &Run, filter: &Filter) -> Vec<Column> {
    let tree = tree(run, filter);
    let mut rows = by_total(&tree);
    rows.retain(|&at| tree.nodes[at as usize].kind == NodeKind::Scope);
    let nodes = || rows.iter().map(|&at| &tree.nodes[at as usize]);
    let number = |name, of: fn(&Node) -> Option<u64>| {
        let values: Vec<Option<u64>> = nodes().map(of).collect();
        // Whether any is missing or not, the column has the same type.
        let valid = Some(values.iter().map(Option::is_some).collect());
        let values = values.into_iter().map(|number| number.unwrap_or(0) as i64).collect();
        Column { name, data: Data::I64(values), valid }
    };
    let whole = |name, of: fn(&Node) -> u64| {
        Column::new(name, Kind::Whole, Values::whole(nodes().map(|node| of(node) as i64)))
    };
    let texts = |name, texts: Values| Column::new(name, Kind::Text, texts);
    vec![
        texts("run", Values::same_text(Some(&run.info.id), rows.len())),
        texts("path", Values::texts(rows.iter().map(|&at| Some(tree.path(at).join("/"))))),
        whole("depth", |node| node.depth.into()),
        texts("name", Values::texts(nodes().map(|node| Some(&node.name)))),
        whole("count", |node| node.count),
        number("total_ns", |node| node.total_ns),
        number("self_ns", |node| node.self_ns),
        number("mean_ns", |node| duration(node, |of| of.mean_ns)),
        number("p50_ns", |node| duration(node, |of| of.p50_ns)),
        number("p95_ns", |node| duration(node, |of| of.p95_ns)),
        number("max_ns", |node| duration(node, |of| of.max_ns)),
        number("cpu_ns", |node| node.cpu.total_ns),
        number("gpu_ns", |node| node.gpu.as_ref().map(|gpu| gpu.all.busy_ns)),
    ]
}

fn duration(node: &Node, of: fn(&Durations) -> u64) -> Option<u64> {
    node.durations.as_ref().map(of)
}
