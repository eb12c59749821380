//! Writes the folder of one process through the format's own encoders.

use super::pool::{Kept, values};
use hodo_format::arena::{Anchor, Counts, Loss};
use hodo_format::gpu::{self, Detail, Live, Work};
use hodo_format::record::{
    AttrsRecord, Head, Kind, MarkRecord, Span, SpanId, TextRecord, UNIT_BYTES, Unit,
};
use hodo_format::spool::{self, Encoder, Losses, ThreadInfo};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// As the recorder: quick, and small enough.
const ZSTD_LEVEL: i32 = 1;
/// A reader takes in a file at once.
const FILE_BYTES: u64 = 32 << 20;
/// Bytes that are gathered before they are written.
const WRITE_BYTES: usize = 1 << 20;

/// Frames into numbered files.
struct Files {
    folder: PathBuf,
    prefix: &'static str,
    process: u64,
    number: u32,
    file: Option<File>,
    written: u64,
    out: Vec<u8>,
}

impl Files {
    fn new(folder: &Path, prefix: &'static str, process: u64) -> Files {
        let (folder, out) = (folder.to_owned(), Vec::new());
        Files { folder, prefix, process, number: 0, file: None, written: 0, out }
    }

    /// The bytes to append frames to; begins a file where none is begun.
    fn out(&mut self) -> io::Result<&mut Vec<u8>> {
        if self.file.is_none() {
            self.number += 1;
            let name = format!("{}-{:06}.hodo", self.prefix, self.number);
            self.file = Some(File::create_new(self.folder.join(name))?);
            self.out.extend_from_slice(&spool::file_header(self.process, self.number));
        }
        Ok(&mut self.out)
    }

    /// Writes what is gathered if it is much, and ends a file that is long.
    fn settle(&mut self, least: usize) -> io::Result<()> {
        if self.out.len() < least {
            return Ok(());
        }
        if let Some(file) = &mut self.file {
            file.write_all(&self.out)?;
            self.written += self.out.len() as u64;
            self.out.clear();
        }
        if self.written >= FILE_BYTES {
            (self.file, self.written) = (None, 0);
        }
        Ok(())
    }
}

/// The records of one process.
pub struct Records {
    files: Files,
    encoder: Encoder,
    sequence: u64,
    stored: Counts,
    /// Records of each thread, by its number.
    numbers: Vec<u64>,
    units: Vec<Unit>,
    pairs: Vec<(u32, u16, u64)>,
}

impl Records {
    /// Nothing yet, in a folder that is there.
    pub fn new(folder: &Path, process: u64) -> Records {
        Records {
            files: Files::new(folder, "spool", process),
            encoder: Encoder::new(ZSTD_LEVEL),
            sequence: 0,
            stored: Counts::default(),
            numbers: Vec::new(),
            units: Vec::new(),
            pairs: Vec::new(),
        }
    }

    /// Writes a span, behind its attributes.
    pub fn span(&mut self, span: &Span, attrs: &[u8]) -> io::Result<()> {
        let thread = span.id.thread();
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.clear();
        for (key, value) in values(attrs) {
            match value {
                Kept::Word(code, word) => pairs.push((key, code, word)),
                Kept::Text { bytes, cut, json } => {
                    let flags = if json { TextRecord::JSON } else { 0 };
                    let flags = flags | if cut { TextRecord::CUT } else { 0 };
                    self.text(thread, span.id, key, flags, bytes)?;
                }
            }
        }
        for four in pairs.chunks(AttrsRecord::CAPACITY) {
            self.push(thread, AttrsRecord::unit(span.id, four))?;
        }
        self.pairs = pairs;
        self.push(thread, span.to_unit())
    }

    /// Writes a mark: the first of `attrs` is its value, a second the JSON object of its attributes.
    pub fn mark(
        &mut self,
        thread: u32,
        (name, span, at): (u32, SpanId, u64),
        summary: bool,
        attrs: &[u8],
    ) -> io::Result<()> {
        let mut values = values(attrs).map(|(_, value)| value);
        let summary = if summary { MarkRecord::SUMMARY } else { 0 };
        match values.next().unwrap_or(Kept::Word(3, 1)) {
            Kept::Word(code, word) => {
                let head = Head { kind: Kind::Mark as u8, units: 1, flags: code | summary, name };
                self.push(thread, Unit([head.word(), span.0, at, word, 0, 0, 0, 0]))?;
            }
            Kept::Text { bytes, cut, .. } => {
                let flags = summary | if cut { MarkRecord::CUT } else { 0 };
                let words = [span.0, at, bytes.len() as u64];
                let front: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                self.long(thread, Kind::MarkText, flags, name, &[&front, bytes])?;
            }
        }
        if let Some(Kept::Text { bytes, cut: false, json: true }) = values.next() {
            self.text(thread, span, 0, TextRecord::OF_MARK, bytes)?;
        }
        Ok(())
    }

    fn text(
        &mut self,
        thread: u32,
        span: SpanId,
        key: u32,
        flags: u16,
        text: &[u8],
    ) -> io::Result<()> {
        let len = (text.len() as u32).to_le_bytes();
        self.long(thread, Kind::Text, flags, key, &[&span.0.to_le_bytes(), &len, text])
    }

