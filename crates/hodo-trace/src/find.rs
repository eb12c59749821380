use crate::machine::{ends, is_sampled, machine_folders};
use crate::model::{Extent, most_telling};
use crate::packed::{self, Side};
use crate::read::{self, Brief, is_run};
use crate::{ProcessState, Run, RunInfo, Shipped, TraceError};
use hodo_format::ship::ARENA_FILE;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A run in a list: what is known without reading its records. `hodo verify` reads them all.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// Its folder.
    pub folder: PathBuf,
    /// What `run.json` says.
    pub info: RunInfo,
    /// Bytes on disk.
    pub bytes: u64,
    /// Those of its records: an arena has its size from the first moment on.
    pub record_bytes: u64,
    /// Process folders.
    pub processes: usize,
    /// Ranks of its processes, of those that have one.
    pub ranks: BTreeSet<u32>,
    /// Machines with readings of its own.
    pub machines: usize,
    /// Whether one of them is being sampled.
    pub sampling: bool,
    /// See [`Run::state`].
    pub state: Option<ProcessState>,
    /// Processes in that state.
    pub in_state: usize,
    /// Scopes left open by processes that ended without shutting down.
    pub open: u64,
    /// See [`Run::start_ns`].
    pub start_ns: Option<i64>,
    /// See [`Run::wall_ns`].
    pub wall_ns: Option<u64>,
    /// Scopes; none when a process is too large to count them in, its catalog being lost.
    pub spans: Option<u64>,
    /// Pieces of GPU work.
    pub gpu_work: u64,
    /// Records that the recorder counted as lost.
    pub lost: Option<u64>,
    /// Of a run that was shipped here: nanoseconds since 1970 when one of its hosts was heard last.
    pub heard_ns: Option<u64>,
    /// Processes whose times are not known; see [`Run::uncalibrated`].
    pub uncalibrated: usize,
}

impl Run {
    /// The folder of the run that `name` means: a path, the beginning of an id, or the newest. A
    /// sidecar's, which has nothing but readings, is the newest only where there is no other.
    pub fn find(dir: &Path, name: Option<&str>) -> Result<PathBuf, TraceError> {
        match name {
            Some(name) => named(dir, name),
            None => newest(dir, |folder| !is_sidecars(folder)),
        }
    }

    /// The same for whoever is after readings: the newest run, be it a sidecar's or not.
    pub fn find_with_sidecars(dir: &Path, name: Option<&str>) -> Result<PathBuf, TraceError> {
        match name {
            Some(name) => named(dir, name),
            None => newest(dir, |_| true),
        }
    }

    /// Whether `folder` is a run's.
    pub fn is_at(folder: &Path) -> bool {
        is_run(folder)
    }

    /// What is known of one run without reading its records; nothing of a folder that is none.
    pub fn summary(folder: &Path) -> RunSummary {
        summary(folder)
    }

    /// The runs in `dir`, newest first.
    pub fn list(dir: &Path) -> Vec<RunSummary> {
        let mut runs: Vec<RunSummary> = folders(dir).iter().map(|folder| summary(folder)).collect();
        runs.sort_by_key(|run| std::cmp::Reverse((run.start_ns, file_name(&run.folder))));
        runs
    }
}

