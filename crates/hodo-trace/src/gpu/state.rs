//! What the capture of GPU work says of itself.

use serde::Serialize;
use serde_json::Value;

/// Why there is nothing to say about the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GpuMissing {
    /// The recorder did not say anything about a GPU.
    NotRecorded,
    /// The capture was turned off.
    Off,
    /// Only the machine was watched.
    Monitor,
    /// The machine has no GPU, or no driver for one.
    NoGpu,
    /// The program did not use CUDA.
    NoCuda,
    /// CUPTI was not found.
    NoLibrary,
    /// Another tool held CUPTI.
    OtherTool,
    /// CUPTI refused; [`GpuState::why`] has its words.
    Failed,
    /// The run was imported, and what it was imported from has no GPU work.
    NotInSource,
    /// The capture ran, and nothing of it has been written.
    Unwritten,
    /// No reading of the process's clocks is left to convert ticks by.
    Uncalibrated,
}

impl GpuMissing {
    const ALL: [(GpuMissing, &'static str, &'static str); 11] = [
        (GpuMissing::NotRecorded, "not_recorded", "no CUDA was used, or the process was forked"),
        (GpuMissing::Off, "off", "capturing the GPU was turned off"),
        (GpuMissing::Monitor, "monitor", "only the machine was watched"),
        (GpuMissing::NoGpu, "no_gpu", "the machine has no GPU, or no driver for it"),
        (GpuMissing::NoCuda, "no_cuda", "the program did not use CUDA"),
        (GpuMissing::NoLibrary, "no_library", "CUPTI was not found"),
        (GpuMissing::OtherTool, "other_tool", "another tool held CUPTI"),
        (GpuMissing::Failed, "failed", "CUPTI refused"),
        (GpuMissing::NotInSource, "not_in_source", "the imported file has no GPU work"),
        (GpuMissing::Unwritten, "unwritten", "the capture ran, and nothing of it was written"),
        (GpuMissing::Uncalibrated, "uncalibrated", "no reading of the process's clocks is left"),
    ];

    /// The one word for it, the same in files and views.
    pub fn code(self) -> &'static str {
        Self::ALL.iter().find(|row| row.0 == self).map_or("failed", |row| row.1)
    }

    /// The reason in words.
    pub fn text(self) -> &'static str {
        Self::ALL.iter().find(|row| row.0 == self).map_or("", |row| row.2)
    }

    fn from_code(code: &str) -> GpuMissing {
        Self::ALL.iter().find(|row| row.1 == code).map_or(GpuMissing::Failed, |row| row.0)
    }
}

/// The newest STATE frame: a JSON object. What it does not say is none, or 0 where it counts.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuState(Value);

/// A GPU of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GpuDevice {
    /// As CUDA numbers it in the process.
    pub device: u32,
    /// Its name.
    pub name: String,
    /// Its UUID, by which readings of the machine know it; none when it was not recorded.
    pub uuid: Option<String>,
}

/// What the capture counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GpuCounts {
    /// Calls seen that launch work.
    pub launches: u64,
    /// Pieces of work written.
    pub kept: u64,
    /// Pieces of work that CUPTI dropped.
    pub dropped: u64,
    /// Pieces of work whose times were not taken.
    pub unstamped: u64,
    /// Pieces of work that had not ended when the capture did.
    pub unfinished: u64,
    /// Pieces of work that could not be written.
    pub lost: u64,
}

/// A stretch in which nothing was captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuGap {
    /// Ticks when it began.
    pub start: u64,
    /// Ticks when it ended; [`u64::MAX`] when it did not.
    pub end: u64,
    /// Why.
    pub why: String,
}

impl GpuGap {
    /// Whether any of the time from `start` to `end` is in it.
    pub(crate) fn touches(&self, start: u64, end: u64) -> bool {
        self.start < end && start < self.end
    }
}

impl GpuState {
    /// The state in `json`; none when that is no object.
    pub(crate) fn parse(json: &str) -> Option<GpuState> {
        serde_json::from_str::<Value>(json).ok().filter(Value::is_object).map(GpuState)
    }

    /// The state that said `value`; none when that is no object.
    pub(crate) fn again(value: Value) -> Option<GpuState> {
        Some(value).filter(Value::is_object).map(GpuState)
    }

    /// All it says.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// How much is captured: `off`, `monitor`, `trace` or `pc-sampling`.
    pub fn level(&self) -> Option<&str> {
        self.text("level")
    }

    /// How scopes are found: `callbacks` or `correlation`.
    pub fn tier(&self) -> Option<&str> {
        self.text("tier")
    }

