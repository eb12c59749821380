//! The scopes of a process as columns.

mod build;
mod ids;
mod narrow;
mod scan;

use crate::index::{Index, NO_ROW};
use hodo_format::record::{SpanId, flag};

pub(crate) use build::SpansBuilder;
use ids::Ids;
pub(crate) use narrow::{Narrow, NarrowBuilder};
pub(crate) use scan::SpanScan;

/// A span's place in [`Spans`].
pub type Row = u32;

/// Every scope of a process, as columns; open ones are rows too. Times are ticks.
#[derive(Debug, Default)]
pub struct Spans {
    flags: Narrow,
    name: Narrow,
    id: Ids,
    /// How far the parent's row is; see [`build::up`].
    up: Narrow,
    /// Parents that are not there, in order of row.
    lost_parents: Vec<(Row, SpanId)>,
    /// Every link leads to a later row.
    upward: bool,
    index_of: Index,
    end: Narrow,
    duration: Narrow,
    cpu: Narrow,
    index: Narrow,
    overhead: Narrow,
    /// A bit a row: an attribute says that it failed. Empty where none does.
    failed: Vec<u64>,
    /// The flags that any row has, but for that.
    flags_seen: u16,
    /// Rows from here on come from slots, not from records.
    first_open: usize,
}

/// CPU time of a scope: a value (perhaps a measured zero), or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpu {
    /// Ticks or nanoseconds, by the accessor that returned it.
    Captured(u64),
    /// Not captured.
    Missing(CpuMissing),
}

/// Why a scope has no CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuMissing {
    /// It was suspended (await) while open.
    Suspended,
    /// It was not bound to one thread.
    OtherThread,
    /// The recorder was told not to read it, or no clock works there.
    Off,
    /// It never closed.
    Open,
    /// No reading of the process's clocks is left to convert ticks by.
    Uncalibrated,
}

impl CpuMissing {
    pub(crate) const ALL: [CpuMissing; 5] = [
        CpuMissing::Suspended,
        CpuMissing::OtherThread,
        CpuMissing::Off,
        CpuMissing::Open,
        CpuMissing::Uncalibrated,
    ];

    /// The reason in words.
    pub fn text(self) -> &'static str {
        match self {
            CpuMissing::Suspended => "suspended",
            CpuMissing::OtherThread => "not bound to one thread",
            CpuMissing::Off => "no CPU clock",
            CpuMissing::Open => "never closed",
            CpuMissing::Uncalibrated => "times not calibrated",
        }
    }
}

#[inline]
fn cpu_by(is_open: bool, flags: u16, ticks: u64) -> Cpu {
    match flags & flag::CPU_MASK {
        _ if is_open => Cpu::Missing(CpuMissing::Open),
        flag::CPU_SUSPENDED => Cpu::Missing(CpuMissing::Suspended),
        flag::CPU_OTHER_THREAD => Cpu::Missing(CpuMissing::OtherThread),
        flag::CPU_OFF => Cpu::Missing(CpuMissing::Off),
        _ => Cpu::Captured(ticks),
    }
}

impl Spans {
    /// Number of scopes, open ones included.
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// [`flag`] bits.
    #[inline]
    pub fn flags(&self, row: Row) -> u16 {
        self.with_failed(row, self.flags.get(row))
    }

    /// The flags of a row, with what attributes say.
    #[inline]
    fn with_failed(&self, row: Row, flags: u64) -> u16 {
        let failed = self.failed.get(row as usize / 64).map_or(0, |bits| bits >> (row % 64) & 1);
        flags as u16 | (flag::FAILED * failed as u16)
    }

    /// String id of the name.
    pub fn name(&self, row: Row) -> u32 {
        self.name.get(row) as u32
    }

    /// The scope's id.
    pub fn id(&self, row: Row) -> SpanId {
        self.id.get(row)
    }

    /// Id of the scope it was opened in; that scope's row may be missing.
    pub fn parent(&self, row: Row) -> SpanId {
        match self.parent_row(row) {
            Some(parent) => self.id(parent),
            None => self.lost_parent(row).unwrap_or(SpanId::NONE),
        }
    }

    /// Id of the scope it was opened in when that scope was not read.
    pub fn lost_parent(&self, row: Row) -> Option<SpanId> {
        let at = self.lost_parents.binary_search_by_key(&row, |l| l.0).ok()?;
        Some(self.lost_parents[at].1)
    }

    /// Ticks when it opened.
    pub fn start(&self, row: Row) -> u64 {
        self.end.get(row) - self.duration.get(row)
    }

    /// Ticks when it closed; for an open scope the last moment known.
    pub fn end(&self, row: Row) -> u64 {
        self.end.get(row)
    }

    /// Ticks it was open.
    pub fn duration(&self, row: Row) -> u64 {
        self.duration.get(row)
    }

    /// CPU ticks spent in it.
    pub fn cpu(&self, row: Row) -> Cpu {
        cpu_by(self.is_open(row), self.flags(row), self.cpu.get(row))
    }

    /// The user's index.
    pub fn index(&self, row: Row) -> Option<i64> {
        (self.flags(row) & flag::HAS_INDEX != 0).then(|| self.index.get(row) as i64)
    }

