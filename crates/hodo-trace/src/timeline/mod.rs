//! A run as a timeline of any size: tracks, and what is on them at any resolution.
//!
//! The index beside the columns takes about three bytes a slice: for each lane of a track the rows
//! in order of their start, and a [`pyramid`] over their durations. Nothing of a slice is copied.

mod boxes;
mod build;
mod detail;
mod flame;
mod histogram;
mod ids;
mod kept;
mod lanes;
mod mark_steps;
mod points;
mod pyramid;
mod range;
mod search;
mod stable;
mod steps;
mod sums;
mod tags;
#[cfg(test)]
mod tests;
mod walk;

pub use boxes::{Box, box_flag};
pub use flame::FlameBy;
pub use ids::SliceId;
pub use kept::Kept;
pub use points::{MarkAxis, Points};
pub use search::Hits;
pub use stable::Stable;
pub use walk::Step;

use crate::links::Links;
use crate::select::Selection;
use crate::spans::Narrow;
use crate::tree::paths::Paths;
use crate::{Process, Row, Run};
use pyramid::Pyramid;
use std::sync::OnceLock;

/// The tracks of a run, and the index over them. Made of one [`Run`], and asked with the same.
pub struct Timeline {
    /// In the order they are shown: by process, its threads, its streams.
    pub tracks: Vec<Track>,
    /// Nanoseconds since 1970 that times are counted from.
    pub start_ns: i64,
    /// The last moment known, from there.
    pub end_ns: u64,
    /// By process, the number of each of its names.
    names: Vec<build::NameIds>,
    paths: OnceLock<Paths>,
}

/// A thread with its scopes, or a stream with its GPU work.
#[derive(Debug)]
pub struct Track {
    /// Its number, from 1, as [`Stable`] keeps it.
    pub number: u32,
    /// What it is of.
    pub kind: TrackKind,
    /// Place of its process in [`Run::processes`].
    pub process: usize,
    /// Its name.
    pub name: String,
    /// Slices on it.
    pub slices: u64,
    /// When its first slice begins and its last ends; none when it has none.
    pub extent_ns: Option<(i64, i64)>,
    lanes: Vec<Lane>,
    /// All rows of a stream in order of start; of a thread the ids tell.
    rows: Narrow,
}

/// What a track is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackKind {
    /// A thread by its number: scopes.
    Thread(u32),
    /// A stream: GPU work.
    Stream {
        /// As CUDA numbers it in the process.
        device: u32,
        /// The context.
        context: u32,
        /// The stream.
        stream: u32,
    },
}

/// Slices that do not overlap, in order.
#[derive(Debug)]
struct Lane {
    rows: Narrow,
    /// Ticks when the first slice of each group of [`pyramid::FAN`] begins, to search in.
    starts: Vec<u64>,
    pyramid: Pyramid,
}

impl Track {
    /// Lanes: nested scopes, and what overlaps.
    pub fn depths(&self) -> usize {
        self.lanes.len()
    }

    /// Whether it has GPU work rather than scopes.
    pub fn is_stream(&self) -> bool {
        matches!(self.kind, TrackKind::Stream { .. })
    }

    /// Ticks when the slice in `row` begins and ends.
    fn times(&self, process: &Process, row: Row) -> (u64, u64) {
        match self.kind {
            TrackKind::Thread(_) => (process.spans.start(row), process.spans.end(row)),
            TrackKind::Stream { .. } => process.gpu.work.interval(row).unwrap_or_default(),
        }
    }

    fn duration(&self, process: &Process, row: Row) -> u64 {
        match self.kind {
            TrackKind::Thread(_) => process.spans.duration(row),
            TrackKind::Stream { .. } => {
                process.gpu.work.interval(row).map_or(0, |(start, end)| end - start)
            }
        }
    }
}

impl Timeline {
    /// Bytes of the index, beside those of the run.
    pub fn index_bytes(&self) -> usize {
        let of_lane = |lane: &Lane| {
            lane.rows.bytes() + lane.pyramid.bytes() + size_of_val(lane.starts.as_slice())
        };
        let of_track =
            |track: &Track| track.rows.bytes() + track.lanes.iter().map(of_lane).sum::<usize>();
        self.tracks.iter().map(of_track).sum()
    }

    /// A track by its number.
    pub fn track(&self, number: u32) -> Option<&Track> {
        self.tracks.iter().find(|track| track.number == number)
    }

    /// The moment that `process` calls `ticks`, in nanoseconds from [`Timeline::start_ns`].
    pub fn moment_ns(&self, process: &Process, ticks: u64) -> i64 {
        process.clock.steady_ns(ticks).saturating_sub(self.start_ns)
    }

    /// The same for a moment since 1970.
    pub fn from_start_ns(&self, moment_ns: i64) -> i64 {
        moment_ns.saturating_sub(self.start_ns)
    }

    /// The path of every scope, found when first asked for.
    fn paths(&self, run: &Run) -> &Paths {
        self.paths.get_or_init(|| {
            let all: Vec<Selection> = run.processes.iter().map(|_| Selection::All).collect();
            Paths::new(run, &Links::new(&run.processes), &all)
        })
    }

    fn track_of(&self, process: usize, kind: TrackKind) -> Option<&Track> {
        self.tracks.iter().find(|track| track.process == process && track.kind == kind)
    }
}

impl Run {
    /// Its timeline. `stable` keeps numbers over several readings of one run.
    pub fn timeline(&self, stable: &mut Stable) -> Timeline {
        build::build(self, stable)
    }
}
