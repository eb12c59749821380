//! All that is known of one slice.

use super::boxes::Look;
use super::build::other_name;
use super::ids::Found;
use super::{SliceId, Timeline};
use crate::gpu::{Devices, Unions};
use crate::links::Links;
use crate::tree::children::own_time_of;
use crate::{Cpu, OVERHEAD_MARK, Process, Row, Run, SpanView};
use hodo_format::gpu::Detail;
use hodo_format::record::SpanId;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Children, kernels and marks that are listed; all of them are counted.
const MOST_LISTED: usize = 100;

impl Timeline {
    /// A scope with its numbers, what is in it and how it compares to others of its path.
    pub fn scope_detail(&self, run: &Run, id: SliceId) -> Option<Value> {
        let found = self.find(run, id).filter(|found| !found.track.is_stream())?;
        let (look, at) = self.place(found)?;
        let Found { track, process, row } = found;
        let span = process.span(row);
        let links = Links::new(&run.processes);
        let own_ticks = own_time_of(run, &links, track.process, row);
        let (cpu_ns, cpu_why) = match span.cpu_ns() {
            Cpu::Captured(ns) => (Some(ns), None),
            Cpu::Missing(why) => (None, Some(why.text())),
        };
        let children = self.children(run, track.process, row);
        let work = self.work_of(run, track.process, row);
        let mut detail = self.reference(run, &look, at);
        let attributes = attributes(&span);
        detail.extend(fields(json!({
            "kind": "span",
            "full_id": span.full_id(),
            "tag": attributes.get("tag"),
            "path": self.path(run, &links, track.process, row),
            "thread": track.name,
            "process": process.info.pid,
            "rank": process.info.rank,
            "index": span.index(),
            "open": span.is_open(),
            "failed": span.is_failed(),
            "self_ns": process.clock.duration_ns(own_ticks),
            "cpu_ns": cpu_ns,
            "cpu_why": cpu_why,
            "gpu_ns": work.as_ref().ok().map(|work| work.busy_ns),
            "gpu_why": work.as_ref().err().map(|why| why.text()),
            "overhead_ns": process.has_overhead().then(|| span.overhead_ns()),
            "attributes": attributes,
            "parent": self.parent(run, &links, track.process, row),
            "children": children.listed,
            "children_count": children.count,
            "kernels": work.as_ref().map(|work| work.listed.clone()).unwrap_or_default(),
            "kernels_count": work.as_ref().ok().map(|work| work.count),
            "instances": self.instances(run, track.process, row),
        })));
        let marks = marks(self, process, span.id());
        detail.extend(fields(json!({"marks": marks.listed, "marks_count": marks.count})));
        Some(Value::Object(detail))
    }

    /// A piece of GPU work with its launch and the scope it belongs to.
    pub fn work_detail(&self, run: &Run, id: SliceId) -> Option<Value> {
        let found = self.find(run, id).filter(|found| found.track.is_stream())?;
        let (look, at) = self.place(found)?;
        let Found { track, process, row } = found;
        let rows = &process.gpu.work;
        let work = rows.get(row);
        let scope = process.spans.row_of(work.span);
        let links = Links::new(&run.processes);
        let path = |row| self.path(run, &links, track.process, row);
        let mut detail = self.reference(run, &look, at);
        detail.extend(fields(json!({
            "kind": "kernel",
            "stream": work.stream, "device": work.device, "context": work.context,
            "process": process.info.pid, "rank": process.info.rank,
            "correlation": work.correlation,
            "graph": (work.graph != 0).then_some(work.graph),
            "launched_ns": self.launched_ns(process, work.launched),
            "scope": scope.and_then(|row| Some(json!({
                "id": self.scope_id(run, track.process, row)?, "path": path(row),
            }))),
            "captured_in": process.spans.row_of(work.captured).map(path),
            "gradient_of": process.spans.row_of(work.forward).map(path),
            "launch": self.launch(run, found),
            "instances": self.work_instances(process, row),
        })));
        detail.extend(fields(match work.detail {
            Detail::Kernel(kernel) => {
                let name = process.gpu.kernel_name(kernel.name);
                json!({
                    "full_name": name.full, "grid": kernel.grid, "block": kernel.block,
                    "registers": kernel.registers,
                    "shared_bytes": u64::from(kernel.static_shared) + u64::from(kernel.dynamic_shared),
                })
            }
            Detail::Copy { bytes, .. } | Detail::Set { bytes, .. } | Detail::Memory { bytes, .. } => {
                json!({"bytes": bytes})
            }
            Detail::Sync { .. } => json!({}),
        }));
        Some(Value::Object(detail))
    }

    /// What every answer says of a slice, so that a view can go there.
    pub(super) fn reference(&self, run: &Run, look: &Look<'_>, at: usize) -> Map<String, Value> {
        let one = look.one(at);
        let row = look.row(at);
        fields(json!({
            "id": one.id.map(|id| id.to_string()),
            "track": look.track.number.to_string(),
            "depth": one.depth,
            "name": self.slice_name(run, look, row),
            "start_ns": one.start_ns,
            "duration_ns": one.duration_ns,
            "kind": if look.track.is_stream() { "kernel" } else { "span" },
        }))
    }

    fn slice_name(&self, run: &Run, look: &Look<'_>, row: Row) -> String {
        let process = &run.processes[look.track.process];
        match look.track.is_stream() {
            true => work_name(process, row),
            false => process.span(row).name().into_owned(),
        }
    }

