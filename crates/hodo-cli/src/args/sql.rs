//! The command line of `hodo sql`. The program `hodo-sql` compiles this very file, so that both
//! parse and explain the same flags.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What the help shows; the tests of `hodo-sql` run every line of it.
pub const SQL_EXAMPLES: &str = "\
Examples:
  hodo sql \"select * from tree\"               the newest run
  hodo sql                                    a prompt; .tables and .schema say what there is
  hodo sql .hodo \"select run, sum(duration_ns) from spans where depth = 0 group by run\"
  hodo sql \"select * from slowest limit 10\" --format csv -o slow.csv
  echo 'select count(*) from spans' | hodo sql -";

/// `hodo sql`.
#[derive(Args, Clone, Debug)]
pub struct SqlArgs {
    /// Runs to ask, then the query. A run is a folder (recorded, packed or exported), the beginning of an id, or an s3://, gs://, file:// or http(s):// address of a packed run; a folder of runs means all of them. The newest run if none is named. The query is the last word that has a blank in it; - reads it from standard input; without one there is a prompt.
    #[arg(value_name = "RUN... QUERY")]
    pub words: Vec<String>,

    /// Read the query from a file; several statements are divided by semicolons.
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Ask all runs of the folder that --dir names.
    #[arg(long)]
    pub all: bool,

    /// How to write the rows; if left out, a table.
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    pub format: Option<SqlFormat>,

    /// Print one JSON document: the columns with their types, and the rows.
    #[arg(long)]
    pub json: bool,

    /// File to write instead of standard output; it appears when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Rows that a table shows at most; 0 shows all. Other formats have no limit.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub rows: usize,

    /// Show numbers in a table as they are stored: nanoseconds, all digits.
    #[arg(long)]
    pub exact: bool,

    /// The longest a statement may take, with its unit; 0 sets no limit.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub timeout: String,

    /// Memory that a statement may take, with a suffix k, m or g; beyond it goes to temporary files, and what cannot ends the statement.
    #[arg(long, value_name = "BYTES", default_value = "2g")]
    pub memory: String,

    /// Processor cores to use; all if left out.
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,

    /// Columns to use; the terminal's width if left out, and no limit in a pipe.
    #[arg(long, value_name = "COLUMNS")]
    pub width: Option<usize>,
}

/// How `hodo sql` writes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SqlFormat {
    /// Aligned columns for people.
    Table,
    /// Comma-separated values, with a line of column names.
    Csv,
    /// An array of objects.
    Json,
    /// An object a line.
    Ndjson,
    /// Parquet.
    Parquet,
}
