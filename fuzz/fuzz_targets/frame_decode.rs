#![no_main]
//! One payload: its kind, whether it is compressed, and its bytes. Kind 7 stands for units instead,
//! as a ring in a damaged process might hold them.

use hodo_format::gpu;
use hodo_format::record::{Head, Kind, Unit};
use hodo_format::spool::{Decoder, Encoder, FRAME_HEADER_BYTES, FrameHeader};
use hodo_fuzz::{Keep, to_units};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [kind, flags, raw @ ..] = data else { return };
    let kind = kind % 32;
    if kind == 7 {
        return any_units(&to_units(raw));
    }
    let compressed = flags & 1 != 0;
    let raw_bytes = if compressed { u32::from(*flags) << 8 } else { raw.len() as u32 };
    let mut kept = Keep::default();
    let decoded = Decoder::new().payload(kind, flags & 1, raw_bytes, raw, &mut kept);
    if decoded != Ok(true) {
        assert_eq!(kept, Keep::default(), "part of a payload was delivered");
        return;
    }
    again(&kept);
    work_again(&kept);
});

/// Whatever the units are, the frame made of them can be read and holds no more than was taken.
fn any_units(units: &[Unit]) {
    let mut encoder = Encoder::new(1);
    let taken = encoder.push(3, 1, units);
    assert_eq!((taken.records(), taken), (encoder.len() as u64, encoder.counts()));
    let mut sink = Keep::default();
    decode(&mut encoder, &mut sink);
    let spans: usize = sink.runs.iter().map(|run| spans(&run.4)).sum();
    assert_eq!(spans as u64, taken.spans);
}

fn spans(units: &[Unit]) -> usize {
    let mut at = 0;
    std::iter::from_fn(|| {
        let head = Head::from_word(units.get(at)?.0[0]);
        at += usize::from(head.units);
        Some(head.kind == Kind::Span as u8)
    })
    .filter(|is_span| *is_span)
    .count()
}

fn decode(encoder: &mut Encoder, sink: &mut Keep) {
    let mut frame = Vec::new();
    encoder.finish(0, &mut frame);
    let header = FrameHeader::parse(&frame).expect("a header we wrote");
    let payload = &frame[FRAME_HEADER_BYTES..];
    let (kind, flags) = (header.kind, header.flags);
    let decoded = Decoder::new().payload(kind, flags, header.raw_bytes, payload, sink);
    assert_eq!(decoded, Ok(true));
}

/// Records that were delivered come back when they are encoded anew.
fn again(kept: &Keep) {
    for (thread, first, _, seen, units) in &kept.runs {
        let mut encoder = Encoder::new(1);
        let taken = encoder.push(*thread, *first, units).records();
        assert!(taken <= *seen);
        let mut twice = Keep::default();
        decode(&mut encoder, &mut twice);
        let all = twice.runs.iter().flat_map(|run| &run.4);
        assert!(taken == 0 || all.eq(units));
    }
}

/// The same of GPU work.
fn work_again(kept: &Keep) {
    let mut encoder = gpu::Encoder::new(1);
    assert!(kept.work.iter().all(|work| encoder.push(work)));
    let mut frame = Vec::new();
    encoder.finish(0, &mut frame);
    let header = FrameHeader::parse(&frame).expect("a header we wrote");
    let payload = &frame[FRAME_HEADER_BYTES..];
    let mut twice = Keep::default();
    let (kind, flags) = (header.kind, header.flags);
    let decoded = Decoder::new().payload(kind, flags, header.raw_bytes, payload, &mut twice);
    assert_eq!((decoded, &twice.work), (Ok(true), &kept.work));
}
