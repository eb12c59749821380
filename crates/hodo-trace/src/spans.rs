use crate::index::{Index, NO_ROW};
use hodo_format::record::{Span, SpanId, flag};

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

    /// Whether it was left by a panic or an exception.
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

/// Takes spans as they are read, then links them.
#[derive(Debug, Default)]
pub(crate) struct SpansBuilder {
    spans: Spans,
    parent: Vec<SpanId>,
}

/// Rows are 32 bits wide; more scopes than that do not fit one process's columns.
const MAX_ROWS: usize = NO_ROW as usize - 1;

impl SpansBuilder {
    pub(crate) fn reserve(&mut self, rows: usize) {
        let rows = rows.min(MAX_ROWS);
        self.parent.reserve(rows);
        let s = &mut self.spans;
        s.flags.reserve(rows);
        s.name.reserve(rows);
        s.id.reserve(rows);
        s.start.reserve(rows);
        for column in [&mut s.duration, &mut s.cpu, &mut s.index, &mut s.overhead] {
            column.low.reserve(rows);
        }
    }

    /// Whether it was taken; a span past the last possible row is not.
    pub(crate) fn push(&mut self, span: &Span) -> bool {
        let s = &mut self.spans;
        if s.id.len() >= MAX_ROWS {
            return false;
        }
        self.parent.push(span.parent);
        s.flags.push(span.flags);
        s.name.push(span.name);
        s.id.push(span.id);
        s.start.push(span.start);
        s.duration.push(span.end.saturating_sub(span.start));
        s.cpu.push(span.cpu);
        s.index.push(span.index as u64);
        s.overhead.push(span.overhead);
        true
    }

    /// Keeps the first of scopes that came twice; returns how many it dropped.
    pub(crate) fn drop_doubles(&mut self) -> u64 {
        let mut seen = std::collections::HashSet::new();
        let first: Vec<bool> = self.spans.id.iter().map(|id| seen.insert(*id)).collect();
        keep(&mut self.parent, &first);
        let s = &mut self.spans;
        keep(&mut s.flags, &first);
        keep(&mut s.name, &first);
        keep(&mut s.id, &first);
        keep(&mut s.start, &first);
        for column in [&mut s.duration, &mut s.cpu, &mut s.index, &mut s.overhead] {
            column.keep(&first);
        }
        first.iter().filter(|first| !**first).count() as u64
    }

    /// Adds the scopes in `open` that have not closed, and links every scope to its parent.
    pub(crate) fn finish(mut self, open: &[Span]) -> Spans {
        let opened: Vec<SpanId> = open.iter().map(|s| s.id).collect();
        let mut index = Index::new(self.spans.id.iter().chain(&opened));
        for (row, &id) in self.spans.id.iter().enumerate() {
            index.claim(id, row as Row);
        }
        self.spans.first_open = self.spans.id.len();
        for span in open {
            if index.claim(span.id, self.spans.id.len() as Row) {
                self.push(span);
            }
        }
        self.spans.index_of = index;
        self.link();
        self.spans
    }

    fn link(&mut self) {
        let parents = std::mem::take(&mut self.parent);
        let spans = &mut self.spans;
        let mut upward = true;
        spans.up = Vec::with_capacity(parents.len());
        for (row, &parent) in parents.iter().enumerate() {
            let up = if parent.is_none() { NO_ROW } else { spans.index_of.row(parent) };
            if up == NO_ROW && !parent.is_none() {
                spans.lost_parents.push((row as Row, parent));
            }
            // Records come in the order scopes close, so a link nearly always leads to a later
            // row, and links that all do cannot form a circle.
            upward &= up > row as Row; // NO_ROW is past every row
            spans.up.push(up);
        }
        spans.upward = upward;
        if !upward {
            let cut = cut_circles(&mut spans.up);
            spans.lost_parents.extend(cut.into_iter().map(|row| (row, parents[row as usize])));
            spans.lost_parents.sort_unstable();
        }
    }
}

fn keep<T>(column: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    column.retain(|_| kept.next().is_some_and(|k| *k));
}

/// Cuts links that lead a row back to itself, which only damage makes, and returns those rows.
fn cut_circles(up: &mut [Row]) -> Vec<Row> {
    const DONE: u8 = 2;
    const ON_WAY: u8 = 1;
    let mut state = vec![0u8; up.len()];
    let (mut way, mut cut) = (Vec::new(), Vec::new());
    for first in 0..up.len() as Row {
        let mut row = first;
        while row != NO_ROW && state[row as usize] == 0 {
            state[row as usize] = ON_WAY;
            way.push(row);
            row = up[row as usize];
        }
        if row != NO_ROW && state[row as usize] == ON_WAY {
            up[row as usize] = NO_ROW;
            cut.push(row);
        }
        for row in way.drain(..) {
            state[row as usize] = DONE;
        }
    }
    cut
}

/// A column of words that nearly all fit 32 bits.
#[derive(Debug, Default)]
struct Narrow {
    low: Vec<u32>,
    /// Rows whose value does not fit, in order of row.
    wide: Vec<(Row, u64)>,
}

impl Narrow {
    fn push(&mut self, value: u64) {
        match u32::try_from(value) {
            Ok(low) if low != u32::MAX => self.low.push(low),
            _ => {
                self.wide.push((self.low.len() as Row, value));
                self.low.push(u32::MAX);
            }
        }
    }

    fn get(&self, row: Row) -> u64 {
        match self.low[row as usize] {
            u32::MAX => self.wide(row),
            low => u64::from(low),
        }
    }

    fn keep(&mut self, kept: &[bool]) {
        let mut column = Narrow::default();
        (0..).zip(kept).filter(|k| *k.1).for_each(|(row, _)| column.push(self.get(row)));
        *self = column;
    }

    #[cold]
    fn wide(&self, row: Row) -> u64 {
        self.wide.binary_search_by_key(&row, |w| w.0).map_or(0, |at| self.wide[at].1)
    }
}
