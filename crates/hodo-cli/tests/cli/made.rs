//! Runs made by hand, byte for byte, so that a report of them is the same everywhere.

use hodo_format::arena::{Anchor, Counts, Loss};
use hodo_format::gpu::{self, Detail, Kernel, Sample, Work};
use hodo_format::record::{
    AttrsRecord, Head, Kind, MarkRecord, Span, SpanId, TextRecord, Unit, code,
};
use hodo_format::spool::{self, Encoder, Losses, ThreadInfo};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Ticks are nanoseconds here; recording began at this one.
pub const EPOCH: u64 = 1_000_000_000;
/// 2026-11-15 20:15:00 UTC.
pub const WALL_NS: u64 = 1_794_773_700_000_000_000;
pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;

/// A folder that is removed when the test ends.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("hodo-cli-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// One process of a run in the making.
pub struct Made {
    pub pid: u32,
    pub rank: Option<u32>,
    /// What the clock on the wall showed when recording began.
    pub wall_ns: u64,
    /// Tells processes with the same pid on different hosts apart.
    pub host: u32,
    /// The scope that started it: the id of its process, and its own.
    pub parent: Option<(u64, SpanId)>,
    /// Records said to be produced beyond those that are written.
    pub lost: [Counts; Loss::COUNT],
    /// Whether the recorder shut down.
    pub ended: bool,
    /// Whether readings of its clocks are there.
    pub has_anchors: bool,
    /// What it did on the GPU; written where the capture says something of itself.
    pub works: Vec<Work>,
    pub gpu_state: String,
    pub samples: Vec<Sample>,
    /// What the page of the callbacks holds, if there is one.
    pub live: Option<[u64; 10]>,
    names: Vec<String>,
    threads: BTreeMap<u32, (String, Vec<Unit>, u64)>,
    counts: Counts,
    last: u64,
}

/// What a scope is made of; times count from the beginning of the recording.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub thread: u32,
    pub name: &'a str,
    pub parent: SpanId,
    pub start: u64,
    pub end: u64,
    pub cpu: u64,
    pub index: Option<i64>,
    pub flags: u16,
    pub overhead: u64,
}

impl<'a> Scope<'a> {
    pub fn new(name: &'a str, parent: SpanId, start: u64, end: u64) -> Scope<'a> {
        let cpu = (end - start) / 2;
        Scope { thread: 1, name, parent, start, end, cpu, index: None, flags: 0, overhead: 100 }
    }

    pub fn on(self, thread: u32) -> Self {
        Scope { thread, ..self }
    }

    pub fn index(self, index: i64) -> Self {
        Scope {
            index: Some(index),
            flags: self.flags | hodo_format::record::flag::HAS_INDEX,
            ..self
        }
    }

    pub fn flags(self, flags: u16) -> Self {
        Scope { flags: self.flags | flags, ..self }
    }
}

impl Made {
    pub fn new(pid: u32) -> Made {
        Made {
            pid,
            rank: None,
            wall_ns: WALL_NS,
            host: 0,
            parent: None,
            lost: Default::default(),
            ended: true,
            has_anchors: true,
            works: Vec::new(),
            gpu_state: String::new(),
            samples: Vec::new(),
            live: None,
            names: Vec::new(),
            threads: BTreeMap::from([(1, ("main".to_owned(), Vec::new(), 0))]),
            counts: Counts::default(),
            last: 0,
        }
    }

    pub fn thread(&mut self, number: u32, name: &str) {
        self.threads.insert(number, (name.to_owned(), Vec::new(), 0));
    }

    /// The number of a string.
    pub fn name(&mut self, text: &str) -> u32 {
        let at = self.names.iter().position(|n| n == text).unwrap_or_else(|| {
            self.names.push(text.to_owned());
            self.names.len() - 1
        });
        at as u32 + 1
    }

    fn push(&mut self, thread: u32, units: &[Unit]) {
        self.threads.get_mut(&thread).expect("a thread that was made").1.extend_from_slice(units);
    }

    /// An id for a scope of `thread` that is written later, after those inside it.
    pub fn open(&mut self, thread: u32) -> SpanId {
        let next = &mut self.threads.get_mut(&thread).expect("a thread that was made").2;
        *next += 1;
        SpanId::new(thread, *next)
    }

    pub fn span(&mut self, scope: Scope<'_>) -> SpanId {
        let id = self.open(scope.thread);
        self.close(id, scope)
    }

