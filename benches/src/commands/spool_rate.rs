//! `spool-rate <recorded process> <new process> [<attribute records to a span> [<spans>]]`: encodes
//! what a process recorded, over and over with later times and other ids, to ten million spans.
//! Prints how fast one core encodes and how many bytes a span takes, and leaves the frames as a
//! process folder that can be read.

use super::Done;
use crate::machine::{self, thread_cpu_ns};
use crate::recorded::{Recorded, Run, shift};
use crate::table;
use hodo_format::arena::{Anchor, Counts};
use hodo_format::spool::{self, Encoder, Losses, file_header};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Spans that it makes unless told otherwise.
const SPANS: u64 = 10_000_000;
const FILE_BYTES: u64 = 64 << 20;
/// The level the recorder's pump uses.
const ZSTD_LEVEL: i32 = 1;

/// Encodes, writes the folder and tells.
pub fn run(arguments: &[String]) -> Done {
    let (from, to, share, spans) = match arguments {
        [from, to] => (from, to, None, SPANS),
        [from, to, share] => (from, to, Some(share.parse()?), SPANS),
        [from, to, share, spans] => (from, to, Some(share.parse()?), spans.parse()?),
        _ => {
            let usage = "usage: spool-rate <recorded process> <new process> [<share> [<spans>]]";
            return Err(usage.into());
        }
    };
    let (from, to) = (Path::new(from), Path::new(to));
    machine::pin(0, 0);
    let mut recorded = Recorded::read(from)?;
    if let Some(share) = share {
        recorded.thin_attributes(share);
    }
    let copies = spans.div_ceil(recorded.counts.spans.max(1));
    std::fs::create_dir_all(to)?;
    std::fs::copy(from.join("process.json"), to.join("process.json"))?;
    let process = process_id(from)?;
    let mut spool = Spool::create(to, process)?;
    spool.encode(&recorded, copies)?;
    spool.catalog(&recorded, copies)?;
    spool.tell(&recorded, copies);
    Ok(())
}

/// The random id in the header of the recorded catalog.
fn process_id(folder: &Path) -> io::Result<u64> {
    let bytes = std::fs::read(folder.join("catalog.hodo"))?;
    let header = spool::FileHeader::parse(&bytes);
    header.map(|h| h.process).ok_or_else(|| io::Error::other("the catalog has no header"))
}

struct Spool {
    folder: PathBuf,
    process: u64,
    file: File,
    number: u32,
    written: u64,
    bytes: u64,
    sequence: u64,
    cpu_ns: u64,
    counts: Counts,
}

impl Spool {
    fn create(folder: &Path, process: u64) -> io::Result<Spool> {
        let mut spool = Spool {
            folder: folder.to_owned(),
            process,
            file: File::create(folder.join("catalog.hodo"))?,
            number: 0,
            written: FILE_BYTES,
            bytes: 0,
            sequence: 0,
            cpu_ns: 0,
            counts: Counts::default(),
        };
        spool.rotate()?;
        Ok(spool)
    }

    /// Encodes `copies` times what was recorded; only the encoder is on the clock.
    fn encode(&mut self, recorded: &Recorded, copies: u64) -> io::Result<()> {
        let (start, end) = recorded.extent();
        let per_thread = recorded.per_thread();
        let (length, sequences) = (end - start + 1000, recorded.last_sequence());
        let mut encoder = Encoder::new(ZSTD_LEVEL);
        for copy in 0..copies {
            let mut runs = recorded.runs.clone();
            for run in &mut runs {
                let made = per_thread.get(&run.thread).map_or(0, Counts::records);
                run.first += copy * made;
                shift(&mut run.units, copy * length, copy * sequences);
            }
            let mut out = Vec::with_capacity(1 << 20);
            self.encode_once(&mut encoder, &runs, copy + 1 == copies, &mut out);
            self.write(&out)?;
        }
        Ok(())
    }

