//! What a track looks like at a resolution: slices that can be seen, and merged ones.

use super::pyramid::FAN;
use super::{Kept, Lane, SliceId, Timeline, Track, TrackKind};
use crate::{Process, Row, Run};

/// What is drawn: a slice, or several that are too short to be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Box {
    /// When it begins, nanoseconds from [`Timeline::start_ns`].
    pub start_ns: i64,
    /// How long it is.
    pub duration_ns: u64,
    /// The slice; none for a merged one.
    pub id: Option<SliceId>,
    /// Place of its name in [`super::Stable::names`]; of a merged one, of the longest in it.
    pub name: u32,
    /// Place of its tag there: of one scope that is wide enough to show it.
    pub tag: Option<u32>,
    /// Slices in it.
    pub count: u32,
    /// Its lane.
    pub depth: u16,
    /// How much of it slices cover, of 255.
    pub busy: u8,
    /// [`box_flag`] bits.
    pub flags: u8,
}

/// Bits of [`Box::flags`].
pub mod box_flag {
    /// It had not ended.
    pub const OPEN: u8 = 1;
    /// A kernel.
    pub const KERNEL: u8 = 2;
    /// GPU work that is no kernel.
    pub const COPY: u8 = 4;
    /// Left by a panic or an exception.
    pub const FAILED: u8 = 8;
    /// Nothing in it fits the filter.
    pub const DIMMED: u8 = 16;
}

/// Boxes that are narrower, in resolutions, have no room for a tag.
const TAGGED_UNITS: u64 = 32;

/// A stretch of time at a resolution.
#[derive(Clone, Copy, Debug)]
struct Window {
    from_ns: i64,
    to_ns: i64,
    res_ns: u64,
}

impl Timeline {
    /// What is on `track` from one moment to another, where `res_ns` is the least that can be seen:
    /// shorter slices that begin in the same multiple of it are merged. By lane, each in order.
    pub fn boxes(
        &self,
        run: &Run,
        track: &Track,
        [from_ns, to_ns]: [i64; 2],
        res_ns: u64,
        kept: Option<&Kept>,
    ) -> Vec<Box> {
        let Some(process) = run.processes.get(track.process) else { return Vec::new() };
        let window = Window { from_ns, to_ns, res_ns: res_ns.max(1) };
        let mut found = Vec::new();
        for (depth, lane) in track.lanes.iter().enumerate() {
            let kept = kept.map(|kept| kept.lane(track.number, depth));
            Look { timeline: self, track, process, lane, depth: depth as u16 }.boxes(
                window,
                &mut found,
                |from, to| kept.as_ref().is_some_and(|kept| !kept.any(from, to)),
            );
        }
        found
    }
}

/// One lane being looked at.
pub(super) struct Look<'a> {
    pub(super) timeline: &'a Timeline,
    pub(super) track: &'a Track,
    pub(super) process: &'a Process,
    pub(super) lane: &'a Lane,
    pub(super) depth: u16,
}

