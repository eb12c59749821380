//! Files of other versions, and frames that promise what they do not hold.

use crate::collect::{Collect, Seen};
use crate::sample::{Sample, losses, thread};
use hodo_format::spool::{
    DamageKind, Encoder, FILE_HEADER_BYTES, FRAME_HEADER_BYTES, FileHeader, FileSummary,
    FrameHeader, MAX_RAW_BYTES, SpoolError, VERSION, file_header, frame_flag, frame_kind,
    losses_frame, read, thread_frame,
};

pub fn read_all(file: &[u8]) -> (FileSummary, Vec<Seen>) {
    let mut sink = Collect::default();
    let summary = read(file, &mut sink).unwrap();
    (summary, sink.seen)
}

/// A frame with right checksums around any payload.
pub fn frame(kind: u8, flags: u8, raw_bytes: usize, payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader {
        kind,
        flags,
        payload_bytes: payload.len() as u32,
        raw_bytes: raw_bytes as u32,
        sequence: 1,
        records: 5,
        payload_crc: crc32c::crc32c(payload),
    };
    [&header.to_bytes()[..], payload].concat()
}

pub fn file_with(frame: &[u8]) -> Vec<u8> {
    let mut file = [&file_header(1, 1)[..], frame].concat();
    losses_frame(2, &losses(), &mut file);
    file
}

#[test]
fn unknown_frames_are_skipped() {
    let (summary, seen) = read_all(&file_with(&frame(200, 0, 11, b"from beyond")));
    assert_eq!((summary.unknown_frames, summary.frames), (1, 1));
    assert_eq!(summary.sequences, [(1, 2)]);
    assert!(summary.damage.is_none());
    assert_eq!(seen, [Seen::Losses(losses())]);
}

#[test]
fn a_newer_minor_is_read() {
    let sample = Sample::new(3000);
    let mut file = sample.file.clone();
    let header = FileHeader { version: VERSION + 7, process: 1, number: 1 };
    file[..FILE_HEADER_BYTES].copy_from_slice(&header.to_bytes());
    let (summary, seen) = read_all(&file);
    assert_eq!(summary.header, Some(header));
    assert!(seen.iter().eq(sample.expected(|_| true)));
}

#[test]
fn another_major_is_refused_in_words() {
    let mut file = Sample::new(3000).file;
    let header = FileHeader { version: 2 << 16 | 3, process: 1, number: 1 };
    file[..FILE_HEADER_BYTES].copy_from_slice(&header.to_bytes());
    let error = read(&file, &mut Collect::default()).unwrap_err();
    assert_eq!(error, SpoolError::Version { major: 2, minor: 3 });
    let words = "spool format 2.3 is not understood, this hodo reads 1.x: use a matching hodo";
    assert_eq!(error.to_string(), words);
}

/// The first frame of `file` with `change` made to its raw payload.
pub fn changed(file: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let header = FrameHeader::parse(&file[FILE_HEADER_BYTES..]).unwrap();
    let payload = &file[FILE_HEADER_BYTES + FRAME_HEADER_BYTES..][..header.payload_bytes as usize];
    let mut raw = match header.flags & frame_flag::ZSTD {
        0 => payload.to_vec(),
        _ => zstd::bulk::decompress(payload, header.raw_bytes as usize).unwrap(),
    };
    change(&mut raw);
    frame(header.kind, 0, raw.len(), &raw)
}

#[test]
fn columns_of_a_newer_minor_are_ignored() {
    let sample = Sample::new(100);
    let frame = changed(&sample.file, |raw| {
        let mut lengths = (1..raw.len()).filter(|&at| raw[at] < 0x80);
        let behind = lengths.nth(usize::from(raw[0]) - 1).unwrap() + 1;
        raw[0] += 1;
        raw.insert(behind, 3);
        raw.extend_from_slice(b"new");
    });
    let (summary, mut seen) = read_all(&file_with(&frame));
    assert!(summary.damage.is_none());
    seen.pop();
    assert_eq!(seen, sample.frames[0].seen);
}

#[test]
fn fields_of_a_newer_minor_are_ignored() {
    let mut file = file_header(1, 1).to_vec();
    thread_frame(1, &thread(3), &mut file);
    let longer = changed(&file, |raw| raw.extend_from_slice(b"and more"));
    assert_eq!(read_all(&file_with(&longer)).1[0], Seen::Thread(thread(3)));
}

#[test]
fn a_loss_reason_of_a_newer_minor_is_still_counted() {
    let mut file = file_header(1, 1).to_vec();
    losses_frame(1, &losses(), &mut file);
    let more = changed(&file, |raw| {
        raw[48..52].copy_from_slice(&5u32.to_le_bytes());
        raw.extend_from_slice(&100u64.to_le_bytes());
        raw.extend_from_slice(&[0; 16]);
    });
    let mut expected = losses();
    expected.lost[3].spans += 100;
    assert_eq!(read_all(&file_with(&more)).1[0], Seen::Losses(expected));
}

