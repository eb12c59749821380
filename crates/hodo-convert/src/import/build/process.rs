//! A process as its source describes it, and as its files say.

use crate::import::rows::source_ns;
use hodo_format::arena::Anchor;
use hodo_format::spool::ThreadInfo;
use serde_json::json;
use std::collections::{BTreeMap, HashMap};

/// A process as its source describes it.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Its pid; 0 when not known.
    pub pid: u32,
    /// Its name, where the source has one.
    pub name: String,
    /// Random half of its ids, if the source's own is kept.
    pub id: Option<u64>,
    /// Its rank.
    pub rank: Option<u32>,
    /// Ranks in the job.
    pub world_size: Option<u32>,
    /// Host name.
    pub host: String,
    /// Nanoseconds since 1970 of the source's moment 0; none when it does not say.
    pub wall_offset_ns: Option<i64>,
    /// Process and id of the scope it was started in.
    pub parent: Option<(u64, u64)>,
    /// When it was over at the latest, for a source that does not say when it began.
    pub ended_by_ns: Option<i64>,
    /// What is known of the capture of GPU work, as in a STATE frame.
    pub gpu: serde_json::Map<String, serde_json::Value>,
    /// GPUs by number.
    pub devices: BTreeMap<u32, String>,
    pub(super) has_overhead: bool,
    pub(super) threads: Vec<Thread>,
    pub(super) by_os_tid: HashMap<u64, u32>,
    pub(super) first: Option<u64>,
    pub(super) last: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    pub(super) number: u32,
    pub(super) os_tid: u64,
    pub(super) name: String,
    /// Ids of its scopes that the source gave go up to here.
    pub(super) last_id: u64,
}

impl Process {
    pub(super) fn thread_mut(&mut self, number: u32) -> Option<&mut Thread> {
        let at = self.threads.partition_point(|t| t.number < number);
        self.threads.get_mut(at).filter(|t| t.number == number)
    }

    pub(super) fn saw(&mut self, from: u64, to: u64) {
        self.first = Some(self.first.map_or(from, |first| first.min(from)));
        self.last = self.last.max(to);
    }

    pub(super) fn id(&self) -> u64 {
        self.id.unwrap_or(0)
    }

    /// Nanoseconds since 1970 of the source's moment 0.
    pub(super) fn offset_ns(&self) -> i64 {
        let guessed = || self.ended_by_ns.map(|by| by.saturating_sub(source_ns(self.last)));
        self.wall_offset_ns.or_else(guessed).unwrap_or(0)
    }

    pub(super) fn wall_ns(&self, ticks: u64) -> u64 {
        u64::try_from(source_ns(ticks).saturating_add(self.offset_ns())).unwrap_or(1).max(1)
    }

    /// Two readings of its clock, between which everything lies.
    pub(super) fn anchors(&self) -> [Anchor; 2] {
        let first = self.first.unwrap_or(self.last);
        [first, self.last.max(first + 1)].map(|ticks| {
            let wall_ns = self.wall_ns(ticks);
            Anchor { ticks, monotonic_ns: wall_ns, wall_ns }
        })
    }
}

pub(super) fn thread_info(thread: &Thread) -> ThreadInfo {
    let name = match thread.name.as_str() {
        "" if thread.os_tid > u64::from(u32::MAX) => format!("thread {:#x}", thread.os_tid),
        name => name.to_owned(),
    };
    let os_tid = u32::try_from(thread.os_tid).unwrap_or(0);
    ThreadInfo { number: thread.number, os_tid, name, ..ThreadInfo::default() }
}

pub(super) fn process_json(process: &Process) -> String {
    let first = process.first.unwrap_or(0);
    let hex = |(process, span): (u64, u64)| json!({"process": format!("{process:016x}"), "span": format!("{span:016x}")});
    let argv: Vec<&str> =
        Some(process.name.as_str()).filter(|n| !n.is_empty()).into_iter().collect();
    json!({
        "format": 1,
        "process": format!("{:016x}", process.id()),
        "pid": process.pid,
        "host": process.host,
        "argv": argv,
        "rank": process.rank,
        "world_size": process.world_size,
        "start_ns": process.wall_ns(first),
        "clock": "monotonic",
        "arena": null,
        "parent": process.parent.map(hex),
        "imported": !process.has_overhead,
    })
    .to_string()
}

pub(super) fn gpu_state(process: &Process, kept: u64) -> String {
    let mut state = process.gpu.clone();
    state.insert("kept".into(), kept.into());
    if kept > 0 {
        state.remove("missing");
        state.insert("level".into(), "trace".into());
    }
    let devices = process.devices.iter();
    let devices: Vec<_> = devices.map(|(d, name)| json!({"device": d, "name": name})).collect();
    state.insert("devices".into(), devices.into());
    serde_json::Value::Object(state).to_string()
}
