//! What packets of one writer refer to: names they interned, and clocks.

use crate::perfetto::proto::{
    AnnotationValue, ClockSnapshot, DebugAnnotation, TracePacket, TrackEvent, sequence,
};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Names that one writer may have interned.
const MOST_NAMES: usize = 1 << 20;
/// Clocks of a trace.
const MOST_CLOCKS: usize = 4096;
/// The clock that timestamps are of unless they say another: time since boot.
const TRACE_CLOCK: u32 = 6;
/// Wall time.
const WALL_CLOCK: u32 = 1;
/// From here on clocks are one writer's own.
const OWN_CLOCKS: std::ops::Range<u32> = 64..128;

/// A writer.
#[derive(Default)]
pub struct Sequence {
    names: HashMap<u64, String>,
    categories: HashMap<u64, String>,
    keys: HashMap<u64, String>,
    values: HashMap<u64, String>,
    /// Track of events that name none.
    pub track: Option<u64>,
    /// Clock of timestamps that name none.
    pub clock: Option<u32>,
}

impl Sequence {
    /// Takes what a packet says for those after it.
    pub fn take(&mut self, packet: &TracePacket) {
        let is_cleared = packet.sequence_flags.unwrap_or(0) & sequence::CLEARED != 0;
        if is_cleared || packet.incremental_state_cleared == Some(true) {
            *self = Sequence::default();
        }
        if let Some(defaults) = &packet.trace_packet_defaults {
            self.clock = defaults.timestamp_clock_id;
            self.track = defaults.track_event_defaults.as_ref().and_then(|e| e.track_uuid);
        }
        let Some(interned) = &packet.interned_data else { return };
        for (names, fresh) in [
            (&mut self.names, &interned.event_names),
            (&mut self.categories, &interned.event_categories),
            (&mut self.keys, &interned.debug_annotation_names),
        ] {
            for name in fresh.iter().filter(|_| names.len() < MOST_NAMES).collect::<Vec<_>>() {
                let text = name.name.clone().unwrap_or_default();
                names.insert(name.iid.unwrap_or(0), text);
            }
        }
        for text in &interned.debug_annotation_string_values {
            if self.values.len() < MOST_NAMES {
                let words = String::from_utf8_lossy(text.text.as_deref().unwrap_or_default());
                self.values.insert(text.iid.unwrap_or(0), words.into_owned());
            }
        }
    }

    /// The name of an event.
    pub fn name(&self, event: &TrackEvent) -> String {
        let interned = || event.name_iid.and_then(|iid| self.names.get(&iid)).cloned();
        event.name.clone().or_else(interned).unwrap_or_default()
    }

    /// The categories of an event.
    pub fn categories(&self, event: &TrackEvent) -> Vec<String> {
        let interned = event.category_iids.iter().filter_map(|iid| self.categories.get(iid));
        interned.chain(&event.categories).cloned().collect()
    }

    /// The annotations of an event, as a JSON object.
    pub fn args(&self, event: &TrackEvent) -> String {
        Value::Object(self.object(&event.debug_annotations)).to_string()
    }

    fn object(&self, annotations: &[DebugAnnotation]) -> Map<String, Value> {
        let mut object = Map::new();
        for annotation in annotations {
            let interned = || annotation.name_iid.and_then(|iid| self.keys.get(&iid)).cloned();
            let key = annotation.name.clone().or_else(interned).unwrap_or_default();
            object.insert(key, self.value(annotation));
        }
        object
    }

    fn value(&self, annotation: &DebugAnnotation) -> Value {
        match &annotation.value {
            Some(AnnotationValue::Bool(v)) => (*v).into(),
            Some(AnnotationValue::Uint(v)) => (*v).into(),
            Some(AnnotationValue::Int(v)) => (*v).into(),
            Some(AnnotationValue::Double(v)) if v.is_finite() => (*v).into(),
            Some(AnnotationValue::Double(v)) => v.to_string().into(),
            Some(AnnotationValue::Text(v)) => v.as_str().into(),
            Some(AnnotationValue::Pointer(v)) => format!("{v:016x}").into(),
            Some(AnnotationValue::Json(v)) => {
                serde_json::from_str(v).unwrap_or_else(|_| v.as_str().into())
            }
            Some(AnnotationValue::TextIid(iid)) => {
                self.values.get(iid).map_or("", String::as_str).into()
            }
            None if !annotation.dict_entries.is_empty() => {
                Value::Object(self.object(&annotation.dict_entries))
            }
            None => annotation.array_values.iter().map(|value| self.value(value)).collect(),
        }
    }
}

