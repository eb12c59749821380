//! Building the index: lanes and pyramids of every track.

use super::lanes::Lanes;
use super::pyramid::{FAN, PyramidBuilder};
use super::stable::TrackKey;
use super::tags::TagIds;
use super::{Lane, Stable, Timeline, Track, TrackKind};
use crate::gpu::direction;
use crate::spans::{Narrow, NarrowBuilder};
use crate::{Process, Row, Run};
use hodo_format::gpu::{Detail, Work};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;

/// Stands for a name that nothing has.
const NO_NAME: u32 = u32::MAX;

/// The numbers of a process's names.
#[derive(Debug, Default)]
pub(super) struct NameIds {
    /// By string id, or [`NO_NAME`].
    scopes: Vec<u32>,
    /// Of strings that were lost.
    lost: HashMap<u32, u32>,
    kernels: HashMap<u32, u32>,
    /// By what [`work_name`] calls it.
    others: HashMap<&'static str, u32>,
    pub(super) tags: TagIds,
}

pub(super) fn build(run: &Run, stable: &mut Stable) -> Timeline {
    let start_ns = run.start_ns().unwrap_or(0);
    let mut timeline = Timeline {
        tracks: Vec::new(),
        start_ns,
        end_ns: run.wall_ns().unwrap_or(0),
        names: Vec::new(),
        paths: OnceLock::new(),
    };
    let mut seen = HashSet::new();
    for (at, process) in run.processes.iter().enumerate() {
        // Only copied files make two processes of one id.
        let mut key = process.process;
        while !seen.insert(key) {
            key = key.wrapping_add(1);
        }
        timeline.names.push(NameIds::new(process, stable));
        if process.is_timed() {
            let threads = threads(process, at, key, stable);
            let streams = streams(process, at, key, stable);
            timeline.tracks.extend(threads.into_iter().chain(streams));
        }
    }
    for mut track in std::mem::take(&mut timeline.tracks) {
        let extent = track.extent(&run.processes[track.process], &timeline);
        timeline.end_ns = timeline.end_ns.max(extent.map_or(0, |(_, end)| end.max(0) as u64));
        track.extent_ns = extent;
        timeline.tracks.push(track);
    }
    timeline
}

fn threads(process: &Process, at: usize, key: u64, stable: &mut Stable) -> Vec<Track> {
    let of = |number: u32| (number, thread_lanes(process, number));
    let found = process.spans.threads().map(of).filter(|(_, drafts)| drafts.slices > 0);
    let track = |(number, drafts): (u32, Drafts)| Track {
        number: stable.track(TrackKey::Thread(key, number)),
        kind: TrackKind::Thread(number),
        process: at,
        name: process.thread_name(number).into_owned(),
        slices: drafts.slices,
        extent_ns: None,
        lanes: drafts.finish(),
        rows: Narrow::default(),
    };
    found.map(track).collect()
}

fn thread_lanes(process: &Process, thread: u32) -> Drafts {
    let spans = &process.spans;
    in_order(process, spans.rows_of_thread(thread)).unwrap_or_else(|| {
        // Stable: of scopes that begin together the outer one was opened first.
        let mut rows: Vec<Row> = spans.rows_of_thread(thread).collect();
        rows.sort_by_key(|&row| spans.start(row));
        in_order(process, rows.into_iter()).unwrap_or_default()
    })
}

/// The lanes of scopes that come in order of their start; none where they do not.
fn in_order(process: &Process, rows: impl Iterator<Item = Row>) -> Option<Drafts> {
    let mut scan = process.spans.scan();
    let (mut drafts, mut before) = (Drafts::default(), 0);
    for row in rows {
        let (start, end) = scan.times(row);
        if start < before {
            return None;
        }
        before = start;
        drafts.add(row, scan.parent_row(row), start, end);
    }
    Some(drafts)
}

fn streams(process: &Process, at: usize, key: u64, stable: &mut Stable) -> Vec<Track> {
    let mut streams: BTreeMap<[u32; 3], (Drafts, NarrowBuilder)> = BTreeMap::new();
    let work = &process.gpu.work;
    for row in work.rows() {
        let Some((start, end)) = work.interval(row) else { continue };
        let Work { device, context, stream, .. } = work.get(row);
        let (drafts, rows) = streams.entry([device, context, stream]).or_default();
        drafts.add(row, None, start, end);
        rows.push(row.into());
    }
    let several = |device: u32| work.contexts(device).len() > 1;
    let track = |(place, (drafts, rows)): ([u32; 3], (Drafts, NarrowBuilder))| {
        let [device, context, stream] = place;
        let name = match several(device) {
            true => format!("GPU {device} context {context} stream {stream}"),
            false => format!("GPU {device} stream {stream}"),
        };
        Track {
            number: stable.track(TrackKey::Stream(key, place)),
            kind: TrackKind::Stream { device, context, stream },
            process: at,
            name,
            slices: drafts.slices,
            extent_ns: None,
            lanes: drafts.finish(),
            rows: rows.finish(),
        }
    };
    streams.into_iter().map(track).collect()
}

