//! Kernels of a run by name, and gradients by the forward scope they belong to.

use super::gpu::{GpuSummary, Owner, ShortNames, captured, described};
use super::paths::{NodeId, Paths, ROOT};
use crate::gpu::{Devices, Gathered, Totals, Unions};
use crate::links::Links;
use crate::select::{Selection, select};
use crate::{Filter, GpuAbsence, GpuWork, Process, Row, Run, WorkRow};
use serde::Serialize;
use std::collections::HashMap;

/// The kernels of a run, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KernelTable {
    /// Most time first.
    pub rows: Vec<KernelRow>,
    /// Kernels.
    pub count: u64,
    /// Their time, added up, nanoseconds.
    pub total_ns: u64,
    /// Processes that captured the GPU.
    pub captured: u32,
    /// Why others did not.
    pub missing: Vec<GpuAbsence>,
}

/// Kernels of one name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelRow {
    /// The short name, or the full one: what the table goes by.
    pub name: String,
    /// Full names that are meant; where there are several, that with the most kernels first.
    pub full_names: Vec<String>,
    /// How many.
    pub count: u64,
    /// Those whose times are known.
    pub timed: u64,
    /// Their time, nanoseconds.
    pub total_ns: u64,
    /// The mean; none when no time is known.
    pub mean_ns: Option<u64>,
    /// The shortest.
    pub min_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
    /// Of the time of all kernels in the table.
    pub share: Option<f64>,
    /// The shape most of them had.
    pub typical: KernelShape,
    /// Different shapes.
    pub shapes: u64,
    /// The scopes that launched them, most time first.
    pub scopes: Vec<KernelScope>,
}

/// How a kernel was launched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct KernelShape {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Registers a thread.
    pub registers: u16,
    /// Bytes of shared memory a block.
    pub shared_bytes: u64,
}

/// A path whose scopes launched kernels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelScope {
    /// Names from the outermost scope to this; one in brackets for kernels of no scope.
    pub path: Vec<String>,
    /// Kernels.
    pub count: u64,
    /// Their time, nanoseconds.
    pub total_ns: u64,
}

/// Work launched in one path that is the gradient of what another computed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BackwardRow {
    /// The path of the forward scope.
    pub forward: Vec<String>,
    /// The path of the scope that launched it.
    pub launched: Vec<String>,
    /// The work.
    pub work: GpuWork,
}

/// What stands for a path where there is none.
pub(super) const OUTSIDE: &str = "(outside any scope)";
pub(super) const UNKNOWN: &str = "(unknown launch)";
const LOST: &str = "(lost scope)";

/// The kernels of `run` in scopes that `filter` keeps, by short name.
pub fn kernels(run: &Run, filter: &Filter) -> KernelTable {
    table(run, filter, |process, id| process.gpu.kernel_name(id).short.to_string())
}

/// The same by full name: templates for different types are different kernels.
pub fn kernels_in_full(run: &Run, filter: &Filter) -> KernelTable {
    table(run, filter, |process, id| process.gpu.kernel_name(id).full.to_string())
}

/// Kernels of one name being summed up.
#[derive(Default)]
struct Growing {
    totals: Totals,
    min: Option<u64>,
    max: Option<u64>,
    shapes: HashMap<KernelShape, u64>,
    full_names: HashMap<String, u64>,
    scopes: HashMap<Place, Totals>,
}

/// Where kernels were launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Node(NodeId),
    None(&'static str),
}

fn table(run: &Run, filter: &Filter, name: impl Fn(&Process, u32) -> String) -> KernelTable {
    let links = Links::new(&run.processes);
    let kept = select(run, &links, filter);
    let GpuSummary { captured: processes, missing, .. } = described(run, &kept);
    if processes == 0 {
        return KernelTable { missing, ..KernelTable::default() };
    }
    let mut growing: HashMap<String, Growing> = HashMap::new();
    let paths = Paths::new(run, &links, &kept);
    for (at, process) in captured(run, &kept) {
        for (id, part) in of_process(at, process, &paths, &kept[at]) {
            let name = name(process, id);
            let full = process.gpu.kernel_name(id).full.to_string();
            growing.entry(name).or_default().join(part, full);
        }
    }
    let total_ns = growing.values().map(|g| g.totals.ns).sum();
    let count = growing.values().map(|g| g.totals.count).sum();
    let row = |(name, growing): (String, Growing)| growing.finish(name, total_ns, &paths);
    let mut rows: Vec<KernelRow> = growing.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    KernelTable { rows, count, total_ns, captured: processes, missing }
}

/// By string id of the name.
fn of_process(
    at: usize,
    process: &Process,
    paths: &Paths,
    kept: &Selection,
) -> HashMap<u32, Growing> {
    let work = &process.gpu.work;
    let mut growing: HashMap<u32, Growing> = HashMap::new();
    for row in work.rows() {
        let Some(kernel) = work.kernel(row) else { continue };
        let Some(owner) = Owner::of(process, row, kept) else { continue };
        let ns = work.interval(row).map(|(start, end)| process.clock.duration_ns(end - start));
        let shared = u64::from(kernel.static_shared) + u64::from(kernel.dynamic_shared);
        let shape = KernelShape {
            grid: kernel.grid,
            block: kernel.block,
            registers: kernel.registers,
            shared_bytes: shared,
        };
        growing.entry(kernel.name).or_default().add(ns, shape, place(owner, at, paths));
    }
    growing
}

