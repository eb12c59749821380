//! The report as one JSON document.

use super::View;
use serde_json::{Value, json};

/// The document, with the paths that `--depth`, `--min` and `--sort` leave, in that order, and what
/// `--kernels`, `--backward` and `--samples` ask for.
pub fn document(view: &View<'_>) -> Value {
    let lines = super::select::select(view).lines;
    let nodes: Vec<u32> = lines.iter().map(|line| line.node).collect();
    let mut document = hodo_trace::document(view.run, view.tree, &nodes, view.args.top);
    if view.args.kernels || view.args.kernels_in_full {
        document["kernels"] = json!(super::kernels::table(view));
    }
    if view.args.backward {
        document["backward"] = json!(hodo_trace::backward_by_forward(view.run, view.filter));
    }
    if view.args.samples {
        document["samples"] = json!(hodo_trace::samples(view.run, view.filter));
    }
    document
}
