//! The command line as data: verbs, flags, and the examples their help shows.

mod compare;
mod export;
mod look;
mod machine;
mod report;
mod run;
mod serve;
mod ship;
mod sql;
mod view;

pub use compare::*;
pub use export::*;
pub use look::*;
pub use machine::*;
pub use report::*;
pub use run::*;
pub use serve::*;
pub use ship::*;
pub use sql::*;
pub use view::*;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  hodo demo                              record a small training loop and show it
  hodo run -- python train.py            record a program as it is
  hodo report                            where the time of the newest run went
  hodo view                              the same as a page, live while a program runs
  hodo report --where variant=beam       only scopes with that attribute
  hodo diff base head                    what got slower, and whether that is noise
  hodo export --to perfetto -o run.pftrace
  hodo top --once                        what this machine and the run on it do now
  hodo doctor                            what works on this machine, and what to do";

/// A flight recorder for ML programs: where the time of a run went.
#[derive(Debug, Parser)]
#[command(name = "hodo", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,

    /// Folder the runs are in; of `hodo serve` its store, .hodo-server if left out.
    #[arg(
        long,
        global = true,
        help_heading = "Options of every verb",
        value_name = "FOLDER",
        env = "HODO_DIR",
        hide_env_values = true,
        default_value = ".hodo"
    )]
    pub dir: PathBuf,

    /// When to colour the output; auto also honours NO_COLOR and CLICOLOR_FORCE.
    #[arg(
        long,
        global = true,
        help_heading = "Options of every verb",
        value_name = "WHEN",
        value_enum,
        default_value_t = When::Auto
    )]
    pub color: When,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a program and record it, with no change to it: its GPU kernels and copies, its NVTX ranges as scopes, and every process that uses hodo itself.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Show where the time of a run went: the tree of scopes, the largest ones, marks and losses.
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Open the page of a run or a folder of runs in the browser: overview, timeline, flame, tables, marks, live while a program runs. Served on this machine only, until Ctrl-C.
    #[command(after_help = VIEW_EXAMPLES)]
    View(ViewArgs),
    /// Compare two programs by their runs: which scopes and kernels changed, how sure that is, what explains it. Ends with 4 when they are not comparable.
    #[command(after_help = DIFF_EXAMPLES)]
    Diff(DiffArgs),
    /// Stop a pipeline on a regression: ends with 3 when a scope is really slower than allowed, with 0 on noise or improvement, with 4 when it cannot be told.
    #[command(after_help = GATE_EXAMPLES)]
    Gate(GateArgs),
    /// Show what the machine did over a run, a scope or a stretch of time: every series that was sampled, with its mean, least, most and last value.
    #[command(after_help = MACHINE_EXAMPLES)]
    Machine(MachineArgs),
    /// List the runs, newest first.
    #[command(after_help = LS_EXAMPLES)]
    Ls(LsArgs),
    /// Show what this machine does now, GPUs first, and what the run that is recording on it does: open scopes, rates, the slowest, kernels, marks.
    #[command(after_help = TOP_EXAMPLES)]
    Top(TopArgs),
    /// Read this machine (GPUs, processors, memory, disks, networks) into a run, with no change to any program.
    #[command(after_help = MONITOR_EXAMPLES)]
    Monitor(MonitorArgs),
    /// Ask runs questions in SQL, or get a prompt to do so. Ends with 2 when the query is wrong, not allowed or over its limits.
    #[command(after_help = SQL_EXAMPLES)]
    Sql(SqlArgs),
    /// Write a run in another tool's format.
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(ExportArgs),
    /// Write a run as one HTML file below 2 MB that opens anywhere, offline: overview, flame graph, tables, marks, and the timeline as finely as fits.
    #[command(after_help = SHARE_EXAMPLES)]
    Share(ShareArgs),
    /// Fold a run that has ended into compact Parquet tables; every verb reads it as before, and so do pandas, polars, DuckDB and Spark.
    #[command(after_help = PACK_EXAMPLES)]
    Pack(PackArgs),
    /// Send a run to a collector while it is recorded: HODO_SERVER does it by itself. Resumes where it was; an outage is waited for.
    #[command(after_help = SHIP_EXAMPLES)]
    Ship(ShipArgs),
    /// Send runs that have ended to a collector, or what an outage left of them; what is there already is not sent again.
    #[command(after_help = PUSH_EXAMPLES)]
    Push(PushArgs),
    /// Make a run of what another tool recorded; every other verb then reads it.
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(ImportArgs),
    /// Take the runs of many machines, and show them: the collector that `hodo ship` and `hodo push` send to. Its folder is --dir, .hodo-server if left out.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Check that a run is whole: every record produced is stored or counted as lost.
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(VerifyArgs),
    /// Say what works on this machine, why not, and what to do.
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArgs),
    /// Record a small training loop, then show its report.
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// Print the completions of a shell.
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
}

/// Which run to read.
#[derive(Args, Clone, Debug)]
pub struct RunArg {
    /// Run folder, or the beginning of a run's id; the newest run if left out.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
}
