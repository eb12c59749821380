//! Makes a run of ten million spans (a training loop on eight threads, one span in ten with
//! attributes), then reads it and builds the tree, and prints what each took.
//!
//! `cargo run --release -p hodo-trace --example ten_million -- make DIR [SPANS]`
//! `cargo run --release -p hodo-trace --example ten_million -- sample DIR` adds a GPU's energy
//! `taskset -c 0 cargo run --release -p hodo-trace --example ten_million -- report DIR`

use hodo_format::arena::{Anchor, Counts};
use hodo_format::machine::{Readings, Series, Source, metric, readings_frame, series_frame};
use hodo_format::record::{AttrsRecord, Span, SpanId, Unit, code, flag};
use hodo_format::spool::{self, Encoder, Losses, ThreadInfo};
use hodo_trace::{Filter, FlatSort, ReadOptions, Run, flat, tree};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

const THREADS: u32 = 8;
const NAMES: [&str; 12] = [
    "epoch",
    "batch",
    "data_wait",
    "forward",
    "attention",
    "mlp",
    "backward",
    "optimizer",
    "loss",
    "variant",
    "size",
    "beam",
];
const PROCESS: u64 = 0x5eed;
type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", dir] => make(Path::new(dir), 10_000_000),
        ["make", dir, spans] => make(Path::new(dir), spans.parse()?),
        ["sample", dir] => sample(Path::new(dir)),
        ["report", dir] => report(Path::new(dir)),
        _ => Err("usage: ten_million make DIR [SPANS] | sample DIR | report DIR".into()),
    }
}

fn report(dir: &Path) -> Outcome {
    let begin = Instant::now();
    let run = Run::open(dir, &ReadOptions::default())?;
    let read = begin.elapsed();
    let tree = tree(&run, &Filter::default());
    let top = flat(&tree, FlatSort::SelfTime);
    let total = begin.elapsed();
    for node in &tree.nodes {
        let p99 = node.durations.map_or(0, |d| d.p99_ns);
        let indent = "  ".repeat(node.depth as usize);
        println!("{indent}{} {} self {:?} ns p99 {p99} ns", node.name, node.count, node.self_ns);
    }
    println!("energy {:?}", tree.energy);
    println!("top: {}", top.first().map_or("", |row| &row.name));
    println!("spans {} nodes {}", tree.spans, tree.nodes.len());
    println!("account {:?}", run.processes.first().map(|p| &p.account));
    println!("read {read:?}, read and tree {total:?}, CPU {:?}, peak {} MiB", cpu(), peak_mib());
    Ok(())
}

/// CPU time of this process: what a machine with one free core would take.
fn cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the call to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

/// One thread's part of the loop; hands out one batch of records at a time.
struct Worker {
    thread: u32,
    now: u64,
    sequence: u64,
    number: u64,
    epoch: u64,
    epoch_start: u64,
    batch: i64,
    seed: u64,
    units: Vec<Unit>,
}

impl Worker {
    fn new(thread: u32) -> Worker {
        let mut worker = Worker {
            thread,
            now: 1_000_000,
            sequence: 0,
            number: 0,
            epoch: 0,
            epoch_start: 1_000_000,
            batch: 0,
            seed: u64::from(thread) * 7919 + 1,
            units: Vec::new(),
        };
        worker.epoch = worker.open();
        worker
    }

    fn random(&mut self, below: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed % below
    }

