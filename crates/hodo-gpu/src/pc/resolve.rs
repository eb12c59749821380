//! Rows of a window become samples with source lines: slow, so on the GPU's own thread.

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
    let wanted: HashMap<Instruction, CString> = sorted
        .iter()
        .filter_map(|(key, _)| {
            let name = rows.kernels.get(&key.instruction.kernel)?;
            Some((key.instruction, name.clone()))
        })
        .collect();
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