    /// Whether CUDA was running when the capture began: what ran before is not known.
    pub fn is_late(&self) -> bool {
        self.0["late"].as_bool().unwrap_or(false)
    }

    /// The CUPTI in use.
    pub fn library(&self) -> Option<&str> {
        self.text("library")
    }

    /// Its version.
    pub fn version(&self) -> Option<&str> {
        self.text("version")
    }

    /// The driver's version.
    pub fn driver(&self) -> Option<&str> {
        self.text("driver")
    }

    /// The reason in [`GpuState::missing`] in the recorder's words.
    pub fn why(&self) -> Option<&str> {
        self.text("why")
    }

    /// Why nothing is captured; none when something is.
    pub fn missing(&self) -> Option<GpuMissing> {
        let told = self.text("missing").map(GpuMissing::from_code);
        told.or(match self.level() {
            Some("off") => Some(GpuMissing::Off),
            Some("monitor") => Some(GpuMissing::Monitor),
            _ => None,
        })
    }

    /// What it counted.
    pub fn counts(&self) -> GpuCounts {
        let count = |key: &str| self.0[key].as_u64().unwrap_or(0);
        GpuCounts {
            launches: count("launches"),
            kept: count("kept"),
            dropped: count("dropped"),
            unstamped: count("unstamped"),
            unfinished: count("unfinished"),
            lost: count("lost"),
        }
    }

    /// The GPUs.
    pub fn devices(&self) -> Vec<GpuDevice> {
        let device = |value: &Value| {
            let device = u32::try_from(value["device"].as_u64()?).ok()?;
            let text = |key: &str| value[key].as_str().map(str::to_owned);
            Some(GpuDevice { device, name: text("name").unwrap_or_default(), uuid: text("uuid") })
        };
        self.list("devices").iter().filter_map(device).collect()
    }

    /// Stretches in which nothing was captured, in order of their start.
    pub fn gaps(&self) -> Vec<GpuGap> {
        let gap = |value: &Value| {
            let start = value["start"].as_u64()?;
            let end = value["end"].as_u64().filter(|&end| end > start).unwrap_or(u64::MAX);
            Some(GpuGap { start, end, why: value["why"].as_str().unwrap_or("").to_owned() })
        };
        let mut gaps: Vec<GpuGap> = self.list("gaps").iter().filter_map(gap).collect();
        gaps.sort_by_key(|gap| gap.start);
        gaps
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0[key].as_str()
    }

    fn list(&self, key: &str) -> &[Value] {
        self.0[key].as_array().map_or(&[], Vec::as_slice)
    }
}

impl std::ops::AddAssign for GpuCounts {
    fn add_assign(&mut self, other: GpuCounts) {
        self.launches = self.launches.saturating_add(other.launches);
        self.kept = self.kept.saturating_add(other.kept);
        self.dropped = self.dropped.saturating_add(other.dropped);
        self.unstamped = self.unstamped.saturating_add(other.unstamped);
        self.unfinished = self.unfinished.saturating_add(other.unfinished);
        self.lost = self.lost.saturating_add(other.lost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_odd_field_costs_no_other() {
        let state = GpuState::parse(
            r#"{"level":"trace","tier":7,"kept":"many","dropped":3,
                "devices":[{"device":1,"name":"H200","uuid":"GPU-7"},{"name":"?"}],
                "gaps":[{"start":50,"end":60,"why":"torch.profiler"},{"start":10},{}]}"#,
        )
        .expect("an object");
        assert_eq!((state.level(), state.tier(), state.missing()), (Some("trace"), None, None));
        assert_eq!(state.counts(), GpuCounts { dropped: 3, ..GpuCounts::default() });
        let device = GpuDevice { device: 1, name: "H200".into(), uuid: Some("GPU-7".into()) };
        assert_eq!(state.devices(), [device]);
        let gap = |start, end, why: &str| GpuGap { start, end, why: why.into() };
        assert_eq!(state.gaps(), [gap(10, u64::MAX, ""), gap(50, 60, "torch.profiler")]);
    }

    #[test]
    fn a_reason_is_the_files_word_for_it() {
        for (reason, code, _) in GpuMissing::ALL {
            assert_eq!((GpuMissing::from_code(code), reason.code()), (reason, code));
            assert_eq!(serde_json::to_value(reason).ok(), Some(code.into()));
        }
        let missing = |json: &str| GpuState::parse(json).and_then(|state| state.missing());
        assert_eq!(missing(r#"{"missing":"from the future"}"#), Some(GpuMissing::Failed));
        assert_eq!(missing(r#"{"level":"monitor"}"#), Some(GpuMissing::Monitor));
        assert_eq!(GpuState::parse("[1]"), None);
    }
}
