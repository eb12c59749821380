//! GPU work, in order of its start: kernels, and all the rest.

use super::{Of, id};
use crate::gpu::direction;
use crate::packed::values::{ByHash, Values};
use crate::{WorkRow, WorkRows};
use hodo_format::gpu::{Detail, Kernel, Work, flag};
use std::collections::HashMap;
use std::ops::Range;

/// Some of the work of a process.
pub(super) struct Rows<'a> {
    of: &'a Of<'a>,
    rows: Vec<WorkRow>,
}

impl<'a> Rows<'a> {
    pub(super) fn kernels(of: &'a Of<'a>) -> Rows<'a> {
        Rows::new(of, |work, row| work.kernel(row).is_some())
    }

    pub(super) fn others(of: &'a Of<'a>) -> Rows<'a> {
        Rows::new(of, |work, row| work.kernel(row).is_none())
    }

    fn new(of: &'a Of<'a>, is_wanted: impl Fn(&WorkRows, WorkRow) -> bool) -> Rows<'a> {
        let work = &of.process.gpu.work;
        Rows { of, rows: work.rows().filter(|&row| is_wanted(work, row)).collect() }
    }

    /// The columns that kernels and the rest have both.
    fn column(&self, name: &'static str, rows: Range<usize>) -> Values {
        let (process, all) = (self.of.process, &self.of.process.gpu.work);
        let rows = &self.rows[rows];
        let work = || rows.iter().map(|&row| all.get(row));
        let known = |ticks: u64| Some(ticks).filter(|&ticks| ticks != 0);
        let node = |work: &Work| work.flags & flag::GRAPH != 0;
        match name {
            "device" => Values::whole(work().map(|w| w.device.into())),
            "context" => Values::whole(work().map(|w| w.context.into())),
            "stream" => Values::whole(work().map(|w| w.stream.into())),
            "kind" => Values::texts(work().map(|w| Some(kind(&w)))),
            "start_ns" => Values::wholes(work().map(|w| self.of.moment(known(w.start)?))),
            "duration_ns" => Values::wholes(rows.iter().map(|&row| {
                let (start, end) = all.interval(row)?;
                self.of.length(end - start)
            })),
            "launched_ns" => Values::wholes(work().map(|w| self.of.moment(known(w.launched)?))),
            "correlation" => Values::whole(work().map(|w| w.correlation.into())),
            "scope" => Values::wholes(work().map(|w| id(w.span))),
            "path" => self.of.paths_of(work().map(|w| w.span)),
            "scope_by" => Values::texts(work().map(|w| Some(scope_by(&w)))),
            "graph" => Values::wholes(work().map(|w| node(&w).then_some(w.graph.into()))),
            "graph_node" => Values::wholes(work().map(|w| node(&w).then_some(w.node as i64))),
            "bytes" => Values::wholes(work().map(|w| bytes(&w).map(|bytes| bytes as i64))),
            "name" => Values::by_key(work().map(|w| title(&w)), |title| match title {
                ByHash(Title::Kernel(name)) => Some(process.gpu.kernel_name(name).full.to_string()),
                ByHash(Title::Copy(code)) => Some(direction(code).to_owned()),
                ByHash(Title::Wait(what)) => wait(what).map(str::to_owned),
            }),
            _ => self.of.common(name, rows.len()),
        }
    }
}

/// The kernels of a process.
pub(super) struct Kernels<'a> {
    all: Rows<'a>,
    /// How long no kernel had run on the device before each began; 0 where one still ran.
    idle_before_ns: Vec<i64>,
}

impl<'a> Kernels<'a> {
    pub(super) fn new(of: &'a Of<'a>) -> Kernels<'a> {
        let all = Rows::kernels(of);
        let idle_before_ns = idle_before_ns(&all);
        Kernels { all, idle_before_ns }
    }
}

/// The gaps between the kernels of a device, whatever streams they ran on.
fn idle_before_ns(kernels: &Rows<'_>) -> Vec<i64> {
    let work = &kernels.of.process.gpu.work;
    let mut ends: HashMap<u32, i64> = HashMap::new();
    let gap = |&row: &WorkRow| {
        let (start, end) = work.interval(row)?;
        let (start_ns, ran_ns) = (kernels.of.moment(start)?, kernels.of.length(end - start)?);
        let last_ns = ends.entry(work.get(row).device).or_insert(start_ns);
        let idle_ns = start_ns - *last_ns;
        *last_ns = (*last_ns).max(start_ns + ran_ns);
        Some(idle_ns.max(0))
    };
    kernels.rows.iter().map(gap).map(Option::unwrap_or_default).collect()
}

