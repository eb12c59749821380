//! Readings of the machine while the program records.

use hodo_record::binding::{ask_companion, companion_state};
use pyo3::prelude::*;

const NAME: &str = "telemetry";

/// Why a text makes no sense as `telemetry=`; none when it does.
#[pyfunction]
pub fn telemetry_nonsense(text: &str) -> Option<String> {
    hodo_record::Telemetry::parse(text).err()
}

/// The state of the readings as a JSON object; empty when nothing records.
#[pyfunction]
pub fn telemetry_state(py: Python<'_>) -> String {
    py.detach(|| companion_state(NAME))
}

/// Reads the machine until as many calls of `telemetry_stop`; whether it does.
#[pyfunction]
pub fn telemetry_start(py: Python<'_>, interval: &str) -> bool {
    py.detach(|| ask_companion(NAME, format!("start {interval}").trim_end()) == 0)
}

/// Ends what `telemetry_start` began; whether there was anything.
#[pyfunction]
pub fn telemetry_stop(py: Python<'_>) -> bool {
    py.detach(|| ask_companion(NAME, "stop") == 0)
}
