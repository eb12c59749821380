//! The report as one JSON document.

use super::View;
use serde_json::Value;

/// The document, with the paths that `--depth`, `--min` and `--sort` leave, in that order.
pub fn document(view: &View<'_>) -> Value {
    let lines = super::select::select(view).lines;
    let nodes: Vec<u32> = lines.iter().map(|line| line.node).collect();
    hodo_trace::document(view.run, view.tree, &nodes, view.args.top)
}
