//! Finds and opens the run a verb is about, with progress when that takes long.

use crate::output::Failure;
use hodo_trace::{Progress, ReadOptions, Run};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::OnceCell;
use std::path::Path;
use std::time::{Duration, Instant};

/// Work shorter than this shows no progress.
const PATIENCE: Duration = Duration::from_secs(1);

/// Opens the run `name` means: a path, the beginning of an id, or the newest in `dir`; a sidecar's
/// only where there is no other.
pub fn open(dir: &Path, name: Option<&str>) -> Result<Run, Failure> {
    read(&Run::find(dir, name)?)
}

/// The same where readings are wanted: the newest may be a sidecar's.
pub fn open_readings(dir: &Path, name: Option<&str>) -> Result<Run, Failure> {
    read(&Run::find_with_sidecars(dir, name)?)
}

/// Reads the run in `folder`.
pub fn read(folder: &Path) -> Result<Run, Failure> {
    let bar = Bar::new("reading");
    let report = |p: Progress| bar.at(p.bytes, p.total_bytes);
    Ok(Run::open(folder, &ReadOptions { progress: Some(&report) })?)
}

/// A progress bar on standard error that appears only on a terminal and only after a second.
pub struct Bar {
    verb: &'static str,
    began: Instant,
    bar: OnceCell<ProgressBar>,
}

impl Bar {
    /// A bar that is not shown yet.
    pub fn new(verb: &'static str) -> Bar {
        Bar { verb, began: Instant::now(), bar: OnceCell::new() }
    }

    /// A bar that is shown at once: this will take a while.
    pub fn shown(verb: &'static str) -> Bar {
        let bar = Bar::new(verb);
        bar.bar.get_or_init(|| bar.make());
        bar
    }

    /// Moves the bar.
    pub fn at(&self, done: u64, of: u64) {
        if self.bar.get().is_none() && self.began.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_init(|| self.make());
        bar.set_length(of);
        bar.set_position(done);
    }

    /// Changes the words in front of the bar.
    pub fn say(&self, words: &str) {
        if let Some(bar) = self.bar.get() {
            bar.set_message(words.to_owned());
        }
    }

    fn make(&self) -> ProgressBar {
        // The target draws nothing when standard error is not a terminal.
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{msg} {bar:30} {percent:>3}%  {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(self.verb);
        bar
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}