    fn open(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    fn close(&mut self, name: u32, sequence: u64, parent: u64, start: u64, index: Option<i64>) {
        let up = if parent == 0 { SpanId::NONE } else { SpanId::new(self.thread, parent) };
        let idle = self.random(200);
        let span = Span {
            flags: if index.is_some() { flag::HAS_INDEX } else { 0 },
            name,
            id: SpanId::new(self.thread, sequence),
            parent: up,
            start,
            end: self.now,
            cpu: (self.now - start).saturating_sub(idle),
            index: index.unwrap_or(0),
            overhead: 60 + 40 * u64::from(name < 3) + self.random(16),
        };
        self.units.push(span.to_unit());
    }

    fn leaf(&mut self, name: u32, parent: u64, ticks: u64) {
        self.now += self.random(300);
        let (sequence, start) = (self.open(), self.now);
        if self.random(10) == 0 {
            let id = SpanId::new(self.thread, sequence);
            let size = self.random(4096);
            let pairs = [(10, code::NAME, 12), (11, code::I64, size)];
            self.units.push(AttrsRecord::unit(id, &pairs));
        }
        self.now += ticks + self.random(ticks);
        self.close(name, sequence, parent, start, None);
    }

    /// One batch: 3 levels under the epoch.
    fn batch(&mut self) {
        let (batch, start) = (self.open(), self.now);
        self.leaf(3, batch, 2_000);
        let (forward, began) = (self.open(), self.now);
        for _ in 0..6 {
            self.leaf(5, forward, 900);
            self.leaf(6, forward, 1_500);
        }
        self.close(4, forward, batch, began, None);
        self.leaf(7, batch, 9_000);
        self.leaf(8, batch, 3_000);
        self.close(2, batch, self.epoch, start, Some(self.batch));
        self.batch += 1;
        if self.batch % 1000 == 0 {
            self.close_epoch();
        }
    }

    fn close_epoch(&mut self) {
        self.close(1, self.epoch, 0, self.epoch_start, None);
        self.epoch_start = self.now;
        self.epoch = self.open();
    }
}

fn make(dir: &Path, spans: u64) -> Outcome {
    let folder = dir.join(format!("p1-{PROCESS:08x}"));
    std::fs::create_dir_all(&folder)?;
    std::fs::write(dir.join("run.json"), r#"{"format":1,"id":"ten-million","app":"loop"}"#)?;
    let info = format!(r#"{{"format":1,"process":"{PROCESS:016x}","pid":1,"arena":"arena"}}"#);
    std::fs::write(folder.join("process.json"), info)?;
    let mut spool = std::fs::File::create(folder.join("spool-000001.hodo"))?;
    spool.write_all(&spool::file_header(PROCESS, 1))?;
    let mut workers: Vec<Worker> = (1..=THREADS).map(Worker::new).collect();
    let mut encoder = Encoder::new(1);
    let (mut sequence, mut made, mut out) = (1, Counts::default(), Vec::new());
    let mut files = 1;
    let mut bytes = 0;
    while made.spans < spans {
        for worker in &mut workers {
            while worker.units.len() < 2000 {
                worker.batch();
            }
            let counts = encoder.push(worker.thread, worker.number, &worker.units);
            worker.number += counts.records();
            worker.units.clear();
            made += counts;
            if encoder.len() >= spool::FRAME_RECORDS {
                encoder.finish(sequence, &mut out);
                sequence += 1;
            }
        }
        bytes += out.len();
        spool.write_all(&out)?;
        out.clear();
        if bytes > files * (64 << 20) {
            files += 1;
            spool = std::fs::File::create(folder.join(format!("spool-{files:06}.hodo")))?;
            spool.write_all(&spool::file_header(PROCESS, files as u32))?;
        }
    }
    for worker in &mut workers {
        worker.close_epoch();
        made += encoder.push(worker.thread, worker.number, &worker.units);
    }
    encoder.finish(sequence, &mut out);
    spool.write_all(&out)?;
    catalog(&folder, &workers, sequence + 1, made)?;
    println!(
        "{} spans, {} attribute records, {:.1} bytes a span",
        made.spans,
        made.attrs,
        bytes as f64 / made.spans as f64
    );
    Ok(())
}

/// Readings of a GPU's count of joules, every 50 ms of two minutes.
fn sample(dir: &Path) -> Outcome {
    let folder = dir.join("machine-box-0123abcd");
    std::fs::create_dir_all(&folder)?;
    let series = [Series::new(1, &Source::Gpu("GPU-1".into()), &metric::GPU_ENERGY)];
    let mut out = spool::file_header(7, 1).to_vec();
    let anchor = Anchor { ticks: 1, monotonic_ns: 1, wall_ns: 1_700_000_000_000_000_001 };
    spool::anchors_frame(0, &[anchor], &mut out);
    series_frame(1, &series, &mut out);
    let times: Vec<u64> = (0..2400).map(|row| 1 + row * 50_000_000).collect();
    let values = times.iter().map(|ns| Some((ns / 2_000_000) as i64)).collect();
    readings_frame(2, &Readings { series: vec![1], times, values }, &mut out);
    Ok(std::fs::write(folder.join("samples-000001.hodo"), out)?)
}

fn catalog(folder: &Path, workers: &[Worker], sequence: u64, made: Counts) -> Outcome {
    let mut out = spool::file_header(PROCESS, 0).to_vec();
    spool::strings_frame(0, 1, &NAMES, &mut out);
    let end = workers.iter().map(|w| w.now).max().unwrap_or(0);
    let anchor = |ticks: u64| Anchor {
        ticks,
        monotonic_ns: ticks / 2,
        wall_ns: 1_700_000_000_000_000_000 + ticks / 2,
    };
    spool::anchors_frame(sequence, &[anchor(2), anchor(end)], &mut out);
    for worker in workers {
        let info = ThreadInfo {
            number: worker.thread,
            name: format!("worker-{}", worker.thread),
            ..ThreadInfo::default()
        };
        spool::thread_frame(sequence + u64::from(worker.thread), &info, &mut out);
    }
    let losses = Losses { produced: made, stored: made, ..Losses::default() };
    spool::end_frame(sequence + u64::from(THREADS) + 1, &losses, &mut out);
    Ok(std::fs::write(folder.join("catalog.hodo"), out)?)
}
