//! Perfetto protobuf: real process and thread tracks, attributes as annotations, marks as counters,
//! GPU work by device and stream with flows from its launches, readings of the machine as counters.

mod events;
mod gpu;
mod machine;
mod names;
pub(crate) mod proto;
mod tracks;

use crate::{ConvertError, OnProgress, timeline};
use hodo_trace::Run;
use prost::Message;
use proto::{ClockReading, ClockSnapshot, TracePacket};
use std::io::Write;

/// Writes `run` packet by packet; nothing but the packet in hand is kept.
pub fn write(
    run: &Run,
    out: &mut impl Write,
    progress: OnProgress<'_>,
) -> Result<(), ConvertError> {
    let mut writer = Writer { out, buffer: Vec::new() };
    let mut tracks = tracks::Tracks::new(run);
    let mut done = 0;
    let total = timeline::record_count(run);
    for (at, process) in run.processes.iter().enumerate() {
        let mut on_record = || {
            done += 1;
            if done % 65_536 == 0 {
                progress(done, total);
            }
        };
        events::write_process(at, process, &mut tracks, &mut writer, &mut on_record)?;
    }
    machine::write(run, &mut writer)
}

/// Puts packets into the output.
struct Writer<W> {
    out: W,
    buffer: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Writes a packet as field 1 of the `Trace` message.
    fn packet(&mut self, packet: &TracePacket) -> Result<(), ConvertError> {
        const FIELD_1_BYTES: u8 = 1 << 3 | 2;
        self.buffer.clear();
        self.buffer.push(FIELD_1_BYTES);
        prost::encoding::encode_varint(packet.encoded_len() as u64, &mut self.buffer);
        packet.encode_raw(&mut self.buffer);
        Ok(self.out.write_all(&self.buffer)?)
    }

    /// Says that the trace clock shows wall time.
    fn clocks(&mut self, sequence: u32, wall_ns: u64) -> Result<(), ConvertError> {
        const WALL: u32 = 1;
        const TRACE: u32 = 6;
        let reading = |id| ClockReading {
            clock_id: Some(id),
            timestamp: Some(wall_ns),
            ..ClockReading::default()
        };
        self.packet(&TracePacket {
            timestamp: Some(wall_ns),
            trusted_packet_sequence_id: Some(sequence),
            clock_snapshot: Some(ClockSnapshot { clocks: vec![reading(WALL), reading(TRACE)] }),
            ..TracePacket::default()
        })
    }
}
