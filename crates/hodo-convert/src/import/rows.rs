//! What importers hand over, and how it lies in the rows that are sorted.

use hodo_format::gpu::{Detail, Kernel};
use hodo_format::record::SpanId;

/// Ticks of the moment that a source calls 0: sources have times before it, ticks have not.
const ORIGIN: u64 = 1 << 62;
/// Moments further off are no moments of this world.
const FAR_NS: i64 = 1 << 61;

/// Ticks of a moment in a source's nanoseconds.
pub fn ticks(ns: i64) -> u64 {
    ORIGIN.wrapping_add_signed(ns.clamp(-FAR_NS, FAR_NS))
}

/// The source's nanoseconds of a moment in ticks.
pub fn source_ns(ticks: u64) -> i64 {
    ticks.wrapping_sub(ORIGIN) as i64
}

/// What a scope was to the tool that recorded it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Named by the user.
    #[default]
    Annotation,
    /// An operation of a framework.
    Op,
    /// An operation that another thread asked for, which waits for it: if no scope of its own
    /// thread is around it, it belongs to what the other has open.
    Asked,
    /// A call into the driver: what it launches belongs to the scope around it.
    Call,
}

/// How the scope around a scope is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parent {
    /// By time: the innermost of its thread that it lies in.
    #[default]
    ByTime,
    /// By its id; [`SpanId::NONE`] for an outermost one.
    Is(SpanId),
}

/// A scope.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope {
    /// Number of the process.
    pub process: u32,
    /// Number of the thread in it.
    pub thread: u32,
    /// String id of the name.
    pub name: u32,
    /// When it opened.
    pub start_ns: i64,
    /// When it closed.
    pub end_ns: i64,
    /// Flags of a span, but for the index's and the CPU time's.
    pub flags: u16,
    /// The user's index.
    pub index: Option<i64>,
    /// CPU time, where the source has it.
    pub cpu_ns: Option<u64>,
    /// What recording took inside it, where the source says so.
    pub overhead_ns: Option<u64>,
    /// Its id, if the source's own is kept.
    pub id: Option<SpanId>,
    /// The scope around it.
    pub parent: Parent,
    /// What it was.
    pub sort: Sort,
}

/// A mark, whose value is the first of its attributes.
#[derive(Clone, Copy, Debug)]
pub struct NewMark {
    /// Number of the process.
    pub process: u32,
    /// Number of the thread in it, 0 for none.
    pub thread: u32,
    /// String id of the name.
    pub name: u32,
    /// When it was made.
    pub at_ns: i64,
    /// A summary of its scope.
    pub summary: bool,
    /// Its scope; by time if left out.
    pub span: Option<SpanId>,
}

/// A piece of GPU work.
#[derive(Clone, Copy, Debug)]
pub struct NewWork {
    /// Number of the process.
    pub process: u32,
    /// The number it shares with the call that launched it; 0 for none.
    pub correlation: u32,
    /// When it began.
    pub start_ns: i64,
    /// When it ended.
    pub end_ns: i64,
    /// Device.
    pub device: u32,
    /// Context.
    pub context: u32,
    /// Stream.
    pub stream: u32,
    /// What it is.
    pub detail: Detail,
    /// Flags of work, but for how its scope is known.
    pub flags: u16,
    /// How its scope is known.
    pub by: By,
    /// When it was launched, if the source says so.
    pub launched_ns: Option<i64>,
    /// The graph it is a node of.
    pub graph: u32,
    /// Its node there.
    pub node: u64,
}

/// How the scope of work is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By the call of the same correlation.
    Correlation,
    /// The source names it: flags of `hodo_format::gpu::flag::SCOPE`, and the scope.
    Source(u16, SpanId),
}

impl NewWork {
    /// Work of a process about which nothing but this is known.
    pub fn new(process: u32, detail: Detail, start_ns: i64, end_ns: i64) -> NewWork {
        NewWork {
            process,
            correlation: 0,
            start_ns,
            end_ns,
            device: 0,
            context: 0,
            stream: 0,
            detail,
            flags: 0,
            by: By::Correlation,
            launched_ns: None,
            graph: 0,
            node: 0,
        }
    }
}

