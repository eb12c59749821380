#![no_main]
//! A whole spool file: as it is with an intact frame behind it, and with its checksums made right.

use hodo_format::spool::{
    FILE_HEADER_BYTES, FILE_MAGIC, FRAME_HEADER_BYTES, FRAME_MAGIC, SpoolError, read,
};
use hodo_fuzz::{Keep, good_frame};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let file = [data, &good_frame()].concat();
    let mut kept = Keep::default();
    match read(&file, &mut kept) {
        Ok(summary) => {
            assert!(kept.runs.iter().any(|run| (run.0, run.1, run.2) == (9, 1, 1)));
            assert!(summary.sequences.iter().any(|range| range.1 == u64::MAX));
            assert!(summary.damage.bytes <= data.len() as u64);
        }
        Err(error) => assert!(matches!(error, SpoolError::Version { .. })),
    }
    let mut repaired = data.to_vec();
    repair(&mut repaired);
    let mut kept = Keep::default();
    if let Ok(summary) = read(&repaired, &mut kept) {
        assert!(summary.damage.bytes <= data.len() as u64);
        assert!(summary.damage.is_none() == summary.damage.places.is_empty());
    }
});

/// Makes the checksums of the file header and of everything that looks like a frame right.
fn repair(file: &mut [u8]) {
    if file.len() >= FILE_HEADER_BYTES && file.starts_with(&FILE_MAGIC) {
        let crc = crc32c::crc32c(&file[..FILE_HEADER_BYTES - 4]);
        file[FILE_HEADER_BYTES - 4..FILE_HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
    }
    let mut at = 0;
    while at + FRAME_HEADER_BYTES <= file.len() {
        let frame = &mut file[at..];
        at += 1;
        if !frame.starts_with(&FRAME_MAGIC) {
            continue;
        }
        let len = u32::from_le_bytes(frame[8..12].try_into().unwrap()) as usize;
        if let Some(payload) = frame[FRAME_HEADER_BYTES..].get(..len) {
            let crc = crc32c::crc32c(payload);
            frame[32..36].copy_from_slice(&crc.to_le_bytes());
            at += FRAME_HEADER_BYTES + len - 1;
        }
        let crc = crc32c::crc32c(&frame[..36]);
        frame[36..40].copy_from_slice(&crc.to_le_bytes());
    }
}
