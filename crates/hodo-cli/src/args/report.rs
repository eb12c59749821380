//! The command line of `hodo report`.

use super::RunArg;
use clap::{Args, ValueEnum};

/// What the help of `hodo report` shows.
pub const REPORT_EXAMPLES: &str = "\
Examples:
  hodo report
  hodo report --depth 3 --min 1%
  hodo report --name batch --sort self
  hodo report --where variant=beam --where 'index>=10'
  hodo report --kernels                  every GPU kernel by name, and the scopes that launched it
  hodo report --price 0.30 --currency EUR    what the GPU's energy cost, by scope
  hodo report --json";

/// `hodo report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    #[command(flatten)]
    pub run: RunArg,

    /// Print one JSON document instead of text.
    #[arg(long)]
    pub json: bool,

    /// Keep only scopes whose name contains TEXT (or fits it, with * and ?), with what leads to them and what is inside.
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,

    /// Keep only scopes with such an attribute, and what is inside them: KEY=VALUE, KEY!=VALUE, or KEY>NUMBER with > >= < <=. Repeat to demand several.
    #[arg(long = "where", value_name = "TEST")]
    pub tests: Vec<String>,

    /// Keep only the last scopes: so many (100), or those open in the last so much time of the run (10s).
    #[arg(long, value_name = "LAST")]
    pub last: Option<String>,

    /// Show at most N levels of the tree, counted from 1.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub depth: Option<u32>,

    /// Order of scopes with the same parent, largest first.
    #[arg(long, value_enum, value_name = "BY", default_value_t = SortBy::Total)]
    pub sort: SortBy,

    /// Hide scopes whose total is below a time with its unit (250us, 1.5ms, 2s) or a share of the run's scope time (1%); 0 shows all.
    #[arg(long, value_name = "LIMIT")]
    pub min: Option<String>,

    /// Rows in each top table; 0 leaves them out.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,

    /// Kernels listed under each scope that launched any; 0 leaves them out.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub per_scope: usize,

    /// Show the GPU kernels by name instead of the tree: how often, how long, their shape, the scopes that launched them.
    #[arg(long)]
    pub kernels: bool,

    /// The same by full name: templates for different types are different kernels.
    #[arg(long)]
    pub kernels_in_full: bool,

    /// Show the backward pass by the forward scope it is the gradient of, instead of the tree; recorded with `hodo.init(by_layer=True)`.
    #[arg(long)]
    pub backward: bool,

    /// Show why kernels stalled, by kernel, scope and instruction, instead of the tree; recorded in windows of pc-sampling.
    #[arg(long)]
    pub samples: bool,

    /// Price of a kilowatt hour: show what the energy of each scope cost, where a GPU was sampled.
    #[arg(long, value_name = "PRICE", value_parser = price)]
    pub price: Option<f64>,

    /// What the price is in, shown behind amounts.
    #[arg(long, value_name = "TEXT", requires = "price")]
    pub currency: Option<String>,

    /// Only the processes of this rank.
    #[arg(long, value_name = "N")]
    pub rank: Option<u32>,

    /// Columns to use; the terminal's width if left out, and no limit in a pipe.
    #[arg(long, value_name = "COLUMNS")]
    pub width: Option<usize>,
}

impl ReportArgs {
    /// Whether some scopes may be left out of every number.
    pub fn is_filtered(&self) -> bool {
        let some = [self.name.is_some(), self.rank.is_some(), self.last.is_some()];
        some.contains(&true) || !self.tests.is_empty()
    }

    /// Whether sections about the GPU are asked for, which then stand alone.
    pub fn is_about_gpu(&self) -> bool {
        self.kernels || self.kernels_in_full || self.backward || self.samples
    }
}

/// Order of scopes with the same parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SortBy {
    /// Total time.
    Total,
    /// Time in no scope inside.
    #[value(name = "self")]
    SelfTime,
    /// How often it ran.
    Count,
    /// Mean time.
    Mean,
    /// 95th percentile.
    P95,
    /// Longest time.
    Max,
    /// CPU time.
    Cpu,
    /// Time that it kept the GPU busy.
    Gpu,
    /// Name, from A.
    Name,
    /// When it first began, earliest first.
    Start,
}

fn price(text: &str) -> Result<f64, String> {
    let price = text.parse().ok().filter(|price: &f64| price.is_finite() && *price >= 0.0);
    price.ok_or_else(|| "a price is a number such as 0.30".to_owned())
}