impl super::Rows for Kernels<'_> {
    fn len(&self) -> usize {
        self.all.rows.len()
    }

    fn column(&self, name: &'static str, rows: Range<usize>) -> Values {
        let gpu = &self.all.of.process.gpu;
        let kernels = || self.all.rows[rows.clone()].iter().filter_map(|&row| gpu.work.kernel(row));
        let count = |number: fn(&Kernel) -> u32| Values::whole(kernels().map(|k| number(k).into()));
        match name {
            "short_name" => Values::by_key(kernels().map(|k| Some(k.name)), |name| {
                Some(&gpu.kernel_name(name).short)
            }),
            "grid_x" => count(|k| k.grid[0]),
            "grid_y" => count(|k| k.grid[1]),
            "grid_z" => count(|k| k.grid[2]),
            "block_x" => count(|k| k.block[0]),
            "block_y" => count(|k| k.block[1]),
            "block_z" => count(|k| k.block[2]),
            "registers" => count(|k| k.registers.into()),
            "static_shared_bytes" => count(|k| k.static_shared),
            "dynamic_shared_bytes" => count(|k| k.dynamic_shared),
            "idle_before_ns" => {
                let gaps = self.idle_before_ns[rows].iter();
                Values::wholes(gaps.map(|&ns| Some(ns).filter(|&ns| ns > 0)))
            }
            _ => self.all.column(name, rows),
        }
    }
}

/// What else the GPU did for a process.
pub(super) struct Copies<'a>(pub(super) Rows<'a>);

impl super::Rows for Copies<'_> {
    fn len(&self) -> usize {
        self.0.rows.len()
    }

    fn column(&self, name: &'static str, rows: Range<usize>) -> Values {
        self.0.column(name, rows)
    }
}

/// What a piece of work is called by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Title {
    Kernel(u32),
    Copy(u8),
    Wait(u8),
}

fn title(work: &Work) -> Option<ByHash<Title>> {
    match work.detail {
        Detail::Kernel(kernel) => Some(Title::Kernel(kernel.name)),
        Detail::Copy { direction, .. } => Some(Title::Copy(direction)),
        Detail::Sync { what } => Some(Title::Wait(what)),
        Detail::Set { .. } | Detail::Memory { .. } => None,
    }
    .map(ByHash)
}

fn kind(work: &Work) -> &'static str {
    match work.detail {
        Detail::Kernel(_) => "kernel",
        Detail::Copy { .. } => "copy",
        Detail::Set { .. } => "set",
        Detail::Sync { .. } => "wait",
        Detail::Memory { freed: false, .. } => "memory taken",
        Detail::Memory { freed: true, .. } => "memory given back",
    }
}

fn wait(what: u8) -> Option<&'static str> {
    match what {
        1 => Some("for an event"),
        2 => Some("of a stream for an event"),
        3 => Some("for a stream"),
        4 => Some("for a context"),
        _ => None,
    }
}

/// How its scope is known.
fn scope_by(work: &Work) -> &'static str {
    match work.flags & flag::SCOPE {
        flag::BY_LAUNCH => "launch",
        flag::INHERITED => "inherited",
        flag::NO_SCOPE => "no scope",
        _ => "unknown launch",
    }
}

fn bytes(work: &Work) -> Option<u64> {
    match work.detail {
        Detail::Copy { bytes, .. } | Detail::Set { bytes, .. } | Detail::Memory { bytes, .. } => {
            Some(bytes)
        }
        Detail::Kernel(_) | Detail::Sync { .. } => None,
    }
}

/// All work as it was recorded.
pub(super) struct Raw<'a>(pub(super) &'a Of<'a>);

impl super::Rows for Raw<'_> {
    fn len(&self) -> usize {
        self.0.process.gpu.work.len()
    }

    fn column(&self, name: &'static str, rows: Range<usize>) -> Values {
        let all = &self.0.process.gpu.work;
        let number = |number: &dyn Fn(&Work) -> u64| {
            let rows = rows.start as WorkRow..rows.end as WorkRow;
            Values::whole(rows.map(|row| number(&all.get(row)) as i64))
        };
        let kernel = |of: fn(&Kernel) -> u32| {
            number(&|w| match &w.detail {
                Detail::Kernel(kernel) => of(kernel).into(),
                _ => 0,
            })
        };
        match name {
            "flags" => number(&|w| w.flags.into()),
            "device" => number(&|w| w.device.into()),
            "context" => number(&|w| w.context.into()),
            "stream" => number(&|w| w.stream.into()),
            "start" => number(&|w| w.start),
            "length" => number(&|w| w.end.wrapping_sub(w.start)),
            "correlation" => number(&|w| w.correlation.into()),
            "span" => number(&|w| w.span.0),
            "launched" => number(&|w| w.launched),
            "thread" => number(&|w| w.thread.into()),
            "graph" => number(&|w| w.graph.into()),
            "node" => number(&|w| w.node),
            "captured" => number(&|w| w.captured.0),
            "forward" => number(&|w| w.forward.0),
            "sort" => number(&|w| crate::packed::work::sort(&w.detail)),
            "name" => kernel(|k| k.name),
            "grid_x" => kernel(|k| k.grid[0]),
            "grid_y" => kernel(|k| k.grid[1]),
            "grid_z" => kernel(|k| k.grid[2]),
            "block_x" => kernel(|k| k.block[0]),
            "block_y" => kernel(|k| k.block[1]),
            "block_z" => kernel(|k| k.block[2]),
            "registers" => kernel(|k| k.registers.into()),
            "static_shared" => kernel(|k| k.static_shared),
            "dynamic_shared" => kernel(|k| k.dynamic_shared),
            "local" => kernel(|k| k.local),
            "bytes" => number(&|w| bytes(w).unwrap_or(0)),
            "address" => number(&|w| match w.detail {
                Detail::Memory { address, .. } => address,
                _ => 0,
            }),
            _ => self.0.common(name, rows.len()),
        }
    }
}
