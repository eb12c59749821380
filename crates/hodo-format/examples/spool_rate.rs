//! Bytes a span and spans a second of the spool, on spans of a made-up training loop.
//!
//! `cargo run --release -p hodo-format --example spool_rate [millions of spans]`

use hodo_format::arena::Anchor;
use hodo_format::record::{
    Attr, AttrsRecord, Head, Kind, Mark, Sink, Span, SpanId, TextRecord, UNIT_BYTES, Unit, code,
    flag,
};
use hodo_format::spool::{Encoder, FrameSink, Losses, ThreadInfo, file_header, read};
use std::time::{Duration, Instant};

/// Spans that are made once and then encoded again and again.
const MADE_SPANS: u64 = 500_000;
/// Units the pump hands over at once: a slab.
const PUSH_UNITS: usize = 255;

fn main() {
    let millions: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(10);
    let units = Loop::new(1).take_spans(MADE_SPANS);
    let rounds = (millions * 1_000_000).div_ceil(MADE_SPANS);
    let mut encoding = Duration::ZERO;
    let mut decoding = Duration::ZERO;
    let (mut bytes, mut spans) = (0, 0);
    for _ in 0..rounds {
        let (time, file) = timed(|| encode(&units));
        encoding += time;
        bytes += file.len();
        let mut sum = Sum::default();
        let (time, read) = timed(|| read(&file, &mut sum));
        decoding += time;
        assert!(read.is_ok_and(|summary| summary.damage.is_none()));
        spans += sum.spans;
        std::hint::black_box(sum);
    }
    let rate = |time: Duration| spans as f64 / time.as_secs_f64() / 1e6;
    println!("spans {spans}, bytes a span {:.2}", bytes as f64 / spans as f64);
    println!("encode {:.1} M spans/s, decode {:.1} M spans/s", rate(encoding), rate(decoding));
}

/// CPU time where the system tells it, so that a busy machine does not matter; else wall time.
fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let (began, cpu) = (Instant::now(), cpu_time());
    let done = work();
    let (wall, after) = (began.elapsed(), cpu_time());
    (cpu.zip(after).map_or(wall, |(before, after)| after - before), done)
}

fn cpu_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn encode(units: &[Unit]) -> Vec<u8> {
    let mut file = file_header(1, 1).to_vec();
    let mut encoder = Encoder::new(1);
    let (mut first, mut sequence) = (0, 0);
    let mut rest = units;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(whole_records(rest));
        first += encoder.push(1, first, now).records();
        if encoder.is_full() {
            encoder.finish(sequence, &mut file);
            sequence += 1;
        }
        rest = later;
    }
    encoder.finish(sequence, &mut file);
    file
}

/// Units of the records that fit a slab.
fn whole_records(units: &[Unit]) -> usize {
    let mut at = 0;
    while let Some(unit) = units.get(at) {
        let next = at + usize::from(Head::from_word(unit.0[0]).units);
        if next > PUSH_UNITS {
            break;
        }
        at = next;
    }
    at
}

#[derive(Default)]
struct Sum {
    spans: u64,
    ticks: u64,
    others: u64,
}

impl Sink for Sum {
    fn span(&mut self, span: &Span) {
        self.spans += 1;
        self.ticks = self.ticks.wrapping_add(span.end - span.start + span.cpu + span.overhead);
    }
    fn attr(&mut self, _: &Attr<'_>) {
        self.others += 1;
    }
    fn mark(&mut self, _: &Mark<'_>) {
        self.others += 1;
    }
}

impl FrameSink for Sum {
    fn run(&mut self, _: u32, _: u64, _: u64) -> bool {
        true
    }
    fn strings(&mut self, _: u32, _: &[&str]) {}
    fn thread(&mut self, _: ThreadInfo) {}
    fn anchors(&mut self, _: &[Anchor]) {}
    fn losses(&mut self, _: Losses) {}
    fn end(&mut self, _: Losses) {}
}