    /// The same by process and row.
    fn scope_reference(&self, run: &Run, process: usize, row: Row) -> Option<Map<String, Value>> {
        let (look, at) = self.place(self.scope(run, process, row)?)?;
        Some(self.reference(run, &look, at))
    }

    fn scope_id(&self, run: &Run, at: usize, row: Row) -> Option<String> {
        let Found { track, process, row } = self.scope(run, at, row)?;
        Some(self.id_of(track, process, row)?.to_string())
    }

    fn parent(&self, run: &Run, links: &Links, at: usize, row: Row) -> Option<Value> {
        let inside = run.processes[at].spans.parent_row(row).map(|up| (at, up));
        let (at, row) = inside.or(links.started_in[at])?;
        self.scope_reference(run, at, row).map(Value::Object)
    }

    /// Names from the outermost scope, over processes too.
    pub(super) fn path(&self, run: &Run, links: &Links, at: usize, row: Row) -> Vec<String> {
        let mut names = Vec::new();
        let mut next = Some((at, row));
        while let Some((at, row)) = next {
            let process = &run.processes[at];
            names.push(process.span(row).name().into_owned());
            let up = process.spans.parent_row(row).map(|up| (at, up));
            next = up.or(links.started_in[at]);
        }
        names.reverse();
        names
    }

    fn children(&self, run: &Run, at: usize, row: Row) -> Listed {
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
    fn work_of(&self, run: &Run, at: usize, scope: Row) -> Result<WorkOf, crate::GpuMissing> {
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

    fn work_reference(&self, run: &Run, at: usize, row: Row) -> Option<Value> {
        let found = self.work(run, at, row)?;
        let (look, place) = self.place(found)?;
        let mut reference = self.reference(run, &look, place);
        let work = &found.process.gpu.work;
        let launched_ns = self.launched_ns(found.process, work.launched(row));
        reference.extend(fields(json!({
            "stream": look.track.name, "launched_ns": launched_ns,
        })));
        Some(Value::Object(reference))
    }

    fn launched_ns(&self, process: &Process, ticks: u64) -> Option<i64> {
        (ticks != 0).then(|| self.moment_ns(process, ticks))
    }

    /// Where an arrow to a piece of work begins: the scope that launched it, then.
    fn launch(&self, run: &Run, found: Found<'_>) -> Option<Value> {
        let Found { track, process, row } = found;
        let work = process.gpu.work.get(row);
        let at_ns = self.launched_ns(process, work.launched)?;
        let scope = process.spans.row_of(work.span)?;
        let reference = self.scope_reference(run, track.process, scope)?;
        Some(json!({
            "span": reference.get("id"), "track": reference.get("track"),
            "depth": reference.get("depth"), "at_ns": at_ns,
            "thread": (work.thread != 0).then_some(work.thread),
        }))
    }

    /// The durations of all scopes of the same path in this run.
    fn instances(&self, run: &Run, at: usize, row: Row) -> Value {
        let paths = self.paths(run);
        let Some(node) = paths.node(at, row) else { return Value::Null };
        let mut durations = Vec::new();
        for (at, process) in run.processes.iter().enumerate().filter(|(_, p)| p.is_timed()) {
            let mut scan = process.spans.scan();
            let rows = process.spans.closed_rows().filter(|&row| paths.node(at, row) == Some(node));
            durations.extend(rows.map(|row| process.clock.duration_ns(scan.duration(row))));
        }
        super::histogram::document(durations)
    }

    /// The same of all kernels of one name in a process, or all work of a kind.
    fn work_instances(&self, process: &Process, row: Row) -> Value {
        let rows = &process.gpu.work;
        let name = |row: Row| {
            rows.kernel(row)
                .map_or_else(|| Err(other_name(&rows.detail(row))), |kernel| Ok(kernel.name))
        };
        let wanted = name(row);
        let same = rows.rows().filter(|&row| name(row) == wanted);
        let durations = same.filter_map(|row| rows.interval(row));
        super::histogram::document(
            durations.map(|(start, end)| process.clock.duration_ns(end - start)).collect(),
        )
    }
}

/// The first of some, and how many there are.
struct Listed {
    count: usize,
    listed: Vec<Value>,
}

#[derive(Default)]
struct WorkOf {
    busy_ns: u64,
    count: usize,
    listed: Vec<Value>,
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

/// What a piece of work is called.
pub(super) fn work_name(process: &Process, row: Row) -> String {
    match process.gpu.work.kernel(row) {
        Some(kernel) => process.gpu.kernel_name(kernel.name).short.to_string(),
        None => other_name(&process.gpu.work.detail(row)).to_owned(),
    }
}

/// The last value of each attribute.
fn attributes(span: &SpanView<'_>) -> Map<String, Value> {
    let names = &span.process.names;
    let one =
        |row: &crate::AttrRow| (names.text(row.key).into_owned(), json!(row.value.resolved(names)));
    span.attrs().iter().map(one).collect()
}

fn marks(timeline: &Timeline, process: &Process, span: SpanId) -> Listed {
    let of_span = || process.marks.iter().filter(|mark| mark.span == span);
    let one = |mark: &crate::MarkRow| {
        json!({
            "name": process.names.text(mark.name), "value": mark.value.resolved(&process.names),
            "summary": mark.summary, "at_ns": timeline.moment_ns(process, mark.at),
        })
    };
    let own = of_span().filter(|mark| process.names.get(mark.name) != Some(OVERHEAD_MARK));
    Listed { count: of_span().count(), listed: own.take(MOST_LISTED).map(one).collect() }
}

pub(super) fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
