//! Tracks: what stands for a process, a thread, a stream of a GPU, a counter, or for itself.

use crate::import::build::{Builder, Process};
use crate::import::pool::Given;
use crate::perfetto::proto::{TrackDescriptor, TrackEvent};
use std::collections::HashMap;

/// Tracks of a trace.
const MOST_TRACKS: usize = 1 << 20;
/// Tracks in tracks.
const DEEPEST: usize = 16;

#[derive(Clone, Default)]
struct Track {
    name: String,
    parent: Option<u64>,
    pid: Option<i64>,
    thread: Option<(i64, u64)>,
    counter: Option<Counter>,
    /// Where it is placed by itself.
    lane: Option<u32>,
    row: Option<Row>,
}

#[derive(Clone, Copy, Default)]
struct Counter {
    factor: i64,
    is_incremental: bool,
    sum: f64,
}

/// Where the scopes of a track go.
#[derive(Clone, Debug)]
pub struct Row {
    /// The process.
    pub process: u32,
    /// Whether the track stands for a thread.
    pub is_thread: bool,
    /// That thread's id.
    pub os_tid: u64,
    /// Its name.
    pub name: String,
}

/// The tracks of a file.
#[derive(Default)]
pub struct Tracks {
    tracks: HashMap<u64, Track>,
    processes: HashMap<i64, u32>,
}

impl Tracks {
    /// Takes a description.
    pub fn describe(&mut self, told: &TrackDescriptor, builder: &mut Builder) {
        let uuid = told.uuid.unwrap_or(0);
        if self.tracks.len() >= MOST_TRACKS && !self.tracks.contains_key(&uuid) {
            builder.notes.count("tracks past the limit, taken as one");
            return;
        }
        let track = self.tracks.entry(uuid).or_default();
        track.parent = told.parent_uuid.or(track.parent);
        let name = told.name.clone().or_else(|| told.static_name.clone());
        track.name = name.unwrap_or_else(|| std::mem::take(&mut track.name));
        if let Some(counter) = &told.counter {
            track.counter = Some(Counter {
                factor: counter.unit_multiplier.filter(|&n| n != 0).unwrap_or(1),
                is_incremental: counter.is_incremental.unwrap_or(false),
                sum: 0.0,
            });
        }
        if let Some(thread) = &told.thread {
            let pid = i64::from(thread.pid.unwrap_or(0));
            track.thread = Some((pid, thread.tid.unwrap_or(0) as u64));
            track.name = thread.thread_name.clone().unwrap_or_default();
        }
        if let Some(process) = &told.process {
            let pid = i64::from(process.pid.unwrap_or(0));
            track.pid = Some(pid);
            let number = self.process(pid, builder);
            if let Some(info) = builder.process_mut(number) {
                identify(info, process.process_name.as_deref(), &process.process_labels);
            }
        }
    }

    fn process(&mut self, pid: i64, builder: &mut Builder) -> u32 {
        *self.processes.entry(pid).or_insert_with(|| {
            let mut process = Process::default();
            process.pid = u32::try_from(pid).unwrap_or(0);
            builder.process(process)
        })
    }

    /// The track and those above it.
    fn way(&self, track: u64) -> Vec<(u64, &Track)> {
        let mut way = Vec::new();
        let mut next = Some(track);
        while let Some(uuid) = next.filter(|_| way.len() < DEEPEST) {
            let Some(track) = self.tracks.get(&uuid) else { break };
            way.push((uuid, track));
            next = track.parent.filter(|&above| above != uuid && above != 0);
        }
        way
    }

    /// Where the scopes of a track go.
    pub fn row(&mut self, track: u64, builder: &mut Builder) -> Row {
        if let Some(row) = self.tracks.get(&track).and_then(|t| t.row.clone()) {
            return row;
        }
        let way = self.way(track);
        let thread = way.first().and_then(|(_, track)| track.thread);
        let pid = way.iter().find_map(|(_, t)| t.thread.map(|(pid, _)| pid).or(t.pid));
        let name = way.first().map(|(_, t)| t.name.clone()).unwrap_or_default();
        let process = self.process(pid.unwrap_or(0), builder);
        // No system has that many threads: what stands for itself is numbered behind them.
        let os_tid = thread.map_or(1 << 63 | track, |(_, tid)| tid);
        let row = Row { process, is_thread: thread.is_some(), os_tid, name };
        if self.tracks.len() < MOST_TRACKS || self.tracks.contains_key(&track) {
            self.tracks.entry(track).or_default().row = Some(row.clone());
        }
        row
    }