/// Readings of clocks, by which timestamps become those of one clock.
#[derive(Default)]
pub struct Clocks {
    readings: HashMap<(u32, u32), Reading>,
}

struct Reading {
    at: u64,
    /// The trace clock's moment then.
    trace_ns: u64,
    is_incremental: bool,
    unit_ns: u64,
}

fn own(clock: u32, sequence: u32) -> (u32, u32) {
    (clock, if OWN_CLOCKS.contains(&clock) { sequence } else { 0 })
}

impl Clocks {
    /// Takes readings of several clocks at one moment.
    pub fn snapshot(&mut self, snapshot: &ClockSnapshot, sequence: u32) {
        let told = snapshot.clocks.iter().find(|clock| clock.clock_id == Some(TRACE_CLOCK));
        let known = || {
            let clock = snapshot.clocks.iter().find_map(|clock| {
                let reading = self.readings.get(&own(clock.clock_id?, sequence))?;
                Some(reading.trace_ns.wrapping_add(clock.timestamp?.wrapping_sub(reading.at)))
            });
            clock.unwrap_or(0)
        };
        let trace_ns = told.and_then(|clock| clock.timestamp).unwrap_or_else(known);
        for clock in &snapshot.clocks {
            let key = own(clock.clock_id.unwrap_or(0), sequence);
            if self.readings.len() >= MOST_CLOCKS && !self.readings.contains_key(&key) {
                continue;
            }
            let unit_ns = clock.unit_multiplier_ns.unwrap_or(1).max(1);
            let at = clock.timestamp.unwrap_or(0).wrapping_mul(unit_ns);
            let is_incremental = clock.is_incremental.unwrap_or(false);
            self.readings.insert(key, Reading { at, trace_ns, is_incremental, unit_ns });
        }
    }

    /// A timestamp as nanoseconds of the trace clock.
    pub fn ns(&mut self, timestamp: u64, clock: Option<u32>, sequence: u32) -> Option<i64> {
        let clock = clock.unwrap_or(TRACE_CLOCK);
        let ns = match self.readings.get_mut(&own(clock, sequence)) {
            _ if clock == TRACE_CLOCK => timestamp,
            None => timestamp,
            Some(reading) => {
                let at = timestamp.wrapping_mul(reading.unit_ns);
                if reading.is_incremental {
                    reading.trace_ns = reading.trace_ns.wrapping_add(at);
                    reading.trace_ns
                } else {
                    reading.trace_ns.wrapping_add(at.wrapping_sub(reading.at))
                }
            }
        };
        i64::try_from(ns).ok()
    }

    /// Nanoseconds since 1970 of the trace clock's moment 0.
    pub fn wall_offset_ns(&self) -> Option<i64> {
        let wall = self.readings.get(&(WALL_CLOCK, 0))?;
        Some(wall.at.wrapping_sub(wall.trace_ns) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perfetto::proto::ClockReading;

    #[test]
    fn timestamps_of_several_clocks_become_one() {
        let reading = |id, at| ClockReading {
            clock_id: Some(id),
            timestamp: Some(at),
            ..ClockReading::default()
        };
        let mut incremental = reading(64, 0);
        (incremental.is_incremental, incremental.unit_multiplier_ns) = (Some(true), Some(1000));
        let mut clocks = Clocks::default();
        let snapshot = ClockSnapshot {
            clocks: vec![reading(1, 5_000_000), reading(6, 100), reading(3, 40), incremental],
        };
        clocks.snapshot(&snapshot, 7);
        assert_eq!(clocks.wall_offset_ns(), Some(4_999_900));
        assert_eq!(clocks.ns(150, None, 7), Some(150));
        assert_eq!(clocks.ns(50, Some(3), 7), Some(110));
        assert_eq!(
            (clocks.ns(2, Some(64), 7), clocks.ns(1, Some(64), 7)),
            (Some(2100), Some(3100))
        );
        assert_eq!(clocks.ns(9, Some(64), 8), Some(9), "another writer's");
    }
}
