//! Records to feed the encoder: a training loop as a thread would record it, and arbitrary ones.

use hodo_format::record::*;
use proptest::prelude::*;

/// A small generator, so that tests and files are the same everywhere.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// The unit of a text attribute.
pub fn text_units(span: SpanId, key: u32, flags: u16, text: &[u8]) -> Vec<Unit> {
    let units = TextRecord::units(text.len());
    let head = Head { kind: Kind::Text as u8, units: units as u8, flags, name: key };
    let mut bytes = head.word().to_le_bytes().to_vec();
    bytes.extend_from_slice(&span.0.to_le_bytes());
    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(text);
    to_units(bytes, units)
}

/// The units of a mark.
pub fn mark_units(mark: &Mark<'_>) -> Vec<Unit> {
    let summary = if mark.summary { MarkRecord::SUMMARY } else { 0 };
    let (kind, flags, word, text): (_, _, _, &[u8]) = match mark.value {
        Value::Text { bytes, cut } | Value::Json { bytes, cut } => {
            let cut = if cut { MarkRecord::CUT } else { 0 };
            (Kind::MarkText, cut, bytes.len() as u64, bytes)
        }
        fixed => {
            let (code, word) = fixed.to_code().unwrap();
            (Kind::Mark, code, word, &[])
        }
    };
    let units = MarkRecord::units(text.len());
    let head =
        Head { kind: kind as u8, units: units as u8, flags: flags | summary, name: mark.name };
    let mut bytes = Vec::new();
    for word in [head.word(), mark.span.0, mark.at, word] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(text);
    to_units(bytes, units)
}

fn to_units(mut bytes: Vec<u8>, units: usize) -> Vec<Unit> {
    bytes.resize(units * UNIT_BYTES, 0);
    let word = |chunk: &[u8]| u64::from_le_bytes(chunk.try_into().unwrap());
    let unit = |chunk: &[u8]| Unit(std::array::from_fn(|i| word(&chunk[8 * i..8 * i + 8])));
    bytes.chunks(UNIT_BYTES).map(unit).collect()
}

/// `units` unused units.
pub fn pad_units(units: u8) -> Vec<Unit> {
    let head = Head { kind: Kind::Pad as u8, units, flags: 0, name: 0 };
    let mut pad = vec![Unit::ZERO; usize::from(units)];
    pad[0].0[0] = head.word();
    pad
}

/// Steps of a training loop on one thread: nested spans, an attribute here, a mark there.
pub struct Loop {
    random: Random,
    thread: u32,
    sequence: u64,
    now: u64,
    step: i64,
}

impl Loop {
    pub fn new(thread: u32) -> Loop {
        let now = 1_000_000_000 * u64::from(thread);
        Loop { random: Random(u64::from(thread)), thread, sequence: 0, now, step: 0 }
    }

    /// The units of one step: 13 spans, an attribute record, a text, a mark.
    pub fn step(&mut self) -> Vec<Unit> {
        let mut out = Vec::new();
        let step = self.open();
        for (phase, name) in (10..13).enumerate() {
            let parent = self.open();
            for layer in 0..3 {
                let leaf = self.open();
                if phase == 0 && layer == 1 {
                    let loss = (4, code::F64, (self.random.below(1000) as f64).to_bits());
                    out.push(AttrsRecord::unit(leaf.0, &[(3, code::I64, 7), loss]));
                }
                self.now += 10_000 + self.random.below(4_000);
                self.close(leaf, parent.0, 20 + layer, None, &mut out);
            }
            if phase == 2 {
                out.extend(text_units(parent.0, 5, 0, b"beam"));
            }
            self.close(parent, step.0, name, None, &mut out);
        }
        let value = Value::F64(self.step as f64);
        let mark = Mark { name: 30, span: step.0, at: self.now, summary: false, value };
        out.extend(mark_units(&mark));
        self.close(step, SpanId::NONE, 9, Some(self.step), &mut out);
        self.step += 1;
        out
    }

    fn open(&mut self) -> (SpanId, u64) {
        self.sequence += 1;
        self.now += 100 + self.random.below(60);
        (SpanId::new(self.thread, self.sequence), self.now)
    }

    fn close(
        &mut self,
        (id, start): (SpanId, u64),
        parent: SpanId,
        name: u32,
        index: Option<i64>,
        out: &mut Vec<Unit>,
    ) {
        self.now += 100 + self.random.below(60);
        let idle = if self.random.below(50) == 0 { self.random.below(1000) } else { 0 };
        let span = Span {
            flags: if index.is_some() { flag::HAS_INDEX } else { 0 },
            name,
            id,
            parent,
            start,
            end: self.now,
            cpu: (self.now - start).saturating_sub(idle),
            index: index.unwrap_or(0),
            overhead: 40,
        };
        out.push(span.to_unit());
    }
}

/// Words that look like those of real records, and any others.
pub fn word() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), 0..300u64, 1 << 40..(1u64 << 40) + 200, any::<u64>()]
}

fn value() -> impl Strategy<Value = (u16, u64)> {
    prop_oneof![
        any::<u64>().prop_map(|word| (code::I64, word)),
        any::<u64>().prop_map(|word| (code::F64, word)),
        (0..2u64).prop_map(|word| (code::BOOL, word)),
        any::<u32>().prop_map(|word| (code::NAME, word.into())),
    ]
}

fn span() -> impl Strategy<Value = Vec<Unit>> {
    let name = prop_oneof![0..5u32, any::<u32>()];
    (any::<u16>(), name, [word(), word(), word(), word(), word(), word(), word()]).prop_map(
        |(flags, name, w)| {
            let head = Head { kind: Kind::Span as u8, units: 1, flags, name };
            vec![Unit([head.word(), w[0], w[1], w[2], w[3], w[4], w[5], w[6]])]
        },
    )
}

fn attrs() -> impl Strategy<Value = Vec<Unit>> {
    let pair = (any::<u32>(), value()).prop_map(|(key, (code, word))| (key, code, word));
    (word(), prop::collection::vec(pair, 0..5))
        .prop_map(|(id, pairs)| vec![AttrsRecord::unit(SpanId(id), &pairs)])
}

fn text() -> impl Strategy<Value = Vec<Unit>> {
    (word(), any::<u32>(), 0..8u16, prop::collection::vec(any::<u8>(), 0..300))
        .prop_map(|(id, key, flags, text)| text_units(SpanId(id), key, flags, &text))
}

fn mark() -> impl Strategy<Value = Vec<Unit>> {
    let text = prop::collection::vec(any::<u8>(), 0..300);
    (any::<u32>(), word(), word(), any::<bool>(), value(), text, any::<bool>()).prop_map(
        |(name, id, at, summary, (code, word), text, is_text)| {
            let fixed = Value::from_code(code, word).unwrap();
            let value = if is_text { Value::Text { bytes: &text, cut: summary } } else { fixed };
            mark_units(&Mark { name, span: SpanId(id), at, summary, value })
        },
    )
}

/// Any records at all.
pub fn any_units() -> impl Strategy<Value = Vec<Unit>> {
    let record = prop_oneof![
        6 => span(),
        1 => attrs(),
        1 => text(),
        1 => mark(),
        1 => (1..4u8).prop_map(pad_units),
    ];
    prop::collection::vec(record, 0..40).prop_map(|records| records.concat())
}
