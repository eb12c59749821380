//! Writes run folders by hand: what a recorder would leave, split between spool and arena at will.
#![allow(dead_code, reason = "each test program uses a part")]

pub mod arena;
pub mod gpu;
pub mod machine;
pub mod render;

use hodo_format::arena::{Anchor, Counts, Loss};
use hodo_format::record::{
    AttrsRecord, Head, Kind, MarkRecord, Span, SpanId, TextRecord, UNIT_BYTES, Unit, Value,
};
use hodo_format::spool::{self, Encoder, Losses, ThreadInfo};
use hodo_trace::{ReadOptions, Run};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub const SECOND: u64 = 1_000_000_000;

/// A run folder that goes away with the test.
pub struct TestRun {
    pub dir: tempfile::TempDir,
}

impl TestRun {
    pub fn new() -> TestRun {
        let dir = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(dir.path().join("run.json"), r#"{"format":1,"id":"test","app":"t"}"#)
            .expect("run.json");
        TestRun { dir }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn folder(&self, process: &Records) -> PathBuf {
        self.path().join(format!("p{}-{:08x}", process.pid, process.process as u32))
    }

    pub fn read(&self) -> Run {
        Run::open(self.path(), &ReadOptions::default()).expect("a run")
    }

    /// Writes a process that shut down: everything in the spool.
    pub fn finished(&self, process: &Records) -> PathBuf {
        let folder = self.json(process);
        let all: Vec<_> = process.all().collect();
        process.spool(&folder, &all, true);
        folder
    }

    pub fn json(&self, process: &Records) -> PathBuf {
        let folder = self.folder(process);
        std::fs::create_dir_all(&folder).expect("a process folder");
        let parent = process.parent.map_or("null".to_owned(), |(p, span)| {
            format!(r#"{{"process":"{p:016x}","span":"{:016x}"}}"#, span.0)
        });
        let rank = process.rank.map_or("null".to_owned(), |rank| rank.to_string());
        let text = format!(
            r#"{{"format":1,"process":"{:016x}","pid":{},"host":"{}","rank":{rank},"start_ns":{},"clock":"{}","arena":"arena","parent":{parent}}}"#,
            process.process, process.pid, process.host, process.pid, process.clock
        );
        std::fs::write(folder.join("process.json"), text).expect("process.json");
        folder
    }
}

/// The records of a process, by thread, in the order they were made.
pub struct Records {
    pub process: u64,
    pub pid: u32,
    pub host: &'static str,
    pub rank: Option<u32>,
    pub parent: Option<(u64, SpanId)>,
    pub names: Vec<String>,
    /// Readings of the clocks, in the catalog and at the head of the spool file.
    pub anchors: Vec<Anchor>,
    /// As `process.json` names it.
    pub clock: &'static str,
    pub threads: BTreeMap<u32, Vec<Vec<Unit>>>,
    /// The system's numbers of the threads, where it matters.
    pub os_tids: BTreeMap<u32, u32>,
    pub open: Vec<Span>,
    pub lost: Counts,
    pub reason: Loss,
    /// Numbers a thread lost, left out when it is written.
    pub dropped: Vec<(u32, u64)>,
    next: BTreeMap<u32, u64>,
}

/// A record and where it stands: thread, number, units.
pub type Numbered<'a> = (u32, u64, &'a [Unit]);

impl Records {
    pub fn new(pid: u32) -> Records {
        let anchor = |ticks| Anchor { ticks, monotonic_ns: ticks, wall_ns: 1000 * SECOND + ticks };
        Records {
            process: 0xabc0_0000_0000_0000 + u64::from(pid),
            pid,
            host: "box",
            rank: None,
            parent: None,
            names: vec!["(unused)".to_owned()],
            anchors: vec![anchor(1), anchor(1001)],
            clock: "counter",
            threads: BTreeMap::new(),
            os_tids: BTreeMap::new(),
            open: Vec::new(),
            lost: Counts::default(),
            reason: Loss::RingFull,
            dropped: Vec::new(),
            next: BTreeMap::new(),
        }
    }

    pub fn name(&mut self, text: &str) -> u32 {
        if let Some(at) = self.names.iter().position(|n| n == text) {
            return at as u32;
        }
        self.names.push(text.to_owned());
        self.names.len() as u32 - 1
    }

    pub fn id(&mut self, thread: u32) -> SpanId {
        let next = self.next.entry(thread).or_default();
        *next += 1;
        SpanId::new(thread, *next)
    }

    pub fn push(&mut self, thread: u32, units: Vec<Unit>) {
        self.threads.entry(thread).or_default().push(units);
    }

    /// A scope from `start` to `end`; give it the id it was opened with.
    pub fn close(&mut self, id: SpanId, parent: SpanId, name: &str, start: u64, end: u64) {
        let span = self.span(id, parent, name, start, end);
        self.push(id.thread(), vec![span.to_unit()]);
    }

    pub fn span(&mut self, id: SpanId, parent: SpanId, name: &str, start: u64, end: u64) -> Span {
        let name = self.name(name);
        let cpu = (end - start) / 2;
        Span { flags: 0, name, id, parent, start, end, cpu, index: 0, overhead: 1 }
    }

    pub fn scope(
        &mut self,
        thread: u32,
        parent: SpanId,
        name: &str,
        start: u64,
        end: u64,
    ) -> SpanId {
        let id = self.id(thread);
        self.close(id, parent, name, start, end);
        id
    }

    pub fn flagged(
        &mut self,
        id: SpanId,
        parent: SpanId,
        name: &str,
        start: u64,
        end: u64,
        flags: u16,
    ) {
        let span = self.span(id, parent, name, start, end);
        self.push(id.thread(), vec![Span { flags, ..span }.to_unit()]);
    }

    pub fn attr(&mut self, id: SpanId, key: &str, value: Value<'_>) {
        let key = self.name(key);
        let (code, word) = value.to_code().expect("a value of fixed size");
        self.push(id.thread(), vec![AttrsRecord::unit(id, &[(key, code, word)])]);
    }

    pub fn text(&mut self, id: SpanId, key: &str, text: &str) {
        self.flagged_text(id, key, text, 0);
    }

    pub fn flagged_text(&mut self, id: SpanId, key: &str, text: &str, flags: u16) {
        let name = self.name(key);
        let units = TextRecord::units(text.len());
        let head = Head { kind: Kind::Text as u8, units: units as u8, flags, name };
        let mut bytes = vec![0; units * UNIT_BYTES];
        bytes[..8].copy_from_slice(&head.word().to_le_bytes());
        bytes[8..16].copy_from_slice(&id.0.to_le_bytes());
        bytes[16..20].copy_from_slice(&(text.len() as u32).to_le_bytes());
        bytes[20..20 + text.len()].copy_from_slice(text.as_bytes());
        self.push(id.thread(), units_of(&bytes));
    }

    pub fn mark(
        &mut self,
        thread: u32,
        id: SpanId,
        name: &str,
        at: u64,
        value: Value<'_>,
        summary: bool,
    ) {
        let name = self.name(name);
        let (code, word) = value.to_code().expect("a value of fixed size");
        let flags = code | if summary { MarkRecord::SUMMARY } else { 0 };
        let head = Head { kind: Kind::Mark as u8, units: 1, flags, name };
        self.push(thread, vec![Unit([head.word(), id.0, at, word, 0, 0, 0, 0])]);
    }

    /// Every record that was not dropped.
    pub fn all(&self) -> impl Iterator<Item = Numbered<'_>> {
        self.threads
            .iter()
            .flat_map(|(&thread, records)| {
                (0..).zip(records).map(move |(number, units)| (thread, number, units.as_slice()))
            })
            .filter(|r| !self.dropped.contains(&(r.0, r.1)))
    }

    pub fn counts(&self) -> Counts {
        let mut encoder = Encoder::new(1);
        for (thread, number, units) in self.all() {
            encoder.push(thread, number, units);
        }
        encoder.counts()
    }

    /// Writes catalog and one spool file with `records`, a frame for every few of them.
    pub fn spool(&self, folder: &Path, records: &[Numbered<'_>], end: bool) {
        let mut out = spool::file_header(self.process, 1).to_vec();
        spool::anchors_frame(3, &self.anchors, &mut out);
        let mut encoder = Encoder::new(1);
        let mut sequence = 4;
        let mut stored = Counts::default();
        for chunk in records.chunks(5) {
            for &(thread, number, units) in chunk {
                stored += encoder.push(thread, number, units);
            }
            encoder.finish(sequence, &mut out);
            sequence += 1;
        }
        std::fs::write(folder.join("spool-000001.hodo"), out).expect("spool");
        self.catalog(folder, sequence, stored, end);
    }

    fn catalog(&self, folder: &Path, sequence: u64, stored: Counts, end: bool) {
        let mut out = spool::file_header(self.process, 0).to_vec();
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        spool::strings_frame(1, 0, &names, &mut out);
        spool::anchors_frame(2, &self.anchors, &mut out);
        let mut sequence = sequence;
        for &number in self.threads.keys() {
            let name = format!("thread-{number}");
            let os_tid = self.os_tids.get(&number).copied().unwrap_or(0);
            let thread = ThreadInfo { number, os_tid, name, ..ThreadInfo::default() };
            spool::thread_frame(sequence, &thread, &mut out);
            sequence += 1;
        }
        if end {
            let mut lost = [Counts::default(); Loss::COUNT];
            lost[self.reason as usize] = self.lost;
            let mut produced = stored;
            produced += self.lost;
            spool::end_frame(sequence, &Losses { produced, stored, lost }, &mut out);
        }
        std::fs::write(folder.join("catalog.hodo"), out).expect("catalog");
    }
}

fn units_of(bytes: &[u8]) -> Vec<Unit> {
    let word = |c: &[u8]| u64::from_le_bytes(c.try_into().expect("eight bytes"));
    let unit = |u: &[u8]| Unit(std::array::from_fn(|i| word(&u[8 * i..8 * i + 8])));
    bytes.chunks_exact(UNIT_BYTES).map(unit).collect()
}
