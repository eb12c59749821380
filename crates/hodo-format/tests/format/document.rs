//! The worked example of `docs/spool-format.md` is what the code writes and reads.

use crate::collect::{Collect, Kept, Seen};
use hodo_format::arena::*;
use hodo_format::gpu::{self, Detail, Kernel, Work};
use hodo_format::record::{AttrsRecord, Span, SpanId, code, flag};
use hodo_format::spool::{Encoder, file_header, read, strings_frame};

use std::mem::offset_of;

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

/// The bytes in the blocks with this mark: pairs of digits up to a `|`.
fn documented(mark: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for block in DOCUMENT.split(&format!("```{mark}\n")).skip(1) {
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
    assert_eq!(dump(&documented("hex")), dump(&written()), "left: the document, right: the code");
}

#[test]
fn the_example_is_read_back() {
    let mut sink = Collect::default();
    let summary = read(&documented("hex"), &mut sink).unwrap();
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

/// A kernel launched twice in `forward`.
fn launches() -> [Work; 2] {
    let kernel = Kernel {
        name: 4,
        grid: [64, 1, 1],
        block: [256, 1, 1],
        registers: 32,
        static_shared: 0,
        dynamic_shared: 1024,
        local: 0,
    };
    let first = Work {
        flags: gpu::flag::BY_LAUNCH,
        device: 0,
        context: 1,
        stream: 7,
        start: 1200,
        end: 1300,
        correlation: 50,
        span: forward().id,
        launched: 1110,
        thread: 9,
        graph: 0,
        node: 0,
        captured: SpanId::NONE,
        forward: SpanId::NONE,
        detail: Detail::Kernel(kernel),
    };
    let second = Work { start: 1310, end: 1408, correlation: 51, launched: 1120, ..first };
    [first, second]
}

#[test]
fn the_example_of_gpu_work_is_what_the_code_writes_and_reads() {
    let mut file = Vec::new();
    let mut encoder = gpu::Encoder::new(1);
    launches().iter().for_each(|work| assert!(encoder.push(work)));
    encoder.finish(0, &mut file);
    let bytes = documented("hex-gpu");
    assert_eq!(dump(&bytes), dump(&file), "left: the document, right: the code");
    let mut sink = Collect::default();
    assert_eq!(read(&bytes, &mut sink).unwrap().frames, 1);
    assert_eq!(sink.seen, launches().map(Seen::Work));
}

#[test]
fn codes_of_gpu_work_are_those_of_the_document() {
    use gpu::{flag, frame_kind, memory};
    let rows = [
        format!("### WORK (kind {})", frame_kind::WORK),
        format!("### STATE (kind {})", frame_kind::STATE),
        format!("### SAMPLES (kind {})", frame_kind::SAMPLES),
        format!(
            "Memory: {} pageable, {} pinned, {} device, {} array, {} managed.",
            memory::PAGEABLE,
            memory::PINNED,
            memory::DEVICE,
            memory::ARRAY,
            memory::MANAGED
        ),
        format!("{} the launching thread's innermost;", flag::BY_LAUNCH),
        format!("; {} that thread had none open: inherited", flag::INHERITED),
        format!("; {} no scope was open;", flag::NO_SCOPE),
        format!("; {} nothing is known of the launch |", flag::UNKNOWN),
        format!("| {} | it had not ended", flag::UNFINISHED.trailing_zeros()),
        format!("| {} | its times were not taken", flag::UNSTAMPED.trailing_zeros()),
        format!("| {} | a node of a CUDA graph", flag::GRAPH.trailing_zeros()),
        format!("| {} | a copy that is asynchronous", flag::ASYNC.trailing_zeros()),
        format!("| {} | its scope is to be found by", flag::BY_TIME.trailing_zeros()),
    ];
    for row in rows {
        assert!(DOCUMENT.contains(&row), "{row}");
    }
}

#[test]
fn fields_of_the_arena_lie_where_the_document_says() {
    let rows = [
        (offset_of!(ArenaHeader, magic), "8 | `hodo.arn`"),
        (offset_of!(ArenaHeader, version), "u32 | version"),
        (offset_of!(ArenaHeader, slab_bytes), "u32 | bytes of a slab"),
        (offset_of!(ArenaHeader, slabs), "u32 | slabs in the file"),
        (offset_of!(ArenaHeader, clock), "u32 | clock"),
        (offset_of!(ArenaHeader, process), "u64 | process"),
        (offset_of!(ArenaHeader, pid), "u32 | pid"),
        (offset_of!(ArenaHeader, finished), "u32 | not 0: the recorder shut down"),
        (offset_of!(ArenaHeader, anchors_taken), "u64 | anchors taken"),
        (offset_of!(ArenaHeader, anchors), "32 × 24 | anchors"),
        (offset_of!(ArenaHeader, stored), "24 | records the spool holds"),
        (offset_of!(ArenaHeader, lost), "4 × 24 | records lost after"),
        (offset_of!(ArenaHeader, ended_produced), "24 | records that threads which have ended"),
        (offset_of!(ArenaHeader, ended_lost), "4 × 24 | records those threads lost"),
        (offset_of!(SlabHeader, kind), "u32 | kind, stored last"),
        (offset_of!(SlabHeader, thread), "u32 | number of the owning thread"),
        (offset_of!(SlabHeader, first), "u64 | number of the first record here"),
        (offset_of!(SlabHeader, len), "u32 | units published"),
        (offset_of!(SlabHeader, drained), "u32 | units of these that the spool holds"),
        (offset_of!(SlabHeader, next), "u32 | index of the thread's next slab"),
        (offset_of!(SlabHeader, capacity), "u32 | units that fit"),
        (offset_of!(SlabHeader, drained_records), "u32 | records among the units"),
    ];
    for (offset, row) in rows {
        assert!(DOCUMENT.contains(&format!("| {offset} | {row}")), "{offset}: {row}");
    }
    let areas = format!(
        "{THREAD_SLOTS} slots at {THREAD_SLOTS_AT}, units from {THREAD_UNITS_AT}, at most {THREAD_UNITS}"
    );
    assert!(DOCUMENT.contains(&areas), "{areas}");
    assert!(DOCUMENT.contains(&format!("units from byte {SLAB_UNITS_AT}, at most {SLAB_UNITS}")));
}
