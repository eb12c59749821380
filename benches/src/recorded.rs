//! A recorded process read back into ring units, to be made longer than it was.

use hodo_format::arena::{Anchor, Counts};
use hodo_format::record::{
    Attr, AttrsRecord, Head, Kind, Mark, MarkRecord, Sink, Span, SpanId, TextRecord, Unit, Value,
};
use hodo_format::spool::{self, FrameSink, Losses, ThreadInfo};
use std::collections::HashMap;
use std::path::Path;
use std::{fs, io};

/// Consecutive records of one thread.
#[derive(Clone)]
pub struct Run {
    /// The thread's number.
    pub thread: u32,
    /// Number of its first record.
    pub first: u64,
    /// The records.
    pub units: Vec<Unit>,
}

/// Everything one process recorded.
#[derive(Default)]
pub struct Recorded {
    /// Its records, in the order of the spool.
    pub runs: Vec<Run>,
    /// Its strings, in order of their ids.
    pub strings: Vec<String>,
    /// Its threads, by number.
    pub threads: HashMap<u32, ThreadInfo>,
    /// Its clock anchors.
    pub anchors: Vec<Anchor>,
    /// What was recorded.
    pub counts: Counts,
    /// Attributes of one scope that wait to share a record.
    pairs: Vec<(u32, u16, u64)>,
    owner: SpanId,
}

impl Recorded {
    /// Reads the catalog and the spool files of a process folder.
    pub fn read(folder: &Path) -> io::Result<Recorded> {
        let mut recorded = Recorded::default();
        let mut files: Vec<_> =
            fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
        files.retain(|path| path.extension().is_some_and(|e| e == "hodo"));
        files.sort();
        for file in files {
            spool::read(&fs::read(&file)?, &mut recorded).map_err(io::Error::other)?;
            recorded.end_attrs();
        }
        recorded.renumber();
        Ok(recorded)
    }

    /// Numbers each thread's records from 0, without the gaps of a first record that lies elsewhere.
    fn renumber(&mut self) {
        let mut next: HashMap<u32, u64> = HashMap::new();
        for run in &mut self.runs {
            let number = next.entry(run.thread).or_default();
            run.first = *number;
            *number += records(&run.units).count() as u64;
        }
    }

    fn put(&mut self, units: &[Unit]) {
        if let Some(run) = self.runs.last_mut() {
            run.units.extend_from_slice(units);
        }
    }

    fn end_attrs(&mut self) {
        if !self.pairs.is_empty() {
            let unit = AttrsRecord::unit(self.owner, &self.pairs);
            self.pairs.clear();
            self.counts.attrs += 1;
            self.put(&[unit]);
        }
    }

    /// Leaves out attribute records, evenly, until there are `share` of them to a span.
    pub fn thin_attributes(&mut self, share: f64) {
        let keep = (share * self.counts.spans as f64 / self.counts.attrs as f64).min(1.0);
        let (mut seen, mut kept) = (0_u64, 0_u64);
        for run in &mut self.runs {
            let mut left = Vec::with_capacity(run.units.len());
            for record in whole_records(&run.units) {
                let is_attribute = matches!(kind(&record[0]), Some(Kind::Attrs | Kind::Text));
                seen += u64::from(is_attribute);
                if !is_attribute || (seen as f64 * keep) as u64 > kept {
                    kept += u64::from(is_attribute);
                    left.extend_from_slice(record);
                }
            }
            run.units = left;
        }
        self.counts.attrs = kept;
        self.renumber();
    }

    /// Times of the first and last span.
    pub fn extent(&self) -> (u64, u64) {
        let spans = || self.runs.iter().flat_map(|r| records(&r.units)).filter(is_span);
        let first = spans().map(|u| u.0[3]).min().unwrap_or(0);
        (first, spans().map(|u| u.0[4]).max().unwrap_or(0))
    }

    /// The largest sequence number of any scope.
    pub fn last_sequence(&self) -> u64 {
        let spans = self.runs.iter().flat_map(|r| records(&r.units)).filter(is_span);
        spans.map(|u| SpanId(u.0[1]).sequence()).max().unwrap_or(0)
    }

    /// Records each thread made.
    pub fn per_thread(&self) -> HashMap<u32, Counts> {
        let mut counts: HashMap<u32, Counts> = HashMap::new();
        for run in &self.runs {
            let own = counts.entry(run.thread).or_default();
            for unit in records(&run.units) {
                match kind(unit) {
                    Some(Kind::Span) => own.spans += 1,
                    Some(Kind::Mark | Kind::MarkText) => own.marks += 1,
                    _ => own.attrs += 1,
                }
            }
        }
        counts
    }
}

fn kind(unit: &Unit) -> Option<Kind> {
    Kind::from_byte(Head::from_word(unit.0[0]).kind)
}

fn is_span(unit: &&Unit) -> bool {
    kind(unit) == Some(Kind::Span)
}

