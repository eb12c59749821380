//! The command lines of `hodo diff` and `hodo gate`.

use clap::Args;

/// What the help of `hodo diff` shows.
pub const DIFF_EXAMPLES: &str = "\
Examples:
  hodo diff base head                    two folders of runs that took turns: the surest comparison
  hodo diff 20261115-2015 20261115-2020   two runs by the beginning of their ids
  hodo diff base head --markdown         for a pull request
  hodo diff base head --json";

/// What the help of `hodo gate` shows.
pub const GATE_EXAMPLES: &str = "\
Examples:
  hodo gate base head --max 5%           ends with 3 when a scope is slower by more than that
  hodo gate base head --max 10% --scope step --scope 'step/*'
  hodo gate base head --markdown";

/// What to compare, and how to show it.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Runs to compare with: a run folder, the beginning of a run's id, several of them with commas between, or a folder with nothing but runs of one side.
    #[arg(value_name = "BASE")]
    pub base: String,

    /// Runs to compare, written the same way.
    #[arg(value_name = "HEAD")]
    pub head: String,

    /// Judge only scopes with this path, as in step/forward; * and ? stand for anything. Repeat for several. If left out, all with 1 % of the time or more.
    #[arg(long = "scope", value_name = "PATH")]
    pub scopes: Vec<String>,

    /// Compare what is not comparable too: other machines, GPUs, ranks or programs.
    #[arg(long)]
    pub force: bool,

    /// Show every scope and kernel, not only those that were judged.
    #[arg(long)]
    pub all: bool,

    /// Print Markdown for a pull request instead of text.
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,

    /// Print one JSON document instead of text.
    #[arg(long)]
    pub json: bool,

    /// Columns to use; the terminal's width if left out, and no limit in a pipe.
    #[arg(long, value_name = "COLUMNS")]
    pub width: Option<usize>,
}

/// `hodo diff`.
#[derive(Args, Debug)]
pub struct DiffArgs {
    #[command(flatten)]
    pub compare: CompareArgs,
}

/// `hodo gate`.
#[derive(Args, Debug)]
pub struct GateArgs {
    #[command(flatten)]
    pub compare: CompareArgs,

    /// The most that a scope may be slower, as a percentage.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub max: String,
}
