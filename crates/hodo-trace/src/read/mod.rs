//! Opening a run: folders, JSON files, processes.

mod account;
mod brief;
mod collect;
mod files;
mod frames;
mod live;
pub(crate) mod plain;
mod process;
mod ranges;
mod snapshot;
mod threads;

use crate::machine::machine_folders;
use crate::packed::{self, Side};
use crate::{Progress, ReadOptions, Run, RunInfo, TraceError};
pub(crate) use brief::{Brief, brief};
pub(crate) use files::{CATALOG, GPU, SPOOL, SpoolReader, numbered, numbered_files};
pub use frames::memory_bytes;
pub(crate) use frames::{Frame, frames};
pub(crate) use live::{ArenaLook, Owner};
pub use live::{Recorder, recorder};
pub use process::arena_path;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

impl Run {
    /// Reads the run in `folder`, whatever state it is in.
    pub fn open(folder: &Path, options: &ReadOptions<'_>) -> Result<Run, TraceError> {
        let io = |source| TraceError::Io { path: folder.to_owned(), source };
        std::fs::read_dir(folder).map_err(io)?;
        let folders = process_folders(folder);
        if !is_run(folder) {
            return Err(TraceError::NotARun { folder: folder.to_owned() });
        }
        let side = packed::read::side(folder)?;
        let folders = unpacked(folders, side.as_ref());
        let mut progress = Meter::new(options, &folders);
        let mut processes: Vec<_> =
            folders.iter().map(|folder| process::read(folder, &mut progress)).collect();
        if let Some(side) = &side {
            progress.expect(&packed::read::files(folder, side));
            for process in &side.processes {
                processes.push(packed::read::process(folder, process, &mut progress)?);
            }
        }
        processes.sort_by_key(|p| (p.info.start_ns, p.folder.clone()));
        if processes.len() > 1 {
            let damaged = processes.iter_mut().filter(|p| !p.damage.is_none());
            damaged.for_each(|p| p.names.tell_apart(p.info.pid));
        }
        let machines = side.map(|side| packed::read::machines(folder, side)).transpose()?;
        let machines = machines.unwrap_or_default();
        let (folder, info) = (folder.to_owned(), run_info(folder));
        let mut run = Run { folder, info, processes, machines };
        run.read_machines();
        Ok(run)
    }
}

/// The process folders that came to a run after it was packed, or all.
pub(crate) fn unpacked(folders: Vec<PathBuf>, side: Option<&Side>) -> Vec<PathBuf> {
    let Some(side) = side else { return folders };
    let is_new = |folder: &PathBuf| {
        let name = folder.file_name().unwrap_or_default();
        side.processes.iter().all(|process| name != process.folder.as_str())
    };
    folders.into_iter().filter(is_new).collect()
}

/// Whether a folder is a run's: it says so, or something was recorded in it.
pub(crate) fn is_run(folder: &Path) -> bool {
    folder.join("run.json").is_file()
        || !process_folders(folder).is_empty()
        || !machine_folders(folder).is_empty()
}

/// What `run.json` says; where it is missing or damaged, what the folder's name says.
pub(crate) fn run_info(folder: &Path) -> RunInfo {
    let mut info: RunInfo = json(&folder.join("run.json")).unwrap_or_default();
    if info.id.is_empty() {
        info.id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    }
    info
}

/// The process folders of a run, in order of their names.
pub(crate) fn process_folders(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut folders: Vec<PathBuf> =
        entries.filter_map(|e| Some(e.ok()?.path())).filter(|path| is_process(path)).collect();
    folders.sort();
    folders
}

/// Whether a folder of a run is that of a process.
pub(crate) fn is_process(folder: &Path) -> bool {
    let named = folder.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with('p'));
    let files = ["process.json", files::CATALOG, "arena"];
    named
        && folder.is_dir()
        && (files.iter().any(|file| folder.join(file).is_file())
            || !files::spool_files(folder).is_empty())
}

/// Pieces of GPU work that a process stored, as the page of its counts says.
pub(crate) fn gpu_work(folder: &Path) -> u64 {
    let page = folder.join(hodo_format::gpu::Live::FILE);
    let page = plain::bytes(&page, plain::MOST_JSON_BYTES).ok();
    page.and_then(|page| hodo_format::gpu::Live::parse(&page)).map_or(0, |live| live.stored)
}

/// When a run began as its JSON files tell it; 0 when they do not.
pub(crate) fn start_ns(folder: &Path) -> u64 {
    match run_info(folder).start_ns {
        0 => {
            let info = |p: PathBuf| json::<crate::ProcessInfo>(&p.join("process.json"));
            let starts = process_folders(folder).into_iter().filter_map(|p| info(p)?.started());
            starts.min().map_or(0, i64::unsigned_abs)
        }
        told => told,
    }
}

/// What `process.json` in the folder of a process says; none where it is missing or damaged.
pub fn process_info(folder: &Path) -> Option<crate::ProcessInfo> {
    json(&folder.join("process.json"))
}

pub(crate) fn json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&plain::bytes(path, plain::MOST_JSON_BYTES).ok()?).ok()
}

/// Tells how far reading has come.
pub(crate) struct Meter<'a> {
    options: &'a ReadOptions<'a>,
    now: Progress,
}

impl<'a> Meter<'a> {
    fn new(options: &'a ReadOptions<'a>, folders: &[PathBuf]) -> Meter<'a> {
        let of = |folder: &PathBuf| [files::spool_files(folder), files::gpu_files(folder)];
        let files = folders.iter().flat_map(of).flatten();
        let total_bytes = files.filter_map(|f| Some(f.metadata().ok()?.len())).sum();
        Meter { options, now: Progress { bytes: 0, total_bytes } }
    }

    /// Also counts with these files.
    fn expect(&mut self, files: &[PathBuf]) {
        let bytes: u64 = files.iter().filter_map(|f| Some(f.metadata().ok()?.len())).sum();
        self.now.total_bytes += bytes;
    }

    pub(crate) fn add(&mut self, bytes: u64) {
        self.now.bytes += bytes;
        self.now.total_bytes = self.now.total_bytes.max(self.now.bytes);
        if let Some(progress) = self.options.progress {
            progress(self.now);
        }
    }
}
