//! Reading rows one after another: each block of a column is unpacked once.

use super::build::up;
use super::narrow::Scan;
use super::{Cpu, Row, Spans, cpu_by};
use crate::index::NO_ROW;

/// Says what [`Spans`] does, quicker for rows that follow each other.
pub(crate) struct SpanScan<'a> {
    spans: &'a Spans,
    flags: Scan<'a>,
    up: Scan<'a>,
    thread: Scan<'a>,
    end: Scan<'a>,
    duration: Scan<'a>,
    cpu: Scan<'a>,
    overhead: Scan<'a>,
}

impl<'a> SpanScan<'a> {
    pub(super) fn new(spans: &'a Spans) -> SpanScan<'a> {
        SpanScan {
            spans,
            flags: spans.flags.scan(),
            up: spans.up.scan(),
            thread: spans.id.scan_threads(),
            end: spans.end.scan(),
            duration: spans.duration.scan(),
            cpu: spans.cpu.scan(),
            overhead: spans.overhead.scan(),
        }
    }

    /// See [`Spans::flags`].
    #[inline]
    pub(crate) fn flags(&mut self, row: Row) -> u16 {
        self.spans.with_failed(row, self.flags.get(row))
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

    /// See [`Spans::overhead`].
    #[inline]
    pub(crate) fn overhead(&mut self, row: Row) -> u64 {
        self.overhead.get(row)
    }
}
