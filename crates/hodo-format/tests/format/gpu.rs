//! GPU frames: what goes in comes out, small, and nothing broken is delivered.

use crate::collect::{Collect, Seen};
use crate::made::Random;
use crate::made_gpu::{Steps, any_sample, any_work, kernel};
use crate::versions::{changed, columns, file_with, frame, read_all};
use hodo_format::gpu::{
    Detail, Encoder, Sample, Work, flag, frame_kind, samples_frame, state_frame,
};
use hodo_format::record::SpanId;
use hodo_format::spool::{
    Decoder, FILE_HEADER_BYTES, FRAME_HEADER_BYTES, FRAME_RECORDS, FrameHeader, MAX_FRAME_RECORDS,
    file_header,
};
use proptest::prelude::*;

fn file_of(works: &[Work]) -> Vec<u8> {
    let mut encoder = Encoder::new(1);
    works.iter().for_each(|work| assert!(encoder.push(work)));
    assert_eq!(encoder.len(), works.len());
    let mut file = file_header(7, 1).to_vec();
    encoder.finish(0, &mut file);
    assert!(encoder.is_empty());
    file
}

fn read_back(file: &[u8]) -> Vec<Seen> {
    let (summary, seen) = read_all(file);
    assert!(summary.damage.is_none(), "{:?}", summary.damage);
    seen
}

fn seen(works: &[Work]) -> Vec<Seen> {
    works.iter().map(|work| Seen::Work(*work)).collect()
}

/// What a kernel of `frames` full frames of a training loop takes, in bytes.
fn bytes_a_kernel(frames: usize) -> f64 {
    let mut steps = Steps::new();
    let mut encoder = Encoder::new(1);
    let mut out = Vec::new();
    let mut rows = 0;
    let all = std::iter::repeat_with(|| steps.step()).flatten();
    for work in all.take(frames * FRAME_RECORDS) {
        encoder.push(&work);
        if encoder.is_full() {
            rows += encoder.len();
            encoder.finish(0, &mut out);
        }
    }
    out.len() as f64 / rows as f64
}

#[test]
fn a_kernel_of_a_training_loop_takes_few_bytes() {
    let bytes = bytes_a_kernel(20);
    println!("{bytes:.2} bytes a kernel");
    assert!(bytes < 9.0, "{bytes:.2} bytes a kernel");
}

proptest! {
    #[test]
    fn any_work_comes_back(
        frames in prop::collection::vec(prop::collection::vec(any_work(), 0..40), 0..4),
        level in 1..4i32,
    ) {
        let mut encoder = Encoder::new(level);
        let mut file = file_header(7, 1).to_vec();
        for (sequence, works) in frames.iter().enumerate() {
            works.iter().for_each(|work| assert!(encoder.push(work)));
            encoder.finish(sequence as u64, &mut file);
        }
        prop_assert_eq!(read_back(&file), seen(&frames.concat()));
    }

    #[test]
    fn any_samples_come_back(samples in prop::collection::vec(any_sample(), 0..60)) {
        let mut file = file_header(7, 1).to_vec();
        prop_assert_eq!(samples_frame(3, &samples, &mut file), samples.len());
        let expected: Vec<Seen> = samples.iter().map(|sample| Seen::GpuSample(*sample)).collect();
        prop_assert_eq!(read_back(&file), expected);
    }

    #[test]
    fn bytes_that_are_no_payload_give_nothing(
        kind in 16..19u8,
        count in 0..16u8,
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let bytes = [&[count][..], &bytes].concat();
        let mut sink = Collect::default();
        let done = Decoder::new().payload(kind, 0, bytes.len() as u32, &bytes, &mut sink);
        prop_assert!(done.is_ok() || sink.seen.is_empty());
    }
}

#[test]
fn a_training_loop_comes_back() {
    let mut steps = Steps::new();
    let works: Vec<Work> = std::iter::repeat_with(|| steps.step()).take(6).flatten().collect();
    assert_eq!(read_back(&file_of(&works)), seen(&works));
}

#[test]
fn the_nodes_of_a_graph_cost_next_to_nothing() {
    let mut works = Vec::new();
    for launch in 0..40u32 {
        for node in 0..100 {
            let start = 1_000_000 + u64::from(launch) * 9_000_000 + node * 80_000;
            works.push(Work {
                flags: flag::GRAPH,
                device: 0,
                context: 1,
                stream: 7,
                start,
                end: start + 70_000,
                correlation: 10 * launch,
                span: SpanId::new(1, 5 + u64::from(launch)),
                launched: u64::from(launch) * 9_000_000,
                thread: 0,
                graph: 3,
                node: 800 + node,
                captured: SpanId::new(1, 2),
                forward: SpanId::NONE,
                detail: kernel(node as u32, 4, 32),
            });
        }
    }
    let file = file_of(&works);
    assert_eq!(read_back(&file), seen(&works));
    assert!(file.len() < 2 * works.len(), "{} bytes", file.len());
}

