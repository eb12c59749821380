//! Ring records: what a thread writes when a scope closes, an attribute is set or a mark is made.
//!
//! A ring is an array of 64-byte [`Unit`]s. A record takes one unit, or several when it carries text.

/// Bytes in a [`Unit`].
pub const UNIT_BYTES: usize = 64;

/// Longest text, in bytes, that one record carries; longer text is cut and flagged.
pub const MAX_TEXT_BYTES: usize = 4096;

/// One cell of a ring.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit(pub [u64; 8]);

impl Unit {
    /// A unit of zero bytes, which no reader takes for a record.
    pub const ZERO: Unit = Unit([0; 8]);

    /// The unit's memory as bytes.
    pub fn bytes(units: &[Unit]) -> &[u8] {
        // SAFETY: Unit is 64 plain bytes without padding; any byte pattern is a valid u8.
        unsafe { std::slice::from_raw_parts(units.as_ptr().cast(), units.len() * UNIT_BYTES) }
    }
}

/// What a record is; the first byte of its first unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Unused units at the end of a segment; not counted as a record.
    Pad = 1,
    /// A closed scope.
    Span = 2,
    /// Up to four attributes of fixed size.
    Attrs = 3,
    /// One attribute that is text or JSON.
    Text = 4,
    /// A mark with a value of fixed size.
    Mark = 5,
    /// A mark whose value is text.
    MarkText = 6,
}

impl Kind {
    /// The kind a first byte stands for, if any.
    pub const fn from_byte(byte: u8) -> Option<Kind> {
        Some(match byte {
            1 => Kind::Pad,
            2 => Kind::Span,
            3 => Kind::Attrs,
            4 => Kind::Text,
            5 => Kind::Mark,
            6 => Kind::MarkText,
            _ => return None,
        })
    }
}

/// The first eight bytes of every record: kind, units, flags, name. Little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The [`Kind`] as a byte.
    pub kind: u8,
    /// Units this record takes, 1 to 255.
    pub units: u8,
    /// Meaning depends on the kind: see [`flag`], [`AttrsRecord`], [`TextRecord`], [`MarkRecord`].
    pub flags: u16,
    /// String id of the scope's name, the attribute's key or the mark's name.
    pub name: u32,
}

impl Head {
    /// The head as the first word of a unit.
    pub const fn word(self) -> u64 {
        self.kind as u64
            | (self.units as u64) << 8
            | (self.flags as u64) << 16
            | (self.name as u64) << 32
    }

    /// The head in the first word of a unit.
    pub const fn from_word(word: u64) -> Head {
        Head {
            kind: word as u8,
            units: (word >> 8) as u8,
            flags: (word >> 16) as u16,
            name: (word >> 32) as u32,
        }
    }
}

/// Flags of a span.
pub mod flag {
    /// `index` holds a value.
    pub const HAS_INDEX: u16 = 1 << 0;
    /// The scope was left by a panic or an exception.
    pub const FAILED: u16 = 1 << 1;
    /// Two bits: 0 CPU time captured, else one of the `CPU_*` reasons it was not.
    pub const CPU_MASK: u16 = 3 << 2;
    /// No CPU time: the scope was suspended (await) while open.
    pub const CPU_SUSPENDED: u16 = 1 << 2;
    /// No CPU time: the scope was not bound to one thread.
    pub const CPU_OTHER_THREAD: u16 = 2 << 2;
    /// No CPU time: the recorder was told not to read it, or no clock works here.
    pub const CPU_OFF: u16 = 3 << 2;
    /// Nobody closed the scope; its thread or the recorder ended.
    pub const LEFT_OPEN: u16 = 1 << 4;
    /// The measured part of a benchmark loop.
    pub const BENCH: u16 = 1 << 5;
    /// One measured iteration of a benchmark loop.
    pub const ITERATION: u16 = 1 << 6;
    /// The warm-up part of a benchmark loop.
    pub const WARMUP: u16 = 1 << 7;
    /// Closed while a scope opened inside it was still open.
    pub const OUT_OF_ORDER: u16 = 1 << 8;
}

/// The attribute of a scope that was taken back after others had been opened inside it: the id of the
/// scope around it, which these are inside of then.
pub const AROUND_KEY: &str = "hodo.around";

