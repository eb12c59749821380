//! The command lines of `hodo ls`, `hodo verify`, `hodo doctor`, `hodo demo` and `hodo completions`.

use super::RunArg;
use clap::Args;

/// What the help of `hodo ls` shows.
pub const LS_EXAMPLES: &str = "\
Examples:
  hodo ls
  hodo ls --json";

/// What the help of `hodo verify` shows.
pub const VERIFY_EXAMPLES: &str = "\
Examples:
  hodo verify
  hodo verify --json";

/// What the help of `hodo doctor` shows.
pub const DOCTOR_EXAMPLES: &str = "\
Examples:
  hodo doctor
  hodo doctor --json";

/// What the help of `hodo demo` shows.
pub const DEMO_EXAMPLES: &str = "\
Examples:
  hodo demo
  hodo demo --open
  hodo demo --seconds 1 --json";

/// What the help of `hodo completions` shows.
pub const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  hodo completions bash > hodo.bash";

/// `hodo ls`.
#[derive(Args, Debug)]
pub struct LsArgs {
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub json: bool,

    /// Columns to use; the terminal's width if left out, and no limit in a pipe.
    #[arg(long, value_name = "COLUMNS")]
    pub width: Option<usize>,
}

/// `hodo verify`.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub run: RunArg,

    /// Print one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `hodo doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `hodo demo`.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// How long to train.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.5)]
    pub seconds: f64,

    /// The same seed makes the same data and the same network.
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub seed: u64,

    /// Print the report as one JSON document instead of text.
    #[arg(long)]
    pub json: bool,

    /// Show the run on the page while it records, and on a terminal after that until Ctrl-C.
    #[arg(long)]
    pub open: bool,
}

/// `hodo completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
