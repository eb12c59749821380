//! Tracks: a row of the timeline each, described before it is used.

use super::Writer;
use super::proto::{
    CounterDescriptor, MERGE_NONE, ProcessDescriptor, ThreadDescriptor, TracePacket,
    TrackDescriptor,
};
use crate::ConvertError;
use crate::gpu::{self, Stream};
use crate::timeline::{self, Group};
use hodo_trace::{Process, Run};
use std::collections::HashMap;
use std::io::Write;

/// Which track is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Track {
    /// A process.
    Process,
    /// A thread, by number.
    Thread(u32),
    /// A further row of a thread, for spans that cross.
    Overlap(u32, usize),
    /// A row for scopes that were not bound to one thread.
    Async(usize),
    /// Values of a mark, by the thread's number (0 for none) and the mark's name.
    Counter(u32, u32),
    /// A thread that launched GPU work and recorded nothing, by the operating system's number.
    Silent(u32),
    /// A device.
    Device(u32),
    /// A row of a stream of a device.
    Stream(Stream, usize),
}

impl Track {
    /// The track of a lane.
    pub fn of(group: Group, lane: usize) -> Track {
        match (group, lane) {
            (Group::Thread(t), 0) => Track::Thread(t),
            (Group::Thread(t), lane) => Track::Overlap(t, lane),
            (Group::Async, lane) => Track::Async(lane),
        }
    }
}

/// Numbers of tracks, given out as they are first used.
pub struct Tracks<'a> {
    run: &'a Run,
    pids: Vec<u32>,
    uuids: HashMap<(usize, Track), u64>,
    /// Those asked for last: events of one track follow one another, but for launches.
    last: [Option<((usize, Track), u64)>; 2],
}

impl<'a> Tracks<'a> {
    /// No track yet.
    pub fn new(run: &'a Run) -> Tracks<'a> {
        Tracks { run, pids: timeline::pids(run), uuids: HashMap::new(), last: [None; 2] }
    }

    /// The number of a track of the `at`-th process; described in `out` when it is new.
    pub fn uuid<W: Write>(
        &mut self,
        at: usize,
        track: Track,
        out: &mut Writer<W>,
    ) -> Result<u64, ConvertError> {
        let known = self.last.iter().flatten().find(|(of, _)| *of == (at, track));
        if let Some(&(_, uuid)) = known {
            return Ok(uuid);
        }
        if let Some(&uuid) = self.uuids.get(&(at, track)) {
            self.last = [Some(((at, track), uuid)), self.last[0]];
            return Ok(uuid);
        }
        let parent = match parent(track) {
            Some(above) => Some(self.uuid(at, above, out)?),
            None => None,
        };
        let uuid = self.uuids.len() as u64 + 1;
        self.uuids.insert((at, track), uuid);
        let described = self.describe(at, track);
        out.packet(&TracePacket {
            trusted_packet_sequence_id: Some(at as u32 + 1),
            track_descriptor: Some(TrackDescriptor {
                uuid: Some(uuid),
                parent_uuid: parent,
                ..described
            }),
            ..TracePacket::default()
        })?;
        Ok(uuid)
    }

    fn describe(&self, at: usize, track: Track) -> TrackDescriptor {
        let process = &self.run.processes[at];
        let named =
            |name: String| TrackDescriptor { name: Some(name), ..TrackDescriptor::default() };
        match track {
            Track::Process => self.process(at, process),
            Track::Thread(number) => self.thread(at, process, number),
            Track::Overlap(number, lane) => TrackDescriptor {
                sibling_merge_behavior: Some(MERGE_NONE),
                ..named(format!("{} overlap {lane}", process.thread_name(number)))
            },
            Track::Async(_) => named("async".to_owned()),
            Track::Counter(_, name) => TrackDescriptor {
                counter: Some(CounterDescriptor::default()),
                ..named(process.names.text(name).into_owned())
            },
            Track::Silent(os_tid) => self.silent_thread(at, os_tid),
            Track::Device(device) => named(gpu::device_name(process, device)),
            Track::Stream(stream, lane) => TrackDescriptor {
                sibling_merge_behavior: Some(MERGE_NONE),
                ..named(gpu::stream_name(process, stream, lane))
            },
        }
    }

    fn process(&self, at: usize, process: &Process) -> TrackDescriptor {
        let host = process.info.host.clone();
        let id = format!("hodo {:016x}", process.process);
        let state = format!("state: {}", process.state.word());
        let labels = [host, format!("pid {}", process.info.pid), state, id];
        let descriptor = ProcessDescriptor {
            pid: Some(self.pids[at] as i32),
            cmdline: process.info.argv.clone(),
            process_name: Some(timeline::process_name(self.run, process)),
            process_labels: labels.into_iter().filter(|l| !l.is_empty()).collect(),
        };
        TrackDescriptor { process: Some(descriptor), ..TrackDescriptor::default() }
    }

    fn thread(&self, at: usize, process: &Process, number: u32) -> TrackDescriptor {
        let descriptor = ThreadDescriptor {
            pid: Some(self.pids[at] as i32),
            tid: Some(i64::from(timeline::thread_id(process, number))),
            thread_name: Some(process.thread_name(number).into_owned()),
        };
        TrackDescriptor { thread: Some(descriptor), ..TrackDescriptor::default() }
    }

    fn silent_thread(&self, at: usize, os_tid: u32) -> TrackDescriptor {
        let descriptor = ThreadDescriptor {
            pid: Some(self.pids[at] as i32),
            tid: Some(i64::from(os_tid)),
            thread_name: Some(format!("thread {os_tid}")),
        };
        TrackDescriptor { thread: Some(descriptor), ..TrackDescriptor::default() }
    }
}

/// The track a track is drawn under.
fn parent(track: Track) -> Option<Track> {
    Some(match track {
        Track::Process => return None,
        Track::Thread(_)
        | Track::Silent(_)
        | Track::Async(_)
        | Track::Device(_)
        | Track::Counter(0, _) => Track::Process,
        Track::Stream(stream, _) => Track::Device(stream.device),
        Track::Overlap(number, _) | Track::Counter(number, _) => Track::Thread(number),
    })
}
