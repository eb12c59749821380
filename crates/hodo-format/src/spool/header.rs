//! The fixed headers of a spool file and of a frame.

use super::{FILE_HEADER_BYTES, FILE_MAGIC, FRAME_HEADER_BYTES, FRAME_MAGIC, VERSION};

const FILE_CRC_AT: usize = FILE_HEADER_BYTES - 4;
const FRAME_CRC_AT: usize = FRAME_HEADER_BYTES - 4;

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The first 64 bytes of a spool file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// Major version in the upper half, minor below.
    pub version: u32,
    /// Random half of every id of the process.
    pub process: u64,
    /// The file's number: 0 for the catalog, from 1 for record files.
    pub number: u32,
}

/// The header of file `number` of a process.
pub fn file_header(process: u64, number: u32) -> [u8; FILE_HEADER_BYTES] {
    FileHeader { version: VERSION, process, number }.to_bytes()
}

impl FileHeader {
    /// The header as it lies in a file.
    pub fn to_bytes(self) -> [u8; FILE_HEADER_BYTES] {
        let mut bytes = [0; FILE_HEADER_BYTES];
        bytes[..8].copy_from_slice(&FILE_MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.number.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.process.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..FILE_CRC_AT]);
        bytes[FILE_CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The header at the start of `bytes`, unless it is missing or damaged.
    pub fn parse(bytes: &[u8]) -> Option<FileHeader> {
        let bytes = bytes.get(..FILE_HEADER_BYTES)?;
        let sound = bytes.starts_with(&FILE_MAGIC)
            && u32_at(bytes, FILE_CRC_AT)? == crc32c::crc32c(&bytes[..FILE_CRC_AT]);
        sound.then_some(FileHeader {
            version: u32_at(bytes, 8)?,
            number: u32_at(bytes, 12)?,
            process: u64_at(bytes, 16)?,
        })
    }

    /// The major version.
    pub const fn major(&self) -> u32 {
        self.version >> 16
    }
}

/// The first 40 bytes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// One of [`super::frame_kind`].
    pub kind: u8,
    /// [`super::frame_flag`] bits.
    pub flags: u8,
    /// Bytes of the payload in the file.
    pub payload_bytes: u32,
    /// Bytes of the payload once decompressed.
    pub raw_bytes: u32,
    /// The frame's number in its process.
    pub sequence: u64,
    /// Records inside, so that a damaged payload still says what was lost.
    pub records: u32,
    /// CRC32C of the payload as it lies in the file.
    pub payload_crc: u32,
}

impl FrameHeader {
    /// The header as it lies in a file.
    pub fn to_bytes(self) -> [u8; FRAME_HEADER_BYTES] {
        let mut bytes = [0; FRAME_HEADER_BYTES];
        bytes[..4].copy_from_slice(&FRAME_MAGIC);
        bytes[4] = self.kind;
        bytes[5] = self.flags;
        bytes[8..12].copy_from_slice(&self.payload_bytes.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.raw_bytes.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.records.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..FRAME_CRC_AT]);
        bytes[FRAME_CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The header at the start of `bytes`, unless it is missing or damaged.
    pub fn parse(bytes: &[u8]) -> Option<FrameHeader> {
        let bytes = bytes.get(..FRAME_HEADER_BYTES)?;
        let sound = bytes.starts_with(&FRAME_MAGIC)
            && u32_at(bytes, FRAME_CRC_AT)? == crc32c::crc32c(&bytes[..FRAME_CRC_AT]);
        sound.then_some(FrameHeader {
            kind: bytes[4],
            flags: bytes[5],
            payload_bytes: u32_at(bytes, 8)?,
            raw_bytes: u32_at(bytes, 12)?,
            sequence: u64_at(bytes, 16)?,
            records: u32_at(bytes, 24)?,
            payload_crc: u32_at(bytes, 32)?,
        })
    }
}