/// A scope's id inside its process: the opening thread in the upper 24 bits, its sequence below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct SpanId(pub u64);

impl SpanId {
    /// Bits of the per-thread sequence.
    pub const SEQUENCE_BITS: u32 = 40;
    /// No scope: the parent of an outermost one.
    pub const NONE: SpanId = SpanId(0);

    /// The id of a thread's `sequence`-th scope; both count from 1.
    pub const fn new(thread: u32, sequence: u64) -> SpanId {
        SpanId((thread as u64) << Self::SEQUENCE_BITS | sequence)
    }

    /// Number of the thread that opened the scope.
    pub const fn thread(self) -> u32 {
        (self.0 >> Self::SEQUENCE_BITS) as u32
    }

    /// Which of its thread's scopes it is.
    pub const fn sequence(self) -> u64 {
        self.0 & ((1 << Self::SEQUENCE_BITS) - 1)
    }

    /// Whether this is [`SpanId::NONE`].
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// A closed scope: one unit. Times are raw clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// [`flag`] bits.
    pub flags: u16,
    /// String id of the name.
    pub name: u32,
    /// Its own id.
    pub id: SpanId,
    /// The scope it was opened in.
    pub parent: SpanId,
    /// Ticks when it opened.
    pub start: u64,
    /// Ticks when it closed.
    pub end: u64,
    /// CPU ticks its thread spent inside; 0 when the flags say "not captured".
    pub cpu: u64,
    /// The user's index; meaningful with [`flag::HAS_INDEX`].
    pub index: i64,
    /// Ticks of recording work inside it.
    pub overhead: u64,
}

impl Span {
    /// The span as it lies in a ring.
    pub const fn to_unit(self) -> Unit {
        let head = Head { kind: Kind::Span as u8, units: 1, flags: self.flags, name: self.name };
        Unit([
            head.word(),
            self.id.0,
            self.parent.0,
            self.start,
            self.end,
            self.cpu,
            self.index as u64,
            self.overhead,
        ])
    }

    /// The span in a unit whose kind is [`Kind::Span`].
    pub const fn from_unit(unit: &Unit) -> Span {
        let w = &unit.0;
        let head = Head::from_word(w[0]);
        Span {
            flags: head.flags,
            name: head.name,
            id: SpanId(w[1]),
            parent: SpanId(w[2]),
            start: w[3],
            end: w[4],
            cpu: bounded_cpu(w[5], w[4].saturating_sub(w[3])),
            index: w[6] as i64,
            overhead: w[7],
        }
    }
}

/// CPU time as the ring has it is the difference of two readings, of which either may be an
/// estimate that is off by microseconds: at least nothing, at most all of the time.
const fn bounded_cpu(cpu: u64, duration: u64) -> u64 {
    if (cpu as i64) < 0 {
        0
    } else if cpu > duration {
        duration
    } else {
        cpu
    }
}

/// A value of an attribute or a mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A whole number.
    I64(i64),
    /// A float; NaN and infinities are kept.
    F64(f64),
    /// True or false.
    Bool(bool),
    /// An interned string, by id.
    Name(u32),
    /// Text; `cut` when it was longer than [`MAX_TEXT_BYTES`].
    Text {
        /// UTF-8 unless the file is damaged.
        bytes: &'a [u8],
        /// Whether the end is missing.
        cut: bool,
    },
    /// A JSON document as text.
    Json {
        /// UTF-8 unless the file is damaged.
        bytes: &'a [u8],
        /// Whether the end is missing.
        cut: bool,
    },
}

/// Four-bit codes of values that fit a word.
pub mod code {
    /// No value.
    pub const NONE: u16 = 0;
    /// `i64`.
    pub const I64: u16 = 1;
    /// `f64` bits.
    pub const F64: u16 = 2;
    /// 0 or 1.
    pub const BOOL: u16 = 3;
    /// A string id.
    pub const NAME: u16 = 4;
}

impl Value<'static> {
    /// The value of a four-bit code and its word.
    pub const fn from_code(code: u16, word: u64) -> Option<Value<'static>> {
        Some(match code {
            code::I64 => Value::I64(word as i64),
            code::F64 => Value::F64(f64::from_bits(word)),
            code::BOOL => Value::Bool(word != 0),
            code::NAME => Value::Name(word as u32),
            _ => return None,
        })
    }
}

