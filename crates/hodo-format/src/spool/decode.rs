//! Payloads back into records.

use super::codec::PADDING;
use super::rows::Rows;
use super::{FrameSink, MAX_RAW_BYTES, frame_flag, frame_kind, frames};
use crate::{gpu, machine};
use zstd::zstd_safe::DCtx;

/// A payload whose bytes make no sense although its checksum may be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the payload cannot be decoded")]
pub struct Undecodable;

/// Decodes payloads. Its buffers are kept from frame to frame.
#[derive(Default)]
pub struct Decoder {
    raw: Vec<u8>,
    zstd: Option<DCtx<'static>>,
    rows: Rows,
    work: gpu::Rows,
}

impl Decoder {
    /// A decoder with empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes a payload of `kind` as it lies in a file and gives all of it, or nothing, to
    /// `sink`. The answer says whether the kind is known.
    pub fn payload(
        &mut self,
        kind: u8,
        flags: u8,
        raw_bytes: u32,
        payload: &[u8],
        sink: &mut impl FrameSink,
    ) -> Result<bool, Undecodable> {
        self.unpack(flags, raw_bytes as usize, payload).ok_or(Undecodable)?;
        let raw = &self.raw[..raw_bytes as usize];
        match kind {
            frame_kind::RECORDS => {
                self.rows.fill(&self.raw).ok_or(Undecodable)?;
                self.rows.deliver(&self.raw, sink);
            }
            frame_kind::STRINGS => frames::strings(raw, sink).ok_or(Undecodable)?,
            frame_kind::THREAD => sink.thread(frames::thread(raw).ok_or(Undecodable)?),
            frame_kind::ANCHORS => sink.anchors(&frames::anchors(raw).ok_or(Undecodable)?),
            frame_kind::LOSSES => sink.losses(frames::losses(raw).ok_or(Undecodable)?),
            frame_kind::END => sink.end(frames::losses(raw).ok_or(Undecodable)?),
            gpu::frame_kind::WORK => {
                self.work.fill(&self.raw).ok_or(Undecodable)?;
                self.work.deliver(sink);
            }
            gpu::frame_kind::STATE => {
                sink.gpu_state(std::str::from_utf8(raw).map_err(|_| Undecodable)?);
            }
            gpu::frame_kind::SAMPLES => {
                let samples = gpu::samples(&self.raw).ok_or(Undecodable)?;
                samples.iter().for_each(|sample| sink.gpu_sample(sample));
            }
            machine::frame_kind::STATE => {
                sink.machine_state(std::str::from_utf8(raw).map_err(|_| Undecodable)?);
            }
            machine::frame_kind::SERIES => sink.series(&machine::series(raw).ok_or(Undecodable)?),
            machine::frame_kind::READINGS => {
                sink.readings(machine::readings(&self.raw).ok_or(Undecodable)?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Fills `raw` with the decompressed payload and the padding.
    fn unpack(&mut self, flags: u8, raw_bytes: usize, payload: &[u8]) -> Option<()> {
        if raw_bytes > MAX_RAW_BYTES {
            return None;
        }
        self.raw.clear();
        if flags & frame_flag::ZSTD != 0 {
            self.raw.reserve(raw_bytes + PADDING.len());
            if self.zstd.is_none() {
                self.zstd = DCtx::try_create();
            }
            self.zstd.as_mut()?.decompress(&mut self.raw, payload).ok()?;
        } else {
            self.raw.extend_from_slice(payload);
        }
        let fits = self.raw.len() == raw_bytes;
        self.raw.extend_from_slice(&PADDING);
        fits.then_some(())
    }
}
