use crate::read::{self, Owner};
use crate::{Run, RunInfo, TraceError};
use std::path::{Path, PathBuf};

/// A run in a list.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// Its folder.
    pub folder: PathBuf,
    /// What `run.json` says.
    pub info: RunInfo,
    /// Bytes on disk.
    pub bytes: u64,
    /// Process folders.
    pub processes: usize,
    /// Whether one of its processes is alive.
    pub live: bool,
    /// Whether one of its processes ended without shutting its recorder down.
    pub crashed: bool,
}

impl Run {
    /// The folder of the run that `name` means: a path, the beginning of an id, or the newest.
    pub fn find(dir: &Path, name: Option<&str>) -> Result<PathBuf, TraceError> {
        let Some(name) = name else { return newest(dir) };
        let path = Path::new(name);
        if is_run(path) {
            return Ok(path.to_owned());
        }
        let mut fits: Vec<PathBuf> =
            folders(dir).into_iter().filter(|folder| file_name(folder).starts_with(name)).collect();
        if let Some(exact) = fits.iter().find(|folder| file_name(folder) == name) {
            return Ok(exact.clone());
        }
        match (fits.pop(), fits.pop()) {
            (Some(only), None) => Ok(only),
            (Some(first), Some(second)) => Err(TraceError::Ambiguous {
                name: name.to_owned(),
                count: fits.len() + 2,
                first: file_name(&first),
                second: file_name(&second),
            }),
            _ if path.is_dir() => Err(TraceError::NotARun { folder: path.to_owned() }),
            _ => Err(TraceError::NotFound { name: name.to_owned(), dir: dir.to_owned() }),
        }
    }

    /// The runs in `dir`, newest first.
    pub fn list(dir: &Path) -> Vec<RunSummary> {
        let mut runs: Vec<RunSummary> = folders(dir).iter().map(|folder| summary(folder)).collect();
        runs.sort_by_key(|run| std::cmp::Reverse((run.info.start_ns, file_name(&run.folder))));
        runs
    }
}

fn newest(dir: &Path) -> Result<PathBuf, TraceError> {
    let started = |folder: &PathBuf| (read::run_info(folder).start_ns, file_name(folder));
    let newest = folders(dir).into_iter().max_by_key(started);
    newest.ok_or_else(|| TraceError::NoRuns { dir: dir.to_owned() })
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut folders: Vec<PathBuf> =
        entries.filter_map(|e| Some(e.ok()?.path())).filter(|path| is_run(path)).collect();
    folders.sort();
    folders
}

fn is_run(folder: &Path) -> bool {
    folder.join("run.json").is_file() || !read::process_folders(folder).is_empty()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn summary(folder: &Path) -> RunSummary {
    let processes = read::process_folders(folder);
    let owners: Vec<Owner> = processes.iter().filter_map(|p| read::owner(p)).collect();
    RunSummary {
        folder: folder.to_owned(),
        info: read::run_info(folder),
        bytes: processes.iter().map(|p| bytes(p)).sum(),
        processes: processes.len(),
        live: owners.contains(&Owner::Running),
        crashed: owners.contains(&Owner::Gone),
    }
}

fn bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len())).sum()
}