impl Value<'_> {
    /// The four-bit code and word of a value of fixed size; `None` for text.
    pub const fn to_code(&self) -> Option<(u16, u64)> {
        Some(match *self {
            Value::I64(v) => (code::I64, v as u64),
            Value::F64(v) => (code::F64, v.to_bits()),
            Value::Bool(v) => (code::BOOL, v as u64),
            Value::Name(v) => (code::NAME, v as u64),
            Value::Text { .. } | Value::Json { .. } => return None,
        })
    }
}

/// [`Kind::Attrs`]: up to four attributes of one scope.
///
/// Words: head (`flags` = four codes of four bits, `name` = key 0), span id, key 1 | key 2 << 32,
/// key 3, then four value words.
pub struct AttrsRecord;

impl AttrsRecord {
    /// Attributes one record holds.
    pub const CAPACITY: usize = 4;

    /// The unit holding `pairs` (at most four; values of fixed size) of `span`.
    #[inline(always)]
    pub fn unit(span: SpanId, pairs: &[(u32, u16, u64)]) -> Unit {
        let mut keys = [0u32; Self::CAPACITY];
        let mut words = [0u64; Self::CAPACITY];
        let mut flags = 0u16;
        for (i, &(key, code, word)) in pairs.iter().take(Self::CAPACITY).enumerate() {
            keys[i] = key;
            words[i] = word;
            flags |= (code & 0xf) << (4 * i);
        }
        let head = Head { kind: Kind::Attrs as u8, units: 1, flags, name: keys[0] };
        Unit([
            head.word(),
            span.0,
            keys[1] as u64 | (keys[2] as u64) << 32,
            keys[3] as u64,
            words[0],
            words[1],
            words[2],
            words[3],
        ])
    }

    /// The same of attributes that lie in columns: the first `count` of each.
    #[inline(always)]
    pub fn unit_of(
        span: SpanId,
        count: usize,
        keys: &[u32; Self::CAPACITY],
        codes: &[u16; Self::CAPACITY],
        words: &[u64; Self::CAPACITY],
    ) -> Unit {
        let mut flags = 0u16;
        for (i, code) in codes.iter().enumerate().take(count) {
            flags |= (code & 0xf) << (4 * i);
        }
        let head = Head { kind: Kind::Attrs as u8, units: 1, flags, name: keys[0] };
        let key = |i: usize| if i < count { u64::from(keys[i]) } else { 0 };
        let word = |i: usize| if i < count { words[i] } else { 0 };
        Unit([
            head.word(),
            span.0,
            key(1) | key(2) << 32,
            key(3),
            word(0),
            word(1),
            word(2),
            word(3),
        ])
    }

    /// The attributes in a unit whose kind is [`Kind::Attrs`].
    pub fn pairs(unit: &Unit) -> impl Iterator<Item = (u32, Value<'static>)> {
        let w = unit.0;
        let head = Head::from_word(w[0]);
        let keys = [head.name, w[2] as u32, (w[2] >> 32) as u32, w[3] as u32];
        (0..Self::CAPACITY).filter_map(move |i| {
            Value::from_code((head.flags >> (4 * i)) & 0xf, w[4 + i]).map(|v| (keys[i], v))
        })
    }
}

/// [`Kind::Text`]: one text attribute. Head (`name` = key), span id, then a `u32` length and the bytes.
pub struct TextRecord;

impl TextRecord {
    /// Flag: the text is JSON.
    pub const JSON: u16 = 1 << 0;
    /// Flag: the text was cut.
    pub const CUT: u16 = 1 << 1;
    /// Flag: a JSON object, the attributes of the mark that is the thread's record before this one.
    pub const OF_MARK: u16 = 1 << 2;
    /// Where the length stands.
    pub const LENGTH_AT: usize = 16;
    /// Where the bytes begin.
    pub const BYTES_AT: usize = 20;

    /// Units needed for `len` bytes.
    pub const fn units(len: usize) -> usize {
        (Self::BYTES_AT + len).div_ceil(UNIT_BYTES)
    }

