//! A sink that keeps everything, as owned values that compare by bits.

use hodo_format::arena::Anchor;
use hodo_format::gpu::{Sample, Work};
use hodo_format::machine::{Readings, Series};
use hodo_format::record::{Attr, Mark, Sink, Span, SpanId, Unit, Value, decode_one, flag};
use hodo_format::spool::{FrameSink, Losses, ThreadInfo};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    Run { thread: u32, first: u64, count: u64 },
    Span(Span),
    Attr { span: u64, key: u32, value: Kept },
    Mark { span: u64, name: u32, at: u64, summary: bool, value: Kept },
    MarkAttrs { span: u64, value: Kept },
    Strings(u32, Vec<String>),
    Thread(ThreadInfo),
    Anchors(Vec<Anchor>),
    Losses(Losses),
    End(Losses),
    Work(Work),
    GpuState(String),
    GpuSample(Sample),
    MachineState(String),
    Series(Vec<Series>),
    Readings(Readings),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    I64(i64),
    F64(u64),
    Bool(bool),
    Name(u32),
    Text(Vec<u8>, bool),
    Json(Vec<u8>, bool),
}

impl From<Value<'_>> for Kept {
    fn from(value: Value<'_>) -> Kept {
        match value {
            Value::I64(v) => Kept::I64(v),
            Value::F64(v) => Kept::F64(v.to_bits()),
            Value::Bool(v) => Kept::Bool(v),
            Value::Name(v) => Kept::Name(v),
            Value::Text { bytes, cut } => Kept::Text(bytes.to_vec(), cut),
            Value::Json { bytes, cut } => Kept::Json(bytes.to_vec(), cut),
        }
    }
}

#[derive(Default)]
pub struct Collect {
    pub seen: Vec<Seen>,
    pub skip_runs: bool,
}

impl Sink for Collect {
    fn span(&mut self, span: &Span) {
        self.seen.push(Seen::Span(*span));
    }
    fn attr(&mut self, attr: &Attr<'_>) {
        self.seen.push(Seen::Attr { span: attr.span.0, key: attr.key, value: attr.value.into() });
    }
    fn mark(&mut self, mark: &Mark<'_>) {
        self.seen.push(Seen::Mark {
            span: mark.span.0,
            name: mark.name,
            at: mark.at,
            summary: mark.summary,
            value: mark.value.into(),
        });
    }
    fn mark_attrs(&mut self, span: SpanId, attributes: Value<'_>) {
        self.seen.push(Seen::MarkAttrs { span: span.0, value: attributes.into() });
    }
}

impl FrameSink for Collect {
    fn run(&mut self, thread: u32, first: u64, count: u64) -> bool {
        self.seen.push(Seen::Run { thread, first, count });
        !self.skip_runs
    }
    fn strings(&mut self, first_id: u32, strings: &[&str]) {
        self.seen.push(Seen::Strings(first_id, strings.iter().map(|s| s.to_string()).collect()));
    }
    fn thread(&mut self, thread: ThreadInfo) {
        self.seen.push(Seen::Thread(thread));
    }
    fn anchors(&mut self, anchors: &[Anchor]) {
        self.seen.push(Seen::Anchors(anchors.to_vec()));
    }
    fn losses(&mut self, losses: Losses) {
        self.seen.push(Seen::Losses(losses));
    }
    fn end(&mut self, losses: Losses) {
        self.seen.push(Seen::End(losses));
    }
    fn work(&mut self, work: &Work) {
        self.seen.push(Seen::Work(*work));
    }
    fn gpu_state(&mut self, json: &str) {
        self.seen.push(Seen::GpuState(json.into()));
    }
    fn gpu_sample(&mut self, sample: &Sample) {
        self.seen.push(Seen::GpuSample(*sample));
    }
    fn machine_state(&mut self, json: &str) {
        self.seen.push(Seen::MachineState(json.into()));
    }
    fn series(&mut self, series: &[Series]) {
        self.seen.push(Seen::Series(series.to_vec()));
    }
    fn readings(&mut self, readings: Readings) {
        self.seen.push(Seen::Readings(readings));
    }
}

/// What the units hold according to the ring's own decoder, without what a frame leaves out.
pub fn from_units(units: &[Unit]) -> Vec<Seen> {
    let mut sink = Collect::default();
    let mut rest = units;
    while let Some((taken, _)) = decode_one(rest, &mut sink) {
        rest = &rest[taken..];
    }
    assert!(rest.is_empty(), "units that are no records");
    sink.seen.iter_mut().for_each(forget_unstored);
    sink.seen
}

/// An index nobody set and CPU time that was not captured are not stored.
fn forget_unstored(seen: &mut Seen) {
    let Seen::Span(span) = seen else { return };
    if span.flags & flag::HAS_INDEX == 0 {
        span.index = 0;
    }
    if span.flags & flag::CPU_MASK != 0 {
        span.cpu = 0;
    }
}
