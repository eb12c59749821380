//! A run as one JSON document: what `hodo report --json` prints and Python's `hodo.trace` returns.

use crate::{
    Account, Damage, Ending, Filter, FlatSort, GpuGap, GpuState, Machine, NodeKind, Process, Run,
    Tree, flat, verdict,
};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Scopes listed that failed, and that were open; all of them are counted.
const MAX_ENDINGS: usize = 1000;

/// The document; numbers are nanoseconds and counts, keys are sorted, nothing is rounded. Every key
/// is explained in `docs/report-json.md`. It is of the scopes that `filter` keeps, as `tree` is,
/// with the paths in `nodes`, in that order, and `top` rows of each list by name.
pub fn document(run: &Run, filter: &Filter, tree: &Tree, nodes: &[u32], top: usize) -> Value {
    json!({
        "schema": "hodo.report/1",
        "run": run.info,
        "folder": run.folder.display().to_string(),
        "state": run.state(),
        "start_ns": run.start_ns(),
        "wall_ns": tree.wall_ns,
        "uncalibrated_processes": run.uncalibrated().count(),
        "spans": run.span_count(),
        "spans_shown": tree.spans,
        "spans_untimed": tree.untimed,
        "scopes_ns": (tree.spans > tree.untimed).then(|| tree.scopes_ns()),
        "overhead_ns": tree.overhead_ns(),
        "processes": run.processes.iter().map(process).collect::<Vec<_>>(),
        "nodes": nodes_of(tree, nodes),
        "marks_outside_scopes": tree.marks_outside_scopes,
        "gpu": tree.gpu,
        "verdict": all_shown(run, tree).then(|| verdict(run, tree)).flatten(),
        "energy": tree.energy,
        "machines": machines(run),
        "failed": endings(&run.failed(filter)),
        "open": endings(&run.open_scopes(filter)),
        "by_self": largest(tree, FlatSort::SelfTime, top),
        "by_total": largest(tree, FlatSort::Total, top),
        "records": Account::of(&run.processes).document(),
    })
}

/// Whether no filter dropped a scope; a verdict is on a whole run.
pub fn all_shown(run: &Run, tree: &Tree) -> bool {
    tree.spans == run.span_count() as u64
}

/// The machines the run was on, over its time there.
fn machines(run: &Run) -> Vec<Value> {
    let of = |machine: &Machine| machine.over(run.time_on(machine)).document();
    run.machines.iter().map(of).collect()
}

/// The paths that hold scopes and those that lead to them: each parent before its children,
/// siblings with the most time first.
pub fn by_total(tree: &Tree) -> Vec<u32> {
    let mut shown: Vec<bool> = tree.nodes.iter().map(|n| n.kind == NodeKind::Scope).collect();
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); tree.nodes.len()];
    let mut left = Vec::new();
    for at in (0..tree.nodes.len()).rev().filter(|&at| shown[at]).collect::<Vec<_>>() {
        let mut next = tree.nodes[at].parent;
        while let Some(parent) = next.filter(|&parent| !shown[parent as usize]) {
            shown[parent as usize] = true;
            next = tree.nodes[parent as usize].parent;
        }
    }
    for (at, node) in tree.nodes.iter().enumerate().filter(|(at, _)| shown[*at]) {
        match node.parent {
            Some(parent) => children[parent as usize].push(at as u32),
            None => left.push(at as u32),
        }
    }
    // A stack gives its last first; equal ones stay as they first began.
    let least_first = |list: &mut Vec<u32>| {
        list.reverse();
        list.sort_by_key(|&at| tree.nodes[at as usize].total_ns.unwrap_or(0));
    };
    least_first(&mut left);
    let mut order = Vec::with_capacity(tree.nodes.len());
    while let Some(at) = left.pop() {
        order.push(at);
        let mut inside = std::mem::take(&mut children[at as usize]);
        least_first(&mut inside);
        left.extend(inside);
    }
    order
}

/// Paths of the tree; `parent` is the place of that among them.
fn nodes_of(tree: &Tree, nodes: &[u32]) -> Vec<Value> {
    let places: HashMap<u32, usize> = nodes.iter().enumerate().map(|(at, &n)| (n, at)).collect();
    let one = |&at: &u32| {
        let parent = tree.nodes.get(at as usize).and_then(|node| places.get(&node.parent?));
        let mut node = json!(tree.nodes.get(at as usize));
        if let Some(fields) = node.as_object_mut() {
            fields.insert("parent".to_owned(), json!(parent));
            fields.insert("path".to_owned(), json!(tree.path(at)));
        }
        node
    };
    nodes.iter().map(one).collect()
}

fn endings(all: &[Ending]) -> Value {
    json!({"count": all.len(), "scopes": all.iter().take(MAX_ENDINGS).collect::<Vec<_>>()})
}

fn largest(tree: &Tree, sort: FlatSort, top: usize) -> Value {
    let rows = flat(tree, sort);
    json!(rows.iter().take(top).collect::<Vec<_>>())
}

/// A process with its threads and where its records went.
fn process(process: &Process) -> Value {
    json!({
        "info": process.info,
        "state": process.state,
        "calibrated": process.is_timed(),
        "spans": process.spans.len(),
        "marks": process.marks.len(),
        "threads": process.threads,
        "gpu": gpu(process),
        "records": process.account.document(),
        "damage": process.damage.document(),
    })
}

/// What is known of the capture of a process's GPU work.
fn gpu(process: &Process) -> Value {
    let (gpu, clock) = (&process.gpu, &process.clock);
    let state = gpu.state.as_ref();
    let gap = |gap: &GpuGap| {
        let ended = clock.is_calibrated() && gap.end != u64::MAX;
        json!({
            "start_ns": clock.is_calibrated().then(|| clock.steady_ns(gap.start)),
            "duration_ns": ended.then(|| clock.duration_ns(gap.end - gap.start)),
            "why": gap.why,
        })
    };
    json!({
        "missing": gpu.missing_times(clock),
        "why": state.and_then(GpuState::why),
        "level": state.and_then(GpuState::level),
        "tier": state.and_then(GpuState::tier),
        "library": state.and_then(GpuState::library),
        "version": state.and_then(GpuState::version),
        "driver": state.and_then(GpuState::driver),
        "late": state.is_some_and(GpuState::is_late),
        "devices": state.map(GpuState::devices).unwrap_or_default(),
        "counts": state.map(GpuState::counts),
        "launched": gpu.launched(process.state),
        "gaps": gpu.gaps().iter().map(gap).collect::<Vec<_>>(),
        "work": gpu.work.len(),
        "samples": gpu.samples.len(),
        "newer": gpu.newer,
    })
}

impl Account {
    /// The accounts of several processes, added up.
    pub fn of(processes: &[Process]) -> Account {
        let mut sum = Account::default();
        processes.iter().for_each(|process| sum += &process.account);
        sum
    }

    /// The account as JSON, with its totals.
    pub fn document(&self) -> Value {
        let mut account = json!(self);
        account["produced_records"] = json!(self.produced_records());
        account["lost_records"] = json!(self.lost_records());
        account
    }
}

impl Damage {
    /// What could not be read, as JSON.
    pub fn document(&self) -> Value {
        let place = |p: &crate::Place| json!({"file": p.file.display().to_string(), "offset": p.offset, "why": p.why});
        let places: Vec<Value> = self.places.iter().map(place).collect();
        json!({"bytes": self.bytes, "frames": self.frames, "places": places})
    }
}
