//! What a sampler says of itself.

use serde::Serialize;
use serde_json::Value;

/// The newest STATE frame: a JSON object. What it does not say is none, or 0 where it counts.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineState(Value);

/// A GPU of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MachineGpu {
    /// Its UUID.
    pub uuid: String,
    /// As the driver numbers it.
    pub index: Option<u32>,
    /// Its name.
    pub name: String,
}

/// Something that could not be sampled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Absent {
    /// What: `nvml`, `gpm`, `pressure` and such.
    pub part: String,
    /// Why.
    pub why: String,
    /// What to do about it; empty when nothing can be done.
    pub fix: String,
}

/// What sampling cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SamplerCost {
    /// Rounds of readings.
    pub rounds: u64,
    /// Rounds left out since the one before took too long.
    pub late: u64,
    /// CPU time, nanoseconds.
    pub cpu_ns: u64,
    /// The mean length of a round, microseconds.
    pub mean_round_us: f64,
    /// The longest.
    pub max_round_us: f64,
}

impl MachineState {
    /// The state in `json`; none when that is no object.
    pub(crate) fn parse(json: &str) -> Option<MachineState> {
        serde_json::from_str::<Value>(json).ok().filter(Value::is_object).map(MachineState)
    }

    /// The state that said `value`; none when that is no object.
    pub(crate) fn again(value: Value) -> Option<MachineState> {
        Some(value).filter(Value::is_object).map(MachineState)
    }

    /// All it says.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// Who samples: `in-process` or `monitor`.
    pub fn kind(&self) -> Option<&str> {
        self.0["sampler"]["kind"].as_str()
    }

    /// The process that samples.
    pub fn pid(&self) -> Option<u32> {
        u32::try_from(self.0["sampler"]["pid"].as_u64()?).ok()
    }

    /// Milliseconds between two readings of the quickest series.
    pub fn interval_ms(&self) -> Option<f64> {
        self.0["sampler"]["interval_ms"].as_f64()
    }

    /// Whether it samples only while a scope is open.
    pub fn only_in_scopes(&self) -> bool {
        self.0["sampler"]["only_in_scopes"].as_bool().unwrap_or(false)
    }

    /// The host's name.
    pub fn host(&self) -> Option<&str> {
        self.0["host"]["name"].as_str()
    }

    /// The kernel's id of this boot.
    pub fn boot_id(&self) -> Option<&str> {
        self.0["host"]["boot_id"].as_str()
    }

    /// Processors of the host.
    pub fn cores(&self) -> Option<f64> {
        self.0["host"]["cores"].as_f64()
    }

    /// Bytes of memory the host has.
    pub fn memory_total(&self) -> Option<f64> {
        self.0["host"]["memory_total"].as_f64()
    }

    /// The GPUs it sees.
    pub fn gpus(&self) -> Vec<MachineGpu> {
        let gpu = |value: &Value| {
            let index = value["index"].as_u64().and_then(|index| u32::try_from(index).ok());
            let name = value["name"].as_str().unwrap_or_default().to_owned();
            Some(MachineGpu { uuid: value["uuid"].as_str()?.to_owned(), index, name })
        };
        self.list("gpus").iter().filter_map(gpu).collect()
    }

    /// What it cannot sample, and why.
    pub fn absent(&self) -> Vec<Absent> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let absent = |value: &Value| {
            let part = value["part"].as_str()?.to_owned();
            Some(Absent { part, why: text(&value["why"]), fix: text(&value["fix"]) })
        };
        self.list("absent").iter().filter_map(absent).collect()
    }

    /// What sampling cost so far.
    pub fn cost(&self) -> SamplerCost {
        let cost = &self.0["cost"];
        let count = |key: &str| cost[key].as_u64().unwrap_or(0);
        let number = |key: &str| cost[key].as_f64().unwrap_or(0.0);
        SamplerCost {
            rounds: count("rounds"),
            late: count("late"),
            cpu_ns: count("cpu_ns"),
            mean_round_us: number("mean_round_us"),
            max_round_us: number("max_round_us"),
        }
    }

    /// Blocks of readings that were removed to stay under the size cap.
    pub fn removed_blocks(&self) -> u64 {
        self.0["removed_blocks"].as_u64().unwrap_or(0)
    }

    /// Rows of readings that could not be written.
    pub fn lost_rows(&self) -> u64 {
        self.0["lost_rows"].as_u64().unwrap_or(0)
    }

    fn list(&self, key: &str) -> &[Value] {
        self.0[key].as_array().map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_odd_field_costs_no_other() {
        let state = MachineState::parse(
            r#"{"sampler":{"pid":"x","kind":"monitor","interval_ms":50},"host":{"name":"a","cores":8},
                "gpus":[{"uuid":"GPU-1","index":0,"name":"H200"},{"name":"?"}],
                "absent":[{"part":"nvml","why":"no driver"},{"why":"?"}],"cost":{"rounds":3}}"#,
        )
        .expect("an object");
        assert_eq!((state.kind(), state.pid()), (Some("monitor"), None));
        assert_eq!((state.interval_ms(), state.cores()), (Some(50.0), Some(8.0)));
        let gpu = MachineGpu { uuid: "GPU-1".into(), index: Some(0), name: "H200".into() };
        assert_eq!(state.gpus(), [gpu]);
        let absent = Absent { part: "nvml".into(), why: "no driver".into(), fix: String::new() };
        assert_eq!(state.absent(), [absent]);
        assert_eq!((state.cost().rounds, state.removed_blocks()), (3, 0));
        assert_eq!(MachineState::parse("3"), None);
    }
}
