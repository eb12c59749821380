//! All that is known of one slice.

mod inside;
mod instances;
mod reference;

use super::ids::Found;
use super::{SliceId, Timeline};
use crate::links::Links;
use crate::tree::children::own_time_of;
use crate::{Cpu, Names, Run, SpanView};
use hodo_format::gpu::Detail;
use inside::marks;
pub(super) use reference::{fields, work_name};
use serde_json::{Map, Value, json};

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
}

/// The last value of each attribute.
fn attributes(span: &SpanView<'_>) -> Map<String, Value> {
    let names = &span.process.names;
    let one = |row: &crate::AttrRow| (names.text(row.key).into_owned(), exact(&row.value, names));
    span.attrs().iter().map(one).collect()
}

/// A value as a browser can have it: whole numbers that its own are not exact for become text.
fn exact(value: &crate::Value, names: &Names) -> Value {
    const MOST_EXACT: u64 = 1 << 53;
    match value {
        crate::Value::I64(number) if number.unsigned_abs() > MOST_EXACT => {
            json!(number.to_string())
        }
        value => json!(value.resolved(names)),
    }
}