/// A lane in the making.
#[derive(Default)]
struct Draft {
    rows: NarrowBuilder,
    starts: Vec<u64>,
    pyramid: PyramidBuilder,
}

/// The lanes of a track in the making.
#[derive(Default)]
struct Drafts {
    lanes: Lanes,
    drafts: Vec<Draft>,
    slices: u64,
}

impl Drafts {
    fn add(&mut self, row: Row, parent: Option<Row>, start: u64, end: u64) {
        let lane = self.lanes.place(row, parent, start, end);
        if lane >= self.drafts.len() {
            self.drafts.resize_with(lane + 1, Default::default);
        }
        let draft = &mut self.drafts[lane];
        draft.rows.push(row.into());
        if draft.pyramid.len().is_multiple_of(FAN) {
            draft.starts.push(start);
        }
        draft.pyramid.push(end - start);
        self.slices += 1;
    }

    fn finish(self) -> Vec<Lane> {
        self.drafts.into_iter().map(Draft::finish).collect()
    }
}

impl Draft {
    fn finish(mut self) -> Lane {
        self.starts.shrink_to_fit();
        Lane { rows: self.rows.finish(), starts: self.starts, pyramid: self.pyramid.finish() }
    }
}

impl Track {
    /// Lanes are in order of start, so the first slices and the last ones tell.
    fn extent(&self, process: &Process, timeline: &Timeline) -> Option<(i64, i64)> {
        let times = |lane: &Lane, at: usize| self.times(process, lane.rows.get(at as Row) as Row);
        let lanes = || self.lanes.iter().filter(|lane| lane.pyramid.len() > 0);
        let first = lanes().map(|lane| times(lane, 0).0).min()?;
        let last = lanes().map(|lane| times(lane, lane.pyramid.len() - 1).1).max()?;
        Some((timeline.moment_ns(process, first), timeline.moment_ns(process, last)))
    }
}

impl NameIds {
    fn new(process: &Process, stable: &mut Stable) -> NameIds {
        let mut ids = NameIds::default();
        let mut names = process.spans.scan_names();
        ids.scopes = vec![NO_NAME; process.names.end() as usize];
        for row in process.spans.rows() {
            let name = names(row);
            let mut number = || stable.name(&process.names.text(name));
            match ids.scopes.get_mut(name as usize) {
                Some(known) if *known != NO_NAME => {}
                Some(new) => *new = number(),
                None => _ = ids.lost.entry(name).or_insert_with(number),
            }
        }
        for name in process.gpu.work.kernel_names() {
            let short = || stable.name(&process.gpu.kernel_name(name).short);
            ids.kernels.entry(name).or_insert_with(short);
        }
        for row in process.gpu.work.rows().filter(|&row| process.gpu.work.kernel(row).is_none()) {
            let name = other_name(&process.gpu.work.detail(row));
            ids.others.entry(name).or_insert_with(|| stable.name(name));
        }
        ids.tags = TagIds::new(process, stable);
        ids
    }

    pub(super) fn scope(&self, process: &Process, row: Row) -> u32 {
        let name = process.spans.name(row);
        let known = self.scopes.get(name as usize).or_else(|| self.lost.get(&name));
        known.copied().unwrap_or(NO_NAME)
    }

    pub(super) fn work(&self, process: &Process, row: Row) -> u32 {
        let work = &process.gpu.work;
        let found = match work.kernel(row) {
            Some(kernel) => self.kernels.get(&kernel.name),
            None => self.others.get(other_name(&work.detail(row))),
        };
        found.copied().unwrap_or(NO_NAME)
    }
}

/// What work that is no kernel is called.
pub(super) fn other_name(detail: &Detail) -> &'static str {
    match detail {
        Detail::Kernel(_) => "kernel",
        Detail::Copy { direction: code, .. } => match direction(*code) {
            "host to device" => "copy host to device",
            "device to host" => "copy device to host",
            "device to device" => "copy device to device",
            "peer to peer" => "copy peer to peer",
            "host to host" => "copy host to host",
            _ => "copy",
        },
        Detail::Set { .. } => "set",
        Detail::Sync { .. } => "wait",
        Detail::Memory { freed: true, .. } => "free",
        Detail::Memory { freed: false, .. } => "allocate",
    }
}
