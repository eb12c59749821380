//! Takes records from spool frames and rings, each number once.

use super::ranges::Ranges;
use crate::account::{MAX_COUNT, possible};
use crate::gpu::Collected;
use crate::spans::SpansBuilder;
use crate::{AttrRow, Clock, GpuState, MarkAttrs, MarkRow, Names, Value};
use hodo_format::arena::{Anchor, Counts};
use hodo_format::gpu::{Sample, Work};
use hodo_format::record::{self, Attr, Mark, Sink, Span, SpanId, Unit};
use hodo_format::spool::{FrameSink, Losses, ThreadInfo};
use std::collections::{BTreeMap, HashSet};

/// What the files of one process hold, as far as they were read.
#[derive(Default)]
pub(super) struct Collector {
    pub(super) spans: SpansBuilder,
    pub(super) attrs: Vec<AttrRow>,
    pub(super) marks: Vec<MarkRow>,
    pub(super) mark_attrs: MarkAttrs,
    /// Thread and number of the record that is being taken, if it is a mark or its attributes.
    at: (u32, u64),
    /// Number and row of the last mark taken of each thread.
    last_marks: BTreeMap<u32, (u64, usize)>,
    pub(super) names: Names,
    pub(super) threads: BTreeMap<u32, ThreadInfo>,
    pub(super) anchors: Vec<Anchor>,
    pub(super) losses: Option<Losses>,
    pub(super) ended: bool,
    /// Record numbers seen, by thread.
    pub(super) seen: BTreeMap<u32, Ranges>,
    /// Records read since the last [`Collector::take_counts`].
    counts: Counts,
    records: u64,
    /// A run of records held some that were known and some that were not.
    pub(super) overlapped: bool,
    /// See [`Collector::complete_until`].
    settled: BTreeMap<u32, u64>,
    /// Anchors as the arena has them.
    pub(super) arena_anchors: Vec<Anchor>,
    /// Threads as their slabs describe them.
    pub(super) arena_threads: Vec<ThreadInfo>,
    /// Nothing after this moment is taken; see [`super::live`].
    pub(super) until: Option<u64>,
    /// Records after that moment.
    pub(super) newer: u64,
    /// Scopes that closed after that moment and were open at it.
    pub(super) straddling: Vec<Span>,
    /// Records taken that carry a moment, and the latest of these.
    dated: u64,
    pub(super) last_tick: u64,
    pub(super) gpu: Collected,
}

impl Collector {
    /// Counts of what was read since the last call, by sort of record.
    pub(super) fn take_counts(&mut self) -> Counts {
        let mut counts = std::mem::take(&mut self.counts);
        let records = std::mem::take(&mut self.records);
        // One attribute record holds several attributes; only the totals tell how many there were.
        counts.attrs = records.saturating_sub(counts.spans + counts.marks);
        counts
    }

    /// Takes the records of a ring segment whose numbers are new, but for the first `skip`.
    pub(super) fn segment(&mut self, thread: u32, first: u64, skip: u64, mut units: &[Unit]) {
        let mut number = first;
        while !units.is_empty() && number <= MAX_COUNT {
            let known = number - first < skip
                || self.seen.get(&thread).is_some_and(|seen| seen.contains(number));
            let dated = self.dated;
            self.at = (thread, number);
            let decoded = if known {
                record::decode_one(units, &mut Nothing)
            } else {
                record::decode_one(units, self)
            };
            let Some((taken, counted)) = decoded else { return };
            units = units.get(taken..).unwrap_or_default();
            if counted && !known {
                self.seen.entry(thread).or_default().add(number, number.saturating_add(1));
                self.records += 1;
                // Attributes carry no moment and settle nothing.
                if self.dated > dated {
                    self.settle(thread, number.saturating_add(1));
                }
            }
            number = number.saturating_add(u64::from(counted));
        }
    }

    fn settle(&mut self, thread: u32, end: u64) {
        let settled = self.settled.entry(thread).or_default();
        *settled = end.max(*settled);
    }

    /// One past the number up to which every record of a thread must be here or lost. While a
    /// process runs, rings are copied piece by piece, and past this the copy may have holes.
    pub(super) fn complete_until(&self, thread: u32, seen: &Ranges) -> u64 {
        match self.until {
            Some(_) => self.settled.get(&thread).copied().unwrap_or(0),
            None => seen.end(),
        }
    }

    /// The latest moment that a record, a thread's end or a reading of the clocks speaks of.
    pub(super) fn latest(&self) -> u64 {
        let anchors = self.anchors.iter().chain(&self.arena_anchors).map(|a| a.ticks);
        let threads = self.threads.values().chain(&self.arena_threads).filter_map(|t| t.ended);
        anchors.chain(threads).fold(self.last_tick, u64::max)
    }

    /// The anchors to go by: the spool's, with the arena's while there are too few of them.
    pub(super) fn clock(&self) -> Clock {
        let clock = Clock::new(self.anchors.clone());
        if clock.is_calibrated() {
            return clock;
        }
        Clock::new([self.anchors.as_slice(), &self.arena_anchors].concat())
    }

    /// Describes threads by their slabs where the catalog has not seen their end.
    pub(super) fn name_threads(&mut self) {
        for info in std::mem::take(&mut self.arena_threads) {
            let known = self.threads.get(&info.number);
            if known.is_none_or(|known| known.ended.is_none()) {
                self.threads.insert(info.number, possible_thread(info));
            }
        }
    }