#[test]
fn the_state_is_told_as_it_is() {
    let mut file = file_header(7, 1).to_vec();
    state_frame(0, r#"{"level":"trace"}"#, &mut file);
    assert_eq!(read_back(&file), [Seen::GpuState(r#"{"level":"trace"}"#.into())]);
}

#[test]
fn a_frame_takes_no_more_than_a_reader_accepts() {
    let work = Steps::new().step()[0];
    let mut encoder = Encoder::new(1);
    let taken = std::iter::repeat_with(|| encoder.push(&work)).take_while(|taken| *taken).count();
    assert_eq!(taken, MAX_FRAME_RECORDS);
    let mut file = file_header(7, 1).to_vec();
    encoder.finish(0, &mut file);
    assert_eq!(read_back(&file).len(), MAX_FRAME_RECORDS);
    let samples = vec![Sample::default(); MAX_FRAME_RECORDS + 5];
    assert_eq!(samples_frame(0, &samples, &mut Vec::new()), MAX_FRAME_RECORDS);
}

#[test]
fn a_frame_is_full_at_its_records() {
    let work = Steps::new().step()[0];
    let mut encoder = Encoder::new(1);
    (1..FRAME_RECORDS).for_each(|_| assert!(encoder.push(&work) && !encoder.is_full()));
    assert!(encoder.push(&work) && encoder.is_full());
}

#[test]
fn columns_of_a_newer_minor_are_ignored() {
    let works = Steps::new().step();
    let more = changed(&file_of(&works[..4]), |raw| {
        let behind = 1 + usize::from(raw[0]);
        raw[0] += 1;
        raw.insert(behind, 3);
        raw.extend_from_slice(b"new");
    });
    assert_eq!(read_all(&file_with(&more)).1[..4], seen(&works[..4]));
}

/// A kind of work, bits of what a row has and fields of a kernel that this version does not know.
#[test]
fn work_of_a_newer_minor_is_left_out_and_its_neighbours_are_not() {
    let works = &Steps::new().step()[..4];
    let file = file_of(works);
    let mut raw = Vec::new();
    changed(&file, |payload| raw = payload.clone());
    let definitions = columns(&raw)[1].clone();
    // Lane, flags, has (two bytes), graph, thread, kind of the first shape: a copy.
    let has = definitions.start + 2;
    let kind = definitions.start + 6;
    assert_eq!(raw[kind], 2);
    let other = changed(&file, |raw| raw[kind] = 99);
    assert_eq!(read_all(&file_with(&other)).1[..3], seen(&works[1..]));
    let bit = changed(&file, |raw| raw[has + 1] |= 1 << 6);
    assert_eq!(read_all(&file_with(&bit)).1[..4], seen(works));
    let field = changed(&file, |raw| {
        raw[kind + 1] += 1;
        raw[2] += 1;
        raw.insert(kind + 5, 77);
    });
    assert_eq!(read_all(&file_with(&field)).1[..4], seen(works));
}

#[test]
fn promises_are_not_believed() {
    let work = Work { detail: Detail::Sync { what: 1 }, ..Steps::new().step()[0] };
    let file = file_of(&[work]);
    let mut raw = Vec::new();
    changed(&file, |payload| raw = payload.clone());
    let definition = columns(&raw)[1].clone();
    let code = columns(&raw)[0].start;
    let at = |offset: usize, byte: u8| changed(&file, |raw| raw[definition.start + offset] = byte);
    let frames = [
        changed(&file, |raw| raw[code] = 1),
        at(0, 1),
        at(7, 9),
        at(7, 0),
        frame(frame_kind::WORK, 0, 0, b""),
        frame(frame_kind::WORK, 0, 1, &[255]),
        frame(frame_kind::STATE, 0, 2, &[0xff, 0xfe]),
        frame(frame_kind::SAMPLES, 0, 3, &[1, 1, 0]),
    ];
    for (i, frame) in frames.iter().enumerate() {
        let (summary, seen) = read_all(&file_with(frame));
        assert_eq!((summary.damage.frames, seen.len()), (1, 1), "frame {i}");
    }
}

/// Any change to a payload whose checksum is right gives all of a frame or nothing.
#[test]
fn changed_payloads_are_delivered_whole_or_not_at_all() {
    let mut file = file_of(&Steps::new().step());
    samples_frame(1, &[Sample { pc: 5, ..Sample::default() }; 90], &mut file);
    let mut random = Random(11);
    let mut decoder = Decoder::new();
    let mut at = FILE_HEADER_BYTES;
    while let Some(header) = FrameHeader::parse(&file[at..]) {
        let payload = &file[at + FRAME_HEADER_BYTES..][..header.payload_bytes as usize];
        let raw = match header.flags {
            0 => payload.to_vec(),
            _ => zstd::bulk::decompress(payload, header.raw_bytes as usize).unwrap(),
        };
        for _ in 0..20_000 {
            let mut raw = raw.clone();
            for _ in 0..1 + random.below(4) {
                let at = random.below(raw.len() as u64) as usize;
                raw[at] = random.next() as u8;
            }
            let mut sink = Collect::default();
            let done = decoder.payload(header.kind, 0, raw.len() as u32, &raw, &mut sink);
            assert!(done.is_ok() || sink.seen.is_empty());
        }
        at += FRAME_HEADER_BYTES + payload.len();
    }
}