    pub fn close(&mut self, id: SpanId, scope: Scope<'_>) -> SpanId {
        let span = Span {
            flags: scope.flags,
            name: self.name(scope.name),
            id,
            parent: scope.parent,
            start: EPOCH + scope.start,
            end: EPOCH + scope.end,
            cpu: scope.cpu,
            index: scope.index.unwrap_or(0),
            overhead: scope.overhead,
        };
        self.last = self.last.max(scope.end);
        self.counts.spans += 1;
        self.push(scope.thread, &[span.to_unit()]);
        id
    }

    pub fn int(&mut self, span: SpanId, key: &str, value: i64) {
        let key = self.name(key);
        self.counts.attrs += 1;
        self.push(span.thread(), &[AttrsRecord::unit(span, &[(key, code::I64, value as u64)])]);
    }

    pub fn float(&mut self, span: SpanId, key: &str, value: f64) {
        let key = self.name(key);
        self.counts.attrs += 1;
        self.push(span.thread(), &[AttrsRecord::unit(span, &[(key, code::F64, value.to_bits())])]);
    }

    pub fn text(&mut self, span: SpanId, key: &str, value: &str) {
        self.text_record(span, key, value, 0);
    }

    pub fn json(&mut self, span: SpanId, key: &str, value: &str) {
        self.text_record(span, key, value, TextRecord::JSON);
    }

    fn text_record(&mut self, span: SpanId, key: &str, value: &str, flags: u16) {
        let units = TextRecord::units(value.len());
        let head = Head { kind: Kind::Text as u8, units: units as u8, flags, name: self.name(key) };
        let mut bytes = vec![0; units * 64];
        bytes[..8].copy_from_slice(&head.word().to_le_bytes());
        bytes[8..16].copy_from_slice(&span.0.to_le_bytes());
        bytes[16..20].copy_from_slice(&(value.len() as u32).to_le_bytes());
        bytes[20..20 + value.len()].copy_from_slice(value.as_bytes());
        self.counts.attrs += 1;
        self.push(span.thread(), &units_of(&bytes));
    }

    pub fn mark(&mut self, span: SpanId, name: &str, at: u64, value: f64) {
        let flags = code::F64;
        let head = Head { kind: Kind::Mark as u8, units: 1, flags, name: self.name(name) };
        let words = [head.word(), span.0, EPOCH + at, value.to_bits(), 0, 0, 0, 0];
        self.counts.marks += 1;
        self.push(span.thread().max(1), &[Unit(words)]);
    }

    pub fn text_mark(&mut self, span: SpanId, name: &str, at: u64, value: &str) {
        let units = MarkRecord::units(value.len());
        let flags = MarkRecord::SUMMARY;
        let head =
            Head { kind: Kind::MarkText as u8, units: units as u8, flags, name: self.name(name) };
        let mut bytes = vec![0; units * 64];
        for (word, at) in
            [head.word(), span.0, EPOCH + at, value.len() as u64].iter().zip([0, 8, 16, 24])
        {
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        bytes[32..32 + value.len()].copy_from_slice(value.as_bytes());
        self.counts.marks += 1;
        self.push(span.thread(), &units_of(&bytes));
    }

    /// A kernel of `span` on stream 7 of device 0, launched 8 µs before it starts.
    pub fn kernel(&mut self, span: SpanId, name: &str, start: u64, end: u64) -> &mut Work {
        let kernel = Kernel {
            name: self.name(name),
            grid: [64, 2, 1],
            block: [256, 1, 1],
            registers: 40,
            dynamic_shared: 16 << 10,
            ..Kernel::default()
        };
        self.work(span, Detail::Kernel(kernel), start, end)
    }

    pub fn work(&mut self, span: SpanId, detail: Detail, start: u64, end: u64) -> &mut Work {
        let at = self.works.len();
        self.works.push(Work {
            flags: if span.is_none() { gpu::flag::NO_SCOPE } else { gpu::flag::BY_LAUNCH },
            device: 0,
            context: 1,
            stream: 7,
            start: EPOCH + start,
            end: EPOCH + end,
            correlation: at as u32 + 1,
            span,
            launched: EPOCH + start - 8 * US,
            thread: self.pid,
            graph: 0,
            node: 0,
            captured: SpanId::NONE,
            forward: SpanId::NONE,
            detail,
        });
        &mut self.works[at]
    }

    fn gpu(&self, process: u64) -> Vec<u8> {
        let mut out = spool::file_header(process, 1).to_vec();
        gpu::state_frame(0, &self.gpu_state, &mut out);
        let mut encoder = gpu::Encoder::new(1);
        self.works.iter().for_each(|work| assert!(encoder.push(work)));
        encoder.finish(1, &mut out);
        gpu::samples_frame(2, &self.samples, &mut out);
        out
    }

    /// The random half of its ids.
    pub fn process(&self) -> u64 {
        0xabcd_0000_0000_0000 + u64::from(self.host * 0x10000 + self.pid)
    }

    fn write(&self, run: &Path) {
        let process = self.process();
        let parent = self.parent.map_or("null".to_owned(), |(process, span)| {
            format!(r#"{{"process":"{process:016x}","span":"{:016x}"}}"#, span.0)
        });
        let folder = run.join(format!("p{}-{:08x}", self.pid, process as u32));
        fs::create_dir_all(&folder).unwrap();
        let rank = self.rank.map_or("null".to_owned(), |r| r.to_string());
        let info = format!(
            r#"{{"format":1,"process":"{process:016x}","pid":{},"parent_pid":1,"host":"box","argv":["train","--fast"],
            "rank":{rank},"local_rank":null,"world_size":null,"start_ns":{},"clock":"counter","arena":"arena","parent":{parent}}}"#,
            self.pid, self.wall_ns
        );
        fs::write(folder.join("process.json"), info).unwrap();
        fs::write(folder.join("spool-000001.hodo"), self.spool(process)).unwrap();
        fs::write(folder.join("catalog.hodo"), self.catalog(process)).unwrap();
        if !self.gpu_state.is_empty() {
            fs::write(folder.join("gpu-000001.hodo"), self.gpu(process)).unwrap();
        }
        if let Some(counts) = self.live {
            let words = [gpu::Live::MAGIC, gpu::Live::VERSION].into_iter().chain(counts);
            let page: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
            fs::write(folder.join(gpu::Live::FILE), page).unwrap();
        }
    }

