//! Readings of the machine: a counter for each series, under a track for each machine.

use super::Writer;
use super::proto::{CounterDescriptor, TracePacket, TrackDescriptor, TrackEvent, event};
use crate::ConvertError;
use crate::machine::{Readings, readings};
use hodo_trace::Run;
use std::io::Write;

/// Numbers of these tracks begin here, above any that processes have.
const FIRST_UUID: u64 = 1 << 48;

/// Writes the readings of all machines.
pub fn write<W: Write>(run: &Run, out: &mut Writer<W>) -> Result<(), ConvertError> {
    let mut uuid = FIRST_UUID;
    for (at, of) in readings(run).enumerate() {
        let sequence = (run.processes.len() + at) as u32 + 1;
        write_machine(&of, sequence, &mut uuid, out)?;
    }
    Ok(())
}

fn write_machine<W: Write>(
    of: &Readings<'_>,
    sequence: u32,
    uuid: &mut u64,
    out: &mut Writer<W>,
) -> Result<(), ConvertError> {
    let Some(first_ns) = of.first_ns() else { return Ok(()) };
    out.clocks(sequence, first_ns)?;
    let mut track = |descriptor: TrackDescriptor, out: &mut Writer<W>| {
        *uuid += 1;
        let track_descriptor = Some(TrackDescriptor { uuid: Some(*uuid), ..descriptor });
        let trusted_packet_sequence_id = Some(sequence);
        let packet =
            TracePacket { trusted_packet_sequence_id, track_descriptor, ..TracePacket::default() };
        out.packet(&packet).map(|()| *uuid)
    };
    let name = Some(of.title());
    let above = track(TrackDescriptor { name, ..TrackDescriptor::default() }, out)?;
    for series in &of.machine.series {
        let unit = of.machine.shown_unit(series);
        let descriptor = TrackDescriptor {
            name: Some(of.series_title(series)),
            parent_uuid: Some(above),
            counter: Some(CounterDescriptor {
                unit_name: Some(unit.to_owned()).filter(|unit| !unit.is_empty()),
                ..Default::default()
            }),
            ..TrackDescriptor::default()
        };
        let track_uuid = Some(track(descriptor, out)?);
        for (at_ns, value) in of.points(series) {
            out.packet(&TracePacket {
                timestamp: Some(at_ns),
                trusted_packet_sequence_id: Some(sequence),
                track_event: Some(TrackEvent {
                    r#type: Some(event::COUNTER),
                    track_uuid,
                    double_counter_value: Some(value),
                    ..TrackEvent::default()
                }),
                ..TracePacket::default()
            })?;
        }
    }
    Ok(())
}
