//! Reading rows one after another: each block of a column is unpacked once.

use super::build::up;
use super::narrow::Scan;
use super::{Cpu, Row, Spans, cpu_by};
use crate::index::NO_ROW;
use hodo_format::record::{SpanId, flag};

/// Says what [`Spans`] does, quicker for rows that follow each other.
pub(crate) struct SpanScan<'a> {
    spans: &'a Spans,
    flags: Scan<'a>,
    name: Scan<'a>,
    up: Scan<'a>,
    /// Which of its block's threads opened it, and how far its id is behind that thread's newest.
    thread: Scan<'a>,
    behind: Scan<'a>,
    end: Scan<'a>,
    duration: Scan<'a>,
    cpu: Scan<'a>,
    index: Scan<'a>,
    overhead: Scan<'a>,
}

impl<'a> SpanScan<'a> {
    pub(super) fn new(spans: &'a Spans) -> SpanScan<'a> {
        SpanScan {
            spans,
            flags: spans.flags.scan(),
            name: spans.name.scan(),
            up: spans.up.scan(),
            thread: spans.id.scan_threads(),
            behind: spans.id.scan_behind(),
            end: spans.end.scan(),
            duration: spans.duration.scan(),
            cpu: spans.cpu.scan(),
            index: spans.index.scan(),
            overhead: spans.overhead.scan(),
        }
    }

    /// See [`Spans::flags`].
    #[inline]
    pub(crate) fn flags(&mut self, row: Row) -> u16 {
        self.spans.with_failed(row, self.flags.get(row))
    }

    /// See [`Spans::name`].
    #[inline]
    pub(crate) fn name(&mut self, row: Row) -> u32 {
        self.name.get(row) as u32
    }

    /// See [`Spans::id`].
    #[inline]
    pub(crate) fn id(&mut self, row: Row) -> SpanId {
        self.spans.id.scanned(row, self.thread.get(row), self.behind.get(row))
    }

    /// See [`Spans::parent`].
    #[inline]
    pub(crate) fn parent(&mut self, row: Row) -> SpanId {
        match self.parent_row(row) {
            // Mostly not far, so its block is at hand; the rows stay in order for all others.
            Some(parent) => self.spans.id(parent),
            None => self.spans.lost_parent(row).unwrap_or(SpanId::NONE),
        }
    }

    /// See [`Spans::parent_row`].
    #[inline]
    pub(crate) fn parent_row(&mut self, row: Row) -> Option<Row> {
        Some(up(row, self.up.get(row))).filter(|&up| up != NO_ROW)
    }

    /// See [`Spans::thread`].
    #[inline]
    pub(crate) fn thread(&mut self, row: Row) -> u32 {
        self.spans.id.scanned_thread(row, self.thread.get(row))
    }

    /// Ticks when it opened and when it closed.
    #[inline]
    pub(crate) fn times(&mut self, row: Row) -> (u64, u64) {
        let end = self.end.get(row);
        (end - self.duration.get(row), end)
    }

    /// See [`Spans::duration`].
    #[inline]
    pub(crate) fn duration(&mut self, row: Row) -> u64 {
        self.duration.get(row)
    }

    /// See [`Spans::is_open`].
    #[inline]
    pub(crate) fn is_open(&mut self, row: Row) -> bool {
        let flags = self.flags(row);
        self.is_open_by(row, flags)
    }

    /// The same where its flags are known.
    #[inline]
    pub(crate) fn is_open_by(&self, row: Row, flags: u16) -> bool {
        self.spans.is_open_by(row, flags)
    }

    /// See [`Spans::cpu`]; where it is known whether it is open.
    #[inline]
    pub(crate) fn cpu(&mut self, row: Row, flags: u16, is_open: bool) -> Cpu {
        cpu_by(is_open, flags, self.cpu.get(row))
    }

    /// See [`Spans::index`].
    #[inline]
    pub(crate) fn index(&mut self, row: Row) -> Option<i64> {
        (self.flags(row) & flag::HAS_INDEX != 0).then(|| self.index.get(row) as i64)
    }

    /// See [`Spans::overhead`].
    #[inline]
    pub(crate) fn overhead(&mut self, row: Row) -> u64 {
        self.overhead.get(row)
    }
}
