//! `hodo share`: a run as one file that opens anywhere.

use crate::args::ShareArgs;
use crate::output::{self, Failure, Outcome};
use crate::term::number;
use hodo_trace::Run;
use std::path::{Path, PathBuf};

/// Runs the verb.
pub fn run(args: &ShareArgs, dir: &Path) -> Outcome {
    let folder = Run::find(dir, args.run.run.as_deref())?;
    let file = args.output.clone().unwrap_or_else(|| named_after(&folder));
    let html = hodo_server::share(&folder).map_err(Failure::Failed)?;
    write(&file, &html).map_err(|error| output::file_error("write", &file, &error))?;
    let size = number::bytes(html.len() as u64);
    output::note(&format!("{} ({size}): open it in any browser", file.display()));
    Ok(0)
}

fn named_after(folder: &Path) -> PathBuf {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
    PathBuf::from(format!("{name}.html"))
}

/// The file appears when it is complete.
fn write(file: &Path, html: &str) -> std::io::Result<()> {
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(format!(".{}.part", std::process::id()));
    let written =
        std::fs::write(&unfinished, html).and_then(|()| std::fs::rename(&unfinished, file));
    if written.is_err() {
        // What is left of it is of no use; that it cannot be removed is said by the other error.
        let _ = std::fs::remove_file(&unfinished);
    }
    written
}
