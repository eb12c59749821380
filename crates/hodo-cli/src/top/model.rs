//! What a frame is drawn from.

use super::history::History;
use hodo_trace::Now;

/// All that a frame shows.
#[derive(Debug, Default)]
pub struct Model {
    /// Name of the machine.
    pub host: String,
    /// Nanoseconds since 1970 of the moment that is shown.
    pub wall_ns: i64,
    /// What is shown: now, or a recorded moment.
    pub mode: Mode,
    /// Processors of the machine, where that is known.
    pub cores: Option<f64>,
    /// Its GPUs, in the driver's order.
    pub gpus: Vec<GpuName>,
    /// Its readings.
    pub history: History,
    /// What cannot be read, in words.
    pub absent: Vec<String>,
    /// The run that is followed.
    pub run: Option<Now>,
    /// Runs that are recording now.
    pub runs: usize,
    /// What to say where there is no run.
    pub no_run: String,
}

/// What a frame is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Mode {
    /// This machine, now, read so often.
    #[default]
    Live,
    /// A recorded run: how far it has come, how long it is, and how fast it plays.
    Replay {
        /// Nanoseconds from the first reading.
        at_ns: u64,
        /// Nanoseconds in all.
        of_ns: u64,
        /// Times as fast as it was.
        speed: f64,
    },
}

/// A GPU's names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuName {
    /// By which its readings are found.
    pub uuid: String,
    /// As the driver numbers it.
    pub index: Option<u32>,
    /// The product.
    pub name: String,
}
