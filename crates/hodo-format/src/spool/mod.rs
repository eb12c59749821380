//! The spool: append-only files of checksummed frames.
//!
//! A file is a header of 64 bytes and frames one after another. A frame is a header of 40 bytes
//! and a payload, each with its own CRC32C, so that a reader that meets damage looks for the next
//! header and goes on. `docs/spool-format.md` describes every byte.

pub(crate) mod codec;
mod decode;
mod encode;
mod frames;
mod header;
mod names;
mod read;
mod rows;
mod tail;
mod trail;
pub(crate) mod varint;
mod window;

pub use decode::{Decoder, Undecodable};
pub use encode::Encoder;
pub use frames::{
    Losses, ThreadInfo, anchors_frame, end_frame, losses_frame, strings_frame, thread_frame,
};
pub use header::{FileHeader, FrameHeader, file_header};
pub use read::{Damage, DamageKind, FileSummary, Place, SpoolError, read, read_from};
pub use tail::Tail;
pub use window::Source;

use crate::arena::Anchor;
use crate::gpu;
use crate::machine;
use crate::record::Sink;

/// First eight bytes of a spool file.
pub const FILE_MAGIC: [u8; 8] = *b"hodo.spl";
/// Format version: the major part in the upper half. Readers refuse another major and accept any
/// minor.
pub const VERSION: u32 = 1 << 16;
/// Bytes of the file header.
pub const FILE_HEADER_BYTES: usize = 64;
/// First four bytes of a frame.
pub const FRAME_MAGIC: [u8; 4] = [0xF5, b'H', b'd', 0xA7];
/// Bytes of a frame header.
pub const FRAME_HEADER_BYTES: usize = 40;
/// Records a full frame holds: a writer finishes a frame once it has this many.
pub const FRAME_RECORDS: usize = 4096;
/// Most bytes a payload may have before compression; a reader refuses more.
pub const MAX_RAW_BYTES: usize = 32 << 20;
/// Most records one frame may hold.
pub const MAX_FRAME_RECORDS: usize = 1 << 16;

/// What a frame holds. Readers skip kinds they do not know.
pub mod frame_kind {
    /// Records of one or more threads.
    pub const RECORDS: u8 = 1;
    /// Interned strings.
    pub const STRINGS: u8 = 2;
    /// One thread: who it is and its counters.
    pub const THREAD: u8 = 3;
    /// Clock anchors.
    pub const ANCHORS: u8 = 4;
    /// Totals of the process so far; the newest frame counts.
    pub const LOSSES: u8 = 5;
    /// The recorder shut down cleanly; the last totals.
    pub const END: u8 = 6;
}

/// Flags of a frame.
pub mod frame_flag {
    /// The payload is one zstd frame.
    pub const ZSTD: u8 = 1 << 0;
}

/// Takes what spool frames hold, in file order: what it has a method for.
pub trait FrameSink: Sink {
    /// `count` consecutive records of one thread follow, numbered from `first`. Return `true` to
    /// take them.
    fn run(&mut self, thread: u32, first: u64, count: u64) -> bool {
        let _ = (thread, first, count);
        false
    }
    /// Comes before every mark and every record of a mark's attributes that is wanted: its number
    /// in the run, by which the two find each other.
    fn mark_number(&mut self, number: u64) {
        let _ = number;
    }
    /// Interned strings with ids from `first_id` up.
    fn strings(&mut self, first_id: u32, strings: &[&str]) {
        let _ = (first_id, strings);
    }
    /// A thread's description and counters; a later one of the same thread replaces it.
    fn thread(&mut self, thread: ThreadInfo) {
        let _ = thread;
    }
    /// Clock anchors.
    fn anchors(&mut self, anchors: &[Anchor]) {
        let _ = anchors;
    }
    /// Totals so far; the newest wins.
    fn losses(&mut self, losses: Losses) {
        let _ = losses;
    }
    /// The recorder shut down cleanly.
    fn end(&mut self, losses: Losses) {
        let _ = losses;
    }
    /// A piece of GPU work.
    fn work(&mut self, work: &gpu::Work) {
        let _ = work;
    }
    /// What the capture of GPU work is and what it counted, a JSON object; the newest counts.
    fn gpu_state(&mut self, json: &str) {
        let _ = json;
    }
    /// A sample of where a kernel stood.
    fn gpu_sample(&mut self, sample: &gpu::Sample) {
        let _ = sample;
    }
    /// What samples the machine and what it sees, a JSON object; the newest counts.
    fn machine_state(&mut self, json: &str) {
        let _ = json;
    }
    /// Series that readings behind it may be of.
    fn series(&mut self, series: &[machine::Series]) {
        let _ = series;
    }
    /// Readings of the machine.
    fn readings(&mut self, readings: machine::Readings) {
        let _ = readings;
    }
}
