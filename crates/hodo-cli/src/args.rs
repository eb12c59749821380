//! The command line as data: verbs, flags, and the examples their help shows.

use crate::serve::args::{SERVE_EXAMPLES, ServeArgs};
use crate::ship::args::{PUSH_EXAMPLES, PushArgs, SHIP_EXAMPLES, ShipArgs};
use crate::sql::args::{SQL_EXAMPLES, SqlArgs};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
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

const RUN_EXAMPLES: &str = "\
Examples:
  hodo run -- python train.py
  hodo run --name sweep --gpu off -- ./train --lr 0.1
  hodo run --hooks -- python train.py                  and the epochs, steps and passes of its framework
  hodo run --monitor -- python train.py                and the machine, every second
  hodo run --open -- python train.py                   and look at it meanwhile, in the browser
  hodo run -- torchrun --nproc-per-node 8 train.py     all ranks in one run";

const REPORT_EXAMPLES: &str = "\
Examples:
  hodo report
  hodo report --depth 3 --min 1%
  hodo report --name batch --sort self
  hodo report --where variant=beam --where 'index>=10'
  hodo report --kernels                  every GPU kernel by name, and the scopes that launched it
  hodo report --price 0.30 --currency EUR    what the GPU's energy cost, by scope
  hodo report --json";

const VIEW_EXAMPLES: &str = "\
Examples:
  hodo view                              the runs of this folder, in the browser
  hodo view 20261115-2015                one run, live while it is recorded
  hodo view archive/run                  a run by its folder
  hodo view --no-open                    only print the address";

const MACHINE_EXAMPLES: &str = "\
Examples:
  hodo machine                           what the machine did while the newest run was recorded
  hodo machine --scope batch/forward     the same while such a scope was open
  hodo machine --from 10s --to 20s --csv
  hodo machine --series gpu.power        every reading of it, as CSV
  hodo machine --series 'gpu.*' --json";

const LS_EXAMPLES: &str = "\
Examples:
  hodo ls
  hodo ls --json";

const DIFF_EXAMPLES: &str = "\
Examples:
  hodo diff base head                    two folders of runs that took turns: the surest comparison
  hodo diff 20261115-2015 20261115-2020   two runs by the beginning of their ids
  hodo diff base head --markdown         for a pull request
  hodo diff base head --json";

const GATE_EXAMPLES: &str = "\
Examples:
  hodo gate base head --max 5%           ends with 3 when a scope is slower by more than that
  hodo gate base head --max 10% --scope step --scope 'step/*'
  hodo gate base head --markdown";

const EXPORT_EXAMPLES: &str = "\
Examples:
  hodo export --to perfetto -o run.pftrace     open it at https://ui.perfetto.dev
  hodo export --to chrome > run.json
  hodo export --to speedscope -o run.speedscope.json
  hodo export --to csv --table marks > marks.csv
  hodo export --to parquet tables              a folder of Parquet tables: docs/parquet.md
  hodo export --to otlp -o run.otlp            or --endpoint http://localhost:4318";

const SHARE_EXAMPLES: &str = "\
Examples:
  hodo share                                   the newest run as one file
  hodo share 20261115-2015 -o slow.html";

const PACK_EXAMPLES: &str = "\
Examples:
  hodo pack --out archive/run                  a copy as Parquet tables, which every verb reads
  hodo pack 20261115-2015 --remove-originals   in place, and what was recorded goes
  hodo pack --out archive/run2 --json";

const IMPORT_EXAMPLES: &str = "\
Examples:
  hodo import trace.json.gz                    a trace of torch.profiler
  hodo import rank0.json rank1.json --app train
  hodo import .cirron --json";

const TOP_EXAMPLES: &str = "\
Examples:
  hodo top                                      this machine, and the run that is recording on it
  hodo top --once                               one frame as text
  hodo top 20261115-2015 --replay --speed 10    the machine's readings of a run, played back";

const MONITOR_EXAMPLES: &str = "\
Examples:
  hodo monitor --for 2s                         a run of its own, with readings of this machine
  hodo monitor --run 20261115-2015 --for 2s     into a run that is there
  hodo monitor --daemon                         in the background; `hodo monitor --stop` ends it
  hodo monitor --stop
  hodo monitor --prometheus 127.0.0.1:9464 --for 2s";

const VERIFY_EXAMPLES: &str = "\
Examples:
  hodo verify
  hodo verify --json";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  hodo doctor
  hodo doctor --json";

const DEMO_EXAMPLES: &str = "\
Examples:
  hodo demo
  hodo demo --open
  hodo demo --seconds 1 --json";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  hodo completions bash > hodo.bash";

/// A flight recorder for ML programs: where the time of a run went.
#[derive(Debug, Parser)]
#[command(name = "hodo", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,

    /// Folder the runs are in.
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

