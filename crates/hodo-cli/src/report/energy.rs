//! Energy in the tree: columns of a scope, and what they mean.

use super::View;
use super::tree::{Said, unknown};
use crate::term::measure;
use crate::term::number;
use crate::term::style::{DIM, PLAIN};
use crate::term::table::Cell;
use hodo_trace::{EnergyFrom, EnergyMethod, Node, NodeEnergy, NodeKind};

/// Title of the column for what GPUs used in a scope and those inside it.
pub const ENERGY: &str = "energy";
/// Title of the column for what that cost.
pub const COST: &str = "cost";
/// A smaller part of a scope's time without readings is not worth a sign.
const NEGLIGIBLE: f64 = 0.01;

/// The cells of a scope; empty when no GPU was sampled.
pub fn cells(view: &View<'_>, node: &Node) -> [Cell; 2] {
    if view.tree.energy.is_none() {
        return Default::default();
    }
    let Some(energy) = &node.energy else { return [unknown(), cost_unknown(view)] };
    let sign = sign(node, energy);
    let style = if energy.total_j == 0.0 { DIM } else { PLAIN };
    let cost = money(view, energy.total_j).map(|cost| Cell::new(style, format!("{sign}{cost}")));
    let energy = Cell::new(style, format!("{sign}{}", measure::energy(energy.total_j)));
    [energy, cost.unwrap_or_default()]
}

fn cost_unknown(view: &View<'_>) -> Cell {
    if view.args.price.is_some() { unknown() } else { Cell::default() }
}

fn sign(node: &Node, energy: &NodeEnergy) -> &'static str {
    match (is_partial(node, energy), energy.pro_rata) {
        (true, _) => "≥ ",
        (false, true) => "~ ",
        _ => "",
    }
}

/// Whether a part of it that counts is not known.
fn is_partial(node: &Node, energy: &NodeEnergy) -> bool {
    let whole = node.total_ns.unwrap_or(0) as f64;
    energy.missing > 0 || energy.unsampled_ns as f64 > NEGLIGIBLE * whole
}

/// What `joules` cost, where a price was told.
pub fn money(view: &View<'_>, joules: f64) -> Option<String> {
    let price = view.args.price?;
    let currency = view.args.currency.as_deref().unwrap_or_default();
    Some(measure::money(hodo_trace::money(joules, price), currency))
}

/// Puts what was used outside any scope behind the scopes, into their line where they have one.
pub fn outside(view: &View<'_>, lines: &mut Vec<Said>) {
    let Some(joules) = view.tree.energy.as_ref().map(|e| e.outside_j).filter(|&j| j > 0.0) else {
        return;
    };
    if !lines.first().is_some_and(|line| line.is_outside) {
        let name = Cell::new(DIM, super::work::OUTSIDE);
        lines.insert(0, Said { name, is_outside: true, ..Said::default() });
    }
    if let Some(line) = lines.first_mut() {
        line.energy = Some(measure::energy(joules));
        line.cost = money(view, joules);
    }
}

/// What the signs mean, and how energy was divided.
pub fn notes(view: &View<'_>) -> Vec<String> {
    let Some(all) = &view.tree.energy else { return Vec::new() };
    let scopes = || view.tree.nodes.iter().filter(|n| n.kind == NodeKind::Scope);
    let with = || scopes().filter_map(|n| Some((n, n.energy.as_ref()?)));
    let mut notes = vec![how(view)];
    if with().any(|(node, energy)| energy.pro_rata && !is_partial(node, energy)) {
        let interval = all.gpus.iter().map(|gpu| gpu.interval_ns).max().unwrap_or(0);
        let interval = number::duration(interval as f64);
        notes.push(format!(
            "~ energy: shorter than the {interval} between readings, so in proportion"
        ));
    }
    if scopes().any(|n| n.energy.is_none()) || with().any(|(n, e)| is_partial(n, e)) {
        notes.push("–, ≥ energy: GPU power was not sampled in all of their time".to_owned());
    }
    notes
}

fn how(view: &View<'_>) -> String {
    let gpus = view.tree.energy.iter().flat_map(|energy| &energy.gpus);
    let (mut by_kernels, mut by_counter) = (true, true);
    for gpu in gpus {
        by_kernels &= gpu.method == EnergyMethod::Kernels;
        by_counter &= gpu.from == EnergyFrom::Counter;
    }
    let method = match by_kernels {
        true => "by kernels, and by wall time while none ran",
        false => "by wall time, since kernels were not recorded",
    };
    let from = if by_counter { "the GPU's own count" } else { "readings of its power" };
    format!("energy: of the GPU, from {from}, divided {method}")
}