fn named(dir: &Path, name: &str) -> Result<PathBuf, TraceError> {
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

/// Whether a run has nothing but readings of machines.
fn is_sidecars(folder: &Path) -> bool {
    read::process_folders(folder).is_empty() && !machine_folders(folder).is_empty()
}

/// The newest run, if possible one of those that are preferred.
fn newest(dir: &Path, is_preferred: fn(&Path) -> bool) -> Result<PathBuf, TraceError> {
    let started =
        |folder: &PathBuf| (is_preferred(folder), read::start_ns(folder), file_name(folder));
    let newest = folders(dir).into_iter().max_by_key(started);
    newest.ok_or_else(|| TraceError::NoRuns { dir: dir.to_owned() })
}

pub(crate) fn folders(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut folders: Vec<PathBuf> =
        entries.filter_map(|e| Some(e.ok()?.path())).filter(|path| is_run(path)).collect();
    folders.sort();
    folders
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn summary(folder: &Path) -> RunSummary {
    let info = read::run_info(folder);
    // A packed run whose side file is damaged shows as one that has nothing.
    let side = packed::read::side(folder).ok().flatten();
    let recorded = read::process_folders(folder);
    let recorded_bytes: u64 = recorded.iter().map(|p| bytes(p)).sum();
    // Looked at again: an arena that a process is about to make is larger by now.
    let arena_bytes: u64 = recorded.iter().map(|p| on_disk(&p.join(ARENA_FILE))).sum();
    let processes = read::unpacked(recorded, side.as_ref());
    let sizes: Vec<u64> = processes.iter().map(|p| bytes(p)).collect();
    let packed = side.as_ref().map_or(&[][..], Side::processes);
    let packed_bytes: u64 = packed::FOLDERS.iter().map(|name| all_bytes(&folder.join(name))).sum();
    let machines = machine_folders(folder);
    let sampled: u64 = machines.iter().map(|machine| bytes(machine)).sum();
    let briefs = processes.iter().zip(&sizes).map(|(folder, bytes)| read::brief(folder, *bytes));
    let briefs: Vec<Brief> = briefs.chain(packed.iter().map(|process| process.brief())).collect();
    let kept = side.as_ref().map_or(0, |side| side.machines_besides(&machines));
    let state = most_telling(briefs.iter().map(|b| b.state));
    let ended = briefs.iter().filter(|b| b.state == ProcessState::Ended);
    let sampled_only = machines.iter().filter(|_| processes.is_empty());
    let readings =
        sampled_only.filter_map(|machine| ends(machine)).map(|(a, b)| (Some(a), Some(b)));
    let moments = briefs.iter().map(|b| (b.start_ns, b.end_ns)).chain(readings);
    let extent = Extent::new(moments, info.start_ns);
    RunSummary {
        folder: folder.to_owned(),
        info,
        bytes: recorded_bytes + sampled + packed_bytes,
        record_bytes: recorded_bytes.saturating_sub(arena_bytes) + sampled + packed_bytes,
        processes: briefs.len(),
        ranks: briefs.iter().filter_map(|b| b.rank).collect(),
        machines: machines.len() + kept,
        sampling: machines.iter().any(|machine| is_sampled(machine)),
        state,
        in_state: briefs.iter().filter(|b| Some(b.state) == state).count(),
        open: ended.map(|b| b.open).sum(),
        start_ns: extent.start_ns,
        wall_ns: extent.wall_ns,
        spans: briefs.iter().map(|b| b.spans).sum(),
        gpu_work: processes.iter().map(|folder| read::gpu_work(folder)).sum::<u64>()
            + packed.iter().map(|process| process.gpu_work()).sum::<u64>(),
        lost: briefs.iter().map(|b| b.lost).sum(),
        heard_ns: Shipped::read(folder).map(|shipped| shipped.heard_ns()),
        uncalibrated: briefs.iter().filter(|b| !b.is_timed).count(),
    }
}

/// The same of a folder and those inside it.
fn all_bytes(folder: &Path) -> u64 {
    let inside = std::fs::read_dir(folder).into_iter().flatten();
    let folders = inside.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir());
    bytes(folder) + folders.map(|folder| all_bytes(&folder)).sum::<u64>()
}

/// What the files take on disk: an arena is larger than what it holds.
fn bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries.filter_map(|entry| Some(on_disk(&entry.ok()?.path()))).sum()
}

fn on_disk(file: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    const BLOCK: u64 = 512;
    std::fs::symlink_metadata(file).map_or(0, |found| found.blocks() * BLOCK)
}
