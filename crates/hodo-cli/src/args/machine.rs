//! The command lines of `hodo machine`, `hodo top` and `hodo monitor`.

use super::RunArg;
use clap::Args;

/// What the help of `hodo machine` shows.
pub const MACHINE_EXAMPLES: &str = "\
Examples:
  hodo machine                           what the machine did while the newest run was recorded
  hodo machine --scope batch/forward     the same while such a scope was open
  hodo machine --from 10s --to 20s --csv
  hodo machine --series gpu.power        every reading of it, as CSV
  hodo machine --series 'gpu.*' --json";

/// What the help of `hodo top` shows.
pub const TOP_EXAMPLES: &str = "\
Examples:
  hodo top                                      this machine, and the run that is recording on it
  hodo top --once                               one frame as text
  hodo top 20261115-2015 --replay --speed 10    the machine's readings of a run, played back";

/// What the help of `hodo monitor` shows.
pub const MONITOR_EXAMPLES: &str = "\
Examples:
  hodo monitor --for 2s                         a run of its own, with readings of this machine
  hodo monitor --run 20261115-2015 --for 2s     into a run that is there
  hodo monitor --daemon                         in the background; `hodo monitor --stop` ends it
  hodo monitor --stop
  hodo monitor --prometheus 127.0.0.1:9464 --for 2s";

/// `hodo machine`.
#[derive(Args, Debug)]
pub struct MachineArgs {
    #[command(flatten)]
    pub run: RunArg,

    /// Only while a scope of this path was open: names from the outermost scope, or the last of them, joined by /.
    #[arg(long, value_name = "PATH")]
    pub scope: Option<String>,

    /// Only from this time after the run's start, with its unit (10s, 1.5ms).
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,

    /// Only up to this time after the run's start.
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,

    /// Print the readings of this series instead, one by one: a metric's name, or a pattern with * and ?. CSV unless --json is given.
    #[arg(long, value_name = "NAME")]
    pub series: Option<String>,

    /// Print one JSON document instead of text.
    #[arg(long)]
    pub json: bool,

    /// Print comma-separated values instead of text.
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,

    /// Columns to use; the terminal's width if left out, and no limit in a pipe.
    #[arg(long, value_name = "COLUMNS")]
    pub width: Option<usize>,
}

/// `hodo top`.
#[derive(Args, Debug)]
pub struct TopArgs {
    /// Run folder, or the beginning of a run's id; if left out, the newest run that is recording on this host.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Time between two readings, with its unit.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub interval: String,

    /// Print one frame as plain text and end; so it does where standard output is no terminal.
    #[arg(long)]
    pub once: bool,

    /// Play back the machine's readings of a recorded run, the newest one if none is named; the left and right arrow keys jump ten seconds.
    #[arg(long)]
    pub replay: bool,

    /// How many times as fast as it was.
    #[arg(long, value_name = "N", default_value_t = 1.0, requires = "replay")]
    pub speed: f64,
}

/// `hodo monitor`.
#[derive(Args, Debug)]
pub struct MonitorArgs {
    /// Time between two readings, with its unit; what is dear is read less often.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub interval: String,

    /// The run to write into, a folder or the beginning of an id; if left out, the one that HODO_RUN names, or a new one.
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,

    /// Also sum up this process and its children.
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,

    /// Go on in the background; `monitor.log` is in this host's folder in the run.
    #[arg(long, conflicts_with = "stop")]
    pub daemon: bool,

    /// End the monitor of the run named here, or of the newest run that has one on this host.
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["run", "pid", "prometheus", "lasts", "max_bytes"])]
    pub stop: Option<String>,

    /// Answer Prometheus at this address, as in 127.0.0.1:9464.
    #[arg(long, value_name = "ADDRESS")]
    pub prometheus: Option<String>,

    /// End after this time, with its unit.
    #[arg(long = "for", value_name = "TIME")]
    pub lasts: Option<String>,

    /// Most bytes of readings to keep, with a suffix k, m or g; the oldest go first.
    #[arg(long, value_name = "BYTES", default_value = "256m")]
    pub max_bytes: String,

    /// Say nothing but what goes wrong.
    #[arg(short, long)]
    pub quiet: bool,
}