    /// Tells `sink` what a record with these flags says.
    pub(crate) fn give(flags: u16, span: SpanId, key: u32, bytes: &[u8], sink: &mut impl Sink) {
        let cut = flags & Self::CUT != 0;
        let json = flags & (Self::JSON | Self::OF_MARK) != 0;
        let value = if json { Value::Json { bytes, cut } } else { Value::Text { bytes, cut } };
        match flags & Self::OF_MARK {
            0 => sink.attr(&Attr { span, key, value }),
            _ => sink.mark_attrs(span, value),
        }
    }
}

/// [`Kind::Mark`] and [`Kind::MarkText`]: head (`name` = the mark's name), span id, ticks, then the
/// value word, or for text its length in that word and the bytes after it.
pub struct MarkRecord;

impl MarkRecord {
    /// Low four flag bits: the value's code.
    pub const CODE_MASK: u16 = 0xf;
    /// Flag: a summary of its scope, not a point of a series.
    pub const SUMMARY: u16 = 1 << 4;
    /// Flag: the text was cut.
    pub const CUT: u16 = 1 << 5;
    /// Where the bytes of a text mark begin.
    pub const BYTES_AT: usize = 32;

    /// Units needed for `len` bytes.
    pub const fn units(len: usize) -> usize {
        (Self::BYTES_AT + len).div_ceil(UNIT_BYTES)
    }
}

/// A mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark<'a> {
    /// String id of its name.
    pub name: u32,
    /// The scope it was made in, or [`SpanId::NONE`].
    pub span: SpanId,
    /// Ticks when it was made.
    pub at: u64,
    /// A summary of its scope rather than a point of a series.
    pub summary: bool,
    /// Its value.
    pub value: Value<'a>,
}

/// One attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attr<'a> {
    /// The scope it belongs to.
    pub span: SpanId,
    /// String id of its key.
    pub key: u32,
    /// Its value.
    pub value: Value<'a>,
}

/// Takes decoded records, from rings and from spool frames alike: those it has a method for.
pub trait Sink {
    /// A closed scope.
    fn span(&mut self, span: &Span) {
        let _ = span;
    }
    /// An attribute.
    fn attr(&mut self, attr: &Attr<'_>) {
        let _ = attr;
    }
    /// A mark.
    fn mark(&mut self, mark: &Mark<'_>) {
        let _ = mark;
    }
    /// Attributes, a JSON object, of the mark that is the thread's record before this one. `span`
    /// is the scope that was innermost then.
    fn mark_attrs(&mut self, span: SpanId, attributes: Value<'_>) {
        let _ = (span, attributes);
    }
}

/// Decodes the record at the start of `units` into `sink`.
///
/// Returns the units it took and whether it counts as a record; `None` when the bytes are not a
/// record this version knows.
pub fn decode_one(units: &[Unit], sink: &mut impl Sink) -> Option<(usize, bool)> {
    let first = units.first()?;
    let head = Head::from_word(first.0[0]);
    let taken = usize::from(head.units);
    if taken == 0 || taken > units.len() {
        return None;
    }
    let bytes = Unit::bytes(&units[..taken]);
    let span = SpanId(first.0[1]);
    match Kind::from_byte(head.kind)? {
        Kind::Pad => return Some((taken, false)),
        Kind::Span => sink.span(&Span::from_unit(first)),
        Kind::Attrs => {
            for (key, value) in AttrsRecord::pairs(first) {
                sink.attr(&Attr { span, key, value });
            }
        }
        Kind::Text => {
            let len = u32::from_le_bytes(bytes.get(16..20)?.try_into().ok()?) as usize;
            let text = bytes.get(TextRecord::BYTES_AT..TextRecord::BYTES_AT.checked_add(len)?)?;
            TextRecord::give(head.flags, span, head.name, text, sink);
        }
        kind @ (Kind::Mark | Kind::MarkText) => {
            let value = if kind == Kind::Mark {
                Value::from_code(head.flags & MarkRecord::CODE_MASK, first.0[3])?
            } else {
                let len = usize::try_from(first.0[3]).ok()?;
                let at = MarkRecord::BYTES_AT;
                let text = bytes.get(at..at.checked_add(len)?)?;
                Value::Text { bytes: text, cut: head.flags & MarkRecord::CUT != 0 }
            };
            sink.mark(&Mark {
                name: head.name,
                span,
                at: first.0[2],
                summary: head.flags & MarkRecord::SUMMARY != 0,
                value,
            });
        }
    }
    Some((taken, true))
}