fn place(owner: Owner, at: usize, paths: &Paths) -> Place {
    match owner {
        Owner::Scope(row) => place_of(at, row, paths),
        Owner::Outside => Place::None(OUTSIDE),
        Owner::Unknown => Place::None(UNKNOWN),
        Owner::LostScope => Place::None(LOST),
    }
}

pub(super) fn place_of(at: usize, scope: Row, paths: &Paths) -> Place {
    paths.node(at, scope).map_or(Place::None(LOST), Place::Node)
}

impl Growing {
    fn add(&mut self, ns: Option<u64>, shape: KernelShape, place: Place) {
        self.totals.add(ns, 0);
        self.min = self.min.into_iter().chain(ns).min();
        self.max = self.max.into_iter().chain(ns).max();
        *self.shapes.entry(shape).or_default() += 1;
        self.scopes.entry(place).or_default().add(ns, 0);
    }

    fn join(&mut self, other: Growing, full: String) {
        *self.full_names.entry(full).or_default() += other.totals.count;
        self.totals.join(&other.totals);
        self.min = self.min.into_iter().chain(other.min).min();
        self.max = self.max.into_iter().chain(other.max).max();
        for (shape, count) in other.shapes {
            *self.shapes.entry(shape).or_default() += count;
        }
        for (place, totals) in other.scopes {
            self.scopes.entry(place).or_default().join(&totals);
        }
    }

    fn finish(self, name: String, whole_ns: u64, paths: &Paths) -> KernelRow {
        let typical = self.shapes.iter().max_by_key(|(shape, count)| (**count, **shape));
        let mut full: Vec<(String, u64)> = self.full_names.into_iter().collect();
        full.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let scope = |(place, totals): (Place, Totals)| KernelScope {
            path: path(place, paths),
            count: totals.count,
            total_ns: totals.ns,
        };
        let mut scopes: Vec<KernelScope> = self.scopes.into_iter().map(scope).collect();
        scopes.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.path.cmp(&b.path)));
        KernelRow {
            name,
            full_names: full.into_iter().map(|(name, _)| name).collect(),
            count: self.totals.count,
            timed: self.totals.timed,
            total_ns: self.totals.ns,
            mean_ns: self.totals.mean_ns(),
            min_ns: self.min,
            max_ns: self.max,
            share: (whole_ns > 0).then(|| self.totals.ns as f64 / whole_ns as f64),
            typical: typical.map(|(shape, _)| *shape).unwrap_or_default(),
            shapes: self.shapes.len() as u64,
            scopes,
        }
    }
}

pub(super) fn path(place: Place, paths: &Paths) -> Vec<String> {
    match place {
        Place::None(what) => vec![what.to_owned()],
        Place::Node(node) => {
            let mut names = Vec::new();
            let mut next = node;
            while next != ROOT {
                names.push(paths.name(next).to_owned());
                next = paths.nodes[next as usize].parent;
            }
            names.reverse();
            names
        }
    }
}

/// GPU work that is a gradient, by the path of the forward scope it belongs to and that of the
/// scope that launched it, which `filter` keeps. Most time first.
pub fn backward_by_forward(run: &Run, filter: &Filter) -> Vec<BackwardRow> {
    let links = Links::new(&run.processes);
    let kept = select(run, &links, filter);
    if captured(run, &kept).next().is_none() {
        return Vec::new();
    }
    // Forward scopes have their path whether the filter keeps them or not.
    let everything: Vec<Selection> = kept.iter().map(|_| Selection::All).collect();
    let paths = Paths::new(run, &links, &everything);
    let mut names = ShortNames::default();
    let mut groups: HashMap<(Place, Place), (Gathered, u64)> = HashMap::new();
    for (at, process) in captured(run, &kept) {
        let work = &process.gpu.work;
        let numbers = names.of_process(process);
        let devices = Devices::of(work);
        let mut unions = Unions::new(0, devices.len());
        let mut keys: HashMap<(Place, Place), usize> = HashMap::new();
        for row in work.rows().filter(|&row| !work.forward(row).is_none()) {
            let Some(owner) = Owner::of(process, row, &kept[at]) else { continue };
            let group = (forward(at, process, row, &paths), place(owner, at, &paths));
            let key = *keys.entry(group).or_insert_with(|| unions.add_key());
            if let Some(interval) = work.interval(row).filter(|_| work.is_busy(row)) {
                unions.add(key, devices.place(work.device(row)), interval);
            }
            let number = numbers.number(process, row);
            groups.entry(group).or_default().0.add(work, row, number, &process.clock);
        }
        for (group, key) in keys {
            groups.entry(group).or_default().1 += process.clock.duration_ns(unions.ticks(key));
        }
    }
    let row = |((forward, launched), (gathered, busy_ns)): (_, (Gathered, u64))| BackwardRow {
        forward: path(forward, &paths),
        launched: path(launched, &paths),
        work: gathered.finish(busy_ns, &names.texts),
    };
    let mut rows: Vec<BackwardRow> = groups.into_iter().map(row).collect();
    rows.sort_by(|a, b| {
        let paths = |r: &BackwardRow| (r.forward.clone(), r.launched.clone());
        b.work.busy_ns.cmp(&a.work.busy_ns).then_with(|| paths(a).cmp(&paths(b)))
    });
    rows
}

fn forward(at: usize, process: &Process, row: WorkRow, paths: &Paths) -> Place {
    let scope = process.spans.row_of(process.gpu.work.forward(row));
    let node = scope.and_then(|scope| paths.node(at, scope));
    node.map_or(Place::None(LOST), Place::Node)
}
