//! Cut and flipped spool files: every intact frame is delivered exactly, every lost byte counted.

use crate::collect::{Collect, Seen};
use crate::made::{Random, text_units};
use crate::sample::{Sample, losses};
use hodo_format::record::SpanId;
use hodo_format::spool::{
    DamageKind, Encoder, FILE_HEADER_BYTES, FileSummary, SpoolError, file_header, losses_frame,
    read,
};

const BYTES: usize = 64 << 10;
const FLIPPED_FILES: u64 = 100_000;

fn check(file: &[u8], sample: &Sample, intact: impl Fn(usize) -> bool) -> FileSummary {
    let mut sink = Collect::default();
    let summary = read(file, &mut sink).unwrap();
    assert!(sink.seen.iter().eq(sample.expected(&intact)), "other records than were stored");
    let frames = (0..sample.frames.len()).filter(|&frame| intact(frame)).count();
    assert_eq!(summary.frames as usize, frames);
    let numbers: u64 = summary.sequences.iter().map(|(first, last)| last - first + 1).sum();
    assert_eq!(numbers as usize, frames);
    summary
}

#[test]
fn cut_at_every_byte() {
    let sample = Sample::new(BYTES);
    for len in 0..=sample.file.len() {
        let summary = check(&sample.file[..len], &sample, |i| sample.frames[i].bytes.end <= len);
        let whole = sample.frames.iter().map(|frame| frame.bytes.end).take_while(|&e| e <= len);
        let whole = if len < FILE_HEADER_BYTES { 0 } else { whole.last().unwrap_or(64) };
        assert_eq!(summary.damage.bytes, (len - whole) as u64);
        assert_eq!(summary.damage.is_none(), summary.damage.places.is_empty());
    }
}

#[test]
fn bits_flipped_anywhere() {
    let sample = Sample::new(BYTES);
    let mut random = Random(2);
    let mut file = sample.file.clone();
    for _ in 0..FLIPPED_FILES {
        let mut bits: Vec<u64> =
            (0..1 + random.below(16)).map(|_| random.below(file.len() as u64 * 8)).collect();
        bits.sort();
        bits.dedup();
        let flip =
            |file: &mut [u8]| bits.iter().for_each(|bit| file[*bit as usize / 8] ^= 1 << (bit % 8));
        flip(&mut file);
        flipped(&file, &sample, &bits);
        flip(&mut file);
    }
}

fn flipped(file: &[u8], sample: &Sample, bits: &[u64]) {
    let mut hit = vec![false; sample.frames.len()];
    let mut payload_only = hit.clone();
    let mut header_hit = false;
    for bit in bits {
        let at = *bit as usize / 8;
        match sample.frame_at(at) {
            None => header_hit = true,
            Some(frame) => {
                let in_payload = at - sample.frames[frame].bytes.start >= 40;
                payload_only[frame] = in_payload && (!hit[frame] || payload_only[frame]);
                hit[frame] = true;
            }
        }
    }
    let summary = check(file, sample, |frame| !hit[frame]);
    assert_eq!(summary.header.is_none(), header_hit);
    let lost = (0..hit.len()).filter(|&i| hit[i]).map(|i| &sample.frames[i].bytes);
    let header = if header_hit { FILE_HEADER_BYTES } else { 0 };
    let bytes = header + lost.map(|bytes| bytes.len()).sum::<usize>();
    assert_eq!(summary.damage.bytes, bytes as u64);
    let known = (0..hit.len()).filter(|&i| payload_only[i]);
    let records: u64 = known.map(|i| sample.frames[i].records).sum();
    assert_eq!(summary.damage.records, records);
}

#[test]
fn frames_behind_a_torn_write_are_found() {
    let sample = Sample::new(20_000);
    let torn = &sample.frames[2].bytes;
    let mut file = sample.file[..torn.end - 9].to_vec();
    file.extend_from_slice(&sample.file[torn.end..]);
    let summary = check(&file, &sample, |i| i != 2);
    assert_eq!(summary.damage.bytes as usize, torn.len() - 9);
    assert_eq!(summary.damage.frames, 1);
    assert_eq!(summary.damage.places[0].kind, DamageKind::Checksum);
}

#[test]
fn a_missing_file_header_is_damage_although_no_byte_is_lost() {
    let sample = Sample::new(3000);
    let summary = check(&sample.file[FILE_HEADER_BYTES..], &sample, |_| true);
    assert!(!summary.damage.is_none() && summary.damage.bytes == 0);
    assert_eq!(summary.damage.places[0].kind, DamageKind::FileHeader);
}

#[test]
fn zero_pages_are_skipped() {
    let sample = Sample::new(40_000);
    let mut file = sample.file.clone();
    file[4096..8192].fill(0);
    file.extend_from_slice(&[0; 4096]);
    let hit = |i: usize| sample.frames[i].bytes.end > 4096 && sample.frames[i].bytes.start < 8192;
    let summary = check(&file, &sample, |i| !hit(i));
    let bytes: usize = sample
        .frames
        .iter()
        .map(|f| &f.bytes)
        .enumerate()
        .filter(|(i, _)| hit(*i))
        .map(|(_, bytes)| bytes.len())
        .sum();
    assert_eq!(summary.damage.bytes as usize, bytes + 4096);
}

#[test]
fn a_frame_inside_a_damaged_one_is_not_taken_for_one() {
    let inner = Sample::new(300);
    let units = text_units(SpanId(1), 1, 0, &inner.file[FILE_HEADER_BYTES..]);
    let mut encoder = Encoder::new(1);
    encoder.push(1, 0, &units);
    let mut file = file_header(1, 1).to_vec();
    encoder.finish(0, &mut file);
    let last = file.len() - 1;
    file[last] ^= 1;
    losses_frame(1, &losses(), &mut file);
    let mut sink = Collect::default();
    let summary = read(&file, &mut sink).unwrap();
    assert_eq!((sink.seen, summary.damage.records), (vec![Seen::Losses(losses())], 1));
}

/// Found by fuzzing: the frames in between were taken for the damaged payload.
#[test]
fn a_frame_cut_by_the_length_of_the_next_ones_does_not_hide_them() {
    let sample = Sample::new(20_000);
    let frames = &sample.frames;
    let fits = |i: &usize| frames[*i].bytes.len() > frames[i + 1].bytes.len() + 40;
    let torn = (0..frames.len() - 2).find(fits).unwrap();
    let (cut, next) = (&frames[torn].bytes, &frames[torn + 1].bytes);
    let mut file = sample.file[..cut.end - next.len()].to_vec();
    file.extend_from_slice(&sample.file[next.clone()]);
    check(&file, &sample, |i| i < torn || i == torn + 1);
    file.extend_from_slice(&sample.file[next.end..]);
    let summary = check(&file, &sample, |i| i != torn);
    assert_eq!(summary.damage.bytes as usize, cut.len() - next.len());
}

#[test]
fn something_else_is_refused() {
    let mut sink = Collect::default();
    assert_eq!(read(&[b'x'; 200], &mut sink), Err(SpoolError::NotSpool));
    assert!(read(&[], &mut sink).unwrap().damage.is_none());
}
