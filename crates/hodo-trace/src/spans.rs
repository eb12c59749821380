use hodo_format::record::{Span, SpanId, flag};

/// A span's place in [`Spans`].
pub type Row = u32;

/// Every scope of a process, as columns; open ones are rows too. Times are ticks.
#[derive(Debug, Default)]
pub struct Spans {
    flags: Vec<u16>,
    name: Vec<u32>,
    id: Vec<SpanId>,
    parent: Vec<SpanId>,
    start: Vec<u64>,
    duration: Narrow,
    cpu: Narrow,
    index: Narrow,
    overhead: Narrow,
    /// Rows from here on are scopes that were open.
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
        self.parent[row as usize]
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

    /// Whether it was still open.
    pub fn is_open(&self, row: Row) -> bool {
        row as usize >= self.first_open
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
        let _ = id;
        None
    }

    /// The row of the scope it was opened in, if that was read.
    pub fn parent_row(&self, row: Row) -> Option<Row> {
        self.row_of(self.parent(row))
    }

    #[expect(dead_code, reason = "used by the reader")]
    pub(crate) fn push(&mut self, span: &Span) {
        self.flags.push(span.flags);
        self.name.push(span.name);
        self.id.push(span.id);
        self.parent.push(span.parent);
        self.start.push(span.start);
        self.duration.push(span.end.saturating_sub(span.start));
        self.cpu.push(span.cpu);
        self.index.push(span.index as u64);
        self.overhead.push(span.overhead);
    }
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

    #[cold]
    fn wide(&self, row: Row) -> u64 {
        self.wide.binary_search_by_key(&row, |w| w.0).map_or(0, |at| self.wide[at].1)
    }
}
