//! Which run the readings go into.

use super::pidfile::{self, Answer};
use crate::output::{self, Failure, Outcome, file_error};
use hodo::Config;
use hodo_trace::{Run, TraceError};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The application's name in a run that only a monitor made.
const APP: &str = "hodo monitor";
/// How long a monitor gets to end.
const ENDS_WITHIN: Duration = Duration::from_secs(30);

/// A run, and the folder of this host in it.
#[derive(Debug)]
pub struct Target {
    /// The run's folder, absolute.
    pub run: PathBuf,
    /// This host's folder in it.
    pub machine: PathBuf,
    /// Whether it is a run of the monitor's own.
    pub is_own: bool,
    began: SystemTime,
}

impl Target {
    /// The run that `name` or `HODO_RUN` means, or a new one. A path that is not there yet becomes
    /// a run when its program starts; so a sidecar may come first.
    pub fn make(name: Option<&str>, dir: &Path) -> Result<Target, Failure> {
        let variable = std::env::var("HODO_RUN").ok().filter(|run| !run.is_empty());
        let run = match name {
            Some(name) => Some(find(dir, name)?),
            None => variable.map(PathBuf::from),
        };
        let is_own = run.is_none();
        let run = run.unwrap_or_else(|| new_run(dir));
        let run = std::path::absolute(&run).unwrap_or(run);
        let machine = hodo_machine::folder(&run);
        std::fs::create_dir_all(&machine).map_err(|e| file_error("make", &machine, &e))?;
        let target = Target { run, machine, is_own, began: SystemTime::now() };
        target.describe()?;
        Ok(target)
    }

    /// Says what a run of the monitor's own is, and that it is this process's.
    pub fn describe(&self) -> Result<(), Failure> {
        let words: Vec<String> =
            std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
        if self.is_own { describe(&self.run, APP, &words, self.began) } else { Ok(()) }
    }

    /// Makes anew what a folder has lost that somebody deleted; readings go on in it.
    pub fn restore(&self) -> Result<(), Failure> {
        std::fs::create_dir_all(&self.machine)
            .map_err(|e| file_error("make", &self.machine, &e))?;
        if self.run.join("run.json").exists() { Ok(()) } else { self.describe() }
    }
}

fn find(dir: &Path, name: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(name);
    match Run::find(dir, Some(name)) {
        Ok(run) => Ok(run),
        // A folder that a launcher named and nothing has recorded into.
        Err(TraceError::NotARun { folder }) => Ok(folder),
        Err(TraceError::NotFound { .. }) if name.contains('/') => Ok(path.to_owned()),
        Err(error) => Err(error.into()),
    }
}

fn new_run(dir: &Path) -> PathBuf {
    let config = Config { app: Some(APP.into()), dir: Some(dir.to_owned()), ..Config::default() };
    config.run_folder()
}

/// Writes `run.json`, whole or not at all.
pub fn describe(run: &Path, app: &str, words: &[String], began: SystemTime) -> Result<(), Failure> {
    let since = began.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let document = json!({
        "format": 1,
        "id": run.file_name().unwrap_or_default().to_string_lossy(),
        "app": app,
        "argv": words,
        "cwd": std::env::current_dir().unwrap_or_default().to_string_lossy(),
        "host": host.trim(),
        "pid": std::process::id(),
        "hodo": env!("CARGO_PKG_VERSION"),
        "start_ns": u64::try_from(since.as_nanos()).unwrap_or(0),
    });
    let (file, part) = (run.join("run.json"), run.join("run.json.part"));
    let written = std::fs::write(&part, format!("{document:#}\n"));
    written.and_then(|()| std::fs::rename(&part, &file)).map_err(|e| file_error("write", &file, &e))
}

/// `--stop`: ends the monitors of a run on this host.
pub fn stop(dir: &Path, name: Option<&str>) -> Outcome {
    let run = match name {
        Some(name) => find(dir, name)?,
        None => newest_watched(dir)?,
    };
    let machine = hodo_machine::folder(&run);
    let ended = pidfile::stop_all(&machine, ENDS_WITHIN);
    if ended.is_empty() {
        return Err(Failure::Failed(format!(
            "no monitor of this host writes into {}; `hodo ls` lists the runs",
            run.display()
        )));
    }
    for (pid, answer) in &ended {
        let words = match answer {
            Answer::Ended => "has ended".into(),
            Answer::GoesOn => "does not end; try `kill -9`".into(),
            Answer::Elsewhere => "runs in another container; end it there".into(),
            Answer::Refused(why) => format!("cannot be asked to end: {why}"),
        };
        output::note(&format!("hodo monitor: pid {pid} {words}"));
    }
    Ok(u8::from(!ended.iter().all(|(_, answer)| matches!(answer, Answer::Ended))))
}

/// The newest run that a monitor of this host writes into.
fn newest_watched(dir: &Path) -> Result<PathBuf, Failure> {
    let mut runs: Vec<PathBuf> = std::fs::read_dir(dir)
        .map(|entries| entries.filter_map(|e| Some(e.ok()?.path())).collect())
        .unwrap_or_default();
    // Folders begin with the time they were made at.
    runs.sort();
    let watched = |run: &&PathBuf| !pidfile::alive(&hodo_machine::folder(run)).is_empty();
    runs.iter().rfind(watched).cloned().ok_or_else(|| {
        let dir = dir.display();
        Failure::Failed(format!("no monitor of this host writes into a run in {dir}"))
    })
}
