//! Frames that describe the process: strings, threads, anchors, totals.

use super::codec::{self, Label};
use super::varint::Cursor;
use super::{FrameSink, MAX_RAW_BYTES, frame_kind};
use crate::arena::{Anchor, Counts, Loss};

/// Who a thread is and what happened to its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadInfo {
    /// Its number in the process, from 1.
    pub number: u32,
    /// Operating-system thread id.
    pub os_tid: u32,
    /// Its name.
    pub name: String,
    /// Ticks when it first recorded.
    pub started: u64,
    /// Ticks when it ended, if it has.
    pub ended: Option<u64>,
    /// Records it made.
    pub produced: Counts,
    /// Those that were lost, by [`Loss`].
    pub lost: [Counts; Loss::COUNT],
    /// Scopes past the depth limit.
    pub depth_dropped: u64,
    /// Scopes closed while one inside them was open.
    pub out_of_order: u64,
    /// Closes of a scope that was closed already.
    pub double_closed: u64,
    /// Closes refused because the scope belongs to another thread.
    pub wrong_thread: u64,
    /// CPU-clock system calls made for it.
    pub cpu_syscalls: u64,
}

/// Totals of a process: `produced = stored + lost + still in rings`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Records made.
    pub produced: Counts,
    /// Records the spool holds.
    pub stored: Counts,
    /// Records lost, by [`Loss`].
    pub lost: [Counts; Loss::COUNT],
}

/// Appends a STRINGS frame: `strings` have the ids from `first_id` up.
///
/// More strings than a frame may hold are left out; see [`MAX_RAW_BYTES`].
pub fn strings_frame(sequence: u64, first_id: u32, strings: &[&str], out: &mut Vec<u8>) {
    let fitting = strings.iter().scan(8, |bytes, text| {
        *bytes += 4 + text.len();
        (*bytes <= MAX_RAW_BYTES).then_some(())
    });
    let strings = &strings[..fitting.count()];
    let mut raw = Vec::new();
    put_u32(&mut raw, first_id);
    put_u32(&mut raw, strings.len() as u32);
    for text in strings {
        put_u32(&mut raw, text.len() as u32);
        raw.extend_from_slice(text.as_bytes());
    }
    append(frame_kind::STRINGS, sequence, &raw, out);
}

/// Appends a THREAD frame.
pub fn thread_frame(sequence: u64, thread: &ThreadInfo, out: &mut Vec<u8>) {
    let mut raw = Vec::new();
    put_u32(&mut raw, thread.number);
    put_u32(&mut raw, thread.os_tid);
    put_u64(&mut raw, thread.started);
    put_u64(&mut raw, u64::from(thread.ended.is_some()));
    put_u64(&mut raw, thread.ended.unwrap_or(0));
    put_u64(&mut raw, thread.depth_dropped);
    put_u64(&mut raw, thread.out_of_order);
    put_u64(&mut raw, thread.double_closed);
    put_u64(&mut raw, thread.wrong_thread);
    put_u64(&mut raw, thread.cpu_syscalls);
    put_counts(&mut raw, &thread.produced);
    put_lost(&mut raw, &thread.lost);
    let name = &thread.name.as_bytes()[..thread.name.len().min(MAX_THREAD_NAME_BYTES)];
    put_u32(&mut raw, name.len() as u32);
    raw.extend_from_slice(name);
    append(frame_kind::THREAD, sequence, &raw, out);
}

const MAX_THREAD_NAME_BYTES: usize = 4096;

/// Appends an ANCHORS frame.
pub fn anchors_frame(sequence: u64, anchors: &[Anchor], out: &mut Vec<u8>) {
    let mut raw = Vec::new();
    put_u32(&mut raw, anchors.len() as u32);
    for anchor in anchors {
        put_u64(&mut raw, anchor.ticks);
        put_u64(&mut raw, anchor.monotonic_ns);
        put_u64(&mut raw, anchor.wall_ns);
    }
    append(frame_kind::ANCHORS, sequence, &raw, out);
}

/// Appends a LOSSES frame: totals so far.
pub fn losses_frame(sequence: u64, losses: &Losses, out: &mut Vec<u8>) {
    append(frame_kind::LOSSES, sequence, &totals(losses), out);
}

/// Appends an END frame: the recorder shut down cleanly with these totals.
pub fn end_frame(sequence: u64, losses: &Losses, out: &mut Vec<u8>) {
    append(frame_kind::END, sequence, &totals(losses), out);
}