    /// The thread that a track stands for, or that stands for it.
    pub fn thread(&mut self, track: u64, builder: &mut Builder) -> u32 {
        let row = self.row(track, builder);
        let thread = builder.thread(row.process, row.os_tid);
        builder.name_thread(row.process, thread, &row.name);
        thread
    }

    /// A number for what is on the track and has ids of its own.
    pub fn lane(&mut self, track: u64, builder: &mut Builder) -> u32 {
        *self.tracks.entry(track).or_default().lane.get_or_insert_with(|| builder.lane())
    }

    /// Where the marks of a track go: to the scopes of the thread it is of.
    pub fn marks(&mut self, track: u64, builder: &mut Builder) -> u32 {
        let thread = self.way(track).into_iter().find(|(_, t)| t.thread.is_some());
        let Some((uuid, track)) = thread else { return 0 };
        match track.lane {
            Some(lane) => lane,
            None => self.thread(uuid, builder),
        }
    }

    /// Name and value of an event of a counter.
    pub fn value(&mut self, track: u64, event: &TrackEvent) -> Option<(String, Given<'static>)> {
        let track = self.tracks.get_mut(&track)?;
        let counter = track.counter.as_mut()?;
        let whole = event.counter_value.map(|v| v.saturating_mul(counter.factor));
        if let (Some(whole), false) = (whole, counter.is_incremental) {
            return Some((track.name.clone(), Given::I64(whole)));
        }
        let float = event.double_counter_value.map(|v| v * counter.factor as f64);
        let mut value = whole.map(|v| v as f64).or(float)?;
        if counter.is_incremental {
            counter.sum += value;
            value = counter.sum;
        }
        Some((track.name.clone(), Given::F64(value)))
    }

    /// Process, and device, context and stream of a track of GPU work in hodo's export.
    pub fn stream(&mut self, track: u64, builder: &mut Builder) -> (u32, (u32, u32, u32)) {
        let way = self.way(track);
        let title = |at: usize| way.get(at).map_or("", |(_, track)| track.name.as_str());
        let (stream, device) = (title(0), title(1).to_owned());
        let number = after(&device, "GPU ").unwrap_or(0);
        let place =
            (number, after(stream, "context ").unwrap_or(0), after(stream, "stream ").unwrap_or(0));
        let pid = way.iter().find_map(|(_, track)| track.pid);
        let process = self.process(pid.unwrap_or(0), builder);
        let name = device.split_once('(').and_then(|(_, name)| name.strip_suffix(')'));
        if let (Some(name), Some(info)) = (name, builder.process_mut(process)) {
            info.devices.entry(number).or_insert_with(|| name.to_owned());
        }
        (process, place)
    }

    /// Says when the processes began.
    pub fn finish(self, offset_ns: Option<i64>, changed_ns: Option<i64>, builder: &mut Builder) {
        if offset_ns.is_none() {
            builder.notes.place(crate::import::NO_DATE.into());
        }
        for number in self.processes.into_values() {
            if let Some(process) = builder.process_mut(number) {
                (process.wall_offset_ns, process.ended_by_ns) = (offset_ns, changed_ns);
                process.gpu.insert("missing".into(), "not_in_source".into());
            }
        }
    }
}

/// The number behind a word.
fn after(text: &str, word: &str) -> Option<u32> {
    let digits = text.split_once(word)?.1;
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// What hodo's export says of a process: its name ends with its rank, labels are host, pid, id.
fn identify(process: &mut Process, name: Option<&str>, labels: &[String]) {
    let name = name.unwrap_or_default();
    process.name = name.to_owned();
    let id = labels.iter().find_map(|l| l.strip_prefix("hodo "));
    let Some(id) = id.and_then(|hex| u64::from_str_radix(hex, 16).ok()) else { return };
    process.id = Some(id);
    if let Some((app, rank)) = name.rsplit_once(" rank ")
        && let Ok(rank) = rank.parse()
    {
        (process.name, process.rank) = (app.to_owned(), Some(rank));
    }
    for label in labels {
        match (label.strip_prefix("pid "), label.split_once(' ')) {
            (Some(pid), _) => process.pid = pid.parse().unwrap_or(process.pid),
            (None, None) => process.host.clone_from(label),
            _ => {}
        }
    }
}
