//! The command lines of `hodo export`, `hodo pack` and `hodo import`.

use super::RunArg;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What the help of `hodo export` shows.
pub const EXPORT_EXAMPLES: &str = "\
Examples:
  hodo export --to perfetto -o run.pftrace     open it at https://ui.perfetto.dev
  hodo export --to chrome > run.json
  hodo export --to speedscope -o run.speedscope.json
  hodo export --to csv --table marks > marks.csv
  hodo export --to parquet tables              a folder of Parquet tables: docs/parquet.md
  hodo export --to otlp -o run.otlp            or --endpoint http://localhost:4318";

/// What the help of `hodo pack` shows.
pub const PACK_EXAMPLES: &str = "\
Examples:
  hodo pack --out archive/run                  a copy as Parquet tables, which every verb reads
  hodo pack 20261115-2015 --remove-originals   in place, and what was recorded goes
  hodo pack --out archive/run2 --json";

/// What the help of `hodo import` shows.
pub const IMPORT_EXAMPLES: &str = "\
Examples:
  hodo import trace.json.gz                    a trace of torch.profiler
  hodo import rank0.json rank1.json --app train
  hodo import .cirron --json";

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