impl Look<'_> {
    pub(super) fn len(&self) -> usize {
        self.lane.pyramid.len()
    }

    pub(super) fn row(&self, at: usize) -> Row {
        self.lane.rows.get(at as Row) as Row
    }

    fn duration(&self, at: usize) -> u64 {
        self.track.duration(self.process, self.row(at))
    }

    pub(super) fn start_ns(&self, at: usize) -> i64 {
        let (start, _) = self.track.times(self.process, self.row(at));
        self.timeline.moment_ns(self.process, start)
    }

    pub(super) fn end_ns(&self, at: usize) -> i64 {
        let (_, end) = self.track.times(self.process, self.row(at));
        self.timeline.moment_ns(self.process, end)
    }

    /// The first slice from `from` on that begins at `moment_ns` or later; mostly a near one.
    pub(super) fn begins_from(&self, from: usize, moment_ns: i64) -> usize {
        let group = self.group_from(from / FAN + 1, moment_ns);
        let (mut low, mut high) = (from.max((group - 1) * FAN), (group * FAN).min(self.len()));
        while low < high {
            let middle = low + (high - low) / 2;
            match self.start_ns(middle) < moment_ns {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// The first group of slices from `from` on whose first begins then.
    fn group_from(&self, from: usize, moment_ns: i64) -> usize {
        let starts = &self.lane.starts;
        let is_before = |start: &u64| self.timeline.moment_ns(self.process, *start) < moment_ns;
        let (mut low, mut step) = (from, 1);
        while starts.get(low + step - 1).is_some_and(is_before) {
            low += step;
            step *= 2;
        }
        let high = (low + step - 1).min(starts.len());
        low + starts.get(low..high).unwrap_or_default().partition_point(is_before)
    }

    /// The first slice that ends after `moment_ns`. Only in the last of very many lanes do slices
    /// overlap, and then any that is long enough may.
    fn first_ending_after(&self, moment_ns: i64) -> usize {
        let begins = self.begins_from(0, moment_ns);
        if usize::from(self.depth) + 1 < super::lanes::MOST_LANES {
            return begins - usize::from(begins > 0 && self.end_ns(begins - 1) > moment_ns);
        }
        let longest = self.process.clock.duration_ns(self.lane.pyramid.longest_of_all());
        let from = self.begins_from(0, moment_ns.saturating_sub_unsigned(longest));
        (from..begins).find(|&at| self.end_ns(at) > moment_ns).unwrap_or(begins)
    }

    fn boxes(
        &self,
        window: Window,
        found: &mut Vec<Box>,
        is_dimmed: impl Fn(usize, usize) -> bool,
    ) {
        let dim = |from, to| u8::from(is_dimmed(from, to)) * box_flag::DIMMED;
        let res_ns = window.res_ns as i64;
        let least_ticks = ticks_of(self.process, window.res_ns);
        let end = self.begins_from(0, window.to_ns);
        let mut at = self.first_ending_after(window.from_ns).min(end);
        while at < end {
            let start_ns = self.start_ns(at);
            let is_short = self.duration(at) < least_ticks;
            // What began before the window and cannot be seen is a part of the window before.
            if is_short && start_ns < window.from_ns {
                at += 1;
                continue;
            }
            let next = match is_short {
                true => {
                    let to = self.begins_from(at + 1, (start_ns.div_euclid(res_ns) + 1) * res_ns);
                    let duration = |at: usize| self.duration(at);
                    self.lane.pyramid.next_long(at + 1, to.min(end), least_ticks, duration)
                }
                false => at + 1,
            };
            let mut one = if next == at + 1 { self.one(at) } else { self.merged(at, next) };
            one.flags |= dim(at, next);
            if one.duration_ns / TAGGED_UNITS >= window.res_ns {
                one.tag = self.tag(at);
            }
            found.push(one);
            at = next;
        }
    }

    /// The box of one slice.
    pub(super) fn one(&self, at: usize) -> Box {
        let row = self.row(at);
        let (start, end) = self.track.times(self.process, row);
        Box {
            start_ns: self.timeline.moment_ns(self.process, start),
            duration_ns: self.process.clock.duration_ns(end - start),
            id: self.timeline.id_of(self.track, self.process, row),
            name: self.name(row),
            tag: None,
            count: 1,
            depth: self.depth,
            busy: u8::MAX,
            flags: self.flags(row),
        }
    }

    fn merged(&self, from: usize, to: usize) -> Box {
        let duration = |at: usize| self.duration(at);
        let longest = self.lane.pyramid.longest(from, to, duration);
        let start_ns = self.start_ns(from);
        let end_ns = self.end_ns(to - 1).max(self.end_ns(longest));
        let duration_ns = end_ns.saturating_sub(start_ns).max(0) as u64;
        let busy_ns = self.process.clock.duration_ns(self.lane.pyramid.time(from, to, duration));
        let share = if duration_ns == 0 { 1.0 } else { busy_ns as f64 / duration_ns as f64 };
        let row = self.row(longest);
        Box {
            start_ns,
            duration_ns,
            id: None,
            name: self.name(row),
            tag: None,
            count: u32::try_from(to - from).unwrap_or(u32::MAX),
            depth: self.depth,
            busy: (share * 255.0).round().clamp(0.0, 255.0) as u8,
            flags: self.flags(row) & (box_flag::KERNEL | box_flag::COPY),
        }
    }

    fn name(&self, row: Row) -> u32 {
        let names = &self.timeline.names[self.track.process];
        match self.track.kind {
            TrackKind::Thread(_) => names.scope(self.process, row),
            TrackKind::Stream { .. } => names.work(self.process, row),
        }
    }

    fn tag(&self, at: usize) -> Option<u32> {
        let is_scope = !self.track.is_stream();
        let tags = &self.timeline.names[self.track.process].tags;
        is_scope.then(|| tags.of(self.process, self.row(at)))?
    }

    fn flags(&self, row: Row) -> u8 {
        let spans = &self.process.spans;
        let when = |is: bool, flag: u8| if is { flag } else { 0 };
        match self.track.kind {
            TrackKind::Thread(_) => {
                when(spans.is_open(row), box_flag::OPEN)
                    | when(spans.is_failed(row), box_flag::FAILED)
            }
            TrackKind::Stream { .. } => match self.process.gpu.work.kernel(row) {
                Some(_) => box_flag::KERNEL,
                None => box_flag::COPY,
            },
        }
    }
}

/// The least number of ticks that takes `ns`, or a hundred days: nobody looks at more in one pixel,
/// and past that fractions are not exact.
fn ticks_of(process: &Process, ns: u64) -> u64 {
    let ns = ns.min(1 << 53);
    let ns_per_tick = process.clock.ns_per_tick().filter(|&slope| slope > 0.0).unwrap_or(1.0);
    let mut ticks = (ns as f64 / ns_per_tick) as u64;
    while process.clock.duration_ns(ticks) < ns {
        ticks += 1;
    }
    ticks
}
