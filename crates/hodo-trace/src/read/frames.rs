//! The frames of a file by their headers, without what is in them.

use super::files::{CATALOG, gpu_files, numbered_files, spool_files};
use super::{plain, process_folders};
use crate::machine::machine_folders;
use hodo_format::machine::FILE_PREFIX;
use hodo_format::spool::{FILE_HEADER_BYTES, FRAME_HEADER_BYTES, FrameHeader, MAX_RAW_BYTES};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Memory that a record takes: the columns it is read into, and those it is written from.
const RECORD_BYTES: u64 = 48;
/// The same for a byte of a frame once it is unpacked. What frames tell of their records is believed
/// only as far as it is more.
const RAW_BYTE_BYTES: u64 = 4;
/// What bytes that are in no frame that can be told may unpack to: what is behind a damaged header is
/// read too.
const UNTOLD_RATIO: u64 = 64;

/// A frame in a file.
pub(crate) struct Frame {
    /// Where its header begins.
    pub(crate) at: u64,
    pub(crate) header: FrameHeader,
}

impl Frame {
    /// Bytes of header and payload.
    pub(crate) fn bytes(&self) -> usize {
        FRAME_HEADER_BYTES + self.header.payload_bytes as usize
    }

    fn end(&self) -> u64 {
        self.at + self.bytes() as u64
    }
}

/// The frames of a file, up to the first whose header cannot be read.
pub(crate) fn frames(file: &File) -> impl Iterator<Item = Frame> + '_ {
    let mut at = FILE_HEADER_BYTES as u64;
    std::iter::from_fn(move || {
        let mut header = [0; FRAME_HEADER_BYTES];
        file.read_exact_at(&mut header, at).ok()?;
        let header = FrameHeader::parse(&header)?;
        let frame =
            (header.payload_bytes as usize <= MAX_RAW_BYTES).then_some(Frame { at, header })?;
        at = frame.end();
        Some(frame)
    })
}

/// Memory that it may take to read a run, from little more than the headers of its frames.
pub fn memory_bytes(run: &Path) -> u64 {
    let processes = process_folders(run);
    let records = |folder: &PathBuf| {
        let mut files = spool_files(folder);
        files.extend(gpu_files(folder));
        files.push(folder.join(CATALOG));
        files
    };
    let machines = machine_folders(run);
    let readings = machines.iter().flat_map(|folder| numbered_files(folder, FILE_PREFIX));
    let files = processes.iter().flat_map(records).chain(readings);
    files.map(|path| memory_of(&path)).fold(0, u64::saturating_add)
}

/// What the frames of one file may take.
pub(crate) fn memory_of(path: &Path) -> u64 {
    let Ok(file) = plain::open(path) else { return 0 };
    let length = file.metadata().map_or(0, |file| file.len());
    let (mut records, mut raw_bytes, mut end) = (0_u64, 0_u64, FILE_HEADER_BYTES as u64);
    for frame in frames(&file) {
        records += u64::from(frame.header.records);
        raw_bytes += u64::from(frame.header.raw_bytes);
        end = frame.end();
    }
    raw_bytes += length.saturating_sub(end).saturating_mul(UNTOLD_RATIO);
    records.saturating_mul(RECORD_BYTES).max(raw_bytes.saturating_mul(RAW_BYTE_BYTES))
}
