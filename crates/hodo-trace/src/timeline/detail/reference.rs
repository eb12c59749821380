//! What answers say of a slice: where it is, so that a view can go there.

use crate::links::Links;
use crate::timeline::Timeline;
use crate::timeline::boxes::Look;
use crate::timeline::build::other_name;
use crate::timeline::ids::Found;
use crate::{Process, Row, Run};
use serde_json::{Map, Value, json};

impl Timeline {
    /// What every answer says of a slice, so that a view can go there.
    pub(in crate::timeline) fn reference(
        &self,
        run: &Run,
        look: &Look<'_>,
        at: usize,
    ) -> Map<String, Value> {
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
    pub(super) fn scope_reference(
        &self,
        run: &Run,
        process: usize,
        row: Row,
    ) -> Option<Map<String, Value>> {
        let (look, at) = self.place(self.scope(run, process, row)?)?;
        Some(self.reference(run, &look, at))
    }

    pub(super) fn scope_id(&self, run: &Run, at: usize, row: Row) -> Option<String> {
        let Found { track, process, row } = self.scope(run, at, row)?;
        Some(self.id_of(track, process, row)?.to_string())
    }

    pub(super) fn parent(&self, run: &Run, links: &Links, at: usize, row: Row) -> Option<Value> {
        let inside = run.processes[at].spans.parent_row(row).map(|up| (at, up));
        let (at, row) = inside.or(links.started_in[at])?;
        self.scope_reference(run, at, row).map(Value::Object)
    }

    /// Names from the outermost scope, over processes too.
    pub(in crate::timeline) fn path(
        &self,
        run: &Run,
        links: &Links,
        at: usize,
        row: Row,
    ) -> Vec<String> {
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

    pub(super) fn work_reference(&self, run: &Run, at: usize, row: Row) -> Option<Value> {
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

    pub(super) fn launched_ns(&self, process: &Process, ticks: u64) -> Option<i64> {
        (ticks != 0).then(|| self.moment_ns(process, ticks))
    }
}

/// What a piece of work is called.
pub(in crate::timeline) fn work_name(process: &Process, row: Row) -> String {
    match process.gpu.work.kernel(row) {
        Some(kernel) => process.gpu.kernel_name(kernel.name).short.to_string(),
        None => other_name(&process.gpu.work.detail(row)).to_owned(),
    }
}

pub(in crate::timeline) fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
