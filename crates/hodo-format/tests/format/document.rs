//! The worked example of `docs/spool-format.md` is what the code writes and reads.

use crate::collect::{Collect, Kept, Seen};
use hodo_format::record::{AttrsRecord, Span, SpanId, code, flag};
use hodo_format::spool::{Encoder, file_header, read, strings_frame};

const DOCUMENT: &str = include_str!("../../../../docs/spool-format.md");

fn step() -> Span {
    Span {
        flags: flag::HAS_INDEX,
        name: 1,
        id: SpanId::new(1, 1),
        parent: SpanId::NONE,
        start: 1000,
        end: 1600,
        cpu: 600,
        index: 7,
        overhead: 40,
    }
}

fn forward() -> Span {
    Span {
        flags: 0,
        name: 2,
        id: SpanId::new(1, 2),
        parent: SpanId::new(1, 1),
        start: 1100,
        end: 1500,
        cpu: 380,
        index: 0,
        overhead: 0,
    }
}

/// A step with one child that has one attribute.
fn written() -> Vec<u8> {
    let mut file = file_header(0x1122_3344_5566_7788, 1).to_vec();
    strings_frame(0, 1, &["step", "forward", "rows"], &mut file);
    let rows = AttrsRecord::unit(SpanId::new(1, 2), &[(3, code::I64, 64)]);
    let mut encoder = Encoder::new(1);
    encoder.push(1, 0, &[rows, forward().to_unit(), step().to_unit()]);
    encoder.finish(1, &mut file);
    file
}

/// The bytes in the blocks marked `hex`: pairs of digits up to a `|`.
fn documented() -> Vec<u8> {
    let mut bytes = Vec::new();
    for block in DOCUMENT.split("```hex\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            let digits = line.split('|').next().unwrap().split_whitespace();
            bytes.extend(digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()));
        }
    }
    bytes
}

fn dump(bytes: &[u8]) -> String {
    let lines = bytes
        .chunks(16)
        .map(|line| line.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_example_is_what_the_code_writes() {
    assert_eq!(dump(&documented()), dump(&written()), "left: the document, right: the code");
}

#[test]
fn the_example_is_read_back() {
    let mut sink = Collect::default();
    let summary = read(&documented(), &mut sink).unwrap();
    assert!(summary.damage.is_none());
    let names = ["step", "forward", "rows"].map(String::from).to_vec();
    let expected = [
        Seen::Strings(1, names),
        Seen::Run { thread: 1, first: 0, count: 3 },
        Seen::Attr { span: forward().id.0, key: 3, value: Kept::I64(64) },
        Seen::Span(forward()),
        Seen::Span(step()),
    ];
    assert_eq!(sink.seen, expected);
}
