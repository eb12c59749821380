//! What is in a scope: scopes, GPU work, marks.

use super::exact;
use crate::gpu::{Devices, Unions};
use crate::timeline::Timeline;
use crate::{OVERHEAD_MARK, Process, Row, Run};
use hodo_format::record::SpanId;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Children, kernels and marks that are listed; all of them are counted.
const MOST_LISTED: usize = 100;

/// The first of some, and how many there are.
pub(super) struct Listed {
    pub(super) count: usize,
    pub(super) listed: Vec<Value>,
}

/// GPU work of a scope.
#[derive(Default)]
pub(super) struct WorkOf {
    pub(super) busy_ns: u64,
    pub(super) count: usize,
    pub(super) listed: Vec<Value>,
}

impl Timeline {
    /// The scopes opened in a scope.
    pub(super) fn children(&self, run: &Run, at: usize, row: Row) -> Listed {
        let spans = &run.processes[at].spans;
        let mut scan = spans.scan();
        let inside: Vec<Row> =
            spans.rows().filter(|&child| scan.parent_row(child) == Some(row)).collect();
        let mut first: Vec<(u64, Row)> =
            inside.iter().map(|&row| (spans.start(row), row)).collect();
        if first.len() > MOST_LISTED {
            first.select_nth_unstable(MOST_LISTED);
            first.truncate(MOST_LISTED);
        }
        first.sort_unstable();
        let listed = first.iter().filter_map(|&(_, row)| self.scope_reference(run, at, row));
        Listed { count: inside.len(), listed: listed.map(Value::Object).collect() }
    }

    /// GPU work launched in a scope and those inside it.
    pub(super) fn work_of(
        &self,
        run: &Run,
        at: usize,
        scope: Row,
    ) -> Result<WorkOf, crate::GpuMissing> {
        let process = &run.processes[at];
        if let Some(missing) = process.gpu.missing_times(&process.clock) {
            return Err(missing);
        }
        let rows = &process.gpu.work;
        let devices = Devices::of(rows);
        let mut busy = Unions::new(1, devices.len());
        let mut is_inside: HashMap<SpanId, bool> = HashMap::new();
        let mut found = WorkOf::default();
        for row in rows.rows() {
            let launcher = rows.span(row);
            let is_inside = *is_inside
                .entry(launcher)
                .or_insert_with(|| is_under(process, process.spans.row_of(launcher), scope));
            if !is_inside {
                continue;
            }
            if let Some(interval) = rows.interval(row).filter(|_| rows.is_busy(row)) {
                busy.add(0, devices.place(rows.device(row)), interval);
            }
            found.count += 1;
            if found.listed.len() < MOST_LISTED {
                found.listed.extend(self.work_reference(run, at, row));
            }
        }
        found.busy_ns = process.clock.duration_ns(busy.ticks(0));
        Ok(found)
    }
}

fn is_under(process: &Process, row: Option<Row>, scope: Row) -> bool {
    let mut next = row;
    while let Some(row) = next {
        if row == scope {
            return true;
        }
        next = process.spans.parent_row(row);
    }
    false
}

pub(super) fn marks(timeline: &Timeline, process: &Process, span: SpanId) -> Listed {
    let of_span = || process.marks.iter().filter(|mark| mark.span == span);
    let one = |mark: &crate::MarkRow| {
        json!({
            "name": process.names.text(mark.name), "value": exact(&mark.value, &process.names),
            "summary": mark.summary, "at_ns": timeline.moment_ns(process, mark.at),
        })
    };
    let own = of_span().filter(|mark| process.names.get(mark.name) != Some(OVERHEAD_MARK));
    Listed { count: of_span().count(), listed: own.take(MOST_LISTED).map(one).collect() }
}