#[test]
fn promises_are_not_believed() {
    let bomb = zstd::bulk::compress(&vec![0; MAX_RAW_BYTES + 1], 1).unwrap();
    let sample = Sample::new(100);
    let huge_column = changed(&sample.file, |raw| raw[1..5].copy_from_slice(&[0xff; 4]));
    let strings = [&1u32.to_le_bytes()[..], &u32::MAX.to_le_bytes()].concat();
    let zstd = frame_flag::ZSTD;
    let frames = [
        frame(frame_kind::RECORDS, zstd, MAX_RAW_BYTES + 1, &bomb),
        frame(frame_kind::ANCHORS, zstd, MAX_RAW_BYTES + 1, &bomb),
        frame(frame_kind::RECORDS, zstd, 1000, &bomb),
        frame(frame_kind::RECORDS, 0, 1000, b"short"),
        frame(frame_kind::RECORDS, 0, 0, b""),
        frame(frame_kind::RECORDS, 0, 1, &[255]),
        frame(frame_kind::STRINGS, 0, strings.len(), &strings),
        frame(frame_kind::STRINGS, 0, 13, b"\0\0\0\0\x01\0\0\0\x01\0\0\0\xff"),
        frame(frame_kind::ANCHORS, 0, 4, &[0xff; 4]),
        frame(frame_kind::LOSSES, 0, 60, &[0xff; 60]),
        frame(frame_kind::END, 0, 0, b""),
        frame(frame_kind::THREAD, 0, 20, &[1; 20]),
        huge_column,
    ];
    for frame in frames {
        let (summary, seen) = read_all(&file_with(&frame));
        assert_eq!(seen, [Seen::Losses(losses())], "kind {}", frame[4]);
        assert_eq!(summary.damage.bytes, frame.len() as u64);
        assert_eq!(summary.damage.places[0].kind, DamageKind::Undecodable);
        assert_eq!(summary.sequences, [(2, 2)]);
    }
}

/// Found by fuzzing: the garbage was counted twice.
#[test]
fn garbage_behind_an_undecodable_frame_is_counted_once() {
    let frame = frame(frame_kind::END, 0, 1, b"x");
    let (summary, seen) = read_all(&file_with(&[&frame[..], b"garbage"].concat()));
    assert_eq!(summary.damage.bytes, frame.len() as u64 + 7);
    assert_eq!(seen, [Seen::Losses(losses())]);
}

/// The input that broke the fuzz target.
#[test]
fn what_fuzzing_found_stays_found() {
    let file = include_bytes!("fixtures/undecodable-then-garbage");
    let damage = read_all(file).0.damage;
    assert_eq!(damage.bytes, file.len() as u64);
}

/// Two kinds of half a frame each that together wrap around must not pass for a small number.
#[test]
fn counts_that_overflow_are_refused() {
    let (runs, kinds) = ([1, 0, 0], [0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
    let raw = [&[2, 3, 10][..], &runs, &kinds].concat();
    let (summary, _) = read_all(&file_with(&frame(frame_kind::RECORDS, 0, raw.len(), &raw)));
    assert_eq!(summary.damage.records, 5);
}

/// Where each column of a payload lies; all its lengths are below 128.
pub fn columns(raw: &[u8]) -> Vec<std::ops::Range<usize>> {
    let count = usize::from(raw[0]);
    let mut at = 1 + count;
    let lengths = raw[1..1 + count].iter().map(|&length| usize::from(length));
    let column = |length| {
        at += length;
        at - length..at
    };
    lengths.map(column).collect()
}

#[test]
fn a_column_too_short_or_too_long_is_refused() {
    let mut encoder = Encoder::new(1);
    let step = crate::made::Loop::new(1).step();
    encoder.push(1, 0, &step[step.len() - 4..]);
    let mut file = file_header(1, 1).to_vec();
    encoder.finish(0, &mut file);
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let (summary, seen) = read_all(&file_with(&changed(&file, change)));
        summary.damage.frames == 1 && seen.len() == 1
    };
    assert!(!refused(&|_| ()), "the frame itself is sound");
    for column in 0..20 {
        assert!(refused(&|raw| {
            let end = columns(raw)[column].end;
            raw[1 + column] += 1;
            raw.insert(end, 0x0b);
        }));
        let take_off = |raw: &mut Vec<u8>| {
            let bytes = columns(raw)[column].clone();
            raw[1 + column] -= u8::from(!bytes.is_empty());
            raw.drain(bytes.start.max(bytes.end.saturating_sub(1))..bytes.end);
        };
        let mut raw = Vec::new();
        changed(&file, |payload| raw = payload.clone());
        assert!(columns(&raw)[column].is_empty() || refused(&take_off), "column {column}");
    }
}
