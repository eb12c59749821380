//! Trees as indented text, so that a failing test is a diff of a tree.

use hodo_trace::{Node, NodeKind, Tag, Tree};
use std::fmt::Write;

/// Name, count, total and self time of every node, and what is unusual about it.
pub fn tree_text(tree: &Tree) -> String {
    let mut text = String::new();
    for node in &tree.nodes {
        let indent = "  ".repeat(node.depth as usize);
        let _ = writeln!(text, "{indent}{}", line(node));
    }
    text
}

fn line(node: &Node) -> String {
    let mut line = node.name.clone();
    match &node.tag {
        Some(Tag::One(tag)) => line += &format!(" / {tag}"),
        Some(Tag::Many(tags)) => line += &format!(" / {tags} tags"),
        None => {}
    }
    if node.kind != NodeKind::Scope {
        return line + " -";
    }
    let ns = |ns: Option<u64>| ns.map_or("?".to_owned(), |ns| ns.to_string());
    line += &format!(" {}x total {} self {}", node.count, ns(node.total_ns), ns(node.self_ns));
    for (count, what) in [(node.open, "open"), (node.failed, "failed")] {
        if count > 0 {
            line += &format!(" {what} {count}");
        }
    }
    line
}

/// Compares a tree with the expected text, which may be indented as the test is.
#[track_caller]
pub fn assert_tree(tree: &Tree, expected: &str) {
    let lines: Vec<&str> = expected.lines().filter(|line| !line.trim().is_empty()).collect();
    let margin = lines.iter().map(|l| l.len() - l.trim_start().len()).min().unwrap_or(0);
    let expected: String = lines.iter().map(|line| format!("{}\n", &line[margin..])).collect();
    let found = tree_text(tree);
    assert!(found == expected, "expected\n{expected}\nfound\n{found}");
}