/// `hodo run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// What is recorded of the GPU: auto takes what works and is silent where nothing does, trace warns.
    #[arg(long, value_enum, value_name = "WHAT", env = "HODO_GPU", hide_env_values = true, default_value_t = Gpu::Auto)]
    pub gpu: Gpu,

    /// Name of the program in reports; the script's or the program's own if left out.
    #[arg(long, value_name = "APP")]
    pub name: Option<String>,

    /// Also read the machine into the run while the program runs: every second, or so often as --monitor=100ms says.
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "1s")]
    pub monitor: Option<String>,

    /// Give a Python program the scopes of its frameworks, with no change to it: epochs, steps, data_wait, forward, backward, optimizer. All frameworks, or as --hooks=torch,lightning says; layers=2 among them gives layers scopes of their own, memory the bytes of torch's allocator.
    #[arg(long, value_name = "NAMES", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub hooks: Option<String>,

    /// Show the run in the browser while the program runs; the page stays until Ctrl-C, and then the program's exit code is returned.
    #[arg(long)]
    pub open: bool,

    /// Say nothing of your own; the program is as loud as it is.
    #[arg(short, long)]
    pub quiet: bool,

    /// The program and its arguments. Its exit code is returned, and a signal that ends it ends hodo too; 127 when it is not found, 126 when it cannot be run, 125 when hodo cannot record it.
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// What `hodo run` records of the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Gpu {
    /// What works on this machine.
    Auto,
    /// Kernels and copies.
    Trace,
    /// Kernels and copies, and in windows the program opens, why kernels stall.
    PcSampling,
    /// Readings of the machine, no kernels.
    Monitor,
    /// Nothing.
    Off,
}

impl Gpu {
    /// Its word, on the command line and in `HODO_GPU`.
    pub fn word(self) -> &'static str {
        match self {
            Gpu::Auto => "auto",
            Gpu::Trace => "trace",
            Gpu::PcSampling => "pc-sampling",
            Gpu::Monitor => "monitor",
            Gpu::Off => "off",
        }
    }
}

/// Which run to read.
#[derive(Args, Clone, Debug)]
pub struct RunArg {
    /// Run folder, or the beginning of a run's id; the newest run if left out.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
}

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

/// `hodo share`.
#[derive(Args, Debug)]
pub struct ShareArgs {
    #[command(flatten)]
    pub run: RunArg,

    /// File to write; RUN.html in this folder if left out.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `hodo export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    #[command(flatten)]
    pub run: RunArg,

    /// Folder to make, for parquet; if it stands alone, of the newest run.
    #[arg(value_name = "DIR", conflicts_with = "output")]
    pub folder: Option<PathBuf>,

    /// The format to write.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Format,

    /// File to write; if left out, standard output, or on a terminal a file named after the run.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// What the rows of csv are.
    #[arg(long, value_enum, value_name = "ROWS", default_value_t = Table::Scopes)]
    pub table: Table,

    /// Collector to post otlp to, instead of writing it: http://localhost:4318, or with a path of its own.
    #[arg(long, value_name = "URL", conflicts_with = "output")]
    pub endpoint: Option<String>,

    /// Header to post with, as for authorization; repeat for several.
    #[arg(long = "header", value_name = "KEY=VALUE", requires = "endpoint")]
    pub headers: Vec<String>,
}

/// What the rows of `hodo export --to csv` are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Table {
    /// Scopes.
    Scopes,
    /// Marks.
    Marks,
    /// Kernels, copies and other GPU work.
    Work,
}

/// What `hodo export` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Perfetto protobuf: tracks, attributes and marks.
    Perfetto,
    /// Chrome trace JSON.
    Chrome,
    /// OpenTelemetry protobuf: scopes as spans, marks as their events; to a file or a collector.
    Otlp,
    /// speedscope JSON: a profile for every thread and stream.
    Speedscope,
    /// Folded stacks for flame graphs: a line a path, with its own nanoseconds.
    Folded,
    /// Comma-separated values: a row for every scope, mark or piece of GPU work.
    Csv,
    /// JSON lines: an object for every scope, mark and piece of GPU work.
    Ndjson,
    /// A folder of Parquet tables, for pandas, polars, DuckDB, Spark; hodo reads it as a run.
    Parquet,
}

/// `hodo pack`.
#[derive(Args, Debug)]
pub struct PackArgs {
    #[command(flatten)]
    pub run: RunArg,

    /// Folder to make; if left out, the tables go into the run's own folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Read the packed run back, and when it is the same in every row and column, remove what was recorded.
    #[arg(long)]
    pub remove_originals: bool,

    /// Print one JSON document instead of the folder's path.
    #[arg(long)]
    pub json: bool,
}

/// `hodo import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// Files or folders of other tools, plain or gzipped, or tar archives of them; several become one run, as of several ranks. What each is follows from its content.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Name of the program in reports; the source's own, or the file's, if left out.
    #[arg(long, value_name = "APP")]
    pub app: Option<String>,

    /// Print one JSON document instead of the run's id.
    #[arg(long)]
    pub json: bool,
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