/// The units of each record.
fn whole_records(units: &[Unit]) -> impl Iterator<Item = &[Unit]> {
    let mut rest = units;
    std::iter::from_fn(move || {
        let len = usize::from(Head::from_word(rest.first()?.0[0]).units).max(1);
        let (record, after) = rest.split_at(len.min(rest.len()));
        rest = after;
        Some(record)
    })
}

/// The first unit of each record.
fn records(units: &[Unit]) -> impl Iterator<Item = &Unit> {
    whole_records(units).map(|record| &record[0])
}

/// Moves records in time and gives their scopes other ids.
pub fn shift(units: &mut [Unit], ticks: u64, sequence: u64) {
    let mut at = 0;
    while let Some(unit) = units.get_mut(at) {
        let head = Head::from_word(unit.0[0]);
        at += usize::from(head.units).max(1);
        shift_id(&mut unit.0[1], sequence);
        match Kind::from_byte(head.kind) {
            Some(Kind::Span) => {
                shift_id(&mut unit.0[2], sequence);
                unit.0[3] += ticks;
                unit.0[4] += ticks;
            }
            Some(Kind::Mark | Kind::MarkText) => unit.0[2] += ticks,
            _ => {}
        }
    }
}

fn shift_id(id: &mut u64, sequence: u64) {
    if *id != 0 {
        *id += sequence;
    }
}

/// The units of a record that carries text from byte `at` on.
fn with_text(
    kind: Kind,
    flags: u16,
    name: u32,
    words: &[u64],
    at: usize,
    text: &[u8],
) -> Vec<Unit> {
    let units = (at + text.len()).div_ceil(size_of::<Unit>());
    let head = Head { kind: kind as u8, units: units as u8, flags, name };
    let mut bytes = vec![0; units * size_of::<Unit>()];
    for (i, word) in [head.word()].iter().chain(words).enumerate() {
        bytes[8 * i..8 * i + 8].copy_from_slice(&word.to_le_bytes());
    }
    bytes[at..at + text.len()].copy_from_slice(text);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, b| word << 8 | u64::from(*b));
    let unit = |bytes: &[u8]| Unit(std::array::from_fn(|i| word(&bytes[8 * i..8 * i + 8])));
    bytes.chunks(size_of::<Unit>()).map(unit).collect()
}

impl Sink for Recorded {
    fn span(&mut self, span: &Span) {
        self.end_attrs();
        self.counts.spans += 1;
        self.put(&[span.to_unit()]);
    }

    fn attr(&mut self, attr: &Attr<'_>) {
        if let Some((code, word)) = attr.value.to_code() {
            if attr.span != self.owner || self.pairs.len() == AttrsRecord::CAPACITY {
                self.end_attrs();
            }
            self.owner = attr.span;
            self.pairs.push((attr.key, code, word));
            return;
        }
        self.end_attrs();
        let (Value::Text { bytes, .. } | Value::Json { bytes, .. }) = attr.value else { return };
        let json = if matches!(attr.value, Value::Json { .. }) { TextRecord::JSON } else { 0 };
        let words = [attr.span.0, bytes.len() as u64];
        self.counts.attrs += 1;
        self.put(&with_text(Kind::Text, json, attr.key, &words, TextRecord::BYTES_AT, bytes));
    }

    fn mark(&mut self, mark: &Mark<'_>) {
        self.end_attrs();
        self.counts.marks += 1;
        let summary = if mark.summary { MarkRecord::SUMMARY } else { 0 };
        if let Some((code, word)) = mark.value.to_code() {
            let flags = summary | code;
            let head = Head { kind: Kind::Mark as u8, units: 1, flags, name: mark.name };
            self.put(&[Unit([head.word(), mark.span.0, mark.at, word, 0, 0, 0, 0])]);
        } else if let Value::Text { bytes, .. } = mark.value {
            let words = [mark.span.0, mark.at, bytes.len() as u64];
            let at = MarkRecord::BYTES_AT;
            self.put(&with_text(Kind::MarkText, summary, mark.name, &words, at, bytes));
        }
    }
}

impl FrameSink for Recorded {
    fn run(&mut self, thread: u32, first: u64, _count: u64) -> bool {
        self.end_attrs();
        self.runs.push(Run { thread, first, units: Vec::new() });
        true
    }

    fn strings(&mut self, first_id: u32, strings: &[&str]) {
        let end = first_id as usize + strings.len();
        self.strings.resize(self.strings.len().max(end), String::new());
        for (known, text) in self.strings[first_id as usize..].iter_mut().zip(strings) {
            (*text).clone_into(known);
        }
    }

    fn thread(&mut self, thread: ThreadInfo) {
        self.threads.insert(thread.number, thread);
    }

    fn anchors(&mut self, anchors: &[Anchor]) {
        self.anchors.extend_from_slice(anchors);
    }

    fn losses(&mut self, _: Losses) {}

    fn end(&mut self, _: Losses) {}
}