    fn encode_once(&mut self, encoder: &mut Encoder, runs: &[Run], last: bool, out: &mut Vec<u8>) {
        let began = thread_cpu_ns();
        for run in runs {
            self.counts += encoder.push(run.thread, run.first, &run.units);
            if encoder.is_full() {
                encoder.finish(self.sequence, out);
                self.sequence += 1;
            }
        }
        if last && !encoder.is_empty() {
            encoder.finish(self.sequence, out);
            self.sequence += 1;
        }
        self.cpu_ns += thread_cpu_ns() - began;
    }

    fn write(&mut self, frames: &[u8]) -> io::Result<()> {
        if self.written + frames.len() as u64 > FILE_BYTES {
            self.rotate()?;
        }
        self.written += frames.len() as u64;
        self.bytes += frames.len() as u64;
        self.file.write_all(frames)
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.number += 1;
        self.written = spool::FILE_HEADER_BYTES as u64;
        self.file = File::create(self.folder.join(format!("spool-{:06}.hodo", self.number)))?;
        self.file.write_all(&file_header(self.process, self.number))
    }

    fn catalog(&mut self, recorded: &Recorded, copies: u64) -> io::Result<()> {
        let mut out = file_header(self.process, 0).to_vec();
        let strings: Vec<&str> = recorded.strings.iter().map(String::as_str).collect();
        spool::strings_frame(self.next(), 0, &strings, &mut out);
        spool::anchors_frame(self.next(), &self.anchors(recorded, copies), &mut out);
        let per_thread = recorded.per_thread();
        for (number, thread) in &recorded.threads {
            let mut thread = thread.clone();
            thread.produced = times(per_thread.get(number).copied().unwrap_or_default(), copies);
            spool::thread_frame(self.next(), &thread, &mut out);
        }
        let totals = Losses { produced: self.counts, stored: self.counts, ..Losses::default() };
        spool::end_frame(self.next(), &totals, &mut out);
        std::fs::write(self.folder.join("catalog.hodo"), out)
    }

    /// The recorded anchors and one at the end, at the same rate.
    fn anchors(&self, recorded: &Recorded, copies: u64) -> Vec<Anchor> {
        let mut anchors = recorded.anchors.clone();
        if let [first, .., last] = anchors[..] {
            let (from, to) = recorded.extent();
            let by = copies as f64 * (to - from) as f64 / (last.ticks - first.ticks) as f64;
            let ahead = |from: u64, to: u64| to + ((to - from) as f64 * by) as u64;
            anchors.push(Anchor {
                ticks: ahead(first.ticks, last.ticks),
                monotonic_ns: ahead(first.monotonic_ns, last.monotonic_ns),
                wall_ns: ahead(first.wall_ns, last.wall_ns),
            });
        }
        anchors
    }

    fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence - 1
    }

    fn tell(&self, recorded: &Recorded, copies: u64) {
        let Counts { spans, marks, attrs } = self.counts;
        let (recorded_spans, runs) = (recorded.counts.spans, recorded.runs.len());
        println!("recorded: {recorded_spans} spans in {runs} runs of records, {copies} times over");
        println!("encoded: {spans} spans, {attrs} attribute records, {marks} marks");
        let spans = spans as f64;
        println!("attribute records a span: {:.3}", attrs as f64 / spans);
        println!("zstd level {ZSTD_LEVEL}, {} frames, {} bytes", self.sequence, self.bytes);
        table::verdict(
            "bytes a span, its attributes and marks included",
            self.bytes as f64 / spans,
            16.0,
            "",
        );
        let rate = spans / (self.cpu_ns as f64 / 1e9) / 1e6;
        table::verdict_at_least("pump, million spans a second on one core", rate, 5.0, "");
    }
}

fn times(counts: Counts, factor: u64) -> Counts {
    Counts {
        spans: counts.spans * factor,
        marks: counts.marks * factor,
        attrs: counts.attrs * factor,
    }
}
