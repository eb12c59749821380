//! What is known of this machine and of the run on it, gathered on a thread of its own: a driver
//! that takes its time, or a large run, holds up no key.

use super::model::GpuName;
use hodo_machine::gpu::Visible;
use hodo_machine::{Absent, Newest, Parts, Roots, Sampler, monotonic_ns, readers};
use hodo_trace::{Follow, Now, Run};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

/// How often is looked whether another run records.
const LOOK_FOR_RUNS: Duration = Duration::from_secs(5);
/// Frames that may wait to be shown.
const WAITING: usize = 4;

/// What one round found.
#[derive(Debug, Default)]
pub struct Found {
    /// The newest value of every series.
    pub readings: Vec<Newest>,
    /// Now, on the clock of the readings.
    pub at_ns: u64,
    /// The GPUs.
    pub gpus: Vec<GpuName>,
    /// What cannot be read.
    pub absent: Vec<Absent>,
    /// The run that is followed.
    pub run: Option<Now>,
    /// Runs that record now.
    pub runs: usize,
}

/// What is looked at.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Folder the runs are in.
    pub dir: PathBuf,
    /// The run that was asked for; else the newest that records.
    pub run: Option<PathBuf>,
    /// The time between rounds.
    pub interval: Duration,
}

/// The thread that gathers; it ends with this.
pub struct Gathering {
    /// What it finds.
    pub found: Receiver<Found>,
    next_run: Sender<()>,
}

impl Gathering {
    /// Starts it.
    pub fn start(wanted: Wanted) -> std::io::Result<Gathering> {
        let (found_by, found) = sync_channel(WAITING);
        let (next_run, asked) = channel();
        let thread = std::thread::Builder::new().name("hodo-top".into());
        thread.spawn(move || Gatherer::new(wanted).run(&found_by, &asked))?;
        Ok(Gathering { found, next_run })
    }

    /// Shows the next run that records.
    pub fn next_run(&self) {
        // The thread has ended only when the program is ending.
        let _ = self.next_run.send(());
    }
}

/// Gathers in rounds.
pub struct Gatherer {
    wanted: Wanted,
    sampler: Sampler,
    sampled_run: Option<PathBuf>,
    follow: Option<Follow>,
    runs: Vec<PathBuf>,
    looked: Option<Instant>,
}

impl Gatherer {
    /// Opens what is to be read, which may take a while where a driver is asked.
    pub fn new(wanted: Wanted) -> Gatherer {
        let sampler = Sampler::new(wanted.interval, readers(&parts(wanted.run.as_deref())));
        let sampled_run = wanted.run.clone();
        Gatherer { wanted, sampler, sampled_run, follow: None, runs: Vec::new(), looked: None }
    }

    fn run(mut self, found: &SyncSender<Found>, asked: &Receiver<()>) {
        loop {
            let round = self.round();
            if found.send(round).is_err() {
                return;
            }
            let until = Instant::now() + self.wanted.interval;
            match asked.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(()) => self.turn(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Reads the machine and the run once.
    pub fn round(&mut self) -> Found {
        self.choose();
        self.sampler.round(&monotonic_ns);
        self.sampler.retire_sometimes(monotonic_ns());
        let run = self.follow.as_mut().map(|follow| {
            follow.look();
            follow.now()
        });
        let gpus = self.sampler.told().into_iter().find(|(name, _)| *name == "gpus");
        Found {
            readings: self.sampler.newest(),
            at_ns: monotonic_ns(),
            gpus: gpus.map_or_else(Vec::new, |(_, json)| gpu_names(&json)),
            absent: self.sampler.absent(),
            run,
            runs: self.runs.len(),
        }
    }

    /// The run that was asked for, else the newest that records; one that has ended stays until
    /// another begins.
    fn choose(&mut self) {
        if self.looked.is_some_and(|at| at.elapsed() < LOOK_FOR_RUNS) {
            return;
        }
        self.looked = Some(Instant::now());
        self.runs = Run::recording(&self.wanted.dir);
        let followed = self.follow.as_ref().map(|follow| follow.folder.clone());
        let wanted = match (&self.wanted.run, &followed) {
            (Some(run), _) => Some(run.clone()),
            (None, Some(run)) if self.runs.contains(run) => Some(run.clone()),
            (None, _) => self.runs.first().cloned().or(followed.clone()),
        };
        if let Some(run) = wanted.filter(|run| followed.as_ref() != Some(run)) {
            self.follow(&run);
        }
    }

    fn follow(&mut self, run: &Path) {
        self.follow = Follow::new(run).ok();
        // Which processes are summed up is said when the readers are made.
        if self.sampled_run.as_deref() != Some(run) {
            self.sampler = Sampler::new(self.wanted.interval, readers(&parts(Some(run))));
            self.sampled_run = Some(run.to_owned());
        }
    }

    /// The next run that records, also when one was asked for at the start.
    fn turn(&mut self) {
        self.runs = Run::recording(&self.wanted.dir);
        let followed = self.follow.as_ref().map(|follow| &follow.folder);
        let at = self.runs.iter().position(|run| Some(run) == followed);
        let next = at.map_or(0, |at| at + 1) % self.runs.len().max(1);
        if let Some(run) = self.runs.get(next).cloned() {
            self.wanted.run = Some(run.clone());
            self.follow(&run);
        }
    }
}

fn parts(run: Option<&Path>) -> Parts {
    Parts { processes: run.map_or_else(Roots::none, Roots::of_run), gpus: Some(Visible::All) }
}

/// The GPUs in the sampler's words.
pub fn gpu_names(json: &str) -> Vec<GpuName> {
    let Ok(value) = serde_json::from_str::<serde_json::Value>(json) else { return Vec::new() };
    let name = |gpu: &serde_json::Value| {
        let index = gpu["index"].as_u64().and_then(|index| u32::try_from(index).ok());
        let name = gpu["name"].as_str().unwrap_or_default().to_owned();
        Some(GpuName { uuid: gpu["uuid"].as_str()?.to_owned(), index, name })
    };
    value.as_array().into_iter().flatten().filter_map(name).collect()
}