    /// Writes a record of several units: its head, then `parts`.
    fn long(
        &mut self,
        thread: u32,
        kind: Kind,
        flags: u16,
        name: u32,
        parts: &[&[u8]],
    ) -> io::Result<()> {
        let bytes = 8 + parts.iter().map(|part| part.len()).sum::<usize>();
        let units = bytes.div_ceil(UNIT_BYTES);
        let head = Head { kind: kind as u8, units: units as u8, flags, name }.word();
        let mut all = head.to_le_bytes().to_vec();
        parts.iter().for_each(|part| all.extend_from_slice(part));
        all.resize(units * UNIT_BYTES, 0);
        let mut made = std::mem::take(&mut self.units);
        made.clear();
        let (words, _) = all.as_chunks::<8>();
        made.extend(words.as_chunks::<8>().0.iter().map(|unit| Unit(unit.map(u64::from_le_bytes))));
        self.push_units(thread, &made)?;
        self.units = made;
        Ok(())
    }

    fn push(&mut self, thread: u32, unit: Unit) -> io::Result<()> {
        self.push_units(thread, &[unit])
    }

    /// Writes one record.
    fn push_units(&mut self, thread: u32, units: &[Unit]) -> io::Result<()> {
        let at = thread as usize;
        if self.numbers.len() <= at {
            self.numbers.resize(at + 1, 0);
        }
        let mut taken = self.encoder.push(thread, self.numbers[at], units);
        if taken.records() == 0 {
            // The frame takes no more text.
            self.frame()?;
            taken = self.encoder.push(thread, self.numbers[at], units);
        }
        self.numbers[at] += taken.records();
        self.stored += taken;
        if self.encoder.is_full() { self.frame() } else { Ok(()) }
    }

    fn frame(&mut self) -> io::Result<()> {
        if self.encoder.is_empty() {
            return Ok(());
        }
        self.encoder.finish(self.sequence, self.files.out()?);
        self.sequence += 1;
        self.files.settle(WRITE_BYTES)
    }

    /// Writes the rest, and the catalog.
    pub fn finish(
        mut self,
        strings: &[&str],
        anchors: &[Anchor],
        threads: &[ThreadInfo],
    ) -> io::Result<Counts> {
        self.frame()?;
        self.files.settle(0)?;
        let mut out = spool::file_header(self.files.process, 0).to_vec();
        let mut next = || {
            self.sequence += 1;
            self.sequence - 1
        };
        let mut first = 1;
        // A frame leaves out what does not fit: a few at a time always do.
        for some in strings.chunks(1024) {
            spool::strings_frame(next(), first, some, &mut out);
            first += some.len() as u32;
        }
        spool::anchors_frame(next(), anchors, &mut out);
        for thread in threads {
            spool::thread_frame(next(), thread, &mut out);
        }
        let (produced, stored) = (self.stored, self.stored);
        let losses = Losses { produced, stored, lost: [Counts::default(); Loss::COUNT] };
        spool::end_frame(next(), &losses, &mut out);
        std::fs::write(self.files.folder.join("catalog.hodo"), out)?;
        Ok(self.stored)
    }
}

/// The GPU work of one process.
pub struct Works {
    files: Files,
    encoder: gpu::Encoder,
    sequence: u64,
    live: Live,
}

impl Works {
    /// Nothing yet, in a folder that is there.
    pub fn new(folder: &Path, process: u64) -> Works {
        Works {
            files: Files::new(folder, "gpu", process),
            encoder: gpu::Encoder::new(ZSTD_LEVEL),
            sequence: 0,
            live: Live::default(),
        }
    }

    /// Writes a piece of work.
    pub fn push(&mut self, work: &Work) -> io::Result<()> {
        let live = &mut self.live;
        live.stored += 1;
        match work.detail {
            Detail::Kernel(_) if work.flags & gpu::flag::GRAPH != 0 => {}
            Detail::Kernel(_) => {
                live.kernels += 1;
                live.stored_kernels += 1;
            }
            Detail::Copy { .. } => live.copies += 1,
            Detail::Set { .. } => live.sets += 1,
            Detail::Sync { .. } | Detail::Memory { .. } => {}
        }
        self.encoder.push(work);
        if self.encoder.is_full() { self.frame() } else { Ok(()) }
    }

    fn frame(&mut self) -> io::Result<()> {
        if self.encoder.is_empty() {
            return Ok(());
        }
        self.encoder.finish(self.sequence, self.files.out()?);
        self.sequence += 1;
        self.files.settle(WRITE_BYTES)
    }

    /// Writes the rest, what the capture was, and the page of counts.
    pub fn finish(mut self, state: &str) -> io::Result<()> {
        self.frame()?;
        gpu::state_frame(self.sequence, state, self.files.out()?);
        self.files.settle(0)?;
        if self.live.stored == 0 {
            return Ok(());
        }
        let live = &self.live;
        let words = [Live::MAGIC, Live::VERSION, live.kernels, 0, live.copies, live.sets, 0, 0];
        let words = words.into_iter().chain([live.stored_kernels, live.stored]);
        let mut page: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        page.resize(Live::BYTES, 0);
        std::fs::write(self.files.folder.join(Live::FILE), page)
    }
}
