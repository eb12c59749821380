//! `hodo demo`: records the embedded training loop and shows its report.

use crate::args::{Cli, DemoArgs, Verb, When};
use crate::demo;
use crate::output::{self, Failure, Outcome};
use crate::report;
use crate::runs::Bar;
use clap::Parser;
use std::path::Path;
use std::time::Duration;

/// Runs the verb.
pub fn run(args: &DemoArgs, dir: &Path, color: When) -> Outcome {
    let training = Duration::try_from_secs_f64(args.seconds).map_err(|_| {
        Failure::Usage(format!("cannot train for {} seconds; name a positive number", args.seconds))
    })?;
    let folder = record(args, dir, training)?;
    output::note(&format!("recorded {}", folder.display()));
    let run = folder.display().to_string();
    let words = ["hodo", "report", &run].into_iter().chain(args.json.then_some("--json"));
    let Verb::Report(wanted) = Cli::parse_from(words).verb else { return Ok(1) };
    let code = report::run(&wanted, dir, color)?;
    output::note("next: hodo report --help, hodo export --to perfetto -o demo.pftrace");
    Ok(code)
}

fn record(args: &DemoArgs, dir: &Path, training: Duration) -> Result<std::path::PathBuf, Failure> {
    const STEPS: u64 = 1000;
    let bar = Bar::shown("training");
    let progress = |share: f64, words: &str| {
        bar.say(words);
        bar.at((share * STEPS as f64) as u64, STEPS);
    };
    let options = demo::Options {
        seed: args.seed,
        training,
        progress: &progress,
        ..demo::Options::new(dir.to_owned())
    };
    demo::run(&options).map_err(|why| Failure::Failed(format!("{why}; `hodo doctor` says more")))
}