fn totals(losses: &Losses) -> Vec<u8> {
    let mut raw = Vec::new();
    put_counts(&mut raw, &losses.produced);
    put_counts(&mut raw, &losses.stored);
    put_lost(&mut raw, &losses.lost);
    raw
}

fn append(kind: u8, sequence: u64, raw: &[u8], out: &mut Vec<u8>) {
    codec::append(Label { kind, sequence, records: 0 }, &[raw], None, out);
}

fn put_u32(raw: &mut Vec<u8>, value: u32) {
    raw.extend_from_slice(&value.to_le_bytes());
}

fn put_u64(raw: &mut Vec<u8>, value: u64) {
    raw.extend_from_slice(&value.to_le_bytes());
}

fn put_counts(raw: &mut Vec<u8>, counts: &Counts) {
    put_u64(raw, counts.spans);
    put_u64(raw, counts.marks);
    put_u64(raw, counts.attrs);
}

fn put_lost(raw: &mut Vec<u8>, lost: &[Counts; Loss::COUNT]) {
    put_u32(raw, Loss::COUNT as u32);
    lost.iter().for_each(|counts| put_counts(raw, counts));
}

pub(super) fn strings(raw: &[u8], sink: &mut impl FrameSink) -> Option<()> {
    let mut cursor = Cursor::over(raw);
    let (first, count) = (cursor.half(), cursor.half());
    let mut strings = Vec::with_capacity((count as usize).min(raw.len() / 4));
    for _ in 0..count {
        let len = cursor.half();
        strings.push(std::str::from_utf8(cursor.take(len.into())?).ok()?);
    }
    first.checked_add(count)?;
    sink.strings(first, &strings);
    Some(())
}

pub(super) fn thread(raw: &[u8]) -> Option<ThreadInfo> {
    let mut cursor = Cursor::over(raw);
    let (number, os_tid, started) = (cursor.half(), cursor.half(), cursor.word());
    let (has_ended, ended) = (cursor.word() != 0, cursor.word());
    let mut info = ThreadInfo {
        number,
        os_tid,
        started,
        ended: has_ended.then_some(ended),
        depth_dropped: cursor.word(),
        out_of_order: cursor.word(),
        double_closed: cursor.word(),
        wrong_thread: cursor.word(),
        cpu_syscalls: cursor.word(),
        produced: counts(&mut cursor),
        lost: lost(&mut cursor)?,
        name: String::new(),
    };
    let len = cursor.half();
    info.name = String::from_utf8_lossy(cursor.take(len.into())?).into_owned();
    (!cursor.overran()).then_some(info)
}

pub(super) fn anchors(raw: &[u8]) -> Option<Vec<Anchor>> {
    let mut cursor = Cursor::over(raw);
    let count = cursor.half() as usize;
    if count > cursor.left() / size_of::<Anchor>() {
        return None;
    }
    let mut anchor =
        || Anchor { ticks: cursor.word(), monotonic_ns: cursor.word(), wall_ns: cursor.word() };
    Some((0..count).map(|_| anchor()).collect())
}

pub(super) fn losses(raw: &[u8]) -> Option<Losses> {
    let mut cursor = Cursor::over(raw);
    let (produced, stored) = (counts(&mut cursor), counts(&mut cursor));
    let losses = Losses { produced, stored, lost: lost(&mut cursor)? };
    (!cursor.overran()).then_some(losses)
}

fn counts(cursor: &mut Cursor<'_>) -> Counts {
    Counts { spans: cursor.word(), marks: cursor.word(), attrs: cursor.word() }
}

/// Losses by reason; reasons this version does not know are added to the last it knows.
fn lost(cursor: &mut Cursor<'_>) -> Option<[Counts; Loss::COUNT]> {
    let reasons = cursor.half() as usize;
    if reasons > cursor.left() / size_of::<Counts>() {
        return None;
    }
    let mut lost = [Counts::default(); Loss::COUNT];
    for reason in 0..reasons {
        let counts = counts(cursor);
        let known = &mut lost[reason.min(Loss::COUNT - 1)];
        known.spans = known.spans.saturating_add(counts.spans);
        known.marks = known.marks.saturating_add(counts.marks);
        known.attrs = known.attrs.saturating_add(counts.attrs);
    }
    Some(lost)
}
