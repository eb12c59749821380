//! `hodo-sql`: what `hodo sql` runs.

#[path = "../../crates/hodo-cli/src/args/sql.rs"]
mod args;
mod ask;
mod prompt;

use args::{SQL_EXAMPLES, SqlArgs, SqlFormat};
use ask::{Asker, interruptible, note};
use clap::{Parser, ValueEnum};
use hodo_sql::output::{Format, TableOptions};
use hodo_sql::{Asked, Limits, Session, SqlError, parse_bytes, parse_timeout};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tokio::runtime::{Builder, Runtime};

/// Ask runs questions in SQL, or get a prompt to do so.
#[derive(Debug, Parser)]
#[command(name = "hodo sql", version, after_help = SQL_EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    args: SqlArgs,

    /// Folder the runs are in.
    #[arg(
        long,
        value_name = "FOLDER",
        env = "HODO_DIR",
        hide_env_values = true,
        default_value = ".hodo"
    )]
    dir: PathBuf,

    /// When to colour the output; auto also honours NO_COLOR and CLICOLOR_FORCE.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = When::Auto)]
    color: When,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

fn main() -> ExitCode {
    // What the engine's threads cannot go on with is told as an error, once.
    std::panic::set_hook(Box::new(|_| ()));
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough, as in `hodo sql ... | head`.
        Err(SqlError::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            say_error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

/// Says an error on standard error; text from a run cannot drive the terminal.
fn say_error(error: &SqlError) {
    let message = error.to_string();
    let lines: Vec<String> = message.lines().map(hodo_sql::printable).collect();
    note(&format!("error: {}", lines.join("\n")));
}

fn run(cli: &Cli) -> Result<(), SqlError> {
    let (names, query) = divide(&cli.args)?;
    let limits = limits(&cli.args)?;
    let failed = |e| SqlError::Failed(format!("cannot start: {e}"));
    let scratch = tempfile::Builder::new().prefix("hodo-sql-").tempdir().map_err(failed)?;
    hodo_sql::remove_at_end(scratch.path());
    let asked = Asked {
        names,
        all: cli.args.all,
        dir: cli.dir.clone(),
        scratch: scratch.path().to_owned(),
    };
    let engine = Builder::new_multi_thread()
        .worker_threads(limits.threads)
        .enable_all()
        .build()
        .map_err(failed)?;
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let outcome = open_and_answer(cli, asked, query, limits, &engine, &runtime);
    // A query that was stopped may still be at work; it must not hold up the end.
    engine.shutdown_background();
    outcome
}

/// Opens the runs and queries them on the threads of `engine`, and waits for it in `runtime`.
fn open_and_answer(
    cli: &Cli,
    asked: Asked,
    query: Option<String>,
    limits: Limits,
    engine: &Runtime,
    runtime: &Runtime,
) -> Result<(), SqlError> {
    let session = runtime.block_on(interruptible(open(asked, limits, engine)))?;
    let mut asker = Asker {
        session: &session,
        format: format(cli),
        output: cli.args.output.as_deref(),
        is_chatty: false,
    };
    match query {
        Some(query) => runtime.block_on(interruptible(asker.answer(&query))),
        None => {
            asker.is_chatty = matches!(asker.format, Format::Table(_)) && asker.output.is_none();
            prompt::run(runtime, &asker)
        }
    }
}

/// Opens the runs in a task of its own, so that a large one can be given up.
async fn open(asked: Asked, limits: Limits, engine: &Runtime) -> Result<Session, SqlError> {
    let task = engine.spawn(async move { Session::open(&asked, limits, note).await });
    task.await.unwrap_or_else(|error| Err(SqlError::engine(error)))
}

/// The runs that are named, and the query; none for a prompt.
fn divide(args: &SqlArgs) -> Result<(Vec<String>, Option<String>), SqlError> {
    let mut names = args.words.clone();
    if names.iter().any(|word| word.trim().is_empty()) {
        return Err(SqlError::Query("there is no query; see hodo sql --help".into()));
    }
    if let Some(file) = &args.file {
        let text = std::fs::read_to_string(file);
        let text =
            text.map_err(|e| SqlError::Query(format!("cannot read {}: {e}", file.display())))?;
        return Ok((names, Some(text)));
    }
    let query = names.pop_if(|last| is_query(last));
    match query.as_deref() {
        Some("-") => Ok((names, Some(standard_input()?))),
        None if !io::stdin().is_terminal() => Ok((names, Some(standard_input()?))),
        _ => Ok((names, query)),
    }
}

fn is_query(word: &str) -> bool {
    word == "-" || word.contains(char::is_whitespace) && !Path::new(word).exists()
}

fn standard_input() -> Result<String, SqlError> {
    let mut text = String::new();
    let read = io::stdin().read_to_string(&mut text);
    read.map_err(|e| SqlError::Query(format!("cannot read the query: {e}")))?;
    Ok(text)
}

fn limits(args: &SqlArgs) -> Result<Limits, SqlError> {
    let default = Limits::default();
    Ok(Limits {
        timeout: parse_timeout(&args.timeout)?,
        memory_bytes: parse_bytes(&args.memory)?,
        threads: args.threads.unwrap_or(default.threads).max(1),
    })
}

fn format(cli: &Cli) -> Format {
    let args = &cli.args;
    match args.format {
        _ if args.json => Format::Document,
        Some(SqlFormat::Csv) => Format::Csv,
        Some(SqlFormat::Json) => Format::Json,
        Some(SqlFormat::Ndjson) => Format::Ndjson,
        Some(SqlFormat::Parquet) => Format::Parquet,
        Some(SqlFormat::Table) | None => Format::Table(TableOptions {
            width: width(args),
            exact: args.exact,
            most: args.rows,
            colour: args.output.is_none() && is_coloured(cli.color),
        }),
    }
}

fn is_coloured(when: When) -> bool {
    ask::is_coloured(match when {
        When::Auto => None,
        When::Always => Some(true),
        When::Never => Some(false),
    })
}

/// Columns to lay out for: as told, else the terminal's, else no limit.
fn width(args: &SqlArgs) -> usize {
    const NARROWEST: usize = 40;
    let to_screen = io::stdout().is_terminal() && args.output.is_none();
    let screen = || terminal_size::terminal_size().filter(|_| to_screen).map(|(w, _)| w.0.into());
    let variable = || std::env::var("COLUMNS").ok()?.parse().ok();
    let told = args.width.or_else(screen).or_else(variable);
    told.map_or(usize::MAX, |width: usize| width.max(NARROWEST))
}
