//! `hodo export`: a run in another tool's format.

use crate::args::{ExportArgs, Format, Table};
use crate::output::{self, Failure, Outcome, file_error};
use crate::runs::{self, Bar};
use crate::state;
use crate::term::text;
use hodo_convert::otlp::{self, Collector, SendError, Sent};
use hodo_convert::{ConvertError, chrome, folded, parquet, perfetto, rows, speedscope};
use hodo_trace::Run;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 1 << 20;

/// Runs the verb.
pub fn run(args: &ExportArgs, dir: &Path) -> Outcome {
    if args.endpoint.is_some() && args.to != Format::Otlp {
        return Err(Failure::Usage("--endpoint goes with --to otlp".to_owned()));
    }
    if args.folder.is_some() && args.to != Format::Parquet {
        return Err(Failure::Usage("DIR goes with --to parquet; -o names a file".to_owned()));
    }
    let (name, output) = names(args, dir);
    let run = runs::open(dir, name)?;
    if let Some(words) = state::not_calibrated(run.uncalibrated()) {
        output::note(&format!("{words}: its scopes are drawn in their order, 1 tick as 1 ns"));
    }
    if let Some(words) = state::damaged(&run) {
        output::note(&format!("{words}: what is written lacks it"));
    }
    if let Some(endpoint) = &args.endpoint {
        return send(&run, endpoint, &args.headers);
    }
    if args.to == Format::Parquet {
        return to_folder(&run, output.as_deref());
    }
    match args.output.clone().or_else(|| terminal_file(&run, args.to)) {
        Some(path) => to_file(&run, args, &path)?,
        None => {
            let stdout = io::stdout().lock();
            convert(&run, args, &mut BufWriter::with_capacity(BUFFER_BYTES, stdout))?;
        }
    }
    Ok(0)
}

/// The run and where it goes. `hodo export --to parquet DIR` names a folder alone: of parquet, what
/// is no run is the folder to make of the newest one.
fn names<'a>(args: &'a ExportArgs, dir: &Path) -> (Option<&'a str>, Option<PathBuf>) {
    let name = args.run.run.as_deref();
    let is_alone = args.to == Format::Parquet && args.output.is_none() && args.folder.is_none();
    match name.filter(|name| is_alone && Run::find(dir, Some(name)).is_err()) {
        Some(folder) => (None, Some(folder.into())),
        None => (name, args.output.clone().or_else(|| args.folder.clone())),
    }
}

/// Nobody wants a trace thrown at a terminal: there it goes into a file named after the run.
fn terminal_file(run: &Run, format: Format) -> Option<PathBuf> {
    let ending = match format {
        Format::Perfetto => "pftrace",
        Format::Chrome => "trace.json",
        Format::Otlp => "otlp",
        Format::Speedscope => "speedscope.json",
        Format::Folded => "folded",
        Format::Csv => "csv",
        Format::Ndjson => "ndjson",
        Format::Parquet => "parquet",
    };
    io::stdout().is_terminal().then(|| named_after(run, ending))
}

fn named_after(run: &Run, ending: &str) -> PathBuf {
    let name = run.folder.file_name().unwrap_or("run".as_ref()).to_string_lossy();
    PathBuf::from(format!("{name}.{ending}"))
}

/// Writes a folder of tables; its path is the data.
fn to_folder(run: &Run, folder: Option<&Path>) -> Outcome {
    let folder = folder.map_or_else(|| named_after(run, "parquet"), Path::to_owned);
    let bar = Bar::new("writing");
    let written = parquet::write(run, &folder, &|done, of| bar.at(done, of));
    drop(bar);
    let written = written.map_err(|error| Failure::Failed(error.to_string()))?;
    writeln!(io::stdout(), "{}", folder.display())?;
    output::note(&written_words(&written));
    Ok(0)
}

/// `12 files, 3.4 MB`.
pub fn written_words(written: &parquet::Written) -> String {
    let files = text::plural(written.files as u64, "file");
    format!("{files}, {}", crate::term::number::bytes(written.bytes))
}

fn to_file(run: &Run, args: &ExportArgs, path: &Path) -> Result<(), Failure> {
    let file = File::create(path).map_err(|e| file_error("create", path, &e))?;
    convert(run, args, &mut BufWriter::with_capacity(BUFFER_BYTES, file)).map_err(|e| match e {
        Failure::Output(io) => file_error("write", path, &io),
        other => other,
    })?;
    let bytes =
        std::fs::metadata(path).map(|m| crate::term::number::bytes(m.len())).unwrap_or_default();
    let hint = match args.to {
        Format::Perfetto => "; open it at https://ui.perfetto.dev",
        Format::Chrome => "; open it at https://ui.perfetto.dev or chrome://tracing",
        Format::Speedscope => "; open it at https://www.speedscope.app",
        Format::Folded => "; flamegraph.pl or inferno-flamegraph draws it",
        Format::Otlp | Format::Csv | Format::Ndjson | Format::Parquet => "",
    };
    output::note(&format!("{}: {bytes}{hint}", path.display()));
    Ok(())
}

fn convert(run: &Run, args: &ExportArgs, out: &mut impl Write) -> Result<(), Failure> {
    let bar = Bar::new("writing");
    let progress = |done, of| bar.at(done, of);
    let written = match args.to {
        Format::Perfetto => perfetto::write(run, out, &progress),
        Format::Chrome => chrome::write(run, out, &progress),
        Format::Speedscope => speedscope::write(run, out, &progress),
        Format::Folded => folded::write(run, out),
        Format::Csv => rows::write_csv(run, table(args.table), out, &progress),
        Format::Ndjson => rows::write_ndjson(run, out, &progress),
        // It is a folder: see `to_folder`.
        Format::Parquet => Ok(()),
        Format::Otlp => {
            let mut take = |batch: &[u8], _| Ok(out.write_all(batch)?);
            otlp::batches(run, &mut take, &progress).map(|sent| told(&sent))
        }
    };
    written.map_err(|e| match e {
        ConvertError::Write(io) => Failure::Output(io),
        other => Failure::Failed(other.to_string()),
    })?;
    out.flush()?;
    Ok(())
}

fn table(table: Table) -> rows::Table {
    match table {
        Table::Scopes => rows::Table::Scopes,
        Table::Marks => rows::Table::Marks,
        Table::Work => rows::Table::Work,
    }
}

fn send(run: &Run, endpoint: &str, headers: &[String]) -> Outcome {
    let usage = |e: SendError| Failure::Usage(e.to_string());
    let collector = Collector::new(endpoint, headers).map_err(usage)?;
    let bar = Bar::new("sending");
    let sent = collector.send(run, &|done, of| bar.at(done, of));
    drop(bar);
    let sent = sent.map_err(|e| Failure::Failed(e.to_string()))?;
    let (spans, events) = (text::plural(sent.spans, "span"), text::plural(sent.events, "event"));
    let batches = text::plural(sent.batches, "batch");
    output::note(&format!("{}: {spans} and {events} in {batches}", collector.url()));
    told(&sent);
    Ok(0)
}

/// Says which marks did not go with their span.
fn told(sent: &Sent) {
    if sent.dropped_events > 0 {
        let marks = text::plural(sent.dropped_events, "mark");
        output::note(&format!("{marks} past 1 024 of a scope: only counted in their spans"));
    }
}