    fn spool(&self, process: u64) -> Vec<u8> {
        let mut out = spool::file_header(process, 1).to_vec();
        let mut encoder = Encoder::new(1);
        for (number, (_, units, _)) in &self.threads {
            encoder.push(*number, 0, units);
        }
        encoder.finish(1, &mut out);
        out
    }

    fn catalog(&self, process: u64) -> Vec<u8> {
        let mut out = spool::file_header(process, 0).to_vec();
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        spool::strings_frame(0, 1, &names, &mut out);
        let anchor = |t: u64| Anchor {
            ticks: EPOCH + t,
            monotonic_ns: EPOCH + t,
            wall_ns: self.wall_ns + t,
        };
        if self.has_anchors {
            spool::anchors_frame(2, &[anchor(0), anchor(self.last)], &mut out);
        }
        let mut sequence = 3;
        for (number, (name, ..)) in &self.threads {
            let os_tid = self.pid + number - 1;
            let info =
                ThreadInfo { number: *number, os_tid, name: name.clone(), ..ThreadInfo::default() };
            spool::thread_frame(sequence, &info, &mut out);
            sequence += 1;
        }
        let mut produced = self.counts;
        self.lost.iter().for_each(|l| produced += *l);
        let losses = Losses { produced, stored: self.counts, lost: self.lost };
        if self.ended {
            spool::end_frame(sequence, &losses, &mut out);
        } else {
            spool::losses_frame(sequence, &losses, &mut out);
        }
        out
    }
}

fn units_of(bytes: &[u8]) -> Vec<Unit> {
    let word = |chunk: &[u8]| u64::from_le_bytes(chunk.try_into().unwrap());
    let unit = |chunk: &[u8]| Unit(std::array::from_fn(|i| word(&chunk[i * 8..i * 8 + 8])));
    bytes.chunks_exact(64).map(unit).collect()
}

/// Writes a run of `processes` into `dir` and returns its folder.
pub fn write(dir: &Path, id: &str, processes: &[&Made]) -> PathBuf {
    let folder = dir.join(id);
    fs::create_dir_all(&folder).unwrap();
    let info = format!(
        r#"{{"format":1,"id":"{id}","app":"train","argv":["train","--fast"],"cwd":"/data","git_revision":null,
        "host":"box","pid":{},"rank":null,"world_size":null,"hodo":"0.1.0","start_ns":{WALL_NS}}}"#,
        processes.first().map_or(1, |p| p.pid)
    );
    fs::write(folder.join("run.json"), info).unwrap();
    processes.iter().for_each(|p| p.write(&folder));
    folder
}

/// The folder of a run's first process.
pub fn process_folder(run: &Path) -> PathBuf {
    let entries = fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).min().unwrap()
}
