//! What the targets share: a sink that keeps records as units, so that they can be encoded again.

pub mod imports;

use hodo_format::arena::Anchor;
use hodo_format::gpu::{Sample, Work};
use hodo_format::record::{
    Attr, AttrsRecord, Head, Kind, Mark, MarkRecord, Sink, Span, SpanId, TextRecord, UNIT_BYTES,
    Unit, Value,
};
use hodo_format::spool::{FrameSink, Losses, ThreadInfo};

/// Records by run, as units.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Thread, first number, promised count, records seen, units.
    pub runs: Vec<(u32, u64, u64, u64, Vec<Unit>)>,
    /// GPU work.
    pub work: Vec<Work>,
    /// Calls of anything but records and work.
    pub calls: u64,
}

impl Keep {
    fn push(&mut self, units: impl IntoIterator<Item = Unit>) {
        let (_, _, _, seen, all) = self.runs.last_mut().expect("a run comes before its records");
        *seen += 1;
        all.extend(units);
    }
}

impl Sink for Keep {
    fn span(&mut self, span: &Span) {
        // A frame may claim more CPU time than a ring would be read with.
        self.push([Span::from_unit(&span.to_unit()).to_unit()]);
    }

    fn attr(&mut self, attr: &Attr<'_>) {
        match attr.value {
            Value::Text { bytes, cut } => {
                self.push(text(attr, bytes, if cut { TextRecord::CUT } else { 0 }));
            }
            Value::Json { bytes, cut } => {
                let cut = if cut { TextRecord::CUT } else { 0 };
                self.push(text(attr, bytes, TextRecord::JSON | cut));
            }
            value => {
                let (code, word) = value.to_code().expect("a value of fixed size");
                self.push([AttrsRecord::unit(attr.span, &[(attr.key, code, word)])]);
            }
        }
    }

    fn mark(&mut self, mark: &Mark<'_>) {
        let summary = if mark.summary { MarkRecord::SUMMARY } else { 0 };
        let (kind, flags, word, bytes): (_, _, _, &[u8]) = match mark.value {
            Value::Text { bytes, cut } | Value::Json { bytes, cut } => {
                (Kind::MarkText, if cut { MarkRecord::CUT } else { 0 }, bytes.len() as u64, bytes)
            }
            value => {
                let (code, word) = value.to_code().expect("a value of fixed size");
                (Kind::Mark, code, word, &[])
            }
        };
        let words = [mark.span.0, mark.at, word];
        self.push(units(kind, flags | summary, mark.name, &words, bytes));
    }

    fn mark_attrs(&mut self, span: SpanId, value: Value<'_>) {
        let (bytes, flags) = match value {
            Value::Json { bytes, cut: true } => (bytes, TextRecord::CUT),
            Value::Json { bytes, cut: false } => (bytes, 0),
            _ => unreachable!("attributes of a mark are JSON"),
        };
        let attr = Attr { span, key: 0, value };
        self.push(text(&attr, bytes, TextRecord::OF_MARK | flags));
    }
}

fn text(attr: &Attr<'_>, text: &[u8], flags: u16) -> Vec<Unit> {
    let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(text);
    units(Kind::Text, flags, attr.key, &[attr.span.0], &bytes)
}

/// A record; none when its text is longer than a record can be.
fn units(kind: Kind, flags: u16, name: u32, words: &[u64], text: &[u8]) -> Vec<Unit> {
    let bytes = 8 + 8 * words.len() + text.len();
    let Ok(count) = u8::try_from(bytes.div_ceil(UNIT_BYTES)) else { return Vec::new() };
    let head = Head { kind: kind as u8, units: count, flags, name }.word();
    let mut all: Vec<u8> = [head].iter().chain(words).flat_map(|word| word.to_le_bytes()).collect();
    all.extend_from_slice(text);
    to_units(&all)
}

/// Bytes as units, filled up with zeros.
pub fn to_units(bytes: &[u8]) -> Vec<Unit> {
    bytes
        .chunks(UNIT_BYTES)
        .map(|chunk| {
            let mut full = [0; UNIT_BYTES];
            full[..chunk.len()].copy_from_slice(chunk);
            let word = |i: usize| u64::from_le_bytes(full[8 * i..8 * i + 8].try_into().unwrap());
            Unit(std::array::from_fn(word))
        })
        .collect()
}

impl FrameSink for Keep {
    fn run(&mut self, thread: u32, first: u64, count: u64) -> bool {
        self.runs.push((thread, first, count, 0, Vec::new()));
        !first.is_multiple_of(7)
    }
    fn strings(&mut self, _: u32, _: &[&str]) {
        self.calls += 1;
    }
    fn thread(&mut self, _: ThreadInfo) {
        self.calls += 1;
    }
    fn anchors(&mut self, _: &[Anchor]) {
        self.calls += 1;
    }
    fn losses(&mut self, _: Losses) {
        self.calls += 1;
    }
    fn end(&mut self, _: Losses) {
        self.calls += 1;
    }
    fn work(&mut self, work: &Work) {
        self.work.push(*work);
    }
    fn gpu_state(&mut self, _: &str) {
        self.calls += 1;
    }
    fn gpu_sample(&mut self, _: &Sample) {
        self.calls += 1;
    }
}

/// A frame that any reader must find: the last sequence number there is, one span of thread 9.
pub fn good_frame() -> Vec<u8> {
    let span = Span {
        flags: 0,
        name: 1,
        id: SpanId::new(9, 1),
        parent: SpanId::NONE,
        start: 10,
        end: 20,
        cpu: 10,
        index: 0,
        overhead: 0,
    };
    let mut encoder = hodo_format::spool::Encoder::new(1);
    encoder.push(9, 1, &[span.to_unit()]);
    let mut frame = Vec::new();
    encoder.finish(u64::MAX, &mut frame);
    frame
}
