//! A run that is being recorded, looked at again and again.
//!
//! Each look reads what the files got since the last one, and the scopes that are open now from the
//! arenas: it costs what is new, however large the run is. Nothing is locked and nothing is written,
//! so the program does not notice. What closed is at most a flush behind; what is open is not.
//! Where more comes than a look should take, the newest part is read and stands for the rest.

mod kernels;
mod marks;
mod now;
mod paths;
mod process;
mod resolve;
mod tail;
mod window;

pub use now::{Now, NowKernel, NowMark, NowProcess, NowScope, NowSlow};

use crate::read::{self, ArenaLook, Owner};
use crate::{Run, RunInfo, TraceError};
use hodo_format::record::{Span, SpanId};
use kernels::Kernels;
use marks::Marks;
use paths::{PathId, Paths, ROOT};
use process::Followed;
use resolve::Batch;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tail::Taken;

/// Records that a look takes of all processes together: some tens of milliseconds.
const MOST_RECORDS: u64 = 100_000;
/// And of each process at least.
const LEAST_RECORDS: u64 = 5_000;

/// A run that is looked at while it is recorded.
pub struct Follow {
    /// Its folder.
    pub folder: PathBuf,
    /// What `run.json` says.
    pub info: RunInfo,
    processes: Vec<Followed>,
    /// Names of the process folders that were met.
    known: HashSet<OsString>,
    /// Processes of other hosts, whose clocks and memory are out of reach.
    elsewhere: usize,
    host: String,
    paths: Paths,
    kernels: Kernels,
    marks: Marks,
    /// The first and the last moment that anything ended at.
    first_ns: Option<u64>,
    last_ns: u64,
    total: Taken,
}

/// What one look took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Bytes of the run's files that were read.
    pub bytes: u64,
    /// Scopes read that had closed since the last look.
    pub closed: u64,
    /// Bytes left out, since too many were new: what was read stands for them.
    pub skipped_bytes: u64,
    /// Scopes that are open.
    pub open: u64,
}

impl Follow {
    /// Follows the run in `folder`; nothing is read yet.
    pub fn new(folder: &Path) -> Result<Follow, TraceError> {
        let io = |source| TraceError::Io { path: folder.to_owned(), source };
        std::fs::read_dir(folder).map_err(io)?;
        if read::process_folders(folder).is_empty() && !folder.join("run.json").is_file() {
            return Err(TraceError::NotARun { folder: folder.to_owned() });
        }
        Ok(Follow {
            folder: folder.to_owned(),
            info: RunInfo::default(),
            processes: Vec::new(),
            known: HashSet::new(),
            elsewhere: 0,
            host: host(),
            paths: Paths::new(),
            kernels: Kernels::default(),
            marks: Marks::default(),
            first_ns: None,
            last_ns: 0,
            total: Taken::default(),
        })
    }

    /// Looks at what is new.
    pub fn look(&mut self) -> Look {
        if self.info.id.is_empty() || self.info.start_ns == 0 {
            self.info = read::run_info(&self.folder);
        }
        self.meet();
        self.paths.begin_look();
        let mut look = Look::default();
        let live = self.processes.iter().filter(|process| !process.is_over()).count() as u64;
        let most_records = (MOST_RECORDS / live.max(1)).max(LEAST_RECORDS);
        for at in 0..self.processes.len() {
            if self.processes[at].is_over() {
                continue;
            }
            let (taken, open) = self.processes[at].look(most_records);
            look.bytes += taken.bytes;
            look.skipped_bytes += taken.skipped;
            self.total.join(taken);
            self.digest(at, open, &mut look);
        }
        look
    }

    /// Finds processes that came since the last look.
    fn meet(&mut self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let mut new: Vec<PathBuf> = entries
            .filter_map(|entry| entry.ok())
            .filter(|entry| !self.known.contains(&entry.file_name()))
            .map(|entry| entry.path())
            .filter(|folder| read::is_process(folder))
            .collect();
        new.sort();
        for folder in new {
            self.known.extend(folder.file_name().map(ToOwned::to_owned));
            let info: crate::ProcessInfo =
                read::json(&folder.join("process.json")).unwrap_or_default();
            if info.host.is_empty() || info.host == self.host {
                self.processes.push(Followed::new(&folder));
            } else {
                self.elsewhere += 1;
            }
        }
    }

    fn digest(&mut self, at: usize, open: Vec<Span>, look: &mut Look) {
        let root = self.root_of(at);
        let process = &mut self.processes[at];
        let spans = std::mem::take(&mut process.heard.spans);
        look.closed += spans.len() as u64;
        let mut resolver = std::mem::take(&mut process.resolver);
        let is_over = process.is_over();
        let batch = Batch { closed: spans, open, is_last: is_over };
        let (closed, mut open) = resolver.place(batch, &process.heard.names, root, &mut self.paths);
        process.resolver = resolver;
        if is_over {
            // They are where the process ended, not open.
            open.clear();
        }
        look.open += open.len() as u64;
        let (works, marks) =
            (std::mem::take(&mut process.heard.work), std::mem::take(&mut process.heard.marks));
        if !process.clock.is_calibrated() {
            return;
        }
        for (span, path) in &closed {
            let ended = process.ended(span);
            self.first_ns = Some(self.first_ns.map_or(ended.end_ns, |at| at.min(ended.end_ns)));
            self.last_ns = self.last_ns.max(ended.end_ns);
            self.paths.close(*path, ended);
        }
        for (span, path) in &open {
            self.paths.open(*path, process.moment_ns(span.start));
        }
        for work in &works {
            self.kernels.add(work, process);
        }
        for mark in &marks {
            self.marks.add(mark, process);
        }
        if is_over {
            self.processes[at].wind_up();
        }
    }

    /// Where the outermost scopes of a process hang: in the scope it was started in, if that is
    /// known when it is first met.
    fn root_of(&mut self, at: usize) -> PathId {
        if let Some(root) = self.processes[at].root {
            return root;
        }
        let parent = self.processes[at].info.parent.clone();
        let of_link = |link: crate::ParentLink| {
            let span = u64::from_str_radix(&link.span, 16).ok()?;
            let process = self.processes.iter().find(|p| p.info.process == link.process)?;
            process.resolver.path_of(SpanId(span))
        };
        let root = parent.and_then(of_link).unwrap_or(ROOT);
        self.processes[at].root = Some(root);
        root
    }
}

impl Run {
    /// The runs in `dir` that a process of this host records now, newest first.
    pub fn recording(dir: &Path) -> Vec<PathBuf> {
        let mut runs: Vec<PathBuf> = crate::find::folders(dir);
        runs.retain(|run| is_recording(run));
        runs.sort_by_key(|run| std::cmp::Reverse((read::start_ns(run), run.clone())));
        runs
    }
}

fn is_recording(run: &Path) -> bool {
    read::process_folders(run).iter().any(|folder| {
        let info: crate::ProcessInfo = read::json(&folder.join("process.json")).unwrap_or_default();
        ArenaLook::open(folder, &info).is_some_and(|arena| arena.owner() == Owner::Running)
    })
}

/// Name of this machine.
fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| String::new(), |name| name.trim().to_owned())
}

/// Nanoseconds of the monotonic clock now.
pub(crate) fn monotonic_now_ns() -> u64 {
    // SAFETY: the structure is valid to be filled.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time);
        time
    };
    time.tv_sec as u64 * window::SECOND + time.tv_nsec as u64
}
