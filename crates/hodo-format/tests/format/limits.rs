//! What an encoder does with records that are broken, and when a frame is full.

use crate::collect::{Collect, Seen, from_units};
use crate::made::{Loop, mark_units, pad_units, text_units};
use hodo_format::record::*;
use hodo_format::spool::{
    Encoder, FRAME_RECORDS, FrameHeader, MAX_FRAME_RECORDS, MAX_RAW_BYTES, file_header, read,
};

fn finish(encoder: &mut Encoder) -> (FrameHeader, Vec<Seen>) {
    let mut file = file_header(1, 1).to_vec();
    encoder.finish(1, &mut file);
    let mut sink = Collect::default();
    assert!(read(&file, &mut sink).unwrap().damage.is_none());
    (FrameHeader::parse(&file[64..]).unwrap(), sink.seen)
}

fn spans(count: usize) -> Vec<Unit> {
    let mut source = Loop::new(1);
    let is_span = |unit: &Unit| Head::from_word(unit.0[0]).kind == Kind::Span as u8;
    let units = std::iter::repeat_with(|| source.step()).flatten();
    units.filter(is_span).take(count).collect()
}

#[test]
fn a_frame_takes_no_more_records_than_a_reader_accepts() {
    let units = spans(MAX_FRAME_RECORDS + 10);
    let mut encoder = Encoder::new(1);
    assert_eq!(encoder.push(1, 0, &units).spans as usize, MAX_FRAME_RECORDS);
    assert_eq!(encoder.push(1, 0, &units).spans, 0);
    let (header, seen) = finish(&mut encoder);
    assert_eq!(header.records as usize, MAX_FRAME_RECORDS);
    assert_eq!(seen[1..], from_units(&units[..MAX_FRAME_RECORDS]));
    assert_eq!(encoder.push(1, 0, &units[..10]).spans, 10, "the next frame begins empty");
}

#[test]
fn a_frame_takes_no_more_text_than_a_reader_accepts() {
    let text = text_units(SpanId(1), 1, 0, &[b'x'; MAX_TEXT_BYTES]);
    let mut encoder = Encoder::new(1);
    let mut taken = 0;
    while encoder.push(1, taken, &text).attrs == 1 {
        taken += 1;
        assert_eq!(encoder.is_full(), taken >= 256);
    }
    let (header, seen) = finish(&mut encoder);
    assert!(header.raw_bytes as usize <= MAX_RAW_BYTES);
    assert_eq!(seen.len() as u64, 1 + taken);
}

#[test]
fn a_frame_is_full_at_its_records() {
    let mut encoder = Encoder::new(1);
    encoder.push(1, 0, &spans(FRAME_RECORDS - 1));
    assert!(!encoder.is_full());
    encoder.push(1, 0, &spans(1));
    assert!(encoder.is_full() && encoder.len() == FRAME_RECORDS);
}

#[test]
fn a_broken_record_keeps_its_number_and_costs_no_neighbour() {
    let span = spans(1);
    let mut long_text = text_units(SpanId(1), 1, 0, b"abc");
    long_text[0].0[2] = 60;
    let value = Value::I64(1);
    let mark = Mark { name: 1, span: SpanId(1), at: 1, summary: false, value };
    let mut odd_mark = mark_units(&mark);
    odd_mark[0].0[0] |= 0xf << 16;
    let units = [&span[..], &long_text, &odd_mark, &pad_units(1), &span].concat();
    let mut encoder = Encoder::new(1);
    let taken = encoder.push(1, 5, &units);
    assert_eq!((taken.spans, taken.attrs, taken.marks), (2, 1, 1));
    let mut expected = vec![Seen::Run { thread: 1, first: 5, count: 4 }];
    expected.extend(from_units(&[span[0], span[0]]));
    assert_eq!(finish(&mut encoder).1, expected);
}

#[test]
fn nothing_is_taken_from_the_first_unit_that_is_no_record() {
    let span = spans(1)[0];
    let with_head = |kind, units| {
        let mut unit = span;
        unit.0[0] = Head { kind, units, flags: 0, name: 1 }.word();
        unit
    };
    for odd in [with_head(0, 1), with_head(99, 1), with_head(2, 0), with_head(4, 9)] {
        let mut encoder = Encoder::new(1);
        assert_eq!(encoder.push(1, 0, &[span, odd, span]).records(), 1);
        assert_eq!(finish(&mut encoder).1.len(), 2);
    }
}