    /// Removes what came twice, and from `counts` too: needed only where runs of records
    /// overlapped in part.
    pub(super) fn drop_doubles(&mut self, counts: &mut Counts) {
        let spans = self.spans.drop_doubles();
        let marks = self.drop_double_marks();
        let mut seen = HashSet::new();
        self.attrs.retain(|a| seen.insert((a.span, a.key, format!("{:?}", a.value))));
        // The number of records was right all along; what was no span and no mark is attributes.
        counts.spans = counts.spans.saturating_sub(spans);
        counts.marks = counts.marks.saturating_sub(marks);
        counts.attrs += spans + marks;
    }

    fn drop_double_marks(&mut self) -> u64 {
        let mut seen = HashSet::new();
        let mut is_new =
            |m: &MarkRow| seen.insert((m.span, m.name, m.at, format!("{:?}", m.value)));
        let first: Vec<bool> = self.marks.iter().map(&mut is_new).collect();
        let mut kept = first.iter();
        self.marks.retain(|_| kept.next().is_some_and(|k| *k));
        self.mark_attrs.keep(&first);
        (first.len() - self.marks.len()) as u64
    }

    /// Whether a record of this moment is left out; else it is the latest so far, perhaps.
    fn is_newer(&mut self, tick: u64) -> bool {
        let newer = self.until.is_some_and(|until| tick > until);
        if newer {
            self.newer += 1;
        } else {
            self.dated += 1;
            self.last_tick = self.last_tick.max(tick);
        }
        newer
    }
}

/// A thread without the counters that damage made impossible.
fn possible_thread(mut thread: ThreadInfo) -> ThreadInfo {
    thread.produced = possible(thread.produced);
    thread.lost = thread.lost.map(possible);
    for counter in [
        &mut thread.depth_dropped,
        &mut thread.out_of_order,
        &mut thread.double_closed,
        &mut thread.wrong_thread,
        &mut thread.cpu_syscalls,
    ] {
        *counter = if *counter > MAX_COUNT { 0 } else { *counter };
    }
    thread
}

/// Decodes a record only to find the next.
struct Nothing;

impl Sink for Nothing {}

impl Sink for Collector {
    #[inline]
    fn span(&mut self, span: &Span) {
        self.counts.spans += 1;
        if self.is_newer(span.end) {
            if self.until.is_some_and(|until| span.start <= until) {
                self.straddling.push(*span);
            }
            return;
        }
        self.spans.push(span);
    }

    fn attr(&mut self, attr: &Attr<'_>) {
        let value = Value::from_record(&attr.value);
        self.attrs.push(AttrRow { span: attr.span, key: attr.key, value });
    }

    fn mark(&mut self, mark: &Mark<'_>) {
        self.counts.marks += 1;
        if self.is_newer(mark.at) {
            return;
        }
        let Mark { name, span, at, summary, .. } = *mark;
        let (thread, number) = self.at;
        self.last_marks.insert(thread, (number, self.marks.len()));
        self.marks.push(MarkRow {
            span,
            name,
            at,
            summary,
            value: Value::from_record(&mark.value),
        });
    }

    /// Attributes whose mark is lost, or left out, belong to nothing.
    fn mark_attrs(&mut self, _: SpanId, attributes: record::Value<'_>) {
        let (thread, number) = self.at;
        let mark = self.last_marks.get(&thread).filter(|m| m.0.checked_add(1) == Some(number));
        if let Some(&(_, row)) = mark {
            self.mark_attrs.push(row, Value::from_record(&attributes));
        }
    }
}

impl FrameSink for Collector {
    fn run(&mut self, thread: u32, first: u64, count: u64) -> bool {
        let Some(end) = first.checked_add(count).filter(|&end| end <= MAX_COUNT) else {
            return false;
        };
        self.at.0 = thread;
        let added = self.seen.entry(thread).or_default().add(first, end);
        self.records += added.new;
        self.settle(thread, end);
        self.overlapped |= added.new > 0 && added.known > 0;
        added.new > 0
    }

    fn mark_number(&mut self, number: u64) {
        self.at.1 = number;
    }

    fn strings(&mut self, first_id: u32, strings: &[&str]) {
        for (id, text) in (first_id..).zip(strings) {
            self.names.insert(id, text);
        }
    }

    fn thread(&mut self, thread: ThreadInfo) {
        self.threads.insert(thread.number, possible_thread(thread));
    }

    fn anchors(&mut self, anchors: &[Anchor]) {
        self.anchors.extend_from_slice(anchors);
    }

    fn losses(&mut self, losses: Losses) {
        self.losses = Some(Losses {
            produced: possible(losses.produced),
            stored: possible(losses.stored),
            lost: losses.lost.map(possible),
        });
    }

    fn end(&mut self, losses: Losses) {
        self.losses(losses);
        self.ended = true;
    }

    fn work(&mut self, work: &Work) {
        self.gpu.add(work, self.until);
    }

    fn gpu_state(&mut self, json: &str) {
        self.gpu.state = GpuState::parse(json).or(self.gpu.state.take());
    }

    fn gpu_sample(&mut self, sample: &Sample) {
        self.gpu.samples.push(*sample);
    }
}
