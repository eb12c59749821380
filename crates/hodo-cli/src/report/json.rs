//! The report as one JSON document.

use super::View;
use serde_json::{Value, json};

/// The document, with the paths that `--depth`, `--min` and `--sort` leave, in that order, and what
/// `--kernels`, `--backward` and `--samples` ask for.
pub fn document(view: &View<'_>) -> Value {
    let lines = super::select::select(view).lines;
    let nodes: Vec<u32> = lines.iter().map(|line| line.node).collect();
    let mut document =
        hodo_trace::document(view.run, view.filter, view.tree, &nodes, view.args.top);
    if let Some(price) = view.args.price {
        priced(&mut document, price, view.args.currency.as_deref());
    }
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

/// Puts what energy cost beside it.
fn priced(document: &mut Value, price: f64, currency: Option<&str>) {
    document["price"] = json!({"kwh": price, "currency": currency});
    let of = |joules: &Value| json!(joules.as_f64().map(|joules| hodo_trace::money(joules, price)));
    let nodes = document["nodes"].as_array_mut().map(Vec::as_mut_slice).unwrap_or_default();
    for energy in nodes.iter_mut().map(|node| &mut node["energy"]).filter(|e| e.is_object()) {
        (energy["total_cost"], energy["self_cost"]) =
            (of(&energy["total_j"]), of(&energy["self_j"]));
    }
    let energy = &mut document["energy"];
    if energy.is_object() {
        energy["total_cost"] = of(&energy["total_j"]);
        energy["outside_cost"] = of(&energy["outside_j"]);
    }
}
