//! A small training run to look at: a real network learns made-up data on the CPU, with loader
//! threads, an evaluator, a checkpoint that fails and a benchmark loop.

mod checkpoint;
mod data;
mod evaluate;
mod loader;
mod matrix;
mod network;
mod random;
mod train;
mod worker;

use hodo::{Config, Started};
use matrix::Matrix;
use random::Random;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to run and where to record it.
pub struct Options<'a> {
    /// The folder that run folders are made in.
    pub dir: PathBuf,
    /// The same seed makes the same data and the same network.
    pub seed: u64,
    /// How long the training part lasts; the last epoch is finished.
    pub training: Duration,
    /// Told the run's folder once it records.
    pub started: &'a dyn Fn(&Path),
    /// Told the share that is done, 0 to 1, and what is going on.
    pub progress: &'a dyn Fn(f64, &str),
}

impl Options<'_> {
    /// A run of 5 to 10 seconds, recorded in `dir`.
    pub fn new(dir: PathBuf) -> Self {
        Options {
            dir,
            seed: 7,
            training: Duration::from_millis(5500),
            started: &|_| {},
            progress: &|_, _| {},
        }
    }
}

/// Runs the workload and returns the folder of the recorded run.
pub fn run(options: &Options<'_>) -> Result<PathBuf, String> {
    let recording = hodo::init(Config {
        app: Some("demo".into()),
        dir: Some(options.dir.clone()),
        ..Config::from_env()
    });
    match recording.started() {
        Started::On => {}
        Started::Degraded(why) | Started::Off(why) => {
            return Err(format!("the demo cannot record: {why}"));
        }
        Started::Already => return Err("the demo cannot record: a recording is running".into()),
    }
    let folder = hodo::health().run.ok_or("the demo cannot record: no run folder")?;
    (options.started)(&folder);
    train::run(options);
    benchmark(options.seed);
    (options.progress)(1.0, "done");
    drop(recording);
    Ok(folder)
}

/// How fast the multiplication is that training spends most of its time in.
fn benchmark(seed: u64) {
    const SIZE: usize = 128;
    let random = &mut Random::new(seed);
    let a = Matrix::random(SIZE, SIZE, 1.0, random);
    let b = Matrix::random(SIZE, SIZE, 1.0, random);
    hodo::bench("matmul").tag("128x128").repeat(40).warmup(5).run(|| a.times(&b));
}
