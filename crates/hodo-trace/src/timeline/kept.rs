//! Which slices a filter keeps, so that the others are dimmed.

use super::{Timeline, TrackKind};
use crate::links::Links;
use crate::select::{Selection, select};
use crate::{Filter, Process, Row, Run};
use std::collections::HashMap;

/// Slices in a group that is counted once.
const GROUP: usize = 64;

/// Which slices of a run a filter keeps. GPU work goes with the scope that launched it.
pub struct Kept {
    lanes: HashMap<(u32, usize), OfLane>,
}

/// A bit a slice, and how many were kept before each group of them.
#[derive(Default)]
struct OfLane {
    bits: Vec<u64>,
    before: Vec<u32>,
}

/// The slices of one lane that are kept.
pub(super) struct KeptLane<'a>(Option<&'a OfLane>);

impl Kept {
    /// Looks at every slice once.
    pub fn new(run: &Run, timeline: &Timeline, filter: &Filter) -> Kept {
        let links = Links::new(&run.processes);
        let rows = select(run, &links, filter);
        let mut lanes = HashMap::new();
        for track in &timeline.tracks {
            let process = &run.processes[track.process];
            let kept = &rows[track.process];
            for (depth, lane) in track.lanes.iter().enumerate() {
                let is_kept = |row: u64| keeps(process, kept, track.kind, row as Row);
                lanes.insert((track.number, depth), OfLane::new(lane.rows.iter().map(is_kept)));
            }
        }
        Kept { lanes }
    }

    pub(super) fn lane(&self, track: u32, depth: usize) -> KeptLane<'_> {
        KeptLane(self.lanes.get(&(track, depth)))
    }
}

fn keeps(process: &Process, kept: &Selection, kind: TrackKind, row: Row) -> bool {
    match kind {
        TrackKind::Thread(_) => kept.keeps(row),
        TrackKind::Stream { .. } => {
            let scope = process.spans.row_of(process.gpu.work.span(row));
            scope.map_or(matches!(kept, Selection::All), |row| kept.keeps(row))
        }
    }
}

impl OfLane {
    fn new(slices: impl Iterator<Item = bool>) -> OfLane {
        let mut lane = OfLane::default();
        let mut count = 0;
        for (at, is_kept) in slices.enumerate() {
            if at.is_multiple_of(GROUP) {
                lane.bits.push(0);
                lane.before.push(count);
            }
            if let (true, Some(bits)) = (is_kept, lane.bits.last_mut()) {
                *bits |= 1 << (at % GROUP);
                count += 1;
            }
        }
        lane.before.push(count);
        lane.bits.push(0);
        lane
    }

    fn before(&self, at: usize) -> u32 {
        let group = (at / GROUP).min(self.bits.len() - 1);
        let mask = 1_u64.checked_shl((at % GROUP) as u32).unwrap_or(0).wrapping_sub(1);
        self.before[group] + (self.bits[group] & mask).count_ones()
    }
}

impl KeptLane<'_> {
    /// Whether any slice from `from` to before `to` is kept.
    pub(super) fn any(&self, from: usize, to: usize) -> bool {
        self.0.is_some_and(|lane| lane.before(to) > lane.before(from))
    }
}