/// Kinds of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A scope.
    Scope,
    /// A call that may have launched work; its id is the correlation.
    Launch,
    /// A mark.
    Mark,
}

/// What a thread did, one after another.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    pub process: u32,
    pub thread: u32,
    pub start: u64,
    pub end: u64,
    /// Which of all items it is: those of one moment stay in their order.
    pub order: u64,
    pub kind: Kind,
    pub sort: Sort,
    pub flags: u16,
    pub name: u32,
    pub id: u64,
    pub parent: Parent,
    pub index: i64,
    pub cpu: u64,
    pub overhead: u64,
    pub attrs: u64,
}

/// Words of an [`Item`].
pub const ITEM_WORDS: usize = 11;
/// In the place of a parent: by time.
const BY_TIME: u64 = u64::MAX;

const SORTS: [Sort; 4] = [Sort::Annotation, Sort::Op, Sort::Asked, Sort::Call];
const KINDS: [Kind; 3] = [Kind::Scope, Kind::Launch, Kind::Mark];

fn halves(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

fn low(word: u64) -> u32 {
    word as u32
}

impl Item {
    /// The row: by process, thread and start; of those that start together the longest first.
    pub fn words(&self) -> [u64; ITEM_WORDS] {
        let what = (self.kind as u32) << 24 | (self.sort as u32) << 16 | u32::from(self.flags);
        [
            halves(self.process, self.thread),
            self.start,
            !self.end,
            self.order,
            halves(what, self.name),
            self.id,
            match self.parent {
                Parent::ByTime => BY_TIME,
                Parent::Is(id) => id.0,
            },
            self.index as u64,
            self.cpu,
            self.attrs,
            self.overhead,
        ]
    }

    /// The item of a row.
    pub fn of(w: &[u64; ITEM_WORDS]) -> Item {
        let what = high(w[4]);
        Item {
            process: high(w[0]),
            thread: low(w[0]),
            start: w[1],
            end: !w[2],
            order: w[3],
            kind: KINDS[(what >> 24) as usize % KINDS.len()],
            sort: SORTS[(what >> 16 & 0xff) as usize % SORTS.len()],
            flags: what as u16,
            name: low(w[4]),
            id: w[5],
            parent: if w[6] == BY_TIME { Parent::ByTime } else { Parent::Is(SpanId(w[6])) },
            index: w[7] as i64,
            cpu: w[8],
            attrs: w[9],
            overhead: w[10],
        }
    }
}

/// A call that launched work, or work: to be joined by correlation.
#[derive(Clone, Copy, Debug)]
pub struct Joint {
    pub process: u32,
    pub correlation: u32,
    pub what: What,
    pub span: SpanId,
    /// Ticks when it was launched, 0 when not known.
    pub launched: u64,
    pub thread: u32,
    /// Flags of work with how its scope is known; [`Joint::BY_CORRELATION`] where the call tells.
    pub flags: u32,
    pub start: u64,
    pub end: u64,
    pub device: u32,
    pub context: u32,
    pub stream: u32,
    pub graph: u32,
    pub node: u64,
    pub detail: Detail,
}

/// What a [`Joint`] is; in a group of one correlation in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The call.
    Launch,
    /// Work.
    Work,
    /// A wait as the call shows it, which counts where no other record shows it.
    Wait,
}

/// Words of a [`Joint`].
pub const JOINT_WORDS: usize = 18;

impl Joint {
    /// Flag: the scope is that of the call.
    pub const BY_CORRELATION: u32 = 1 << 16;

