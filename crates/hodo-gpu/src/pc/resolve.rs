//! Rows of a window become samples with source lines: slow, so not on a thread of the program's.

use super::cubins::{Cubins, Instruction, Place};
use super::rows::{Key, Row, Rows};
use crate::cupti::Cupti;
use hodo_format::gpu::Sample;
use std::collections::HashMap;
use std::ffi::CString;
use std::path::Path;
use std::time::Duration;

/// The samples of a window, with the lines that are found in `time`. Machine code that was sampled
/// goes to `folder`.
pub fn resolve(
    rows: &Rows,
    cubins: &Cubins,
    cupti: &Cupti,
    folder: &Path,
    time: Duration,
) -> Vec<Sample> {
    let sorted = rows.sorted();
    let wanted = most_sampled(rows, &sorted);
    let places = cubins.resolve(cupti, folder, &wanted, time);
    let mut files: HashMap<&str, u32> = HashMap::new();
    sorted
        .iter()
        .map(|(key, row)| {
            let place = places.get(&key.instruction);
            let intern = |place: &'_ Place| hodo_record::intern(&place.file);
            let file = place.map_or(0, |place| {
                *files.entry(place.file.as_str()).or_insert_with(|| intern(place))
            });
            sample(key, row, file, place.map_or(0, |place| place.line))
        })
        .collect()
}

/// The instructions with the names of their functions, those that were seen most first.
fn most_sampled(rows: &Rows, sorted: &[(Key, Row)]) -> Vec<(Instruction, CString)> {
    let mut seen: HashMap<Instruction, u64> = HashMap::new();
    sorted.iter().for_each(|(key, row)| *seen.entry(key.instruction).or_default() += row.samples);
    let mut seen: Vec<(Instruction, u64)> = seen.into_iter().collect();
    seen.sort_by_key(|&(_, samples)| std::cmp::Reverse(samples));
    let named = |(instruction, _): (Instruction, u64)| {
        Some((instruction, rows.kernels.get(&instruction.kernel)?.clone()))
    };
    seen.into_iter().filter_map(named).collect()
}

fn sample(key: &Key, row: &Row, file: u32, line: u32) -> Sample {
    Sample {
        kernel: key.instruction.kernel,
        cubin: key.instruction.cubin,
        pc: key.instruction.offset,
        stall: key.stall,
        samples: row.samples,
        span: key.span,
        correlation: row.correlation,
        file,
        line,
    }
}
