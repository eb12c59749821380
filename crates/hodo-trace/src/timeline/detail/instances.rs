//! All slices of the same kind as one.

use crate::timeline::build::other_name;
use crate::timeline::{Timeline, histogram};
use crate::{Process, Row, Run};
use serde_json::Value;

impl Timeline {
    /// The durations of all scopes of the same path in this run.
    pub(super) fn instances(&self, run: &Run, at: usize, row: Row) -> Value {
        let paths = self.paths(run);
        let Some(node) = paths.node(at, row) else { return Value::Null };
        let mut durations = Vec::new();
        for (at, process) in run.processes.iter().enumerate().filter(|(_, p)| p.is_timed()) {
            let mut scan = process.spans.scan();
            let rows = process.spans.closed_rows().filter(|&row| paths.node(at, row) == Some(node));
            durations.extend(rows.map(|row| process.clock.duration_ns(scan.duration(row))));
        }
        histogram::document(durations)
    }

    /// The same of all kernels of one name in a process, or all work of a kind.
    pub(super) fn work_instances(&self, process: &Process, row: Row) -> Value {
        let rows = &process.gpu.work;
        let name = |row: Row| {
            rows.kernel(row)
                .map_or_else(|| Err(other_name(&rows.detail(row))), |kernel| Ok(kernel.name))
        };
        let wanted = name(row);
        let same = rows.rows().filter(|&row| name(row) == wanted);
        let durations = same.filter_map(|row| rows.interval(row));
        histogram::document(
            durations.map(|(start, end)| process.clock.duration_ns(end - start)).collect(),
        )
    }
}
