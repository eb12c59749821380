//! Going from slice to slice.

use super::boxes::Look;
use super::ids::Found;
use super::{SliceId, Timeline, Track};
use crate::links::Links;
use crate::{Row, Run};
use serde_json::Value;

/// Where to go from a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next one in the lane.
    Next,
    /// The one before.
    Previous,
    /// The scope around it, or that launched it.
    Parent,
    /// The first scope inside it.
    Child,
}

impl Timeline {
    /// The slice that a step from `id` leads to; none where it leads nowhere.
    pub fn walk(&self, run: &Run, id: SliceId, step: Step) -> Option<Value> {
        let found = self.find(run, id)?;
        let (look, at) = self.place(found)?;
        match step {
            Step::Next => (at + 1 < look.len()).then(|| self.answer(run, &look, at + 1)),
            Step::Previous => at.checked_sub(1).map(|at| self.answer(run, &look, at)),
            Step::Parent => {
                let (process, row) = above(run, found)?;
                self.at_scope(run, process, row)
            }
            Step::Child => self.at_scope(run, found.track.process, first_child(found)?),
        }
    }

    /// The first slice of a track that begins at or after a moment, in the uppermost lane that has
    /// one; else the last.
    pub fn enter(&self, run: &Run, track: &Track, at_ns: i64) -> Option<Value> {
        let process = run.processes.get(track.process)?;
        let look = |depth: usize| Look {
            timeline: self,
            track,
            process,
            lane: &track.lanes[depth],
            depth: depth as u16,
        };
        let lanes = || (0..track.lanes.len()).map(look).filter(|look| look.len() > 0);
        let later = lanes().find_map(|look| {
            let at = look.begins_from(0, at_ns);
            (at < look.len()).then(|| self.answer(run, &look, at))
        });
        later.or_else(|| lanes().next().map(|look| self.answer(run, &look, look.len() - 1)))
    }

    fn answer(&self, run: &Run, look: &Look<'_>, at: usize) -> Value {
        Value::Object(self.reference(run, look, at))
    }

    fn at_scope(&self, run: &Run, process: usize, row: Row) -> Option<Value> {
        let (look, at) = self.place(self.scope(run, process, row)?)?;
        Some(self.answer(run, &look, at))
    }
}

fn above(run: &Run, found: Found<'_>) -> Option<(usize, Row)> {
    let Found { track, process, row } = found;
    if track.is_stream() {
        let launcher = process.spans.row_of(process.gpu.work.span(row))?;
        return Some((track.process, launcher));
    }
    let inside = process.spans.parent_row(row).map(|up| (track.process, up));
    inside.or_else(|| Links::new(&run.processes).started_in[track.process])
}

fn first_child(found: Found<'_>) -> Option<Row> {
    if found.track.is_stream() {
        return None;
    }
    let spans = &found.process.spans;
    let mut scan = spans.scan();
    let inside = spans.rows().filter(|&row| scan.parent_row(row) == Some(found.row));
    inside.min_by_key(|&row| (spans.start(row), spans.id(row)))
}
