//! A machine as JSON.

use super::{Machine, MachineState, Measures};
use crate::{SeriesKind, SeriesStats};
use hodo_format::machine::Source;
use serde_json::{Value, json};

impl Measures<'_> {
    /// The machine and what its series were over this time, as JSON; `docs/report-json.md` explains
    /// every key.
    pub fn document(&self) -> Value {
        let machine = self.machine();
        let state = machine.state.as_ref();
        let bounds = self.ranges().bounds();
        let gpu = |uuid: &str| {
            let told = machine.gpu(uuid).unwrap_or_default();
            json!({
                "uuid": uuid, "index": told.index, "name": told.name,
                "throttle": self.throttle(uuid),
                "energy": machine.energy(uuid, self.ranges()),
            })
        };
        json!({
            "host": machine.host(),
            "folder": machine.folder.display().to_string(),
            "linked": machine.linked,
            "live": machine.live,
            "cores": machine.cores(),
            "sampler": state.map(sampler),
            "cost": state.map(MachineState::cost),
            "absent": state.map(MachineState::absent).unwrap_or_default(),
            "lost_rows": state.map(MachineState::lost_rows),
            "removed_blocks": state.map(MachineState::removed_blocks),
            "damage": machine.damage.document(),
            "from_ns": bounds.map(|bounds| bounds.0),
            "to_ns": bounds.map(|bounds| bounds.1),
            "length_ns": self.ranges().length_ns(),
            "gpus": machine.gpus().into_iter().map(gpu).collect::<Vec<_>>(),
            "series": self.series(),
        })
    }

    fn series(&self) -> Vec<Value> {
        let machine = self.machine();
        let one = |series| {
            let stats: Option<SeriesStats> = self.of(series);
            let of = |number: fn(&SeriesStats) -> f64| stats.as_ref().map(number);
            json!({
                "source": series.source.to_string(),
                "metric": series.metric,
                "kind": match series.kind {
                    SeriesKind::Gauge => "gauge",
                    SeriesKind::Counter => "counter",
                },
                "unit": machine.shown_unit(series),
                "mean": of(|s| s.mean),
                "min": of(|s| s.min),
                "max": of(|s| s.max),
                "last": of(|s| s.last),
                "covered": stats.map_or(0.0, |s| s.covered),
                "readings": stats.map_or(0, |s| s.readings),
            })
        };
        machine.series.iter().map(one).collect()
    }
}

fn sampler(state: &MachineState) -> Value {
    json!({
        "kind": state.kind(), "pid": state.pid(), "interval_ms": state.interval_ms(),
        "only_in_scopes": state.only_in_scopes(),
    })
}

impl Machine {
    /// What a source is called: `GPU 0`, `core 3`, `disk nvme0n1`.
    pub fn source_name(&self, source: &Source) -> String {
        let gpu = |uuid: &str| match self.gpu(uuid).and_then(|gpu| gpu.index) {
            Some(index) => format!("GPU {index}"),
            None => uuid.to_owned(),
        };
        match source {
            Source::Host => "host".to_owned(),
            Source::Core(number) => format!("core {number}"),
            Source::Disk(name) => format!("disk {name}"),
            Source::Network(name) => format!("network {name}"),
            Source::Gpu(uuid) => gpu(uuid),
            Source::GpuProcess(uuid, pid) => format!("{} process {pid}", gpu(uuid)),
            Source::Processes => "processes".to_owned(),
            Source::Sampler => "sampler".to_owned(),
            Source::Other(text) => text.clone(),
        }
    }
}