    /// The row: by process and correlation, the call first.
    pub fn words(&self) -> [u64; JOINT_WORDS] {
        let mut w = [0; JOINT_WORDS];
        w[0] = halves(self.process, self.correlation);
        w[1] = self.what as u64;
        (w[2], w[3]) = (self.start, self.end);
        (w[4], w[5]) = (self.span.0, self.launched);
        w[6] = halves(self.thread, self.flags);
        w[7] = halves(self.device, self.context);
        w[8] = halves(self.stream, self.graph);
        w[9] = self.node;
        let of = |kind: u64, codes: [u8; 3]| {
            kind << 24 | u64::from(codes[0]) << 16 | u64::from(codes[1]) << 8 | u64::from(codes[2])
        };
        match self.detail {
            Detail::Kernel(k) => {
                w[10] = of(1, [0; 3]);
                w[11] = halves(k.name, k.registers.into());
                w[12] = halves(k.grid[0], k.grid[1]);
                w[13] = halves(k.grid[2], k.block[0]);
                w[14] = halves(k.block[1], k.block[2]);
                w[15] = halves(k.static_shared, k.dynamic_shared);
                w[16] = k.local.into();
            }
            Detail::Copy { bytes, direction, from, to } => {
                (w[10], w[11]) = (of(2, [direction, from, to]), bytes);
            }
            Detail::Set { bytes, memory } => (w[10], w[11]) = (of(3, [memory, 0, 0]), bytes),
            Detail::Sync { what } => w[10] = of(4, [what, 0, 0]),
            Detail::Memory { freed, bytes, address, memory } => {
                (w[10], w[11]) = (of(5, [freed.into(), memory, 0]), bytes);
                w[12] = address;
            }
        }
        w
    }

    /// The call or work of a row.
    pub fn of(w: &[u64; JOINT_WORDS]) -> Joint {
        let code = |at: u32| (w[10] >> at) as u8;
        let detail = match w[10] >> 24 {
            1 => Detail::Kernel(Kernel {
                name: high(w[11]),
                registers: w[11] as u16,
                grid: [high(w[12]), low(w[12]), high(w[13])],
                block: [low(w[13]), high(w[14]), low(w[14])],
                static_shared: high(w[15]),
                dynamic_shared: low(w[15]),
                local: w[16] as u32,
            }),
            2 => Detail::Copy { bytes: w[11], direction: code(16), from: code(8), to: code(0) },
            3 => Detail::Set { bytes: w[11], memory: code(16) },
            5 => Detail::Memory {
                freed: code(16) != 0,
                bytes: w[11],
                address: w[12],
                memory: code(8),
            },
            _ => Detail::Sync { what: code(16) },
        };
        Joint {
            process: high(w[0]),
            correlation: low(w[0]),
            what: [What::Launch, What::Work, What::Wait][w[1] as usize % 3],
            span: SpanId(w[4]),
            launched: w[5],
            thread: high(w[6]),
            flags: low(w[6]),
            start: w[2],
            end: w[3],
            device: high(w[7]),
            context: low(w[7]),
            stream: high(w[8]),
            graph: low(w[8]),
            node: w[9],
            detail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_survives_as_words() {
        let kernel = Kernel {
            name: 1,
            grid: [2, 3, 4],
            block: [5, 6, 7],
            registers: 8,
            static_shared: 9,
            dynamic_shared: 10,
            local: 11,
        };
        for detail in [
            Detail::Kernel(kernel),
            Detail::Copy { bytes: 1 << 40, direction: 8, from: 3, to: 2 },
            Detail::Set { bytes: 7, memory: 3 },
            Detail::Sync { what: 4 },
            Detail::Memory { freed: true, bytes: 5, address: 1 << 50, memory: 3 },
        ] {
            let joint = Joint {
                process: 1,
                correlation: 2,
                what: What::Work,
                span: SpanId(3),
                launched: 4,
                thread: 5,
                flags: 6 | Joint::BY_CORRELATION,
                start: 7,
                end: 8,
                device: 9,
                context: 10,
                stream: 11,
                graph: 12,
                node: 13,
                detail,
            };
            let again = Joint::of(&joint.words());
            assert_eq!(again.words(), joint.words());
            assert_eq!(again.detail, detail);
        }
    }

    #[test]
    fn moments_before_the_sources_first_have_ticks() {
        for ns in [-5, 0, 7, 1_800_000_000_000_000_000, i64::MIN, i64::MAX] {
            assert!(ticks(ns) > 0);
            assert_eq!(source_ns(ticks(ns)), ns.clamp(-FAR_NS, FAR_NS));
        }
        assert!(ticks(-1) < ticks(0));
    }
}
