//! The scopes of a process as columns.

mod build;
mod narrow;

use crate::index::{Index, NO_ROW};
use hodo_format::record::{SpanId, flag};

pub(crate) use build::SpansBuilder;
pub(crate) use narrow::Narrow;

/// A span's place in [`Spans`].
pub type Row = u32;

/// Every scope of a process, as columns; open ones are rows too. Times are ticks.
#[derive(Debug, Default)]
pub struct Spans {
    flags: Vec<u16>,
    name: Vec<u32>,
    id: Vec<SpanId>,
    /// Row of the parent, [`NO_ROW`] for an outermost scope or one whose parent is lost.
    up: Vec<Row>,
    /// Parents that are not there, in order of row.
    lost_parents: Vec<(Row, SpanId)>,
    /// Every link leads to a later row.
    upward: bool,
    index_of: Index,
    start: Vec<u64>,
    duration: Narrow,
    cpu: Narrow,
    index: Narrow,
    overhead: Narrow,
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

impl Spans {
    /// Number of scopes, open ones included.
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.id.is_empty()
    }

    /// [`flag`] bits.
    pub fn flags(&self, row: Row) -> u16 {
        self.flags[row as usize]
    }

    /// String id of the name.
    pub fn name(&self, row: Row) -> u32 {
        self.name[row as usize]
    }

    /// The scope's id.
    pub fn id(&self, row: Row) -> SpanId {
        self.id[row as usize]
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
        self.start[row as usize]
    }

    /// Ticks when it closed; for an open scope the last moment known.
    pub fn end(&self, row: Row) -> u64 {
        self.start(row) + self.duration(row)
    }

    /// Ticks it was open.
    pub fn duration(&self, row: Row) -> u64 {
        self.duration.get(row)
    }

    /// CPU ticks spent in it.
    pub fn cpu(&self, row: Row) -> Cpu {
        if self.is_open(row) {
            return Cpu::Missing(CpuMissing::Open);
        }
        match self.flags(row) & flag::CPU_MASK {
            flag::CPU_SUSPENDED => Cpu::Missing(CpuMissing::Suspended),
            flag::CPU_OTHER_THREAD => Cpu::Missing(CpuMissing::OtherThread),
            flag::CPU_OFF => Cpu::Missing(CpuMissing::Off),
            _ => Cpu::Captured(self.cpu.get(row)),
        }
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
        row as usize >= self.first_open || self.flags(row) & flag::LEFT_OPEN != 0
    }

    /// Whether it was left by a panic or an exception: its flag says so, or an attribute `error`.
    pub fn is_failed(&self, row: Row) -> bool {
        self.flags(row) & flag::FAILED != 0
    }

    /// Number of the thread that opened it.
    pub fn thread(&self, row: Row) -> u32 {
        self.id(row).thread()
    }

    /// Every row.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = Row> + ExactSizeIterator {
        0..self.len() as Row
    }

    /// The row of a scope, if it was read.
    pub fn row_of(&self, id: SpanId) -> Option<Row> {
        Some(self.index_of.row(id)).filter(|&row| row != NO_ROW)
    }

    /// The row of the scope it was opened in, if that was read.
    pub fn parent_row(&self, row: Row) -> Option<Row> {
        Some(self.up[row as usize]).filter(|&up| up != NO_ROW)
    }

    /// Whether it comes from a slot, not from a record.
    pub(crate) fn is_slot(&self, row: Row) -> bool {
        row as usize >= self.first_open
    }

    /// Marks a scope as failed: it has an attribute that says so.
    pub(crate) fn fail(&mut self, id: SpanId) {
        if let Some(row) = self.row_of(id) {
            self.flags[row as usize] |= flag::FAILED;
        }
    }

    /// Rows of scopes that closed.
    pub(crate) fn closed_rows(&self) -> impl Iterator<Item = Row> {
        (0..self.first_open as Row).filter(|&row| !self.is_open(row))
    }

    /// Calls `visit` with every row and its parent's, each parent before its children.
    pub(crate) fn parents_first(&self, mut visit: impl FnMut(Row, Option<Row>)) {
        if self.upward {
            self.rows().rev().for_each(|row| visit(row, self.parent_row(row)));
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
