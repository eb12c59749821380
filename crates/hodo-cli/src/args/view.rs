//! The command lines of `hodo view` and `hodo share`.

use super::RunArg;
use clap::Args;
use std::path::PathBuf;

/// What the help of `hodo view` shows.
pub const VIEW_EXAMPLES: &str = "\
Examples:
  hodo view                              the runs of this folder, in the browser
  hodo view 20261115-2015                one run, live while it is recorded
  hodo view archive/run                  a run by its folder
  hodo view --no-open                    only print the address";

/// What the help of `hodo share` shows.
pub const SHARE_EXAMPLES: &str = "\
Examples:
  hodo share                                   the newest run as one file
  hodo share 20261115-2015 -o slow.html";

/// `hodo view`.
#[derive(Args, Debug)]
pub struct ViewArgs {
    /// Run folder, the beginning of a run's id, or a folder of runs; all runs of --dir if left out.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Port to listen on, on 127.0.0.1; any that is free if left out.
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub port: u16,

    /// Print the address and open no browser.
    #[arg(long)]
    pub no_open: bool,
}

/// `hodo share`.
#[derive(Args, Debug)]
pub struct ShareArgs {
    #[command(flatten)]
    pub run: RunArg,

    /// File to write; RUN.html in this folder if left out.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