    /// Ticks of recording work inside it.
    pub fn overhead(&self, row: Row) -> u64 {
        self.overhead.get(row)
    }

    /// Whether it was still open when recording ended, or is.
    pub fn is_open(&self, row: Row) -> bool {
        self.is_open_by(row, self.flags(row))
    }

    #[inline]
    pub(crate) fn is_open_by(&self, row: Row, flags: u16) -> bool {
        row as usize >= self.first_open || flags & flag::LEFT_OPEN != 0
    }

    /// Whether it was left by a panic or an exception: its flag says so, or an attribute `error`.
    pub fn is_failed(&self, row: Row) -> bool {
        self.flags(row) & flag::FAILED != 0
    }

    /// Number of the thread that opened it.
    pub fn thread(&self, row: Row) -> u32 {
        self.id.thread(row)
    }

    /// Whether no row has any of these [`flag`] bits; one that is open counts as left open.
    pub(crate) fn has_none_of(&self, flags: u16) -> bool {
        let failed = if self.failed.is_empty() { 0 } else { flag::FAILED };
        let open = if self.first_open < self.len() { flag::LEFT_OPEN } else { 0 };
        (self.flags_seen | failed | open) & flags == 0
    }

    /// Every row.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = Row> + ExactSizeIterator {
        0..self.len() as Row
    }

    /// The row of a scope, if it was read.
    pub fn row_of(&self, id: SpanId) -> Option<Row> {
        Some(self.index_of.row(id)).filter(|&row| row != NO_ROW)
    }

    /// Numbers of the threads that opened them, in order.
    pub fn threads(&self) -> impl Iterator<Item = u32> {
        self.index_of.threads()
    }

    /// The scopes of a thread in the order it opened them. Of scopes with one id, which only damage
    /// makes, it is the first that is found.
    pub fn rows_of_thread(&self, thread: u32) -> impl Iterator<Item = Row> {
        self.index_of.rows(thread)
    }

    /// The row of the scope it was opened in, if that was read.
    pub fn parent_row(&self, row: Row) -> Option<Row> {
        Some(build::up(row, self.up.get(row))).filter(|&up| up != NO_ROW)
    }

    /// Whether it comes from a slot, not from a record.
    pub(crate) fn is_slot(&self, row: Row) -> bool {
        row as usize >= self.first_open
    }

    /// Marks a scope as failed: it has an attribute that says so.
    pub(crate) fn fail(&mut self, id: SpanId) {
        if let Some(row) = self.row_of(id) {
            self.failed.resize(self.len().div_ceil(64), 0);
            self.failed[row as usize / 64] |= 1 << (row % 64);
        }
    }

    /// Rows of scopes that closed.
    pub(crate) fn closed_rows(&self) -> impl Iterator<Item = Row> {
        let some_open = self.flags_seen & flag::LEFT_OPEN != 0;
        let mut scan = some_open.then(|| self.scan());
        let is_closed = move |row: &Row| scan.as_mut().is_none_or(|scan| !scan.is_open(*row));
        (0..self.first_open as Row).filter(is_closed)
    }

    /// Rows of scopes that are open, or were left so.
    pub(crate) fn open_rows(&self) -> impl Iterator<Item = Row> {
        let some_left_open = self.flags_seen & flag::LEFT_OPEN != 0;
        let first = if some_left_open { 0 } else { self.first_open as Row };
        let mut scan = self.scan();
        (first..self.len() as Row).filter(move |&row| scan.is_open(row))
    }

    /// Rows of scopes that failed.
    pub(crate) fn failed_rows(&self) -> impl Iterator<Item = Row> {
        let some_failed = self.flags_seen & flag::FAILED != 0 || !self.failed.is_empty();
        let end = if some_failed { self.len() as Row } else { 0 };
        let mut scan = self.scan();
        (0..end).filter(move |&row| scan.flags(row) & flag::FAILED != 0)
    }

    /// The names of rows that follow each other.
    pub(crate) fn scan_names(&self) -> impl FnMut(Row) -> u32 {
        let mut names = self.name.scan();
        move |row| names.get(row) as u32
    }

    /// Reads rows one after another.
    pub(crate) fn scan(&self) -> SpanScan<'_> {
        SpanScan::new(self)
    }

    /// Whether every scope comes before the one around it.
    pub(crate) fn is_upward(&self) -> bool {
        self.upward
    }

    /// Calls `visit` with every row and its parent's, each parent before its children.
    pub(crate) fn parents_first(&self, mut visit: impl FnMut(Row, Option<Row>)) {
        if self.upward {
            let mut up = self.up.scan();
            let mut above = |row| Some(build::up(row, up.get(row))).filter(|&up| up != NO_ROW);
            self.rows().rev().for_each(|row| visit(row, above(row)));
            return;
        }
        let mut seen = vec![false; self.len()];
        let mut way = Vec::new();
        for first in self.rows().rev() {
            let mut next = Some(first);
            while let Some(row) = next.filter(|&row| !seen[row as usize]) {
                seen[row as usize] = true;
                way.push(row);
                next = self.parent_row(row);
            }
            way.drain(..).rev().for_each(|row| visit(row, self.parent_row(row)));
        }
    }
}
