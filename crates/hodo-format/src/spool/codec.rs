//! zstd around a payload, and the frame around both.

use super::varint::{Column, Cursor};
use super::{FRAME_HEADER_BYTES, FrameHeader, frame_flag};
use zstd::zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, ResetDirective, compress_bound};

/// Payloads shorter than this are stored as they are.
const MIN_COMPRESSED_BYTES: usize = 128;
/// Room for the header and the rounding of each block that a break in the input makes.
const BLOCK_ROOM: usize = 64;
/// Most zstd blocks the columns of a payload are laid out in.
const MAX_BLOCKS: usize = 8;
/// Zero bytes behind a payload that is read, so that a varint is loaded as eight bytes at once.
pub(crate) const PADDING: [u8; 8] = [0; 8];

/// Compresses payloads, one zstd frame each.
pub(crate) struct Compressor {
    /// `None` when zstd got no memory: payloads are stored as they are.
    context: Option<CCtx<'static>>,
}

impl Compressor {
    /// Leaves payloads as they are.
    pub(crate) fn none() -> Self {
        Compressor { context: None }
    }

    pub(crate) fn new(level: i32) -> Self {
        Compressor { context: context(level) }
    }

    /// Appends the zstd frame of `parts`, each a block with an entropy table of its own. On failure
    /// `out` is as it was and the answer is `false`.
    fn compress(&mut self, parts: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let begin = out.len();
        let raw: usize = parts.iter().map(|part| part.len()).sum();
        out.reserve(compress_bound(raw) + parts.len() * BLOCK_ROOM);
        let done = self.stream(parts, raw, out).is_some() && out.len() - begin < raw;
        if !done {
            out.truncate(begin);
        }
        done
    }

    fn stream(&mut self, parts: &[&[u8]], raw: usize, out: &mut Vec<u8>) -> Option<()> {
        let context = self.context.as_mut()?;
        context.reset(ResetDirective::SessionOnly).ok()?;
        context.set_pledged_src_size(Some(raw as u64)).ok()?;
        let begin = out.len();
        let mut output = OutBuffer::around_pos(out, begin);
        for part in parts {
            let mut input = InBuffer::around(part);
            while input.pos() < part.len() {
                context.compress_stream(&mut output, &mut input).ok()?;
            }
            (context.flush_stream(&mut output).ok()? == 0).then_some(())?;
        }
        (context.end_stream(&mut output).ok()? == 0).then_some(())
    }
}

fn context(level: i32) -> Option<CCtx<'static>> {
    let mut context = CCtx::try_create()?;
    context.set_parameter(CParameter::CompressionLevel(level)).ok()?;
    context.set_parameter(CParameter::ContentSizeFlag(false)).ok()?;
    Some(context)
}

/// Kind, sequence and record count of a frame to be written.
#[derive(Clone, Copy)]
pub(crate) struct Label {
    pub kind: u8,
    pub sequence: u64,
    pub records: u32,
}

/// Appends a frame whose raw payload is `parts` one after another.
pub(crate) fn append(
    label: Label,
    parts: &[&[u8]],
    compressor: Option<&mut Compressor>,
    out: &mut Vec<u8>,
) {
    let begin = out.len();
    out.resize(begin + FRAME_HEADER_BYTES, 0);
    let raw: usize = parts.iter().map(|part| part.len()).sum();
    let zstd = raw >= MIN_COMPRESSED_BYTES
        && compressor.is_some_and(|compressor| compressor.compress(parts, out));
    if !zstd {
        parts.iter().for_each(|part| out.extend_from_slice(part));
    }
    let payload = &out[begin + FRAME_HEADER_BYTES..];
    let header = FrameHeader {
        kind: label.kind,
        flags: if zstd { frame_flag::ZSTD } else { 0 },
        payload_bytes: payload.len() as u32,
        raw_bytes: raw as u32,
        sequence: label.sequence,
        records: label.records,
        payload_crc: crc32c::crc32c(payload),
    };
    out[begin..begin + FRAME_HEADER_BYTES].copy_from_slice(&header.to_bytes());
}

/// Joins columns into a payload. Its buffers are kept from frame to frame.
#[derive(Default)]
pub(crate) struct Layout {
    lengths: Column,
    raw: Vec<u8>,
}

impl Layout {
    /// Appends a frame of `columns` behind their count and lengths. A zstd block ends behind each
    /// column in `breaks`: what follows has another distribution of bytes.
    pub(crate) fn append(
        &mut self,
        label: Label,
        columns: &[Column],
        breaks: &[usize],
        compressor: &mut Compressor,
        out: &mut Vec<u8>,
    ) {
        self.lengths.clear();
        self.lengths.byte(columns.len() as u8);
        columns.iter().for_each(|column| self.lengths.unsigned(column.len() as u64));
        self.raw.clear();
        self.raw.extend_from_slice(self.lengths.bytes());
        let mut ends = [0; MAX_BLOCKS];
        let mut block = 0;
        for (i, column) in columns.iter().enumerate() {
            self.raw.extend_from_slice(column.bytes());
            ends[block] = self.raw.len();
            block += usize::from(breaks.contains(&i)).min(MAX_BLOCKS - 1 - block);
        }
        let mut parts = [&self.raw[..0]; MAX_BLOCKS];
        let mut begin = 0;
        for (part, end) in parts.iter_mut().zip(ends).take(block + 1) {
            *part = &self.raw[begin..end];
            begin = end;
        }
        append(label, &parts[..=block], Some(compressor), out);
    }
}

/// Cursors over the first `N` columns of a payload that ends with the padding. Columns it does not
/// have are empty.
pub(crate) fn split<const N: usize>(raw: &[u8]) -> Option<[Cursor<'_>; N]> {
    let end = raw.len().checked_sub(PADDING.len())?;
    let mut lengths = Cursor::new(raw, 0, end);
    let mut behind = lengths;
    let count = behind.byte();
    (0..count).for_each(|_| _ = behind.unsigned());
    let mut at = behind.position();
    let mut columns = [Cursor::over(&[]); N];
    for i in 0..usize::from(lengths.byte()) {
        let length = usize::try_from(lengths.unsigned()).ok()?;
        let next = at.checked_add(length).filter(|&next| next <= end)?;
        if let Some(column) = columns.get_mut(i) {
            *column = Cursor::new(raw, at, next);
        }
        at = next;
    }
    (at == end).then_some(columns)
}
