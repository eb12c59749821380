//! Frames beside the work: what the capture is, and samples.

use super::{Sample, frame_kind};
use crate::record::SpanId;
use crate::spool::codec::{self, Compressor, Label, Layout, split};
use crate::spool::varint::{Column, Cursor};
use crate::spool::{MAX_FRAME_RECORDS, MAX_RAW_BYTES};

/// Samples come seldom and by the thousand.
const ZSTD_LEVEL: i32 = 3;
/// Numbers of a sample, a column each.
const COLUMNS: usize = 9;

/// Appends a STATE frame: `json` is an object with what the capture is and what it counted.
///
/// Text longer than [`MAX_RAW_BYTES`] makes no frame.
pub fn state_frame(sequence: u64, json: &str, out: &mut Vec<u8>) {
    if json.len() <= MAX_RAW_BYTES {
        let label = Label { kind: frame_kind::STATE, sequence, records: 0 };
        codec::append(label, &[json.as_bytes()], None, out);
    }
}

/// Appends a SAMPLES frame of the first of `samples`; returns how many it took, which is all
/// unless they are more than [`MAX_FRAME_RECORDS`].
pub fn samples_frame(sequence: u64, samples: &[Sample], out: &mut Vec<u8>) -> usize {
    let samples = &samples[..samples.len().min(MAX_FRAME_RECORDS)];
    let mut columns: [Column; COLUMNS] = Default::default();
    let mut before = [0; COLUMNS];
    for sample in samples {
        let row = numbers(sample);
        for (i, column) in columns.iter_mut().enumerate() {
            column.signed(row[i].wrapping_sub(before[i]));
        }
        before = row;
    }
    let label = Label { kind: frame_kind::SAMPLES, sequence, records: samples.len() as u32 };
    let mut compressor = Compressor::new(ZSTD_LEVEL);
    Layout::default().append(label, &columns, &[], &mut compressor, out);
    samples.len()
}

fn numbers(sample: &Sample) -> [u64; COLUMNS] {
    [
        sample.kernel.into(),
        sample.cubin,
        sample.pc,
        sample.stall.into(),
        sample.samples,
        sample.span.0,
        sample.correlation.into(),
        sample.file.into(),
        sample.line.into(),
    ]
}

/// The samples of a SAMPLES payload; `raw` ends with the padding.
pub(crate) fn samples(raw: &[u8]) -> Option<Vec<Sample>> {
    let mut columns: [Cursor<'_>; COLUMNS] = split(raw)?;
    let mut samples = Vec::new();
    let mut row = [0u64; COLUMNS];
    while columns[0].left() > 0 {
        if samples.len() == MAX_FRAME_RECORDS {
            return None;
        }
        for (number, column) in row.iter_mut().zip(&mut columns) {
            *number = number.wrapping_add(column.signed());
        }
        samples.push(sample(&row)?);
    }
    columns.iter().all(Cursor::is_spent).then_some(samples)
}

fn sample(row: &[u64; COLUMNS]) -> Option<Sample> {
    let half = |i: usize| u32::try_from(row[i]).ok();
    Some(Sample {
        kernel: half(0)?,
        cubin: row[1],
        pc: row[2],
        stall: half(3)?,
        samples: row[4],
        span: SpanId(row[5]),
        correlation: half(6)?,
        file: half(7)?,
        line: half(8)?,
    })
}
