//! `hodo view`: the page of a run or a folder of runs, served on this machine.

mod browser;
pub mod page;
mod remote;

use crate::args::ViewArgs;
use crate::output::{self, Failure, Outcome};
use hodo_server::Server;
use hodo_trace::{Run, TraceError};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Runs the verb.
pub fn run(args: &ViewArgs, dir: &Path) -> Outcome {
    let shown = shown(args.run.as_deref(), dir)?;
    if !shown.dir.exists() {
        let dir = shown.dir.display();
        output::note(&format!(
            "{dir} does not exist yet; runs show up when something is recorded there."
        ));
    }
    let server = listen(&shown.dir, args.port)?;
    let url = server.url(shown.run.as_deref());
    let mut out = std::io::stdout().lock();
    writeln!(out, "{url}")?;
    out.flush()?;
    drop(out);
    remote::lines(server.port()).iter().for_each(|line| output::note(line));
    output::note("Ctrl-C ends it.");
    if !args.no_open {
        browser::open(&url);
    }
    let failed = |error| Failure::Failed(format!("the page could not be served: {error}"));
    server.run_until_interrupted().map_err(failed)?;
    Ok(0)
}

/// What the page is about.
struct Shown {
    /// The folder of runs.
    dir: PathBuf,
    /// The run that the page begins with.
    run: Option<String>,
}

/// What `name` means: a run by path or id, a folder of runs, or nothing for all of `dir`.
fn shown(name: Option<&str>, dir: &Path) -> Result<Shown, Failure> {
    let Some(name) = name else { return Ok(Shown { dir: dir.to_owned(), run: None }) };
    match Run::find(dir, Some(name)) {
        Ok(folder) => {
            let (dir, id) = of_run(&folder);
            Ok(Shown { dir, run: Some(id) })
        }
        Err(TraceError::NotARun { folder }) if !Run::list(&folder).is_empty() => {
            Ok(Shown { dir: folder, run: None })
        }
        Err(error) => Err(error.into()),
    }
}

/// A run with those beside it, to compare it with.
fn of_run(folder: &Path) -> (PathBuf, String) {
    // `.` has no name and no parent until it is spelt out.
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let id = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
    (whole.parent().unwrap_or(Path::new("/")).to_owned(), id)
}

/// Listens, or says what to do.
pub fn listen(dir: &Path, port: u16) -> Result<Server, Failure> {
    Server::bind(dir, port).map_err(|error| {
        let todo = match error.kind() {
            std::io::ErrorKind::AddrInUse => "; leave --port out to take one that is free",
            std::io::ErrorKind::PermissionDenied => "; ports from 1024 on need no rights",
            _ => "",
        };
        Failure::Failed(format!("cannot listen on 127.0.0.1:{port}: {error}{todo}"))
    })
}
