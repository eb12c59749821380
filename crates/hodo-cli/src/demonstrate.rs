//! `hodo demo`: records the embedded training loop and shows its report, and its page if asked to.

use crate::args::{Cli, DemoArgs, Verb, When};
use crate::demo;
use crate::output::{self, Failure, Outcome};
use crate::report;
use crate::runs::Bar;
use crate::view::page::Page;
use clap::Parser;
use std::cell::RefCell;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs the verb.
pub fn run(args: &DemoArgs, dir: &Path, color: When) -> Outcome {
    let training = Duration::try_from_secs_f64(args.seconds).map_err(|_| {
        Failure::Usage(format!("cannot train for {} seconds; name a positive number", args.seconds))
    })?;
    let (folder, page) = record(args, dir, training)?;
    output::note(&format!("recorded {}", folder.display()));
    let run = folder.display().to_string();
    let words = ["hodo", "report", &run].into_iter().chain(args.json.then_some("--json"));
    let Verb::Report(wanted) = Cli::parse_from(words).verb else { return Ok(1) };
    let code = report::run(&wanted, dir, color)?;
    output::note("next: hodo report --help, hodo export --to perfetto -o demo.pftrace");
    if args.open {
        output::note(&format!("its page again: hodo view {run}"));
    }
    if let Some(page) = page {
        page?.finish(is_watched());
    }
    Ok(code)
}

/// Whether someone sits there who can end it.
fn is_watched() -> bool {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    is_terminal && std::env::var_os("CI").is_none()
}

/// The run's folder, and the page that shows it if one is asked for.
type Recorded = (PathBuf, Option<Result<Page, Failure>>);

fn record(args: &DemoArgs, dir: &Path, training: Duration) -> Result<Recorded, Failure> {
    const STEPS: u64 = 1000;
    let page = RefCell::new(None);
    // The address comes before the bar, which would overwrite it.
    let bar = if args.open { Bar::new("training") } else { Bar::shown("training") };
    let progress = |share: f64, words: &str| {
        bar.say(words);
        bar.at((share * STEPS as f64) as u64, STEPS);
    };
    let started = |folder: &Path| {
        *page.borrow_mut() = args.open.then(|| Page::new(folder).map(Page::started));
    };
    let options = demo::Options {
        seed: args.seed,
        training,
        started: &started,
        progress: &progress,
        ..demo::Options::new(dir.to_owned())
    };
    let recorded = demo::run(&options);
    let folder =
        recorded.map_err(|why| Failure::Failed(format!("{why}; `hodo doctor` says more")))?;
    Ok((folder, page.into_inner()))
}