/// A thread in a training loop: step, phases, layers, operations.
struct Loop {
    thread: u32,
    sequence: u64,
    now: u64,
    random: u64,
    spans: u64,
    out: Vec<Unit>,
}

/// Ticks one open and close cost, as calibrated.
const COST: u64 = 64;

struct Open {
    id: SpanId,
    start: u64,
    overhead: u64,
}

impl Loop {
    fn new(thread: u32) -> Loop {
        Loop { thread, sequence: 0, now: 1 << 40, random: 1, spans: 0, out: Vec::new() }
    }

    fn take_spans(mut self, spans: u64) -> Vec<Unit> {
        let mut step = 0;
        while self.spans < spans {
            self.step(step);
            step += 1;
        }
        self.out
    }

    fn step(&mut self, index: i64) {
        let mut step = self.open();
        self.leaf(&mut step, 2, 40_000, index, 0);
        for phase in 0..2 {
            let mut parent = self.open();
            for layer in 0..8 {
                let mut middle = self.open();
                for operation in 0..3 {
                    let work = 6_000 << operation;
                    self.leaf(&mut middle, 10 + phase * 3 + operation, work, layer, operation);
                }
                self.close(middle, &mut parent, 4 + phase, Some(layer));
            }
            self.close(parent, &mut step, 6 + phase, None);
        }
        self.leaf(&mut step, 3, 90_000, index, 1);
        let mut nothing = Open { id: SpanId::NONE, start: 0, overhead: 0 };
        self.close(step, &mut nothing, 1, Some(index));
    }

    fn leaf(&mut self, parent: &mut Open, name: u32, work: u64, index: i64, which: u32) {
        let scope = self.open();
        match self.random() % 10 {
            0 if which == 0 => self.text(scope.id, "variant", b"beam"),
            0 => {
                let loss = (self.random() % 1_000_000) as f64 / 1e6;
                let pairs = [(40, code::I64, index as u64), (41, code::F64, loss.to_bits())];
                self.out.push(AttrsRecord::unit(scope.id, &pairs));
            }
            _ => {}
        }
        // The sum of a few uniform draws: most runs near the middle, a tail to both sides.
        self.now += work + (0..4).map(|_| self.random() % (work / 8)).sum::<u64>();
        self.close(scope, parent, name, None);
    }

    fn open(&mut self) -> Open {
        self.sequence += 1;
        self.now += 60 + self.random() % 40;
        Open { id: SpanId::new(self.thread, self.sequence), start: self.now, overhead: 0 }
    }

    fn close(&mut self, scope: Open, parent: &mut Open, name: u32, index: Option<i64>) {
        self.now += 60 + self.random() % 40;
        self.spans += 1;
        parent.overhead += scope.overhead + COST;
        let idle = if self.random().is_multiple_of(200) { self.random() % 50_000 } else { 0 };
        let span = Span {
            flags: if index.is_some() { flag::HAS_INDEX } else { 0 },
            name,
            id: scope.id,
            parent: parent.id,
            start: scope.start,
            end: self.now,
            cpu: (self.now - scope.start).saturating_sub(idle),
            index: index.unwrap_or(0),
            overhead: scope.overhead,
        };
        self.out.push(span.to_unit());
    }

    fn text(&mut self, span: SpanId, key: &str, text: &[u8]) {
        let head = Head { kind: Kind::Text as u8, units: 1, flags: 0, name: 40 + key.len() as u32 };
        let mut bytes = [0; UNIT_BYTES];
        bytes[..8].copy_from_slice(&head.word().to_le_bytes());
        bytes[8..16].copy_from_slice(&span.0.to_le_bytes());
        bytes[16..20].copy_from_slice(&(text.len() as u32).to_le_bytes());
        bytes[TextRecord::BYTES_AT..][..text.len()].copy_from_slice(text);
        let word = |i: usize| bytes[8 * i..].first_chunk().map_or(0, |w| u64::from_le_bytes(*w));
        self.out.push(Unit(std::array::from_fn(word)));
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}
