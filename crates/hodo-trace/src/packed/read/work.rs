//! The GPU work of a packed process.

use super::{Reading, Table};
use crate::packed::work::detail;
use crate::{TraceError, WorkRows};
use hodo_format::gpu::{Kernel, Work};
use hodo_format::record::SpanId;

impl Reading<'_, '_> {
    pub(super) fn work(&mut self) -> Result<WorkRows, TraceError> {
        let mut rows = WorkRows::default();
        self.groups([Table::Work], self.side.rows.work, |[all], at, took| {
            let column = |name| all.wholes(at, name);
            let (flags, device) = (column("flags")?, column("device")?);
            let (context, stream) = (column("context")?, column("stream")?);
            let (start, length) = (column("start")?, column("length")?);
            let (correlation, span) = (column("correlation")?, column("span")?);
            let (launched, thread) = (column("launched")?, column("thread")?);
            let (graph, node) = (column("graph")?, column("node")?);
            let (captured, forward) = (column("captured")?, column("forward")?);
            let (sort, name) = (column("sort")?, column("name")?);
            let grid = [column("grid_x")?, column("grid_y")?, column("grid_z")?];
            let block = [column("block_x")?, column("block_y")?, column("block_z")?];
            let (registers, local) = (column("registers")?, column("local")?);
            let fixed = column("static_shared")?;
            let dynamic = column("dynamic_shared")?;
            let (bytes, address) = (column("bytes")?, column("address")?);
            for row in 0..flags.len() {
                let three = |of: &[Vec<i64>; 3]| [0, 1, 2].map(|axis| of[axis][row] as u32);
                let kernel = Kernel {
                    name: name[row] as u32,
                    grid: three(&grid),
                    block: three(&block),
                    registers: registers[row] as u16,
                    static_shared: fixed[row] as u32,
                    dynamic_shared: dynamic[row] as u32,
                    local: local[row] as u32,
                };
                let detail =
                    detail(sort[row] as u64, kernel, bytes[row] as u64, address[row] as u64);
                rows.push(&Work {
                    flags: flags[row] as u16,
                    device: device[row] as u32,
                    context: context[row] as u32,
                    stream: stream[row] as u32,
                    start: start[row] as u64,
                    end: (start[row] as u64).wrapping_add(length[row] as u64),
                    correlation: correlation[row] as u32,
                    span: SpanId(span[row] as u64),
                    launched: launched[row] as u64,
                    thread: thread[row] as u32,
                    graph: graph[row] as u32,
                    node: node[row] as u64,
                    captured: SpanId(captured[row] as u64),
                    forward: SpanId(forward[row] as u64),
                    detail,
                });
                *took += 1;
            }
            Ok(())
        })?;
        Ok(rows)
    }
}
