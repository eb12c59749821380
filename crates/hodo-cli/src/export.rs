//! `hodo export`: a run in another tool's format.

use crate::args::{ExportArgs, Format};
use crate::output::{self, Failure, Outcome, file_error};
use crate::runs::{self, Bar};
use crate::state;
use hodo_convert::ConvertError;
use hodo_trace::Run;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 1 << 20;

/// Runs the verb.
pub fn run(args: &ExportArgs, dir: &Path) -> Outcome {
    let run = runs::open(dir, args.run.run.as_deref())?;
    if let Some(words) = state::not_calibrated(run.uncalibrated()) {
        output::note(&format!("{words}: its scopes are drawn in their order, 1 tick as 1 ns"));
    }
    match args.output.clone().or_else(|| terminal_file(&run, args.to)) {
        Some(path) => to_file(&run, args.to, &path)?,
        None => {
            let stdout = io::stdout().lock();
            convert(&run, args.to, &mut BufWriter::with_capacity(BUFFER_BYTES, stdout))?;
        }
    }
    Ok(0)
}

/// Nobody wants a trace thrown at a terminal: there it goes into a file named after the run.
fn terminal_file(run: &Run, format: Format) -> Option<PathBuf> {
    let ending = match format {
        Format::Perfetto => "pftrace",
        Format::Chrome => "trace.json",
    };
    let name = run.folder.file_name().unwrap_or("run".as_ref()).to_string_lossy().into_owned();
    io::stdout().is_terminal().then(|| PathBuf::from(format!("{name}.{ending}")))
}

fn to_file(run: &Run, format: Format, path: &Path) -> Result<(), Failure> {
    let file = File::create(path).map_err(|e| file_error("create", path, &e))?;
    convert(run, format, &mut BufWriter::with_capacity(BUFFER_BYTES, file)).map_err(
        |e| match e {
            Failure::Output(io) => file_error("write", path, &io),
            other => other,
        },
    )?;
    let bytes =
        std::fs::metadata(path).map(|m| crate::term::number::bytes(m.len())).unwrap_or_default();
    let hint = match format {
        Format::Perfetto => "open it at https://ui.perfetto.dev",
        Format::Chrome => "open it at https://ui.perfetto.dev or chrome://tracing",
    };
    output::note(&format!("{}: {bytes}; {hint}", path.display()));
    Ok(())
}

fn convert(run: &Run, format: Format, out: &mut impl Write) -> Result<(), Failure> {
    let bar = Bar::new("writing");
    let progress = |done, of| bar.at(done, of);
    let written = match format {
        Format::Perfetto => hodo_convert::perfetto::write(run, out, &progress),
        Format::Chrome => hodo_convert::chrome::write(run, out, &progress),
    };
    written.map_err(|e| match e {
        ConvertError::Write(io) => Failure::Output(io),
        other => Failure::Failed(other.to_string()),
    })?;
    out.flush()?;
    Ok(())
}
