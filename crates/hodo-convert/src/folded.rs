//! Folded stacks, what flame graph tools read: a line a path, with its own time in nanoseconds.

use crate::ConvertError;
use hodo_trace::{Filter, NodeKind, Run, tree};
use std::io::Write;

/// Writes `run`: names joined by `;`, a space, and the time in the scopes of that path that was in
/// no scope inside, over all threads and processes.
pub fn write(run: &Run, out: &mut impl Write) -> Result<(), ConvertError> {
    let tree = tree(run, &Filter::default());
    for (at, node) in tree.nodes.iter().enumerate() {
        let Some(own_ns) = node.self_ns.filter(|&ns| ns > 0 && node.kind == NodeKind::Scope) else {
            continue;
        };
        let names: Vec<String> =
            tree.path(at as u32).into_iter().map(|name| frame(&name)).collect();
        writeln!(out, "{} {own_ns}", names.join(";"))?;
    }
    Ok(())
}

/// A name without what ends a frame or a line.
fn frame(name: &str) -> String {
    let clean = |c: char| match c {
        ';' => ',',
        c if c.is_control() => ' ',
        c => c,
    };
    name.chars().map(clean).collect()
}
