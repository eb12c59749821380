//! Xid errors: the driver tells them as events, once.

use super::device::Gpu;
use crate::{Absent, Table};
use hodo_format::machine::{Source, metric, part};
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlErrorWithSource;
use nvml_wrapper::event::EventSet;
use std::collections::BTreeMap;

/// More than come in a few seconds, so that a storm of them does not hold the sampler.
const MOST_A_ROUND: usize = 64;

/// The Xid errors of all GPUs.
pub(super) struct Xids {
    events: EventSet<'static>,
    /// How many, and the last one.
    seen: BTreeMap<String, (u64, u64)>,
}

impl Xids {
    pub(super) fn watch(nvml: &'static Nvml, gpus: &[Gpu]) -> Result<Xids, Absent> {
        let absent = |why: String| Absent { part: part::XID.into(), why, fix: String::new() };
        let mut events = nvml.create_event_set().map_err(|error| absent(error.to_string()))?;
        let mut seen = BTreeMap::new();
        for gpu in gpus {
            let told = |error: NvmlErrorWithSource| absent(error.error.to_string());
            events =
                gpu.device.register_events(EventTypes::CRITICAL_XID_ERROR, events).map_err(told)?;
            seen.extend(gpu.source.gpu().map(|uuid| (uuid.to_owned(), (0, 0))));
        }
        Ok(Xids { events, seen })
    }

    pub(super) fn read(&mut self, table: &mut Table) {
        for _ in 0..MOST_A_ROUND {
            let Ok(event) = self.events.wait(0) else { break };
            let Some(seen) = event.device.uuid().ok().and_then(|uuid| self.seen.get_mut(&uuid))
            else {
                continue;
            };
            if let Some(XidError::Value(xid)) = event.event_data {
                *seen = (seen.0 + 1, xid);
            }
        }
        for (uuid, (count, last)) in &self.seen {
            for (metric, value) in [(&metric::GPU_XIDS, count), (&metric::GPU_XID, last)] {
                let slot = table.slot(Source::Gpu(uuid.clone()), metric);
                table.set(slot, *value as f64);
            }
        }
    }
}
