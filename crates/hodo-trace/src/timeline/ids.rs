//! Ids of slices: a number that is good for the whole run, also after it has grown.

use super::boxes::Look;
use super::{Timeline, Track, TrackKind};
use crate::{Process, Row, Run};
use hodo_format::record::SpanId;
use std::fmt;
use std::str::FromStr;

/// A scope or a piece of GPU work of a run: the number of its track, and which of that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SliceId(pub u64);

impl SliceId {
    fn new(track: u32, place: u64) -> SliceId {
        SliceId(u64::from(track) << SpanId::SEQUENCE_BITS | place)
    }

    fn track(self) -> u32 {
        (self.0 >> SpanId::SEQUENCE_BITS) as u32
    }

    fn place(self) -> u64 {
        SpanId(self.0).sequence()
    }
}

impl fmt::Display for SliceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SliceId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<SliceId, Self::Err> {
        text.parse().map(SliceId)
    }
}

/// Where a slice is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<'a> {
    pub(super) track: &'a Track,
    pub(super) process: &'a Process,
    pub(super) row: Row,
}

impl Timeline {
    /// The id of a row of a track.
    pub(super) fn id_of(&self, track: &Track, process: &Process, row: Row) -> Option<SliceId> {
        let place = match track.kind {
            TrackKind::Thread(_) => process.spans.id(row).sequence(),
            TrackKind::Stream { .. } => stream_place(track, row)? as u64 + 1,
        };
        Some(SliceId::new(track.number, place))
    }

    /// The slice with this id.
    pub(super) fn find<'a>(&'a self, run: &'a Run, id: SliceId) -> Option<Found<'a>> {
        let track = self.track(id.track())?;
        let process = run.processes.get(track.process)?;
        let row = match track.kind {
            TrackKind::Thread(thread) => process.spans.row_of(SpanId::new(thread, id.place()))?,
            TrackKind::Stream { .. } => {
                let at = Row::try_from(id.place().checked_sub(1)?).ok()?;
                ((at as usize) < track.rows.len()).then(|| track.rows.get(at) as Row)?
            }
        };
        Some(Found { track, process, row })
    }

    /// The scope in `row` of the `at`-th process.
    pub(super) fn scope<'a>(&'a self, run: &'a Run, at: usize, row: Row) -> Option<Found<'a>> {
        let process = run.processes.get(at)?;
        let track = self.track_of(at, TrackKind::Thread(process.spans.thread(row)))?;
        Some(Found { track, process, row })
    }

    /// The piece of GPU work in `row` of the `at`-th process.
    pub(super) fn work<'a>(&'a self, run: &'a Run, at: usize, row: Row) -> Option<Found<'a>> {
        let process = run.processes.get(at)?;
        let work = process.gpu.work.get(row);
        let (device, context, stream) = (work.device, work.context, work.stream);
        let track = self.track_of(at, TrackKind::Stream { device, context, stream })?;
        stream_place(track, row)?;
        Some(Found { track, process, row })
    }

    /// The lane that a slice is in, and its place there.
    pub(super) fn place<'a>(&'a self, found: Found<'a>) -> Option<(Look<'a>, usize)> {
        let Found { track, process, row } = found;
        let (start, _) = track.times(process, row);
        let start_ns = self.moment_ns(process, start);
        track.lanes.iter().enumerate().find_map(|(depth, lane)| {
            let look = Look { timeline: self, track, process, lane, depth: depth as u16 };
            let from = look.begins_from(0, start_ns);
            // Ticks finer than a nanosecond, and slices without a length, begin together.
            let together = (from..look.len()).take_while(|&at| look.start_ns(at) == start_ns);
            let at = together.into_iter().find(|&at| look.row(at) == row)?;
            Some((look, at))
        })
    }
}

/// Which slice of its stream a row is; rows are in order of start.
fn stream_place(track: &Track, row: Row) -> Option<usize> {
    let (mut low, mut high) = (0, track.rows.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match track.rows.get(middle as Row) < u64::from(row) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    (low < track.rows.len() && track.rows.get(low as Row) == u64::from(row)).then_some(low)
}
