//! A row a piece of GPU work.

use super::{Cell, id, length, moment, of_process};
use crate::ConvertError;
use hodo_format::gpu::{Detail, Work, flag};
use hodo_trace::Process;

/// The columns.
pub const COLUMNS: [&str; 22] = [
    "process",
    "pid",
    "rank",
    "kind",
    "name",
    "start_ns",
    "duration_ns",
    "device",
    "context",
    "stream",
    "correlation",
    "scope",
    "scope_by",
    "launched_ns",
    "bytes",
    "grid",
    "block",
    "registers",
    "static_shared_bytes",
    "dynamic_shared_bytes",
    "graph",
    "graph_node",
];

/// Gives the work of a process, in order of its start.
pub fn rows(
    process: &Process,
    each: &mut dyn FnMut(&[Cell<'_>]) -> Result<(), ConvertError>,
) -> Result<(), ConvertError> {
    let all = &process.gpu.work;
    for row in all.rows() {
        let work = all.get(row);
        let [whose, pid, rank] = of_process(process);
        let started = Some(work.start).filter(|&ticks| ticks != 0);
        let interval = all.interval(row);
        let launched = Some(work.launched).filter(|&ticks| ticks != 0);
        let is_node = work.flags & flag::GRAPH != 0;
        let [grid, block, registers, fixed, dynamic] = shape(&work);
        each(&[
            whose,
            pid,
            rank,
            Cell::Text(kind(&work).into()),
            name(process, &work),
            started.map_or(Cell::None, |ticks| moment(process, ticks)),
            interval.map_or(Cell::None, |(start, end)| length(process, end - start)),
            Cell::Count(work.device.into()),
            Cell::Count(work.context.into()),
            Cell::Count(work.stream.into()),
            Cell::Count(work.correlation.into()),
            id(work.span),
            Cell::Text(scope_by(&work).into()),
            launched.map_or(Cell::None, |ticks| moment(process, ticks)),
            bytes(&work),
            grid,
            block,
            registers,
            fixed,
            dynamic,
            if is_node { Cell::Count(work.graph.into()) } else { Cell::None },
            if is_node { Cell::Count(work.node) } else { Cell::None },
        ])?;
    }
    Ok(())
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

fn name<'a>(process: &'a Process, work: &Work) -> Cell<'a> {
    match work.detail {
        Detail::Kernel(kernel) => {
            Cell::Text(process.gpu.kernel_name(kernel.name).full.as_ref().into())
        }
        Detail::Copy { direction, .. } => Cell::Text(crate::gpu::short_direction(direction).into()),
        Detail::Sync { what: 1 } => Cell::Text("for an event".into()),
        Detail::Sync { what: 2 } => Cell::Text("of a stream for an event".into()),
        Detail::Sync { what: 3 } => Cell::Text("for a stream".into()),
        Detail::Sync { what: 4 } => Cell::Text("for a context".into()),
        _ => Cell::None,
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

fn bytes(work: &Work) -> Cell<'static> {
    match work.detail {
        Detail::Copy { bytes, .. } | Detail::Set { bytes, .. } | Detail::Memory { bytes, .. } => {
            Cell::Count(bytes)
        }
        _ => Cell::None,
    }
}

fn shape(work: &Work) -> [Cell<'static>; 5] {
    let Detail::Kernel(k) = work.detail else { return [const { Cell::None }; 5] };
    let three = |[x, y, z]: [u32; 3]| Cell::Text(format!("{x}, {y}, {z}").into());
    let count = |n: u32| Cell::Count(n.into());
    [
        three(k.grid),
        three(k.block),
        count(k.registers.into()),
        count(k.static_shared),
        count(k.dynamic_shared),
    ]
}
